package interp

import (
	"encoding/binary"
	"maps"
	"slices"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
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

// Bounds of the search, beyond which a test stays a test.
const (
	maxSearch    = 2000    // instructions looked at for one test
	maxSearchAll = 1 << 17 // for all tests of a function
	maxFacts     = 128     // registers of which something is known, or that may have changed
)

// search looks for a way out of the loop around a test.
type search struct {
	lines  []line
	labels map[*ptx.Label]int32
	waits  map[*ptx.Instruction]bool
	at     int         // the test
	from   int         // where the straight code begins that it is in
	last   map[int]int // by Symbol.Index: where that code writes a register last
	left   int
	seen   map[string]bool
}

// findWaits finds the tests that are waits. A test that comes back to another
// one, which asks the same, waits only if that one does: all are taken for
// waits until they turn out not to be.
func findWaits(lines []line, labels map[*ptx.Label]int32) map[*ptx.Instruction]bool {
	waits := make(map[*ptx.Instruction]bool)
	var tests []int
	for n, l := range lines {
		if testedPredicate(l.i) != nil && l.i.Guard == nil {
			tests = append(tests, n)
			waits[l.i] = true
		}
	}
	left := maxSearchAll
	at := make(map[int32]bool) // of labels
	for _, n := range labels {
		at[n] = true
	}
	for changed := true; changed; {
		changed = false
		for _, n := range tests {
			i := lines[n].i
			if !waits[i] {
				continue
			}
			most := min(left, maxSearch)
			s := &search{lines: lines, labels: labels, waits: waits, at: n, from: begin(lines, at, n), last: make(map[int]int), left: most, seen: make(map[string]bool)}
			for k := s.from; k < n; k++ {
				for _, r := range written(lines[k].i) {
					s.last[r.Index] = k
				}
			}
			if !s.returns(n+1, facts{known: map[int]uint64{testedPredicate(i).Index: 0}, changed: make(map[int]bool)}) {
				delete(waits, i)
				changed = true
			}
			left -= most - max(s.left, 0)
		}
		if changed && left <= 0 { // what was found of some may rest on others
			clear(waits)
		}
	}
	return waits
}

// begin is the first instruction of the straight code that instruction n is
// in: whoever comes to that has run it all.
func begin(lines []line, labels map[int32]bool, n int) int {
	for ; n > 0 && !labels[int32(n)]; n-- {
		if op := lines[n-1].i.Op; op == "bra" || op == "brx" {
			break
		}
	}
	return n
}

// testedPredicate is where a test_wait or try_wait puts its answer; nil if it
// is something else.
func testedPredicate(i *ptx.Instruction) *ptx.Symbol {
	if i.Op != "mbarrier" || len(i.Operands) < 3 || !slices.Contains(i.Mods, "test_wait") && !slices.Contains(i.Mods, "try_wait") {
		return nil
	}
	if n, ok := i.Operands[0].(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymRegister {
		return n.Sym
	}
	return nil
}

// returns reports whether from an instruction on there is no way but back to
// the test.
func (s *search) returns(at int, f facts) bool {
	for {
		if s.left--; s.left < 0 || at >= len(s.lines) {
			return false
		}
		i := s.lines[at].i
		if at == s.at || s.waits[i] && sameTest(i, s.lines[s.at].i) {
			return !f.other(s.lines[s.at].i)
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
		if f.run(i, s.repeats(at)); len(f.changed) > maxFacts {
			return false
		}
		at++
	}
}

func (s *search) target(i *ptx.Instruction) (int, bool) {
	if len(i.Operands) == 0 {
		return 0, false
	}
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

// harmless reports whether nobody else could notice an instruction: it works
// on registers and the thread's own memory, or lets time pass.
func harmless(i *ptx.Instruction) bool {
	switch i.Op {
	case "ld", "st":
		return slices.ContainsFunc(i.Mods, func(m string) bool {
			return m == "local" || m == "const" || m == "param" || m == "param::func" || m == "param::entry"
		})
	case "mbarrier", "bar", "barrier", "cp", "atom", "red", "call", "ret", "exit", "trap", "brx", "brkpt", "shfl", "vote", "match",
		"redux", "elect", "activemask", "ldu", "ldmatrix", "stmatrix", "mma", "wmma", "wgmma", "tcgen05", "tensormap", "movmatrix",
		"griddepcontrol", "setmaxnreg", "discard":
		return false
	}
	return true
}

// repeats reports whether an instruction always runs before the test, and has
// the same sources when it runs again, but for those that have changed since
// the test: nothing from it on to the test writes them.
func (s *search) repeats(at int) bool {
	i := s.lines[at].i
	if at < s.from || at >= s.at || i.Guard != nil || i.Op == "ld" {
		return false
	}
	same := true
	for _, o := range readBy(i) {
		if n, ok := o.(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymSpecial {
			return false
		}
		registers(o, func(r *ptx.Symbol) {
			if last, ok := s.last[r.Index]; ok && last >= at {
				same = false
			}
		})
	}
	return same
}

// facts is what is known on the way.
type facts struct {
	known map[int]uint64 // values by Symbol.Index; of a predicate 0 or 1
	// changed is the registers that may have another value than when the test
	// was asked: all that were written, but for what is computed again, from
	// what has not changed, by the code that always runs before the test.
	changed map[int]bool
}

// key is a name for a place with what is known there.
func (f facts) key(at int) string {
	b := binary.AppendUvarint(nil, uint64(at))
	for _, k := range slices.Sorted(maps.Keys(f.changed)) {
		b = binary.AppendUvarint(b, uint64(k))
	}
	b = append(b, '!')
	for _, k := range slices.Sorted(maps.Keys(f.known)) {
		b = binary.AppendUvarint(b, uint64(k))
		b = binary.AppendUvarint(b, f.known[k])
	}
	return string(b)
}

// guard is whether the predicate of an instruction is true, if that is known.
func (f facts) guard(g *ptx.Guard) (value, known bool) {
	if g == nil {
		return true, true
	}
	v, ok := f.known[g.Name.Sym.Index]
	return (v != 0) != g.Not, ok
}

// with is what is known where a branch was taken, or was not.
func (f facts) with(g *ptx.Guard, taken bool) facts {
	f.known, f.changed = maps.Clone(f.known), maps.Clone(f.changed)
	f.learn(g.Name.Sym, uint64(bit(taken != g.Not)))
	return f
}

func (f *facts) learn(s *ptx.Symbol, value uint64) {
	if len(f.known) < maxFacts {
		f.known[s.Index] = value
	}
}

// run notes what an instruction does to what is known.
func (f *facts) run(i *ptx.Instruction, again bool) {
	runs, known := f.guard(i.Guard)
	if known && !runs {
		return
	}
	into := written(i)
	same := again && !f.other(i)
	for _, s := range into {
		if same {
			delete(f.changed, s.Index)
		} else {
			f.changed[s.Index] = true
		}
	}
	value, ok := f.value(i)
	for _, s := range into {
		delete(f.known, s.Index)
		if ok && known && len(into) == 1 {
			f.learn(s, value)
		}
	}
}

// other reports whether a source of an instruction may have changed.
func (f *facts) other(i *ptx.Instruction) (other bool) {
	for _, o := range readBy(i) {
		registers(o, func(s *ptx.Symbol) { other = other || f.changed[s.Index] })
	}
	return other
}

// value is what an instruction computes, where it is one of the few that
// compilers put between a test and its branch.
func (f *facts) value(i *ptx.Instruction) (v uint64, ok bool) {
	width := integerWidth(i)
	if width == 0 {
		return 0, false
	}
	mask := ^uint64(0) >> (64 - width)
	arg := func(n int) uint64 {
		v, known := uint64(0), false
		if n < len(i.Operands) {
			v, known = f.operand(i.Operands[n])
		}
		ok = ok && known
		return v & mask
	}
	ok = true
	switch n := len(i.Operands); i.Op {
	case "mov":
		v = arg(1)
		return v, ok && n == 2
	case "cvt": // of small numbers, which are the same in all integers
		v = arg(1)
		return v, ok && n == 2 && v < 128 && !slices.ContainsFunc(i.Mods, isFloat)
	case "not":
		v = ^arg(1) & mask
		return v, ok
	case "and":
		v = arg(1) & arg(2)
		return v, ok
	case "or":
		v = arg(1) | arg(2)
		return v, ok
	case "xor":
		v = arg(1) ^ arg(2)
		return v, ok
	case "selp":
		if n != 4 {
			return 0, false
		}
		c, known := f.operand(i.Operands[3])
		if !known {
			return 0, false
		}
		v = arg(1 + int(bit(c == 0)))
		return v, ok
	case "setp":
		same := arg(1) == arg(2)
		switch {
		case n != 3:
		case slices.Contains(i.Mods, "eq"):
			return uint64(bit(same)), ok
		case slices.Contains(i.Mods, "ne"):
			return uint64(bit(!same)), ok
		}
	}
	return 0, false
}

// integerWidth is the width of an instruction's integers, or predicates; 0 if
// it has others.
func integerWidth(i *ptx.Instruction) int {
	if len(i.Mods) == 0 {
		return 0
	}
	last := i.Mods[len(i.Mods)-1]
	if last == "pred" {
		return 1
	}
	t, ok := arith.ParseType(last)
	if !ok || t.Float() {
		return 0
	}
	return t.Bits()
}

func isFloat(mod string) bool {
	t, _ := arith.ParseType(mod)
	return t.Float()
}

// operand is the value of a source, if it is known.
func (f *facts) operand(o ptx.Operand) (uint64, bool) {
	switch o := o.(type) {
	case *ptx.Int:
		return o.Value, true
	case *ptx.Name:
		if o.Sym != nil && o.Sym.Kind == ptx.SymRegister {
			v, ok := f.known[o.Sym.Index]
			return v, ok
		}
	case *ptx.Not:
		v, ok := f.operand(o.X)
		return v ^ 1, ok
	}
	return 0, false
}
