package interp

import (
	"math/bits"

	"btrace/capture/ptx"
)

// Liveness: over which instructions a register may hold a value that is still
// needed (Aho, Lam, Sethi, Ullman: "Compilers", 9.2.5 "Live-Variable
// Analysis").

// Bounds of the analysis.
const (
	maxLiveness = 1 << 25 // its work, in words of sets
	maxEdges    = 1 << 22 // between blocks
)

// span is the instructions over which a register is live.
type span struct {
	reg      int // Symbol.Index
	from, to int32
}

// liveSpans finds for every register of a function the first and the last
// instruction at which it is live; not ok if the function is too large for
// that.
func liveSpans(lines []line, labels map[*ptx.Label]int32, returns []int) (spans []span, ok bool) {
	flows := make([]flow, len(lines)+1)
	number := make(map[int]int) // of a register: its place in spans
	add := func(list []int) {
		for j, r := range list {
			n, ok := number[r]
			if !ok {
				n = len(spans)
				number[r] = n
				spans = append(spans, span{r, int32(len(lines)), -1})
			}
			list[j] = n
		}
	}
	for i := range flows {
		if i < len(lines) {
			flows[i] = flowOf(lines[i].i, returns)
		} else { // the return at the end
			flows[i] = flow{reads: append([]int(nil), returns...)}
		}
		add(flows[i].reads)
		add(flows[i].writes)
	}
	blocks, ok := basicBlocks(lines, labels)
	if !ok || !liveness(blocks, flows, len(spans)) {
		return spans, false
	}
	extend := func(r int, at int32) {
		spans[r].from, spans[r].to = min(spans[r].from, at), max(spans[r].to, at)
	}
	for i, f := range flows {
		for _, r := range f.reads {
			extend(r, int32(i))
		}
		for _, r := range f.writes {
			extend(r, int32(i))
		}
	}
	for _, b := range blocks {
		b.in.each(func(r int) { extend(r, b.from) })
		b.out.each(func(r int) { extend(r, b.to-1) })
	}
	return spans, true
}

// set is a set of registers.
type set []uint64

func (s set) add(i int)    { s[i/64] |= 1 << (i % 64) }
func (s set) remove(i int) { s[i/64] &^= 1 << (i % 64) }

func (s set) each(f func(i int)) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			f(64*w + bits.TrailingZeros64(word))
		}
	}
}

// basicBlock is instructions that run one after the other.
type basicBlock struct {
	from, to   int32
	next, prev []int // blocks that may follow, and that may come before
	in, out    set   // registers that are live at its begin and end
}

// basicBlocks cuts a body at its labels and after its branches. The last block
// is the return at the end. It is not ok if there are too many branches.
func basicBlocks(lines []line, labels map[*ptx.Label]int32) (blocks []*basicBlock, ok bool) {
	n := int32(len(lines))
	cut := make([]bool, n+1)
	cut[n] = true
	for _, at := range labels {
		cut[at] = true
	}
	for i, l := range lines {
		switch l.i.Op {
		case "bra", "brx", "ret", "exit", "trap":
			cut[i+1] = true
		}
	}
	at := make([]int, n+1) // the block that begins there
	for i := int32(0); i <= n; {
		b := &basicBlock{from: i}
		for i++; i <= n && !cut[i]; i++ {
		}
		b.to = i
		at[b.from] = len(blocks)
		blocks = append(blocks, b)
	}
	edges := 0
	for k, b := range blocks[:len(blocks)-1] {
		follow := func(to int32) {
			edges++
			b.next = append(b.next, at[to])
			blocks[at[to]].prev = append(blocks[at[to]].prev, k)
		}
		last := lines[b.to-1].i
		falls := last.Guard != nil
		switch last.Op {
		case "bra", "brx":
			to := targets(last, labels)
			if edges+len(to) > maxEdges {
				return nil, false
			}
			for _, at := range to {
				follow(at)
			}
		case "ret", "exit", "trap":
		default:
			falls = true
		}
		if falls {
			follow(b.to)
		}
	}
	return blocks, true
}

// targets is where a branch may go.
func targets(i *ptx.Instruction, labels map[*ptx.Label]int32) (to []int32) {
	for _, o := range i.Operands {
		n, ok := o.(*ptx.Name)
		switch {
		case !ok || n.Sym == nil:
		case n.Sym.Label != nil:
			to = append(to, labels[n.Sym.Label])
		case n.Sym.Directive != nil:
			for _, t := range n.Sym.Directive.Targets {
				if t.Sym != nil && t.Sym.Label != nil {
					to = append(to, labels[t.Sym.Label])
				}
			}
		}
	}
	return to
}

// liveness fills in what is live at the begin and end of the blocks: it goes
// over them from the last on, and again over those whose successors changed.
// It gives up, and reports so, when that takes too long.
func liveness(blocks []*basicBlock, flows []flow, regs int) bool {
	words := (regs + 63) / 64
	work := 4 * len(blocks) * words
	if work > maxLiveness {
		return false
	}
	uses, kills := make([]set, len(blocks)), make([]set, len(blocks))
	todo, queued := make([]int, len(blocks)), make([]bool, len(blocks))
	for n, b := range blocks {
		b.in, b.out, uses[n], kills[n] = make(set, words), make(set, words), make(set, words), make(set, words)
		for i := b.to - 1; i >= b.from; i-- {
			f := &flows[i]
			if f.kills {
				for _, r := range f.writes {
					kills[n].add(r)
					uses[n].remove(r)
				}
			}
			for _, r := range f.reads {
				uses[n].add(r)
			}
		}
		todo[n], queued[n] = n, true
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo, queued[n] = todo[:len(todo)-1], false
		b := blocks[n]
		if work += (1 + len(b.next)) * words; work > maxLiveness {
			return false
		}
		changed := false
		for w := range words {
			out := uint64(0)
			for _, s := range b.next {
				out |= blocks[s].in[w]
			}
			in := uses[n][w] | out&^kills[n][w]
			changed = changed || in != b.in[w]
			b.in[w], b.out[w] = in, out
		}
		if !changed {
			continue
		}
		for _, p := range b.prev {
			if !queued[p] {
				todo, queued[p] = append(todo, p), true
			}
		}
	}
	return true
}
