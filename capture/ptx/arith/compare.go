package arith

import "math"

// test is the comparison of a name for a type; nil if there is none.
// Comparison and Selection Instructions.
func test(cmp string, t Type) func(a, b uint64) bool {
	if f := formatOf(t); f != nil {
		if t == F32 {
			if test := testF32(cmp); test != nil {
				return test
			}
		}
		return testFloat(cmp, f.value(false))
	}
	n, ok := ints(t)
	if !ok {
		return nil
	}
	switch cmp {
	case "eq":
		return n.eq
	case "ne":
		return n.ne
	}
	if t.untyped() {
		return nil
	}
	switch cmp {
	case "lt":
		return n.lt
	case "le":
		return n.le
	case "gt":
		return n.gt
	case "ge":
		return n.ge
	}
	if t.Signed() {
		return nil
	}
	switch cmp {
	case "lo":
		return n.lt
	case "ls":
		return n.le
	case "hi":
		return n.gt
	case "hs":
		return n.ge
	}
	return nil
}

// testF32 is testFloat of f32 for those that compilers use most; nil for the
// others.
func testF32(cmp string) func(a, b uint64) bool {
	switch cmp {
	case "eq":
		return func(a, b uint64) bool { return f32(a) == f32(b) }
	case "neu":
		return func(a, b uint64) bool { return f32(a) != f32(b) }
	case "lt":
		return func(a, b uint64) bool { return f32(a) < f32(b) }
	case "le":
		return func(a, b uint64) bool { return f32(a) <= f32(b) }
	case "gt":
		return func(a, b uint64) bool { return f32(a) > f32(b) }
	case "ge":
		return func(a, b uint64) bool { return f32(a) >= f32(b) }
	}
	return nil
}

// testFloat is the comparison of a name for floating-point values. Those
// without a u are false if either is NaN, those with one are true.
func testFloat(cmp string, value func(uint64) float64) func(a, b uint64) bool {
	switch cmp {
	case "eq":
		return func(a, b uint64) bool { return value(a) == value(b) }
	case "ne":
		return func(a, b uint64) bool { x, y := value(a), value(b); return x < y || x > y }
	case "lt":
		return func(a, b uint64) bool { return value(a) < value(b) }
	case "le":
		return func(a, b uint64) bool { return value(a) <= value(b) }
	case "gt":
		return func(a, b uint64) bool { return value(a) > value(b) }
	case "ge":
		return func(a, b uint64) bool { return value(a) >= value(b) }
	case "equ":
		return func(a, b uint64) bool { x, y := value(a), value(b); return !(x < y || x > y) }
	case "neu":
		return func(a, b uint64) bool { return value(a) != value(b) }
	case "ltu":
		return func(a, b uint64) bool { return !(value(a) >= value(b)) }
	case "leu":
		return func(a, b uint64) bool { return !(value(a) > value(b)) }
	case "gtu":
		return func(a, b uint64) bool { return !(value(a) <= value(b)) }
	case "geu":
		return func(a, b uint64) bool { return !(value(a) < value(b)) }
	case "num":
		return func(a, b uint64) bool { x, y := value(a), value(b); return x == x && y == y }
	case "nan":
		return func(a, b uint64) bool { x, y := value(a), value(b); return x != x || y != y }
	}
	return nil
}

