package arith

import (
	"math"
	"math/bits"
)

// rounding is a rounding mode.
type rounding uint8

const (
	rn  rounding = iota // to nearest, ties to even
	rz                  // towards zero
	rm                  // towards negative infinity
	rp                  // towards positive infinity
	rna                 // to nearest, ties away from zero
)

// round takes the rounding mode of an instruction; def if it names none.
func (f *form) round(def rounding) rounding {
	switch f.one("rn", "rz", "rm", "rp", "rna") {
	case "rn":
		return rn
	case "rz":
		return rz
	case "rm":
		return rm
	case "rp":
		return rp
	case "rna":
		return rna
	}
	return def
}

// rounded takes a rounding mode that has to be there, of rn, rz, rm, rp.
func (f *form) rounded() (r rounding, ok bool) {
	const none = rna + 1
	r = f.round(none)
	return r, r < rna
}

// up reports whether a magnitude that lies between two representable ones is
// rounded to the upper of them. rest is what lies above the lower one, in
// units of which half is half the distance; odd is the lower one's last bit.
func (r rounding) up(neg bool, odd, rest, half uint64) bool {
	switch r {
	case rn:
		return rest > half || rest == half && odd != 0
	case rna:
		return rest >= half
	case rm:
		return neg && rest != 0
	case rp:
		return !neg && rest != 0
	}
	return false
}

// overflows reports whether a magnitude beyond the largest finite one becomes
// infinite.
func (r rounding) overflows(neg bool) bool {
	return r == rn || r == rna || r == rm && neg || r == rp && !neg
}

// format is a binary floating-point format.
type format struct {
	frac int    // bits of the fraction
	emin int    // exponent of the smallest normal number
	sign uint64 // the sign bit
	max  uint64 // the largest finite magnitude
	inf  uint64 // infinity; where there is none, nan
	nan  uint64 // the NaN that hardware makes
}

// The formats. nan is what an H100 gives; of f64 it is that of operations
// none of whose operands is one, whose payload would be kept.
var (
	fmtF16  = format{frac: 10, emin: -14, sign: 1 << 15, max: 0x7bff, inf: 0x7c00, nan: 0x7fff}
	fmtBF16 = format{frac: 7, emin: -126, sign: 1 << 15, max: 0x7f7f, inf: 0x7f80, nan: 0x7fff}
	fmtF32  = format{frac: 23, emin: -126, sign: 1 << 31, max: 0x7f7fffff, inf: 0x7f800000, nan: 0x7fffffff}
	fmtF64  = format{frac: 52, emin: -1022, sign: 1 << 63, max: 1<<63 - 1<<52 - 1, inf: 0x7ff << 52, nan: 0x1fff << 51}
	fmtTF32 = format{frac: 10, emin: -126, sign: 1 << 18, max: 0x3fbff, inf: 0x3fc00, nan: 0x3ffff}
	fmtE4M3 = format{frac: 3, emin: -6, sign: 1 << 7, max: 0x7e, inf: 0x7f, nan: 0x7f}
	fmtE5M2 = format{frac: 2, emin: -14, sign: 1 << 7, max: 0x7b, inf: 0x7c, nan: 0x7f}
)

// formatOf is the format of a floating-point type; nil if it is none, or a
// pair.
func formatOf(t Type) *format {
	switch t {
	case F16:
		return &fmtF16
	case BF16:
		return &fmtBF16
	case F32:
		return &fmtF32
	case F64:
		return &fmtF64
	}
	return nil
}

// pack rounds the value m·2^e to the format; if sticky, what lies a little
// above that. Of a sticky value m has its highest bit set. There is no little
// above 0.
func (f *format) pack(neg bool, m uint64, e int, sticky bool, r rounding) uint64 {
	var sign uint64
	if neg {
		sign = f.sign
	}
	if m == 0 {
		return sign
	}
	// The leading bit of m is moved to bit 63, so that the value is
	// 1.… · 2^top.
	lead := bits.LeadingZeros64(m)
	m <<= lead
	top := e - lead + 63
	drop := 63 - f.frac // bits of m that the fraction has no room for
	if top < f.emin {
		drop += f.emin - top
		top = f.emin
	}
	if sticky {
		// Below the last bit of m there is nothing that pack could tell from
		// it: formats keep at most 53 bits.
		m |= 1
	}
	var q uint64
	if drop < 64 {
		rest := m & (1<<drop - 1)
		q = m >> drop
		if r.up(neg, q&1, rest, 1<<(drop-1)) {
			q++
		}
	} else {
		// Less than the smallest subnormal value; at least half of it if drop
		// is 64.
		rest := uint64(1)
		if drop == 64 && m > 1<<63 {
			rest = 3
		} else if drop == 64 {
			rest = 2
		}
		if r.up(neg, 0, rest, 2) {
			q = 1
		}
	}
	// The leading bit, if q has it, adds one to the biased exponent.
	v := uint64(top-f.emin)<<f.frac + q
	if v > f.max {
		v = f.max
		if r.overflows(neg) {
			v = f.inf
		}
	}
	return sign | v
}

