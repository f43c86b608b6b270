package trace

import (
	"errors"
	"math"
	"math/bits"
)

// blockDecoder turns the payload of a block into a Block. It is reused; what
// it makes belongs to the block's buffer.
//
// What a row is made of is kept apart, in small arrays: a block's rows are
// read in warp order and handed out in stored order, so that they are looked
// up all over the place, and what is small stays in the cache. The arrays
// have room for any row, so that an index of 16 bits needs no check.
type blockDecoder struct {
	has     []Fields             // of a template
	uses    []int                // rows of a template
	ids     [MaxBlockRows]uint16 // template of a row, in warp order
	runOf   [MaxBlockRows]uint16 // run of a row
	least   []uint64             // smallest delta of a template
	starts  []uint64             // times of the runs' first rows
	gaps    []seqGap
	seqs    []uint32 // of the rows, if the runs do not tell
	runs    []warpRun
	warp    []warpAt // of a run
	wide    []uint64 // what a column's numbers do not hold
	keys    []uint64 // times in units and indices of rows, in warp order
	sorter  keySorter
	members []groupRun // by group
	grouped []uint64
	perm    []uint16 // rows in the order that is asked for, as indices in warp order
	tally   byteTally
	codes   [MaxBlockRows]uint16 // a value's number by row
	with    []bool               // templates with an operand
	column  []uint64             // an operand by row
	last    []uint64
	head    []uint64
	seen    []uint32
	words   []uint64
}

// blockBuffer is a Block with room for the columns that it may not have.
type blockBuffer struct {
	Block
	pred, result []uint32
	token, phase []uint64
	clk          []int64
	extra        []string
}

// warpAt is what a row has from its run. Its sequence number is that and its
// index in warp order.
type warpAt struct{ cta, warp, seq uint32 }

type seqGap struct {
	row uint32
	by  uint32
}

var (
	errRuns  = errors.New("the warps' rows do not add up to the block's")
	errTimes = errors.New("times beyond those of its head")
	errOrder = errors.New("rows of a warp that are out of order")
)

// decode reads payload, of a block whose head says that it has that many
// rows from first to last, into b: in stored order or, with a group, as
// Query.Group asks for them.
func (d *blockDecoder) decode(payload []byte, rows int, first, last key, group func(cta uint32) uint32, b *blockBuffer) error {
	cols, err := splitColumns(payload)
	if err != nil {
		return err
	}
	var extras []string
	if b.Ops, extras, err = decodeTemplates(cols[colTemplates], b.Ops, rows); err != nil {
		return err
	}
	d.has = resize(d.has, len(b.Ops))
	var has Fields
	for i := range b.Ops {
		d.has[i] = b.Ops[i].Has
		has |= d.has[i]
	}
	if err := d.templates(cols[colOp], rows); err != nil {
		return err
	}
	if err := d.warps(cols[colWarps], rows); err != nil {
		return err
	}
	span := uint64(last.Time) - uint64(first.Time)
	if last.Time < first.Time {
		return errTimes
	}
	unit, inOrder, err := d.times(cols[colTime], rows, span)
	if err != nil {
		return err
	}
	if err := d.sequence(cols[colSeq], rows); err != nil {
		return err
	}
	sorted := d.keys
	b.Groups = b.Groups[:0]
	switch {
	case group != nil:
		sorted = d.groups(group, b)
	case !inOrder:
		sorted = d.sorter.sort(sorted, bits.Len64(span/unit)+rowBits, rowBits)
	}
	d.gather(&b.Block, sorted, unit, first.Time)
	if a, z := b.ends(); a != first || z != last {
		return errTimes
	}
	return d.operands(cols, has, extras, unit, first.Time, b)
}

