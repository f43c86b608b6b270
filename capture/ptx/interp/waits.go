package interp

import (
	"fmt"
	"slices"

	"btrace/capture/ptx"
)

// A wait on an mbarrier is a loop in PTX: try_wait may say no at any time, and
// the program asks again. The trace should say that it waits, and the lane
// should not have to poll. So every test is looked at once: if the program,
// told no, can do nothing but come back to ask the same, then it waits.
//
// That is found by running the program from there on with what is known (the
// answer is no), and both ways where a branch depends on what is not. Anything
// that others could notice, or that leaves the loop, ends the search: it is a
// test then, and is recorded as one.

// maxSearch bounds the instructions looked at for one test.
const maxSearch = 2000

// search looks for a way out of the loop around a test.
type search struct {
	lines  []line
	labels map[*ptx.Label]int32
	at     int // the test
	left   int
	seen   map[string]bool
}

// findWaits finds the tests that are waits.
func findWaits(lines []line, labels map[*ptx.Label]int32) map[*ptx.Instruction]bool {
	waits := make(map[*ptx.Instruction]bool)
	for n, l := range lines {
		p := testedPredicate(l.i)
		if p == nil || l.i.Guard != nil {
			continue
		}
		s := &search{lines: lines, labels: labels, at: n, left: maxSearch, seen: make(map[string]bool)}
		if s.returns(n+1, facts{preds: map[*ptx.Symbol]bool{p: false}, regs: make(map[*ptx.Symbol]uint64)}) {
			waits[l.i] = true
		}
	}
	return waits
}

// testedPredicate is where a test_wait or try_wait puts its answer; nil if it
// is something else.
func testedPredicate(i *ptx.Instruction) *ptx.Symbol {
	if i.Op != "mbarrier" || len(i.Operands) < 3 || !slices.Contains(i.Mods, "test_wait") && !slices.Contains(i.Mods, "try_wait") {
		return nil
	}
	if n, ok := i.Operands[0].(*ptx.Name); ok {
		return n.Sym
	}
	return nil
}

// facts is what is known on the way.
type facts struct {
	preds   map[*ptx.Symbol]bool
	regs    map[*ptx.Symbol]uint64
	changed bool // an operand of the test has been written
}

func (f facts) clone() facts {
	c := facts{preds: make(map[*ptx.Symbol]bool), regs: make(map[*ptx.Symbol]uint64), changed: f.changed}
	for k, v := range f.preds {
		c.preds[k] = v
	}
	for k, v := range f.regs {
		c.regs[k] = v
	}
	return c
}

func (f facts) key(at int) string {
	var known []string
	for k, v := range f.preds {
		known = append(known, fmt.Sprintf("%p %t", k, v))
	}
	for k, v := range f.regs {
		known = append(known, fmt.Sprintf("%p %x", k, v))
	}
	slices.Sort(known)
	return fmt.Sprint(at, f.changed, known)
}

// returns reports whether from an instruction on there is no way but back to
// the test.
func (s *search) returns(at int, f facts) bool {
	for {
		if s.left--; s.left < 0 || at >= len(s.lines) {
			return false
		}
		i := s.lines[at].i
		if at == s.at || sameTest(i, s.lines[s.at].i) {
			return !f.changed
		}
		if i.Op == "bra" {
			key := f.key(at)
			if s.seen[key] { // round and round, and never out
				return true
			}
			s.seen[key] = true
			to, ok := s.target(i)
			if !ok {
				return false
			}
			taken, known := f.guard(i.Guard)
			switch {
			case known && taken:
				at = to
			case known:
				at++
			default:
				if !s.returns(to, f.with(i.Guard, true)) {
					return false
				}
				f = f.with(i.Guard, false)
				at++
			}
			continue
		}
		if !harmless(i) {
			return false
		}
		f.run(i, s.lines[s.at].i)
		at++
	}
}

func (s *search) target(i *ptx.Instruction) (int, bool) {
	if n, ok := i.Operands[0].(*ptx.Name); ok && n.Sym != nil && n.Sym.Label != nil {
		at, ok := s.labels[n.Sym.Label]
		return int(at), ok
	}
	return 0, false
}

// sameTest reports whether two tests ask the same.
func sameTest(a, b *ptx.Instruction) bool {
	if testedPredicate(a) == nil || a.Guard != nil || slices.Contains(a.Mods, "parity") != slices.Contains(b.Mods, "parity") {
		return false
	}
	aa, ok := a.Operands[1].(*ptx.Address)
	if !ok {
		return false
	}
	ba, ok := b.Operands[1].(*ptx.Address)
	return ok && aa.Offset == ba.Offset && sameOperand(aa.Base, ba.Base) && sameOperand(a.Operands[2], b.Operands[2])
}

func sameOperand(a, b ptx.Operand) bool {
	switch a := a.(type) {
	case *ptx.Name:
		b, ok := b.(*ptx.Name)
		return ok && a.Sym == b.Sym && a.Offset == b.Offset
	case *ptx.Int:
		b, ok := b.(*ptx.Int)
		return ok && a.Value == b.Value
	}
	return false
}

