package arith

import (
	"math"
	"slices"
	"strings"
)

// arithmetic is the sums, products and quotients of a floating-point format
// in one rounding mode: Floating Point Instructions and Half Precision
// Floating Point Instructions.
type arithmetic struct {
	add, sub, mul, div func(a, b uint64) uint64
	fma                func(a, b, c uint64) uint64
	sqrt               func(a uint64) uint64
}

// arithmeticOf is the arithmetic of F16, BF16, F32 or F64. If ftz, subnormal
// operands and results are flushed.
func arithmeticOf(t Type, r rounding, ftz bool) arithmetic {
	switch {
	case t == F64:
		return arithmetic64(r)
	case t == F32 && r == rn && ftz:
		return arithmetic32Flush()
	case t == F32 && r == rn:
		return arithmetic32()
	}
	f := formatOf(t)
	value, round := f.value(ftz), f.rounder(r, ftz)
	sum := func(x, y float64) uint64 {
		s := addOdd(x, y)
		if s == 0 {
			s = zeroSum(x, y, r)
		}
		return round(s)
	}
	return arithmetic{
		add:  func(a, b uint64) uint64 { return sum(value(a), value(b)) },
		sub:  func(a, b uint64) uint64 { return sum(value(a), -value(b)) },
		mul:  func(a, b uint64) uint64 { return round(value(a) * value(b)) },
		div:  func(a, b uint64) uint64 { return round(divOdd(value(a), value(b))) },
		fma:  func(a, b, c uint64) uint64 { return sum(value(a)*value(b), value(c)) },
		sqrt: func(a uint64) uint64 { return round(sqrtOdd(value(a))) },
	}
}

// arithmetic32 is the arithmetic of f32 to nearest.
func arithmetic32() arithmetic {
	return arithmetic{
		add: func(a, b uint64) uint64 { return bits32(f32(a) + f32(b)) },
		sub: func(a, b uint64) uint64 { return bits32(f32(a) - f32(b)) },
		mul: func(a, b uint64) uint64 { return bits32(f32(a) * f32(b)) },
		div: func(a, b uint64) uint64 { return bits32(f32(a) / f32(b)) },
		fma: func(a, b, c uint64) uint64 {
			return bits32(float32(fmaOdd(float64(f32(a)), float64(f32(b)), float64(f32(c)))))
		},
		sqrt: func(a uint64) uint64 { return bits32(float32(math.Sqrt(float64(f32(a))))) },
	}
}

// arithmetic32Flush is the arithmetic of f32 to nearest with .ftz.
func arithmetic32Flush() arithmetic {
	// round rounds x, which is v but for that.
	round := func(v float32, x float64) uint64 {
		if v > 0x1p-126 || v < -0x1p-126 {
			return uint64(math.Float32bits(v))
		}
		return fmtF32.narrowFlush(x, rn)
	}
	return arithmetic{
		// Sums that are subnormal are exact.
		add: func(a, b uint64) uint64 { return fmtF32.flush(bits32(flushed32(a) + flushed32(b))) },
		sub: func(a, b uint64) uint64 { return fmtF32.flush(bits32(flushed32(a) - flushed32(b))) },
		mul: func(a, b uint64) uint64 {
			x := float64(flushed32(a)) * float64(flushed32(b))
			return round(float32(x), x)
		},
		div: func(a, b uint64) uint64 {
			x, y := flushed32(a), flushed32(b)
			return round(x/y, divOdd(float64(x), float64(y)))
		},
		fma: func(a, b, c uint64) uint64 {
			x := fmaOdd(float64(flushed32(a)), float64(flushed32(b)), float64(flushed32(c)))
			return round(float32(x), x)
		},
		sqrt: func(a uint64) uint64 { return bits32(float32(math.Sqrt(float64(flushed32(a))))) },
	}
}

