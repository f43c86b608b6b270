package trace

import (
	"cmp"
	"math/bits"
	"slices"
)

// Who replays a block goes through the rows of a few CTAs that belong
// together, and then through those of others. A block is stored warp by warp:
// to bring the rows of a group into their order is less work than those of
// all.

// groupRun is a run of rows of a warp, and the group that its CTA is in.
type groupRun struct {
	group uint32
	run   uint32
}

// groups puts the keys into the order that is asked for: group by group, each
// in stored order.
func (d *blockDecoder) groups(group func(cta uint32) uint32, b *blockBuffer) []uint64 {
	d.joinRuns(group)
	d.grouped = resize(d.grouped, len(d.keys))
	at := 0
	for rest := d.members; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].group == rest[0].group {
			n++
		}
		rows := d.sortGroup(d.grouped[at:], rest[:n])
		at += rows
		b.Groups = append(b.Groups, Group{Number: rest[0].group, End: at})
		rest = rest[n:]
	}
	return d.grouped
}

// joinRuns lists the runs by group. Those of a group are in order of their
// warps.
func (d *blockDecoder) joinRuns(group func(cta uint32) uint32) {
	d.members = resize(d.members, len(d.runs))
	sorted := true
	for i := range d.runs {
		cta := uint32(d.runs[i].warp >> 32)
		switch {
		case i == 0 || cta != uint32(d.runs[i-1].warp>>32):
			d.members[i] = groupRun{group(cta), uint32(i)}
			sorted = sorted && (i == 0 || d.members[i-1].group <= d.members[i].group)
		default:
			d.members[i] = groupRun{d.members[i-1].group, uint32(i)}
		}
	}
	if !sorted {
		slices.SortFunc(d.members, func(a, b groupRun) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.run, b.run)) })
	}
}

// sortGroup puts the keys of runs into stored order, and returns how many they
// are.
func (d *blockDecoder) sortGroup(to []uint64, runs []groupRun) (rows int) {
	first, together := &d.runs[runs[0].run], true
	least, most := d.keys[first.at], uint64(0)
	for i := range runs {
		r := &d.runs[runs[i].run]
		least, most = min(least, d.keys[r.at]), max(most, d.keys[r.at+r.rows-1])
		together = together && r.at == first.at+uint32(rows)
		rows += int(r.rows)
	}
	keys := d.keys[first.at:][:rows]
	if !together {
		keys = d.sorter.swap[:0]
		for i := range runs {
			r := &d.runs[runs[i].run]
			keys = append(keys, d.keys[r.at:r.at+r.rows]...)
		}
		d.sorter.swap = keys
	}
	if len(runs) == 1 {
		return copy(to, keys)
	}
	least &^= 1<<rowBits - 1
	d.sorter.sortInto(to, keys, least, bits.Len64(most-least), rowBits)
	return rows
}

// ends is the keys of the first and the last row in stored order.
func (b *blockBuffer) ends() (first, last key) {
	if len(b.Groups) == 0 {
		return b.key(0), b.key(b.Len() - 1)
	}
	from := 0
	for i := range b.Groups {
		end := b.Groups[i].End
		if k := b.key(from); i == 0 || k.less(first) {
			first = k
		}
		if k := b.key(end - 1); i == 0 || last.less(k) {
			last = k
		}
		from = end
	}
	return first, last
}

// Grouper groups the rows of blocks that come in stored order: of a reader
// those of which rows were left out, or that were merged, and those of others
// who hand out blocks. Its zero value is ready.
type Grouper struct {
	index map[uint32]uint32 // by group: its place among them, counted from 1
	of    []uint32          // by row
	perm  []uint32
	out   blockBuffer
}

// Group returns the rows of b as Query.Group asks for them. They are valid
// until the next call.
func (g *Grouper) Group(b *Block, group func(cta uint32) uint32) *Block {
	if g.index == nil {
		g.index = make(map[uint32]uint32)
	}
	clear(g.index)
	out := &g.out
	out.Groups = out.Groups[:0]
	for _, cta := range b.CTA {
		if n := group(cta); g.index[n] == 0 {
			out.Groups = append(out.Groups, Group{Number: n})
			g.index[n] = 1
		}
	}
	slices.SortFunc(out.Groups, func(a, b Group) int { return cmp.Compare(a.Number, b.Number) })
	for i := range out.Groups {
		g.index[out.Groups[i].Number] = uint32(i) + 1
	}
	g.of = resize(g.of, b.Len())
	for i, cta := range b.CTA {
		g.of[i] = g.index[group(cta)] - 1
		out.Groups[g.of[i]].End++
	}
	at := 0
	for i := range out.Groups {
		at, out.Groups[i].End = at+out.Groups[i].End, at
	}
	g.perm = resize(g.perm, b.Len())
	for i, n := range g.of {
		to := &out.Groups[n].End
		g.perm[*to] = uint32(i)
		*to++
	}
	g.permute(b)
	return &out.Block
}

// permute fills the block that comes out, in the order found.
func (g *Grouper) permute(b *Block) {
	out := &g.out
	out.Launch, out.Index, out.First, out.Ops = b.Launch, b.Index, b.First, b.Ops
	out.Time, _ = permuted(out.Time, b.Time, g.perm)
	out.CTA, _ = permuted(out.CTA, b.CTA, g.perm)
	out.Warp, _ = permuted(out.Warp, b.Warp, g.perm)
	out.Seq, _ = permuted(out.Seq, b.Seq, g.perm)
	out.Op, _ = permuted(out.Op, b.Op, g.perm)
	out.Pred, out.pred = permuted(out.pred, b.Pred, g.perm)
	out.Result, out.result = permuted(out.result, b.Result, g.perm)
	out.Token, out.token = permuted(out.token, b.Token, g.perm)
	out.Phase, out.phase = permuted(out.phase, b.Phase, g.perm)
	out.Clk, out.clk = permuted(out.clk, b.Clk, g.perm)
	out.Extra, out.extra = permuted(out.extra, b.Extra, g.perm)
}

// permuted is a column in the order of perm, in room; nil for one that is
// missing.
func permuted[T any](room, from []T, perm []uint32) (col, kept []T) {
	if from == nil {
		return nil, room
	}
	room = resize(room, len(perm))
	for i, k := range perm {
		room[i] = from[k]
	}
	return room, room
}
