package interp

import (
	"cmp"
	"slices"

	"btrace/capture/ptx"
)

// Compilers give every value of PTX a register of its own, thousands in a
// kernel. A warp's registers should stay in the cache, so those whose values
// are never needed at the same time share a place: a linear scan over live
// intervals (Poletto, Sarkar: "Linear Scan Register Allocation", TOPLAS 1999).
// Lanes may be at different instructions, but each has a column of its own.

// allocation says where the registers of a function are, from base on.
type allocation struct {
	base  int32
	place map[int]int32 // by Symbol.Index
}

// allocate finds places for the registers of a function and reserves them.
func (c *compiler) allocate(lines []line, labels map[*ptx.Label]int32) allocation {
	a := allocation{base: int32(c.k.regs), place: make(map[int]int32)}
	spans := liveSpans(lines, labels)
	slices.SortFunc(spans, func(x, y span) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.reg, y.reg)) })
	var active []span // by end
	var free []int32
	n := int32(0)
	for _, s := range spans {
		k := 0
		for k < len(active) && active[k].to < s.from {
			free = append(free, a.place[active[k].reg])
			k++
		}
		active = active[k:]
		if len(free) > 0 {
			a.place[s.reg] = free[len(free)-1]
			free = free[:len(free)-1]
		} else {
			a.place[s.reg] = n
			n++
		}
		at, _ := slices.BinarySearchFunc(active, s, func(x, y span) int { return cmp.Compare(x.to, y.to) })
		active = slices.Insert(active, at, s)
	}
	c.k.regs += int(n)
	return a
}

// register is the place of a register.
func (a allocation) register(index int) (slot int32, ok bool) {
	p, ok := a.place[index]
	return a.base + p, ok
}

// span is the instructions over which a register may hold a value that is
// still needed.
type span struct {
	reg      int
	from, to int32
}

// flow is an instruction's part in the flow of values.
type flow struct {
	reads, writes []int
	kills         bool // it writes whatever the lane's predicate is
}

// liveSpans finds for every register the first and the last instruction at
// which it is live.
func liveSpans(lines []line, labels map[*ptx.Label]int32) []span {
	flows := make([]flow, len(lines))
	number := make(map[int]int) // of a register, dense
	var regs []int
	for i, l := range lines {
		flows[i] = flowOf(l.i)
		for _, list := range [][]int{flows[i].reads, flows[i].writes} {
			for j, r := range list {
				if _, ok := number[r]; !ok {
					number[r] = len(regs)
					regs = append(regs, r)
				}
				list[j] = number[r]
			}
		}
	}
	blocks := basicBlocks(lines, labels)
	liveness(blocks, flows, len(regs))
	spans := make([]span, len(regs))
	for i := range spans {
		spans[i] = span{regs[i], int32(len(lines)), -1}
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
		for r := range regs {
			if b.in.has(r) {
				extend(r, b.from)
			}
			if b.out.has(r) {
				extend(r, b.to-1)
			}
		}
	}
	return spans
}

// flowOf lists the registers that an instruction reads and writes.
func flowOf(i *ptx.Instruction) flow {
	f := flow{kills: i.Guard == nil}
	var walk func(o ptx.Operand, list *[]int)
	walk = func(o ptx.Operand, list *[]int) {
		switch o := o.(type) {
		case *ptx.Name:
			if o.Sym != nil && o.Sym.Kind == ptx.SymRegister && o.Sym.Variable.Type != "pred" {
				*list = append(*list, o.Sym.Index)
			}
		case *ptx.Vector:
			for _, e := range o.Elems {
				walk(e, list)
			}
		case *ptx.List:
			for _, e := range o.Elems {
				walk(e, list)
			}
		case *ptx.Pair:
			walk(o.A, list)
			walk(o.B, list)
		case *ptx.Not:
			walk(o.X, list)
		case *ptx.Address:
			walk(o.Base, list)
			for _, e := range o.Coordinates {
				walk(e, list)
			}
		}
	}
	for n, o := range i.Operands {
		if n == 0 && writes(i) {
			walk(o, &f.writes)
		} else {
			walk(o, &f.reads)
		}
	}
	return f
}

// set is a set of registers.
type set []uint64

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }

// basicBlock is instructions that run one after the other.
type basicBlock struct {
	from, to int32
	next     []int // blocks that may follow
	in, out  set   // registers that are live at its begin and end
}

// basicBlocks cuts a body at its labels and after its branches.
func basicBlocks(lines []line, labels map[*ptx.Label]int32) []*basicBlock {
	n := int32(len(lines))
	cut := make([]bool, n+1)
	for _, at := range labels {
		cut[at] = true
	}
	for i, l := range lines {
		switch l.i.Op {
		case "bra", "brx", "ret", "exit", "trap":
			cut[i+1] = true
		}
	}
	var blocks []*basicBlock
	at := make([]int, n+1) // the block that begins there
	for i := int32(0); i < n; {
		b := &basicBlock{from: i}
		for i++; i < n && !cut[i]; i++ {
		}
		b.to = i
		at[b.from] = len(blocks)
		blocks = append(blocks, b)
	}
	follow := func(b *basicBlock, to int32) {
		if to < n {
			b.next = append(b.next, at[to])
		}
	}
	for _, b := range blocks {
		last := lines[b.to-1].i
		falls := last.Guard != nil
		switch last.Op {
		case "bra", "brx":
			for _, to := range targets(last, labels) {
				follow(b, to)
			}
		case "ret", "exit", "trap":
		default:
			falls = true
		}
		if falls {
			follow(b, b.to)
		}
	}
	return blocks
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

// liveness fills in what is live at the begin and end of the blocks, by going
// over them until nothing changes.
func liveness(blocks []*basicBlock, flows []flow, regs int) {
	words := (regs + 63) / 64
	uses, kills := make([]set, len(blocks)), make([]set, len(blocks))
	for n, b := range blocks {
		b.in, b.out, uses[n], kills[n] = make(set, words), make(set, words), make(set, words), make(set, words)
		for i := b.to - 1; i >= b.from; i-- {
			f := &flows[i]
			for _, r := range f.writes {
				if f.kills {
					kills[n].add(r)
					uses[n][r/64] &^= 1 << (r % 64)
				}
			}
			for _, r := range f.reads {
				uses[n].add(r)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for n := len(blocks) - 1; n >= 0; n-- {
			b := blocks[n]
			for w := range words {
				out := uint64(0)
				for _, s := range b.next {
					out |= blocks[s].in[w]
				}
				in := uses[n][w] | out&^kills[n][w]
				if in != b.in[w] || out != b.out[w] {
					b.in[w], b.out[w], changed = in, out, true
				}
			}
		}
	}
}
