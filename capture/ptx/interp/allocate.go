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
	var returns []int
	for _, v := range c.fn.f.Returns {
		if v.Space == "reg" && v.Sym != nil && v.Type != "pred" {
			returns = append(returns, v.Sym.Index)
		}
	}
	spans, ok := liveSpans(lines, labels, returns)
	if !ok { // each has a place of its own
		for n, s := range spans {
			a.place[s.reg] = int32(n)
		}
		c.k.regs += len(spans)
		return a
	}
	slices.SortFunc(spans, func(x, y span) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.reg, y.reg)) })
	byEnd := slices.Clone(spans)
	slices.SortFunc(byEnd, func(x, y span) int { return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.reg, y.reg)) })
	var free []int32
	n := int32(0)
	for _, s := range spans {
		for byEnd[0].to < s.from { // s itself ends later
			free = append(free, a.place[byEnd[0].reg])
			byEnd = byEnd[1:]
		}
		if k := len(free); k > 0 {
			a.place[s.reg], free = free[k-1], free[:k-1]
		} else {
			a.place[s.reg] = n
			n++
		}
	}
	c.k.regs += int(n)
	return a
}

// register is the place of a register.
func (a allocation) register(index int) (slot int32, ok bool) {
	p, ok := a.place[index]
	return a.base + p, ok
}