// guard is whether the predicate of an instruction is true, if that is known.
func (f facts) guard(g *ptx.Guard) (value, known bool) {
	if g == nil {
		return true, true
	}
	v, ok := f.preds[g.Name.Sym]
	return v != g.Not, ok
}

// with is what is known where a branch was taken, or was not.
func (f facts) with(g *ptx.Guard, taken bool) facts {
	f = f.clone()
	f.preds[g.Name.Sym] = taken != g.Not
	return f
}

// harmless reports whether nobody else could notice an instruction: it works
// on registers and the thread's own memory, or lets time pass.
func harmless(i *ptx.Instruction) bool {
	switch i.Op {
	case "ld", "st":
		return slices.ContainsFunc(i.Mods, func(m string) bool { return m == "local" || m == "param" || m == "const" || m == "param::func" })
	case "mbarrier", "bar", "barrier", "cp", "atom", "red", "call", "ret", "exit", "trap", "brx", "brkpt", "shfl", "vote", "match",
		"redux", "elect", "activemask", "ldu", "ldmatrix", "stmatrix", "mma", "wmma", "wgmma", "tcgen05", "movmatrix", "griddepcontrol",
		"setmaxnreg", "discard":
		return false
	}
	return true
}

// run notes what an instruction does to what is known.
func (f *facts) run(i, test *ptx.Instruction) {
	runs, known := f.guard(i.Guard)
	if known && !runs {
		return
	}
	for _, s := range written(i) {
		for _, o := range test.Operands[1:] {
			if a, ok := o.(*ptx.Address); ok {
				o = a.Base
			}
			if n, ok := o.(*ptx.Name); ok && n.Sym == s {
				f.changed = true
			}
		}
	}
	value, isPred, ok := f.value(i)
	for _, s := range written(i) {
		delete(f.preds, s)
		delete(f.regs, s)
		switch {
		case !ok || !known || len(written(i)) != 1:
		case isPred:
			f.preds[s] = value != 0
		default:
			f.regs[s] = value
		}
	}
}

// value is what an instruction computes, where it is one of the few that
// compilers put between a test and its branch.
func (f *facts) value(i *ptx.Instruction) (v uint64, isPred, ok bool) {
	arg := func(n int) (uint64, bool) {
		if n >= len(i.Operands) {
			return 0, false
		}
		return f.operand(i.Operands[n])
	}
	a, known := arg(1)
	if !known && i.Op != "selp" {
		return 0, false, false
	}
	isPred = slices.Contains(i.Mods, "pred")
	switch i.Op {
	case "mov", "cvt":
		return a, isPred, len(i.Operands) == 2
	case "not":
		if isPred {
			return a ^ 1, true, true
		}
	case "selp":
		c, known := arg(3)
		if !known {
			return 0, false, false
		}
		if c != 0 {
			v, ok = arg(1)
		} else {
			v, ok = arg(2)
		}
		return v, false, ok
	case "setp":
		b, known := arg(2)
		if !known || len(i.Operands) != 3 {
			return 0, false, false
		}
		switch {
		case slices.Contains(i.Mods, "eq"):
			return uint64(bit(a == b)), true, true
		case slices.Contains(i.Mods, "ne"):
			return uint64(bit(a != b)), true, true
		}
	case "and", "or", "xor":
		b, known := arg(2)
		switch {
		case !known:
		case i.Op == "and":
			return a & b, isPred, true
		case i.Op == "or":
			return a | b, isPred, true
		default:
			return a ^ b, isPred, true
		}
	}
	return 0, false, false
}

func (f *facts) operand(o ptx.Operand) (uint64, bool) {
	switch o := o.(type) {
	case *ptx.Int:
		return o.Value, true
	case *ptx.Name:
		if v, ok := f.preds[o.Sym]; ok {
			return uint64(bit(v)), true
		}
		v, ok := f.regs[o.Sym]
		return v, ok
	case *ptx.Not:
		v, ok := f.operand(o.X)
		return v ^ 1, ok
	}
	return 0, false
}

// written is the registers that an instruction writes.
func written(i *ptx.Instruction) (syms []*ptx.Symbol) {
	add := func(o ptx.Operand) {
		if n, ok := o.(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymRegister {
			syms = append(syms, n.Sym)
		}
	}
	if len(i.Operands) == 0 || !writes(i) {
		return nil
	}
	switch o := i.Operands[0].(type) {
	case *ptx.Name:
		add(o)
	case *ptx.Vector:
		for _, e := range o.Elems {
			add(e)
		}
	case *ptx.Pair:
		add(o.A)
		add(o.B)
	case *ptx.List: // of a call
		for _, e := range o.Elems {
			add(e)
		}
	}
	return syms
}

// writes reports whether the first operand of an instruction is a
// destination.
func writes(i *ptx.Instruction) bool {
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