// arithmetic64 is the arithmetic of f64. A NaN among the operands is the
// result, made quiet: of several that of b, then c, then a, but for a
// quotient that of a.
func arithmetic64(r rounding) arithmetic {
	n := arithmetic{
		add:  func(a, b uint64) uint64 { return bits64(add64(f64(a), f64(b), r), b, a) },
		sub:  func(a, b uint64) uint64 { return bits64(add64(f64(a), -f64(b), r), b, a) },
		mul:  func(a, b uint64) uint64 { return bits64(mul64(f64(a), f64(b), r), b, a) },
		div:  func(a, b uint64) uint64 { return bits64(div64(f64(a), f64(b), r), a, b) },
		sqrt: func(a uint64) uint64 { return bits64(sqrt64(f64(a), r), a, a) },
	}
	fma := func(a, b, c uint64) float64 { return fma64(f64(a), f64(b), f64(c), r) }
	if r == rn {
		n = arithmetic{
			add:  func(a, b uint64) uint64 { return bits64(f64(a)+f64(b), b, a) },
			sub:  func(a, b uint64) uint64 { return bits64(f64(a)-f64(b), b, a) },
			mul:  func(a, b uint64) uint64 { return bits64(f64(a)*f64(b), b, a) },
			div:  func(a, b uint64) uint64 { return bits64(f64(a)/f64(b), a, b) },
			sqrt: func(a uint64) uint64 { return bits64(math.Sqrt(f64(a)), a, a) },
		}
		fma = func(a, b, c uint64) float64 { return math.FMA(f64(a), f64(b), f64(c)) }
	}
	n.fma = func(a, b, c uint64) uint64 {
		x := fma(a, b, c)
		if x != x && fmtF64.isNaN(b) {
			return quietNaN(b, b)
		}
		return bits64(x, c, a)
	}
	return n
}