// templates reads the template of each row, and counts their rows.
func (d *blockDecoder) templates(col []byte, rows int) error {
	n := len(d.has)
	d.uses = resize(d.uses, n)
	clear(d.uses)
	c := cursor{b: col}
	ids := d.ids[:rows]
	if n <= 256 {
		lo := c.take(uint64(rows))
		if c.bad {
			return errShort
		}
		if !d.tally.count(ids, lo, n) {
			return errShort
		}
		for id := range d.uses {
			d.uses[id] = d.tally.of(id)
		}
		return c.end()
	}
	if !c.indices(ids, n) {
		return errShort
	}
	for _, id := range ids {
		d.uses[id]++
	}
	return c.end()
}

// warps reads the runs.
func (d *blockDecoder) warps(col []byte, rows int) error {
	c := cursor{b: col}
	n := c.uvarint()
	if n == 0 || n > uint64(rows) {
		return errRuns
	}
	d.runs = resize(d.runs, int(n))
	d.starts = resize(d.starts, int(n))
	cta := uint64(0)
	for i := range d.runs {
		cta += c.uvarint()
		if cta > math.MaxUint32 {
			return errRuns
		}
		d.runs[i].warp = cta << 32
	}
	for i := range d.runs {
		w := c.uvarint()
		if w > math.MaxUint32 {
			return errRuns
		}
		d.runs[i].warp |= w
		if i > 0 && d.runs[i].warp <= d.runs[i-1].warp {
			return errRuns
		}
	}
	left := uint64(rows)
	for i := range d.runs {
		n := c.uvarint()
		if n == 0 || n > left {
			return errRuns
		}
		d.runs[i].at = uint32(uint64(rows) - left)
		d.runs[i].rows = uint32(n)
		left -= n
	}
	for i := range d.starts {
		d.starts[i] = c.uvarint()
	}
	for i := range d.runs {
		seq := c.uvarint()
		if seq > math.MaxUint32 {
			return errRuns
		}
		d.runs[i].first = uint32(seq)
	}
	if left != 0 {
		return errRuns
	}
	return c.end()
}

// times reads the time column. It fills keys and runOf, and says whether the
// keys are in stored order as they are. The times are in units; span is that
// of the block, in ns.
func (d *blockDecoder) times(col []byte, rows int, span uint64) (unit uint64, inOrder bool, err error) {
	c := cursor{b: col}
	unit = c.uvarint()
	if unit == 0 || span%unit != 0 || span/unit > maxSpan {
		return 0, false, errTimes
	}
	span /= unit
	d.least = resize(d.least, len(d.has))
	for i := range d.least {
		// What is too large for any row is so large that it is found out,
		// and so small that the sum of all rows does not wrap.
		d.least[i] = min(c.uvarint(), span+1)
	}
	deltas, err := c.narrow(rows-len(d.runs), d.wide)
	d.wide = deltas.wide
	if err != nil {
		return 0, false, err
	}
	for i := range d.wide {
		d.wide[i] = min(d.wide[i], span+1)
	}
	d.keys = resize(d.keys, rows)
	before := uint64(0)
	inOrder = true
	for g := range d.runs {
		t := d.starts[g]
		inOrder = inOrder && t >= before
		if t > span {
			return 0, false, errTimes
		}
		if before = d.run(g, t, span, &deltas); before > span {
			return 0, false, errTimes
		}
	}
	return unit, inOrder, deltas.end()
}

// run fills keys and runOf of a run that begins at time t, and returns the
// time of its last row, or one beyond span.
func (d *blockDecoder) run(g int, t, span uint64, deltas *narrow) uint64 {
	r := &d.runs[g]
	at, end := int(r.at), int(r.at+r.rows)
	runOf := d.runOf[at:end]
	for i := range runOf {
		runOf[i] = uint16(g)
	}
	keys := d.keys[at:end]
	keys[0] = t<<rowBits | uint64(at)
	k, ids := at-g, d.ids[at+1:end] // k rows so far follow another of their run
	if deltas.hi == nil {
		t, n := addUp(keys, deltas.lo[k:], ids, d.least, deltas.rest(), span)
		deltas.next += n
		return t
	}
	for i, id := range ids {
		if t += deltas.at(k+i) + d.least[id]; t > span {
			return t
		}
		keys[i+1] = t<<rowBits | uint64(at+i+1)
	}
	return t
}

