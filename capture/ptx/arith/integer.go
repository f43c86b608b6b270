package arith

import (
	"math"
	"math/bits"
)

// number is the integer types that arithmetic works on.
type number interface {
	uint16 | uint32 | uint64 | int16 | int32 | int64
}

// integers is the arithmetic of one integer type: Integer Arithmetic
// Instructions.
type integers struct {
	add, sub, mulLo, mulHi, mulWide, div, rem, min, max func(a, b uint64) uint64
	abs, neg                                            func(a uint64) uint64
	madLo, madHi, madWide, sad                          func(a, b, c uint64) uint64
	// Logic and Shift Instructions, selp
	and, or, xor, shl, shr func(a, b uint64) uint64
	not, cnot              func(a uint64) uint64
	choose                 func(a, b, p uint64) uint64
	eq, ne, lt, le, gt, ge func(a, b uint64) bool
}

// integersOf is the arithmetic of T, of so many bits; W is the type of twice
// its width, or T itself for 64 bits, which has no wide products and of which
// the high ones are set apart.
func integersOf[T, W number](width int) integers {
	return integers{
		add:     func(a, b uint64) uint64 { return uint64(T(a) + T(b)) },
		sub:     func(a, b uint64) uint64 { return uint64(T(a) - T(b)) },
		mulLo:   func(a, b uint64) uint64 { return uint64(T(a) * T(b)) },
		mulHi:   func(a, b uint64) uint64 { return uint64(T(W(T(a)) * W(T(b)) >> width)) },
		mulWide: func(a, b uint64) uint64 { return uint64(W(T(a)) * W(T(b))) },
		madLo:   func(a, b, c uint64) uint64 { return uint64(T(a)*T(b) + T(c)) },
		madHi:   func(a, b, c uint64) uint64 { return uint64(T(W(T(a))*W(T(b))>>width) + T(c)) },
		madWide: func(a, b, c uint64) uint64 { return uint64(W(T(a))*W(T(b)) + W(c)) },
		div: func(a, b uint64) uint64 {
			if T(b) == 0 {
				return uint64(^T(0))
			}
			return uint64(T(a) / T(b))
		},
		rem: func(a, b uint64) uint64 {
			if T(b) == 0 {
				return uint64(^T(0))
			}
			return uint64(T(a) % T(b))
		},
		min: func(a, b uint64) uint64 { return uint64(min(T(a), T(b))) },
		max: func(a, b uint64) uint64 { return uint64(max(T(a), T(b))) },
		abs: func(a uint64) uint64 {
			if v := T(a); v < 0 {
				return uint64(-v)
			}
			return uint64(T(a))
		},
		neg: func(a uint64) uint64 { return uint64(-T(a)) },
		sad: func(a, b, c uint64) uint64 {
			x, y := T(a), T(b)
			if x < y {
				x, y = y, x
			}
			return uint64(T(c) + x - y)
		},
		and: func(a, b uint64) uint64 { return uint64(T(a & b)) },
		or:  func(a, b uint64) uint64 { return uint64(T(a | b)) },
		xor: func(a, b uint64) uint64 { return uint64(T(a ^ b)) },
		// Amounts above the width shift everything out.
		shl:  func(a, b uint64) uint64 { return uint64(T(a) << uint32(b)) },
		shr:  func(a, b uint64) uint64 { return uint64(T(a) >> uint32(b)) },
		not:  func(a uint64) uint64 { return uint64(^T(a)) },
		cnot: func(a uint64) uint64 { return bit(T(a) == 0) },
		choose: func(a, b, p uint64) uint64 {
			if p&1 != 0 {
				return uint64(T(a))
			}
			return uint64(T(b))
		},
		eq: func(a, b uint64) bool { return T(a) == T(b) },
		ne: func(a, b uint64) bool { return T(a) != T(b) },
		lt: func(a, b uint64) bool { return T(a) < T(b) },
		le: func(a, b uint64) bool { return T(a) <= T(b) },
		gt: func(a, b uint64) bool { return T(a) > T(b) },
		ge: func(a, b uint64) bool { return T(a) >= T(b) },
	}
}

// ints is the arithmetic of an integer type.
func ints(t Type) (n integers, ok bool) {
	switch t {
	case U16, B16:
		return integersOf[uint16, uint32](16), true
	case S16:
		return integersOf[int16, int32](16), true
	case U32, B32:
		return integersOf[uint32, uint64](32), true
	case S32:
		return integersOf[int32, int64](32), true
	case U64, B64:
		n = integersOf[uint64, uint64](64)
		n.mulHi = func(a, b uint64) uint64 { hi, _ := bits.Mul64(a, b); return hi }
		n.madHi = func(a, b, c uint64) uint64 { hi, _ := bits.Mul64(a, b); return hi + c }
		return n, true
	case S64:
		n = integersOf[int64, int64](64)
		n.mulHi = mulHi64
		n.madHi = func(a, b, c uint64) uint64 { return mulHi64(a, b) + c }
		return n, true
	}
	return n, false
}

// mulHi64 is the upper half of the product of two signed values.
func mulHi64(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi - uint64(int64(a)>>63)&b - uint64(int64(b)>>63)&a
}