func f32(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func f64(v uint64) float64 { return math.Float64frombits(v) }

// flushed32 is f32 of an operand of an instruction with .ftz.
func flushed32(v uint64) float32 {
	if v&0x7f800000 == 0 {
		v &= 1 << 31
	}
	return math.Float32frombits(uint32(v))
}

// bits32 is the bits of a result: every NaN is the one that hardware makes.
func bits32(x float32) uint64 {
	if x != x {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(x))
}

// bits64 is the bits of a result of operands a and b; if it is a NaN, that
// among them, a first.
func bits64(x float64, a, b uint64) uint64 {
	if x != x {
		return quietNaN(a, b)
	}
	return math.Float64bits(x)
}

// quietNaN is the first of two values of f64 that is a NaN, made quiet; if
// neither is, what hardware makes.
func quietNaN(a, b uint64) uint64 {
	switch {
	case fmtF64.isNaN(a):
		return a | fmtF64.quiet()
	case fmtF64.isNaN(b):
		return b | fmtF64.quiet()
	}
	return fmtF64.nan
}

// adjust is what modifiers do to operands and results of a format.
type adjust struct {
	f    *format
	ftz  bool // .ftz: subnormal operands and results become zeros of their sign
	sat  bool // .sat: results are clamped to [0, 1], NaN becomes +0
	relu bool // .relu: negative results become +0
}

func (m adjust) in(v uint64) uint64 {
	if m.ftz {
		return m.f.flush(v)
	}
	return v
}

func (m adjust) out(v uint64) uint64 {
	if m.ftz {
		v = m.f.flush(v)
	}
	switch {
	case m.sat && (v&m.f.sign != 0 || m.f.isNaN(v)), m.relu && v&m.f.sign != 0:
		return 0
	case m.sat:
		return min(v, m.f.one())
	}
	return v
}

func (m adjust) none() bool { return !m.ftz && !m.sat && !m.relu }

func (m adjust) f1(f func(a uint64) uint64) func(a uint64) uint64 {
	if m.none() {
		return f
	}
	return func(a uint64) uint64 { return m.out(f(m.in(a))) }
}

func (m adjust) f2(f func(a, b uint64) uint64) func(a, b uint64) uint64 {
	if m.none() {
		return f
	}
	return func(a, b uint64) uint64 { return m.out(f(m.in(a), m.in(b))) }
}

func (m adjust) f3(f func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	if m.none() {
		return f
	}
	return func(a, b, c uint64) uint64 { return m.out(f(m.in(a), m.in(b), m.in(c))) }
}

// element is the type of one value of t, which is t itself unless it is
// packed, and its format; ok if it is a floating-point type to compute in.
func element(t Type) (elem Type, f *format, ok bool) {
	elem = t
	if h := t.half(); h != 0 {
		elem = h
	}
	f = formatOf(elem)
	return elem, f, f != nil
}

// buildSum makes add, sub, mul, mad and fma of any type, and what of them
// reads or writes the carry flag.
func buildSum(f *form) (o Op, ok bool) {
	t := f.only()
	elem, fm, ok := element(t)
	if !ok {
		if strings.HasSuffix(f.name, "c") || slices.Contains(f.mods, "cc") {
			return buildCarry(f)
		}
		return buildSumInteger(f)
	}
	r, named := f.rounded()
	if !named {
		r = rn
	}
	if r != rn && elem != F32 && elem != F64 || !named && (f.name == "fma" || f.name == "mad") {
		return o, false
	}
	m := adjust{f: fm}
	ftz := false
	if elem == F32 || elem == F16 {
		ftz = f.has("ftz")
		m.sat = f.has("sat")
	}
	n := arithmeticOf(elem, r, ftz)
	o = Op{Dst: t, Src: same(t, 2)}
	switch f.name {
	case "add":
		o.F2 = m.f2(n.add)
	case "sub":
		o.F2 = m.f2(n.sub)
	case "mul":
		o.F2 = m.f2(n.mul)
	case "fma", "mad":
		if f.name == "mad" && elem != F32 && elem != F64 {
			return o, false
		}
		if elem == F16 && !m.sat || elem == BF16 {
			m.relu = f.has("relu")
		}
		o.Src = same(t, 3)
		o.F3 = m.f3(n.fma)
	default:
		return o, false
	}
	if elem != t {
		if o.F2 != nil {
			o.F2 = halves(o.F2)
		} else {
			o.F3 = halves3(o.F3)
		}
	}
	return o, true
}

func halves1(f func(a uint64) uint64) func(a uint64) uint64 {
	return func(a uint64) uint64 { return f(a>>16)&0xffff<<16 | f(a)&0xffff }
}

func halves3(f func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		return f(a>>16, b>>16, c>>16)&0xffff<<16 | f(a, b, c)&0xffff
	}
}

// buildDiv makes div of any type.
func buildDiv(f *form) (o Op, ok bool) {
	t := f.only()
	if t != F32 && t != F64 {
		return buildInteger(f)
	}
	o = Op{Dst: t, Src: same(t, 2)}
	ftz := t == F32 && f.has("ftz")
	if t == F32 {
		switch f.one("approx", "full") {
		case "approx":
			o.F2 = adjust{f: &fmtF32, ftz: ftz}.f2(divApprox)
			return o, true
		case "full":
			o.F2 = arithmeticOf(t, rn, ftz).div
			return o, true
		}
	}
	r, ok := f.rounded()
	o.F2 = arithmeticOf(t, r, ftz).div
	return o, ok
}

// buildRoot makes sqrt and rcp.
func buildRoot(f *form) (o Op, ok bool) {
	if f.has("approx") {
		return buildRootApprox(f)
	}
	t := f.only()
	r, ok := f.rounded()
	if !ok || t != F32 && t != F64 {
		return o, false
	}
	return root(f.name, t, r, t == F32 && f.has("ftz")), true
}

// root is sqrt or rcp.
func root(name string, t Type, r rounding, ftz bool) Op {
	n := arithmeticOf(t, r, ftz)
	o := Op{Dst: t, Src: same(t, 1), F1: n.sqrt}
	if name == "rcp" {
		one := formatOf(t).one()
		o.F1 = func(a uint64) uint64 { return n.div(one, a) }
	}
	return o
}
