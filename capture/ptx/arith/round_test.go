package arith

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// precise holds any sum or product of two values of f64.
const precise = 5000

func exactly(x float64) *big.Float { return new(big.Float).SetPrec(precise).SetFloat64(x) }

// checkRounded checks that bits of a format are the exact value, rounded.
func checkRounded(t *rapid.T, what string, f *format, r rounding, got uint64, exact *big.Float) {
	neg := got&f.sign != 0
	if exact.Sign() != 0 && neg != (exact.Sign() < 0) {
		t.Fatalf("%s = %#x, which has the wrong sign", what, got)
	}
	mag, want := got&(f.sign-1), new(big.Float).Abs(exact)
	// value is that of a magnitude, and of what would come after the largest.
	value := func(v uint64) *big.Float {
		if v > f.max {
			return new(big.Float).SetMantExp(exactly(1), 2-f.emin)
		}
		return exactly(f.value(false)(v))
	}
	// away reports whether a value between low and the one after it is
	// rounded to that.
	away := func(low uint64) bool {
		switch r {
		case rz:
			return false
		case rm, rp:
			return neg == (r == rm)
		}
		middle := new(big.Float).Add(value(low), value(low+1))
		c := want.Cmp(middle.Quo(middle, exactly(2)))
		return c > 0 || c == 0 && (r == rna || low&1 != 0)
	}
	switch {
	case mag > f.inf:
		t.Fatalf("%s = %#x", what, got)
	case mag == f.inf:
		if want.Cmp(value(f.max)) <= 0 || !away(f.max) {
			t.Fatalf("%s = %#x", what, got)
		}
	case want.Cmp(value(mag)) > 0:
		if want.Cmp(value(mag+1)) >= 0 && (mag < f.max || r.overflows(neg)) || away(mag) {
			t.Fatalf("%s = %#x is too small", what, got)
		}
	case want.Cmp(value(mag)) < 0:
		if want.Cmp(value(mag-1)) <= 0 || !away(mag-1) {
			t.Fatalf("%s = %#x is too large", what, got)
		}
	}
}

// drawNumber draws the bits of a finite number of a format, small and close ones
// more often than all bits would have them.
func drawNumber(t *rapid.T, f *format, name string) uint64 {
	v := rapid.Uint64Range(0, f.max).Draw(t, name)
	if rapid.Bool().Draw(t, name+" is near 1") {
		v = f.one() + rapid.Uint64Range(0, f.one()/8).Draw(t, name+" above 1")
	}
	if rapid.Bool().Draw(t, name+" is short") {
		v &^= 1<<(f.frac*3/4) - 1
	}
	if rapid.Bool().Draw(t, name+" is negative") {
		v |= f.sign
	}
	return v
}

func TestRounding(t *testing.T) {
	for _, typ := range []Type{F16, BF16, F32, F64} {
		f := formatOf(typ)
		for r := rn; r <= rp; r++ {
			n := arithmeticOf(typ, r, false)
			t.Run(fmt.Sprint(typ, r), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					a, b, c := drawNumber(t, f, "a"), drawNumber(t, f, "b"), drawNumber(t, f, "c")
					if rapid.Bool().Draw(t, "c cancels a*b") {
						c = n.mul(a, b) ^ f.sign
					}
					x, y, z := exactly(f.value(false)(a)), exactly(f.value(false)(b)), new(big.Float)
					sum := new(big.Float).SetPrec(precise).Add(x, y)
					checkRounded(t, "a+b", f, r, n.add(a, b), sum)
					checkRounded(t, "a-b", f, r, n.sub(a, b), new(big.Float).SetPrec(precise).Sub(x, y))
					product := new(big.Float).SetPrec(precise).Mul(x, y)
					checkRounded(t, "a*b", f, r, n.mul(a, b), product)
					if c&(f.sign-1) < f.inf {
						z.Add(product, exactly(f.value(false)(c)))
						checkRounded(t, "a*b+c", f, r, n.fma(a, b, c), z)
					}
					if b&(f.sign-1) != 0 {
						checkRounded(t, "a/b", f, r, n.div(a, b), new(big.Float).SetPrec(precise).Quo(x, y))
					}
					a &^= f.sign
					checkRounded(t, "sqrt(a)", f, r, n.sqrt(a), new(big.Float).SetPrec(precise).Sqrt(x.Abs(x)))
				})
			})
		}
	}
}

// Rounding an integer, to all formats there are.
func TestPack(t *testing.T) {
	for _, f := range []*format{&fmtF16, &fmtBF16, &fmtF32, &fmtF64, &fmtTF32, &fmtE5M2} {
		for r := rn; r <= rna; r++ {
			rapid.Check(t, func(t *rapid.T) {
				m := rapid.Uint64().Draw(t, "m") >> rapid.IntRange(0, 63).Draw(t, "shift")
				e := rapid.IntRange(f.emin-70, 4-f.emin).Draw(t, "exponent")
				neg := rapid.Bool().Draw(t, "negative")
				exact := new(big.Float).SetPrec(precise).SetUint64(m)
				exact.SetMantExp(exact, e)
				if neg {
					exact.Neg(exact)
				}
				checkRounded(t, fmt.Sprintf("%d·2^%d in format %d", m, e, f.frac), f, r, f.pack(neg, m, e, false, r), exact)
			})
		}
	}
}
