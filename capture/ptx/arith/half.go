package arith

import "math"

// Conversions between float32 and the bits of f16 and bf16.

// f16Value is the value of bits of f16; of a NaN that it is one.
func f16Value(h uint64) float32 {
	const exponent = 0x1f << 23 // of f16, where that of float32 is
	v := uint32(h) & 0x7fff << 13
	rebased := v + (127-15)<<23
	var x float32
	switch v & exponent {
	case 0:
		// 2^-14 · 0.fraction, from 2^-14 · 1.fraction
		x = math.Float32frombits(rebased+1<<23) - 0x1p-14
	case exponent:
		x = math.Float32frombits(v | 0xff<<23)
	default:
		x = math.Float32frombits(rebased)
	}
	if h&0x8000 != 0 {
		return -x
	}
	return x
}

// f16Bits rounds to f16, to nearest.
func f16Bits(x float32) uint64 {
	v := math.Float32bits(x)
	sign, v := v>>16&0x8000, v&0x7fffffff
	switch {
	case v > 0x7f800000:
		return fmtF16.nan
	case v >= 0x47800000: // 2^16
		return uint64(sign) | fmtF16.inf
	case v < 0x38800000: // 2^-14
		// In the binade of 1/2 the last bit of a float32 is that of a
		// subnormal f16.
		return uint64(sign | (math.Float32bits(math.Float32frombits(v)+0.5) - math.Float32bits(0.5)))
	}
	v += 0xfff + v>>13&1
	return uint64(sign | (v>>13 - (127-15)<<10))
}

// bf16Value is the value of bits of bf16.
func bf16Value(h uint64) float32 { return math.Float32frombits(uint32(h) << 16) }

// bf16Bits rounds to bf16, to nearest.
func bf16Bits(x float32) uint64 {
	if x != x {
		return fmtBF16.nan
	}
	v := math.Float32bits(x)
	return uint64((v + 0x7fff + v>>16&1) >> 16)
}

// oddFloat32 rounds to float32, to odd: what is rounded to f16 or bf16 from
// that is as if it had been so from x.
func oddFloat32(x float64) float32 {
	f := float32(x)
	v := math.Float32bits(f)
	switch d := float64(f); {
	case d == x || x != x || v&1 != 0:
		return f
	case math.Abs(d) < math.Abs(x):
		return math.Float32frombits(v + 1)
	}
	return math.Float32frombits(v - 1)
}
