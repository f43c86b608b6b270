package arith

import (
	"math"
	"math/bits"
)

// The arithmetic of f64 in a given rounding mode, for the modes in which the
// processor that this runs on does not compute: in integers of 128 bits.

// split is the magnitude of a finite value other than zero as m·2^e, m with
// its highest bit set.
func split(x float64) (m uint64, e int) {
	b := math.Float64bits(x)
	e, m = int(b>>52&0x7ff), b&(1<<52-1)
	if e == 0 {
		e++
	} else {
		m |= 1 << 52
	}
	lead := bits.LeadingZeros64(m)
	return m << lead, e - 1075 - lead
}

func finite(x float64) bool { return x-x == 0 }

// pack128 rounds hi·2^64 + lo, times 2^e, to f64; if sticky, what lies a
// little above that.
func pack128(neg bool, hi, lo uint64, e int, sticky bool, r rounding) float64 {
	if hi == 0 {
		hi, lo, e = lo, 0, e-64
	}
	lead := bits.LeadingZeros64(hi)
	hi, lo = hi<<lead|lo>>(64-lead), lo<<lead
	return math.Float64frombits(fmtF64.pack(neg, hi, e+64-lead, sticky || lo != 0, r))
}

// zeroSum is the zero that a sum of x and y is: +0, or -0 towards negative
// infinity, if their signs differ.
func zeroSum(x, y float64, r rounding) float64 {
	if math.Signbit(x) != math.Signbit(y) && r == rm {
		return math.Copysign(0, -1)
	}
	return x + y
}

func add64(x, y float64, r rounding) float64 { return fma64(x, 1, y, r) }

func mul64(x, y float64, r rounding) float64 {
	if p := x * y; x == 0 || y == 0 || !finite(x) || !finite(y) {
		return p
	}
	mx, ex := split(x)
	my, ey := split(y)
	hi, lo := bits.Mul64(mx, my)
	return pack128(math.Signbit(x) != math.Signbit(y), hi, lo, ex+ey, false, r)
}

// fma64 is x*y + z.
func fma64(x, y, z float64, r rounding) float64 {
	if !finite(x) || !finite(y) || !finite(z) {
		return math.FMA(x, y, z)
	}
	if x == 0 || y == 0 {
		if z == 0 {
			return zeroSum(x*y, z, r)
		}
		return z
	}
	if z == 0 {
		return mul64(x, y, r)
	}
	mx, ex := split(x)
	my, ey := split(y)
	neg := math.Signbit(x) != math.Signbit(y)
	// Both summands are moved down by two bits, to leave room for the carry:
	// neither has anything in its last 22.
	p := wide{shift: ex + ey + 2}
	p.hi, p.lo = bits.Mul64(mx, my)
	p.down(2)
	mz, ez := split(z)
	s := wide{hi: mz, shift: ez - 64 + 2}
	s.down(2)

	var sticky bool
	if d := p.shift - s.shift; d > 0 {
		sticky = s.down(d)
		s.shift = p.shift
	} else {
		sticky = p.down(-d)
		p.shift = s.shift
	}
	if neg == math.Signbit(z) {
		lo, c := bits.Add64(p.lo, s.lo, 0)
		hi, _ := bits.Add64(p.hi, s.hi, c)
		return pack128(neg, hi, lo, p.shift, sticky, r)
	}
	big, small := p, s
	if s.hi > p.hi || s.hi == p.hi && s.lo > p.lo {
		big, small, neg = s, p, !neg
	}
	// If bits were lost, then of the smaller one: the difference lies a
	// little below that of what is left.
	lo, c := bits.Sub64(big.lo, small.lo, bit(sticky))
	hi, _ := bits.Sub64(big.hi, small.hi, c)
	if hi|lo == 0 {
		return zeroSum(1, -1, r)
	}
	return pack128(neg, hi, lo, p.shift, sticky, r)
}

// wide is an integer of 128 bits, times 2^shift.
type wide struct {
	hi, lo uint64
	shift  int
}

// down shifts the bits down and reports whether any of those lost was set.
func (w *wide) down(n int) (lost bool) {
	switch {
	case n >= 128:
		lost = w.hi|w.lo != 0
		w.hi, w.lo = 0, 0
	case n >= 64:
		lost = w.lo != 0 || w.hi<<(128-n) != 0
		w.hi, w.lo = 0, w.hi>>(n-64)
	case n > 0:
		lost = w.lo<<(64-n) != 0
		w.hi, w.lo = w.hi>>n, w.lo>>n|w.hi<<(64-n)
	}
	return lost
}

func div64(x, y float64, r rounding) float64 {
	if x == 0 || y == 0 || !finite(x) || !finite(y) {
		return x / y
	}
	mx, ex := split(x)
	my, ey := split(y)
	if mx >= my {
		mx, ex = mx>>1, ex+1
	}
	// mx is at least half of my: the quotient has its highest bit set.
	q, rest := bits.Div64(mx, 0, my)
	return math.Float64frombits(fmtF64.pack(math.Signbit(x) != math.Signbit(y), q, ex-ey-64, rest != 0, r))
}

func sqrt64(x float64, r rounding) float64 {
	if !(x > 0) || !finite(x) || r == rn {
		return math.Sqrt(x)
	}
	// The error of a root is a float64 unless it underflows.
	scale := 1.0
	if x < 0x1p-500 {
		x *= 0x1p+600
		scale = 0x1p-300
	}
	q := math.Sqrt(x)
	switch err := math.FMA(-q, q, x); {
	case err < 0 && (r == rz || r == rm):
		q = math.Float64frombits(math.Float64bits(q) - 1)
	case err > 0 && r == rp:
		q = math.Float64frombits(math.Float64bits(q) + 1)
	}
	return q * scale
}