// narrow rounds a float64 to the format.
func (f *format) narrow(x float64, r rounding) uint64 {
	b := math.Float64bits(x)
	neg := b>>63 != 0
	e, m := int(b>>52&0x7ff), b&(1<<52-1)
	switch {
	case e == 0x7ff && m != 0:
		return f.nan
	case e == 0x7ff && neg:
		return f.sign | f.inf
	case e == 0x7ff:
		return f.inf
	case e == 0:
		e++
	default:
		m |= 1 << 52
	}
	return f.pack(neg, m, e-1075, false, r)
}

// narrowFlush is narrow with .ftz: what is subnormal becomes zero. Whether it
// is subnormal an H100 decides after rounding it as if exponents had no end.
func (f *format) narrowFlush(x float64, r rounding) uint64 {
	v := f.narrow(x, r)
	if v&(f.sign-1) > f.inf&-f.inf {
		return v // larger than the smallest normal number
	}
	if v&f.inf == 0 {
		return v & f.sign
	}
	// It may have been rounded up to that from below. Four times x is not
	// subnormal then, nor what it is rounded to.
	if f.narrow(4*x, r)&(f.sign-1) < 3<<f.frac {
		return v & f.sign
	}
	return v
}

// rounder is narrow in one mode, or narrowFlush if ftz.
func (f *format) rounder(r rounding, ftz bool) func(float64) uint64 {
	round := func(x float64) uint64 { return f.narrow(x, r) }
	switch {
	case f == &fmtF64:
		round = math.Float64bits
	case r != rn:
	case f == &fmtF32:
		round = func(x float64) uint64 { return bits32(float32(x)) }
	case f == &fmtF16:
		round = func(x float64) uint64 { return f16Bits(oddFloat32(x)) }
	case f == &fmtBF16:
		round = func(x float64) uint64 { return bf16Bits(oddFloat32(x)) }
	}
	if !ftz {
		return round
	}
	least := f.inf & -f.inf
	return func(x float64) uint64 {
		if v := round(x); v&(f.sign-1) > least {
			return v
		}
		return f.narrowFlush(x, r)
	}
}

// value is the function that gives the values of a format, subnormal ones as
// zeros if ftz.
func (f *format) value(ftz bool) func(uint64) float64 {
	var value func(uint64) float64
	switch f {
	case &fmtF64:
		return f64
	case &fmtF32:
		if ftz {
			return func(a uint64) float64 { return float64(flushed32(a)) }
		}
		return func(a uint64) float64 { return float64(f32(a)) }
	case &fmtBF16:
		value = func(a uint64) float64 { return float64(bf16Value(a)) }
	case &fmtF16:
		value = func(a uint64) float64 { return float64(f16Value(a)) }
	default:
		value = f.widen
	}
	if ftz {
		return func(a uint64) float64 { return value(f.flush(a)) }
	}
	return value
}

// widen is the value of bits of a format narrower than f64 and with infinities.
// float64 holds it exactly; of a NaN only that it is one is kept.
func (f *format) widen(v uint64) float64 {
	e, m := int(v&(f.sign-1)>>f.frac), v&(1<<f.frac-1)
	bias := 1 - f.emin
	var x float64
	switch {
	case v&(f.sign-1) > f.inf:
		return math.NaN()
	case v&(f.sign-1) == f.inf:
		x = math.Inf(1)
	case e == 0:
		// Exact: no format's smallest value is subnormal in float64.
		x = float64(m) * math.Float64frombits(uint64(1023+f.emin-f.frac)<<52)
	default:
		x = math.Float64frombits(uint64(e-bias+1023)<<52 | m<<(52-f.frac))
	}
	if v&f.sign != 0 {
		return -x
	}
	return x
}

// quiet is the bit that tells quiet NaNs from signalling ones.
func (f *format) quiet() uint64 { return 1 << (f.frac - 1) }

// isNaN reports whether bits of the format are a NaN.
func (f *format) isNaN(v uint64) bool { return v&(f.sign-1) > f.inf }

// flush makes a subnormal value zero, keeping its sign: .ftz.
func (f *format) flush(v uint64) uint64 {
	if v&f.inf == 0 {
		return v & f.sign
	}
	return v
}

// one is 1.0.
func (f *format) one() uint64 { return uint64(1-f.emin) << f.frac }
