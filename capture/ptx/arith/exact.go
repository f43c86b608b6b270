package arith

import "math"

// Sums, quotients and roots of values of f16, bf16 and f32 in
// float64, rounded to odd: if a result is not exact, its last bit is set.
// Rounding that once more, in any mode, to a format of 51 bits or fewer gives
// the correctly rounded result (Boldo and Melquiond, "Emulation of FMA and
// correctly rounded sums: proved algorithms using rounding to odd").
//
// None of these overflows or underflows in float64 for such values.

// odd is x, whose rounding error (the exact value less x) has the sign of
// err, rounded to odd instead of to nearest.
func odd(x, err float64) float64 {
	b := math.Float64bits(x)
	if err == 0 || err != err || b&1 != 0 {
		return x
	}
	// The exact value lies between x, whose last bit is 0, and a neighbour,
	// whose last bit is 1.
	if (err > 0) == (x > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// addOdd is a + b. A sum of two opposite values is +0.
func addOdd(a, b float64) float64 {
	s := a + b
	t := s - a
	return odd(s, (a-(s-t))+(b-t)) // Knuth's TwoSum; NaN if s is not finite
}

// fmaOdd is a*b + c; the product is exact.
func fmaOdd(a, b, c float64) float64 { return addOdd(float64(a*b), c) }

// divOdd is a / b.
func divOdd(a, b float64) float64 {
	q := a / b
	if q == 0 || math.IsInf(q, 0) || math.IsInf(b, 0) {
		return q
	}
	err := math.FMA(-q, b, a)
	if b < 0 {
		err = -err
	}
	return odd(q, err)
}

// sqrtOdd is the root of a.
func sqrtOdd(a float64) float64 {
	q := math.Sqrt(a)
	if q == 0 || math.IsInf(q, 0) {
		return q
	}
	return odd(q, math.FMA(-q, q, a))
}