// addUp makes the keys of rows from the first of them and their deltas, which
// have one plane and of which n are wide. It does what run's loop does; a
// reader spends much of its time here.
func addUp(keys []uint64, lo []byte, ids []uint16, least, wide []uint64, span uint64) (t uint64, n int) {
	t = keys[0] >> rowBits
	row := keys[0] & (1<<rowBits - 1)
	keys = keys[1:]
	lo, ids = lo[:len(keys)], ids[:len(keys)]
	for i, by := range lo {
		t += uint64(by) + least[ids[i]]
		if by == 0xff {
			if n < len(wide) {
				t += wide[n]
			}
			if n++; t > span {
				break
			}
		}
		row++
		keys[i] = t<<rowBits | row
	}
	return t, n
}

// sequence reads the exceptions among the sequence numbers. It fills seqs if
// there are any: without, the numbers of a run follow from its first.
func (d *blockDecoder) sequence(col []byte, rows int) error {
	wraps := false
	for g := range d.runs {
		wraps = wraps || d.runs[g].first+d.runs[g].rows-1 < d.runs[g].first
	}
	d.seqs = d.seqs[:0]
	if len(col) == 0 && !wraps {
		return nil
	}
	d.gaps = d.gaps[:0]
	c := cursor{b: col}
	at, follow := uint64(0), uint64(rows-len(d.runs))
	for len(c.b) > 0 {
		at += c.uvarint()
		by := unzigzag(c.uvarint())
		if at >= follow {
			return errOrder
		}
		d.gaps = append(d.gaps, seqGap{uint32(at), uint32(by)})
		at++
	}
	if c.bad {
		return errShort
	}
	gaps := append(d.gaps, seqGap{math.MaxUint32, 0})
	d.seqs = resize(d.seqs, rows)
	for g := range d.runs {
		run := &d.runs[g]
		seq, keys := run.first, d.keys[run.at:][:run.rows]
		seqs, k := d.seqs[run.at:][:len(keys)], run.at-uint32(g)-1
		seqs[0] = seq
		for i := 1; i < len(keys); i++ {
			next := seq + 1
			if gaps[0].row == k+uint32(i) {
				next += gaps[0].by
				gaps = gaps[1:]
			}
			if next < seq && keys[i]>>rowBits == keys[i-1]>>rowBits {
				return errOrder
			}
			seq = next
			seqs[i] = seq
		}
	}
	return nil
}

// gather puts what every row has into the block, in the order of the keys. It
// goes over the rows several times: each loop does no more than the processor's
// registers hold.
func (d *blockDecoder) gather(b *Block, sorted []uint64, unit uint64, base int64) {
	n := len(sorted)
	b.Time, b.CTA, b.Warp = resize(b.Time, n), resize(b.CTA, n), resize(b.Warp, n)
	b.Seq, b.Op = resize(b.Seq, n), resize(b.Op, n)
	d.perm = resize(d.perm, n)
	times, ops, perm := b.Time[:n], b.Op[:n], d.perm[:n]
	for i, v := range sorted {
		k := uint16(v)
		perm[i] = k
		times[i] = base + int64(v>>rowBits*unit)
		ops[i] = uint32(d.ids[k])
	}
	d.warp = resize(d.warp, len(d.runs))
	for g, r := range d.runs {
		d.warp[g] = warpAt{uint32(r.warp >> 32), uint32(r.warp), r.first - r.at}
	}
	of, ctas, warps, seqs := d.warp, b.CTA[:n], b.Warp[:n], b.Seq[:n]
	for i, k := range perm {
		w := &of[d.runOf[k]]
		ctas[i], warps[i], seqs[i] = w.cta, w.warp, w.seq+uint32(k)
	}
	if len(d.seqs) > 0 {
		for i, k := range perm {
			seqs[i] = d.seqs[k]
		}
	}
}
