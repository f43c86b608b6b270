package matrix

import "math"

// format is the type of a matrix's elements.
type format uint8

const (
	noFormat format = iota
	f16
	bf16
	tf32
	f32
	f64
	e4m3
	e5m2
	s8
	u8
	s4
	u4
	b1
	s32
)

// formatNamed is the format of a type modifier; noFormat if it is none.
func formatNamed(name string) format {
	switch name {
	case "f16":
		return f16
	case "bf16":
		return bf16
	case "tf32":
		return tf32
	case "f32":
		return f32
	case "f64":
		return f64
	case "e4m3":
		return e4m3
	case "e5m2":
		return e5m2
	case "s8":
		return s8
	case "u8":
		return u8
	case "s4":
		return s4
	case "u4":
		return u4
	case "b1":
		return b1
	case "s32":
		return s32
	}
	return noFormat
}

// bits is how many bits of a register an element takes.
func (f format) bits() int {
	switch f {
	case f64:
		return 64
	case tf32, f32, s32:
		return 32
	case f16, bf16:
		return 16
	case s8, u8, e4m3, e5m2:
		return 8
	case s4, u4:
		return 4
	case b1:
		return 1
	}
	return 0
}

// registerBits is how wide a register of such elements is: they are packed
// into 32 bits, but for an f64.
func (f format) registerBits() int { return max(32, f.bits()) }

// float is the value of an element, which stands in the low bits of v; what is
// above does not matter.
func (f format) float(v uint64) float64 {
	switch f {
	case f16:
		return small(v, 5, 10)
	case bf16:
		return float64(math.Float32frombits(uint32(v) << 16))
	case tf32:
		return float64(math.Float32frombits(uint32(v) &^ 0x1fff)) // the low 13 bits are ignored
	case f32:
		return float64(math.Float32frombits(uint32(v)))
	case f64:
		return math.Float64frombits(v)
	case e4m3:
		if v&0x7f == 0x7f { // the one NaN; there is no infinity
			return math.NaN()
		}
		return small(v, 4, 3)
	case e5m2:
		return small(v, 5, 2)
	}
	return 0
}

// small decodes a number of 1 + exponent + mantissa bits as IEEE 754 would;
// but with 3 bits of mantissa the largest exponent is one like the others.
func small(v uint64, exponent, mantissa uint) float64 {
	m := v & (1<<mantissa - 1)
	e := v >> mantissa & (1<<exponent - 1)
	sign := v >> (mantissa + exponent) & 1 << 63
	bias := uint64(1)<<(exponent-1) - 1
	switch {
	case e == 0:
		unit := math.Float64frombits((1023 + 1 - bias - uint64(mantissa)) << 52)
		return math.Float64frombits(math.Float64bits(float64(m)*unit) | sign)
	case e == 1<<exponent-1 && mantissa != 3:
		e = 0x7ff
	default:
		e += 1023 - bias
	}
	return math.Float64frombits(sign | e<<52 | m<<(52-mantissa))
}

// integer is the value of an element, which stands in the low bits of v.
func (f format) integer(v uint64) int64 {
	switch f {
	case s8:
		return int64(int8(v))
	case u8:
		return int64(uint8(v))
	case s4:
		return int64(int8(v<<4) >> 4)
	case u4:
		return int64(v & 15)
	case s32:
		return int64(int32(v))
	case b1:
		return int64(uint32(v)) // 32 of them
	}
	return 0
}

// round is the element of the format, of those that sums are in, that is
// nearest to x, the even one of two. A NaN becomes the one that the tensor
// core makes.
func (f format) round(x float64) uint64 {
	switch f {
	case f16:
		return roundHalf(x)
	case f64:
		return math.Float64bits(x)
	}
	if x != x {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(float32(x)))
}

func roundHalf(x float64) uint64 {
	if x != x {
		return 0x7fff
	}
	sign := math.Float64bits(x) >> 63 << 15
	x = math.Abs(x)
	switch {
	case x >= 65520: // half way from the largest number to the next power of 2
		return sign | 0x7c00
	case x < 0x1p-25:
		return sign
	}
	_, e := math.Frexp(x) // x < 2^e
	e = max(e, -13)
	n := uint64(math.RoundToEven(math.Ldexp(x, 11-e))) // units of the last place
	// A carry out of n's 10 bits goes on into the exponent, as it should.
	return sign | (n + uint64(e+13)<<10)
}
