package arith

import "math"

// The approximations are computed in float64 and rounded: closer to the true
// value than the hardware's tables are, and within the error that the ISA
// allows (Floating Point Instructions, from div to tanh).

// buildApprox makes rsqrt, sin, cos, lg2, ex2 and tanh.
func buildApprox(f *form) (o Op, ok bool) {
	t := f.only()
	if !f.has("approx") {
		return o, false
	}
	elem, fm, ok := element(t)
	if !ok {
		return o, false
	}
	ftz := f.has("ftz")
	if f.name == "rsqrt" && t == F64 {
		o = Op{Dst: t, Src: same(t, 1), F1: func(a uint64) uint64 { return bits64(1/math.Sqrt(f64(a)), a, a) }}
		if ftz {
			o.F1 = func(a uint64) uint64 { return upper(a, func(x float64) float64 { return 1 / math.Sqrt(x) }) }
		}
		return o, true
	}
	var fn func(float64) float64
	switch f.name {
	case "rsqrt":
		fn = func(x float64) float64 { return 1 / math.Sqrt(x) }
	case "sin":
		fn = math.Sin
	case "cos":
		fn = math.Cos
	case "lg2":
		fn = math.Log2
	case "ex2":
		fn = math.Exp2
	case "tanh":
		fn = math.Tanh
	}
	switch {
	case t == F32:
		ok = f.name != "tanh" || !ftz
	case elem == F64:
		ok = false
	case f.name == "ex2":
		ok = ftz == (elem == BF16)
	default:
		ok = f.name == "tanh" && !ftz
	}
	value, round := fm.value(ftz), fm.rounder(rn, ftz)
	o = Op{Dst: t, Src: same(t, 1), F1: func(a uint64) uint64 { return round(fn(value(a))) }}
	if elem != t {
		o.F1 = halves1(o.F1)
	}
	return o, ok
}

// buildRootApprox makes sqrt.approx and rcp.approx.
func buildRootApprox(f *form) (o Op, ok bool) {
	t := f.only()
	ftz := f.has("ftz")
	if t == F64 {
		return Op{Dst: t, Src: same(t, 1), F1: func(a uint64) uint64 {
			return upper(a, func(x float64) float64 { return 1 / x })
		}}, f.name == "rcp" && ftz
	}
	return root(f.name, F32, rn, ftz), t == F32
}

// upper is what rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 do: of the
// operand only the upper word counts, of the result only that is not zero,
// and subnormal ones are flushed.
func upper(a uint64, fn func(float64) float64) uint64 {
	x := fn(f64(fmtF64.flush(a &^ math.MaxUint32)))
	if x != x {
		return 0x7fffffff00000000
	}
	return fmtF64.flush(math.Float64bits(x)) &^ math.MaxUint32
}

// divApprox is div.approx.f32: a times the reciprocal of b, which is zero for
// magnitudes of b above 2^126.
func divApprox(a, b uint64) uint64 {
	x, y := f32(a), f32(b)
	if m := b & (1<<31 - 1); m > 0x7e800000 && m < fmtF32.inf {
		return bits32(x * float32(math.Copysign(0, float64(y))))
	}
	return bits32(x / y)
}
