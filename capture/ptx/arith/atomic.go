package arith

import "fmt"

// Atomic finds what atom and red compute: from the value in memory and the
// operands the value to write there. op is add, inc, dec, min, max, and, or,
// xor, exch or cas, typ the type as PTX spells it. b is the new value of cas,
// a what it compares with; all others ignore b. Of old, a and b the bits above
// the type's width are ignored.
//
// add of f16, f16x2, bf16 and bf16x2 is add.noftz. add of f32 and f64 is that
// in shared memory; that in global memory is add.global: it flushes subnormal
// values of f32, and its NaNs of f64 are as the operands were. For all other
// types the two are the same. Parallel Synchronization and Communication
// Instructions: atom.
func Atomic(op, typ string) (func(old, a, b uint64) uint64, error) {
	t, _ := ParseType(typ)
	var f2 func(a, b uint64) uint64
	elem, fm, float := element(t)
	n, integer := ints(t)
	sized := t == B32 || t == B64 || t == U32 || t == U64 || t == S32 || t == S64
	switch op {
	case "add", "add.global":
		switch {
		case t == F64 && op == "add":
			// It is the NaN in memory that stays.
			add := arithmeticOf(t, rn, false).add
			f2 = func(old, a uint64) uint64 { return add(a, old) }
		case t == F64:
			f2 = addGlobal64
		case float:
			f2 = arithmeticOf(elem, rn, t == F32 && op == "add.global").add
		case integer && sized && !t.untyped():
			f2 = n.add
		}
	case "min", "max":
		switch {
		case float && t != F32 && t != F64:
			p := pick{f: fm, max: op == "max"}
			f2 = p.of
		case integer && sized && !t.untyped() && op == "min":
			f2 = n.min
		case integer && sized && !t.untyped():
			f2 = n.max
		}
	case "inc":
		if t == U32 {
			f2 = inc
		}
	case "dec":
		if t == U32 {
			f2 = dec
		}
	case "and", "or", "xor":
		o, err := Lookup(op, []string{typ})
		if err == nil && sized {
			f2 = o.F2
		}
	case "exch", "cas":
		if !sized && !(t == B16 && op == "cas") {
			break
		}
		if op == "exch" {
			return func(_, a, _ uint64) uint64 { return t.extend(a) }, nil
		}
		return func(old, a, b uint64) uint64 {
			if t.extend(old) == t.extend(a) {
				return t.extend(b)
			}
			return t.extend(old)
		}, nil
	}
	if f2 == nil {
		return nil, fmt.Errorf("%w: no atomic %s of type %s", ErrUnknown, op, typ)
	}
	if elem != t {
		f2 = halves(f2)
	}
	return func(old, a, _ uint64) uint64 { return f2(old, a) }, nil
}

// addGlobal64 is add of f64 as global memory does it.
func addGlobal64(old, a uint64) uint64 {
	switch {
	case fmtF64.isNaN(a):
		return a
	case fmtF64.isNaN(old):
		return old
	}
	return bits64(f64(old)+f64(a), old, a)
}

// inc counts up to b and then starts at 0 again.
func inc(old, b uint64) uint64 {
	if uint32(old) >= uint32(b) {
		return 0
	}
	return uint64(uint32(old) + 1)
}

// dec counts down to 0 and then starts at b again.
func dec(old, b uint64) uint64 {
	if uint32(old) == 0 || uint32(old) > uint32(b) {
		return uint64(uint32(b))
	}
	return uint64(uint32(old) - 1)
}