// halves makes of a function of 16-bit values that of pairs of them.
func halves(f func(a, b uint64) uint64) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		return f(a>>16, b>>16)&0xffff<<16 | f(a, b)&0xffff
	}
}

// buildSumInteger makes add, sub, mul and mad of integers.
func buildSumInteger(f *form) (o Op, ok bool) {
	t := f.only()
	if f.name == "add" || f.name == "sub" {
		n, ok := ints(t)
		if h := t.half(); h != 0 && f.name == "add" {
			if n, ok = ints(h); ok {
				n.add = halves(n.add)
			}
		}
		o = Op{Dst: t, Src: same(t, 2), F2: n.add}
		if f.name == "sub" {
			o.F2 = n.sub
		}
		if t == S32 && f.has("sat") {
			o.F2 = addSat
			if f.name == "sub" {
				o.F2 = subSat
			}
		}
		return o, ok && !t.untyped()
	}
	n, ok := ints(t)
	if !ok || t.untyped() {
		return o, false
	}
	mode := f.one("lo", "hi", "wide")
	dst := t
	if mode == "wide" {
		if dst = t.wide(); dst == 0 {
			return o, false
		}
	}
	if f.name == "mul" {
		o = Op{Dst: dst, Src: same(t, 2)}
		switch mode {
		case "lo":
			o.F2 = n.mulLo
		case "hi":
			o.F2 = n.mulHi
		case "wide":
			o.F2 = n.mulWide
		}
		return o, o.F2 != nil
	}
	o = Op{Dst: dst, Src: []Type{t, t, dst}}
	switch mode {
	case "lo":
		o.F3 = n.madLo
	case "hi":
		o.F3 = n.madHi
		if t == S32 && f.has("sat") {
			o.F3 = func(a, b, c uint64) uint64 { return addSat(n.mulHi(a, b), c) }
		}
	case "wide":
		o.F3 = n.madWide
	}
	return o, o.F3 != nil && f.name == "mad"
}

// addSat and subSat are add.sat.s32 and sub.sat.s32: clamped to the type.
func addSat(a, b uint64) uint64 { return clamp32(int64(int32(a)) + int64(int32(b))) }
func subSat(a, b uint64) uint64 { return clamp32(int64(int32(a)) - int64(int32(b))) }

func clamp32(v int64) uint64 { return uint64(min(max(v, math.MinInt32), math.MaxInt32)) }

// buildMul24 makes mul24 and mad24: of the lower 24 bits of two factors the
// product's lower (lo) or upper (hi) 32 of its 48 bits.
func buildMul24(f *form) (o Op, ok bool) {
	t := f.only()
	if t != U32 && t != S32 {
		return o, false
	}
	const up = 64 - 24
	mul := func(a, b uint64) uint64 { return a << up >> up * (b << up >> up) }
	if t == S32 {
		mul = func(a, b uint64) uint64 { return uint64(int64(a<<up) >> up * (int64(b<<up) >> up)) }
	}
	mode := f.one("lo", "hi")
	part := func(a, b uint64) uint64 { return t.extend(mul(a, b)) }
	if mode == "hi" {
		part = func(a, b uint64) uint64 { return t.extend(mul(a, b) >> 16) }
	}
	if f.name == "mul24" {
		return Op{Dst: t, Src: same(t, 2), F2: part}, mode != ""
	}
	o = Op{Dst: t, Src: same(t, 3), F3: func(a, b, c uint64) uint64 { return t.extend(part(a, b) + c) }}
	if mode == "hi" && t == S32 && f.has("sat") {
		o.F3 = func(a, b, c uint64) uint64 { return addSat(part(a, b), c) }
	}
	return o, mode != ""
}

// buildInteger makes rem and sad, and div, abs and neg of integers.
func buildInteger(f *form) (o Op, ok bool) {
	t := f.only()
	n, ok := ints(t)
	if !ok || t.untyped() {
		return o, false
	}
	switch f.name {
	case "div":
		o = Op{Dst: t, Src: same(t, 2), F2: n.div}
	case "rem":
		o = Op{Dst: t, Src: same(t, 2), F2: n.rem}
	case "sad":
		o = Op{Dst: t, Src: same(t, 3), F3: n.sad}
	case "abs":
		return Op{Dst: t, Src: same(t, 1), F1: n.abs}, t.Signed()
	case "neg":
		return Op{Dst: t, Src: same(t, 1), F1: n.neg}, t.Signed()
	}
	return o, true
}

// buildMinMaxInteger makes min and max of integers and pairs of them.
func buildMinMaxInteger(f *form) (o Op, ok bool) {
	t := f.only()
	elem := t
	if h := t.half(); h != 0 {
		elem = h
	}
	n, ok := ints(elem)
	if !ok || t.untyped() {
		return o, false
	}
	o = Op{Dst: t, Src: same(t, 2), F2: n.min}
	if f.name == "max" {
		o.F2 = n.max
	}
	if (t == S32 || t == S16x2) && f.has("relu") {
		pick := o.F2
		o.F2 = func(a, b uint64) uint64 { return n.max(pick(a, b), 0) }
	}
	if elem != t {
		o.F2 = halves(o.F2)
	}
	return o, true
}
