package interp

import (
	"slices"

	"btrace/capture/ptx"
)

// Which operands an instruction reads and which it writes.

// writes reports whether the first operand of an instruction is a
// destination.
func writes(i *ptx.Instruction) bool {
	if len(i.Operands) == 0 {
		return false
	}
	switch i.Op {
	case "st", "red", "bra", "brx", "cp", "membar", "fence", "prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "stmatrix",
		"ret", "exit", "trap", "brkpt", "setmaxnreg", "griddepcontrol", "wgmma", "tcgen05", "tensormap", "pmevent":
		return false
	case "wmma":
		return !slices.Contains(i.Mods, "store")
	case "bar", "barrier":
		return slices.Contains(i.Mods, "red")
	case "mbarrier":
		_, isAddress := i.Operands[0].(*ptx.Address)
		return !isAddress
	case "call":
		_, isList := i.Operands[0].(*ptx.List)
		return isList
	}
	return true
}

// readBy is the operands that an instruction reads.
func readBy(i *ptx.Instruction) []ptx.Operand {
	if writes(i) {
		return i.Operands[1:]
	}
	return i.Operands
}

// registers calls f for every register that an operand names, predicates
// included.
func registers(o ptx.Operand, f func(*ptx.Symbol)) {
	switch o := o.(type) {
	case *ptx.Name:
		if o.Sym != nil && o.Sym.Kind == ptx.SymRegister {
			f(o.Sym)
		}
	case *ptx.Vector:
		for _, e := range o.Elems {
			registers(e, f)
		}
	case *ptx.List:
		for _, e := range o.Elems {
			registers(e, f)
		}
	case *ptx.Pair:
		registers(o.A, f)
		registers(o.B, f)
	case *ptx.Not:
		registers(o.X, f)
	case *ptx.Address:
		registers(o.Base, f)
		if o.Sampler != nil {
			registers(o.Sampler, f)
		}
		for _, e := range o.Coordinates {
			registers(e, f)
		}
	}
}

// written is the registers that an instruction writes.
func written(i *ptx.Instruction) (syms []*ptx.Symbol) {
	if writes(i) {
		registers(i.Operands[0], func(s *ptx.Symbol) { syms = append(syms, s) })
	}
	return syms
}

// flow is an instruction's part in the flow of values.
type flow struct {
	reads, writes []int // registers by Symbol.Index, without predicates
	kills         bool  // it writes whatever the lane's predicate is
}

// flowOf lists the registers that an instruction reads and writes. returns is
// those in which its function returns values.
func flowOf(i *ptx.Instruction, returns []int) flow {
	f := flow{kills: i.Guard == nil}
	into := func(list *[]int) func(*ptx.Symbol) {
		return func(s *ptx.Symbol) {
			if s.Variable.Type != "pred" {
				*list = append(*list, s.Index)
			}
		}
	}
	if writes(i) {
		registers(i.Operands[0], into(&f.writes))
	}
	for _, o := range readBy(i) {
		registers(o, into(&f.reads))
	}
	if i.Op == "ret" {
		f.reads = append(f.reads, returns...)
	}
	return f
}