// buildCompare makes set and setp.
func buildCompare(f *form) (o Op, ok bool) {
	cmp := f.one("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
		"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
	boolean := f.one("and", "or", "xor")
	if len(f.types) == 0 {
		return o, false
	}
	t := f.types[len(f.types)-1]
	elem, fm, float := element(t)
	if elem != t && !float {
		return o, false
	}
	compare := test(cmp, elem)
	if compare == nil {
		return o, false
	}
	if float && (elem == F32 || elem == F16) && f.has("ftz") {
		exact := compare
		compare = func(a, b uint64) bool { return exact(fm.flush(a), fm.flush(b)) }
	}
	if f.name == "setp" {
		o = Op{Dst: Pred, Src: same(t, 2), Test: compare, Bool: boolean}
		if elem != t {
			o.TestHi = func(a, b uint64) bool { return compare(a>>16, b>>16) }
		}
		return o, len(f.types) == 1
	}
	if len(f.types) != 2 {
		return o, false
	}
	return buildSet(f.types[0], t, compare, boolean)
}

// buildSet makes set: a value for true, 0 for false. For pairs of values it
// compares each half and gives halves.
func buildSet(dst, src Type, compare func(a, b uint64) bool, boolean string) (o Op, ok bool) {
	elem, _, float := element(src)
	small := float && elem != F32 && elem != F64
	var yes uint64
	switch dst {
	case U32, S32:
		yes = dst.extend(math.MaxUint32)
	case F32:
		yes = fmtF32.one()
		ok = !small
	case F16, BF16:
		yes = formatOf(dst).one()
	case U16, S16:
		yes = dst.extend(math.MaxUint16)
	case F16x2, BF16x2:
		yes = formatOf(dst.half()).one()
	default:
		return o, false
	}
	switch {
	case elem != src:
		ok = dst == src || dst == U32 || dst == S32
	case dst == U32, dst == S32, dst == F16, dst == BF16:
		ok = true
	case dst == U16, dst == S16:
		ok = small
	}
	o = Op{Dst: dst, Src: []Type{src, src, Pred}}
	o.F3 = func(a, b, c uint64) uint64 {
		if combine(boolean, compare(a, b), c != 0) {
			return yes
		}
		return 0
	}
	if elem != src {
		one := o.F3
		o.F3 = func(a, b, c uint64) uint64 {
			return dst.extend(one(a>>16, b>>16, c)&0xffff<<16 | one(a, b, c)&0xffff)
		}
	}
	if boolean == "" {
		three := o.F3
		o.Src, o.F2, o.F3 = o.Src[:2], func(a, b uint64) uint64 { return three(a, b, 0) }, nil
	}
	return o, ok
}

// combine is what a comparison and a predicate give: .and, .or, .xor.
func combine(boolean string, r, c bool) bool {
	switch boolean {
	case "and":
		return r && c
	case "or":
		return r || c
	case "xor":
		return r != c
	}
	return r
}

// buildSelect makes selp and slct.
func buildSelect(f *form) (o Op, ok bool) {
	if len(f.types) == 0 {
		return o, false
	}
	t := f.types[0]
	n, ok := ints(t)
	switch t {
	case F32:
		n, ok = ints(U32)
	case F64:
		n, ok = ints(U64)
	}
	choose := n.choose
	if f.name == "selp" {
		return Op{Dst: t, Src: []Type{t, t, Pred}, F3: choose}, ok && len(f.types) == 1
	}
	if len(f.types) != 2 {
		return o, false
	}
	o = Op{Dst: t, Src: []Type{t, t, f.types[1]}}
	switch {
	case f.types[1] == S32:
		o.F3 = func(a, b, c uint64) uint64 { return choose(a, b, bit(int32(c) >= 0)) }
	case f.types[1] == F32 && f.has("ftz"):
		o.F3 = func(a, b, c uint64) uint64 { return choose(a, b, bit(flushed32(c) >= 0)) }
	case f.types[1] == F32:
		o.F3 = func(a, b, c uint64) uint64 { return choose(a, b, bit(f32(c) >= 0)) }
	default:
		return o, false
	}
	return o, ok
}

// buildTestp makes testp: what kind of number a value is.
func buildTestp(f *form) (o Op, ok bool) {
	t := f.only()
	if t != F32 && t != F64 {
		return o, false
	}
	fm := formatOf(t)
	o = Op{Dst: Pred, Src: same(t, 1)}
	magnitude := fm.sign - 1
	switch f.one("finite", "infinite", "number", "notanumber", "normal", "subnormal") {
	case "finite":
		o.Test = func(a, _ uint64) bool { return a&magnitude < fm.inf }
	case "infinite":
		o.Test = func(a, _ uint64) bool { return a&magnitude == fm.inf }
	case "number":
		o.Test = func(a, _ uint64) bool { return a&magnitude <= fm.inf }
	case "notanumber":
		o.Test = func(a, _ uint64) bool { return a&magnitude > fm.inf }
	case "normal": // of which zero is one
		o.Test = func(a, _ uint64) bool { return (a&fm.inf != 0 || a&magnitude == 0) && a&magnitude < fm.inf }
	case "subnormal":
		o.Test = func(a, _ uint64) bool { return a&fm.inf == 0 && a&magnitude != 0 }
	}
	return o, o.Test != nil
}
