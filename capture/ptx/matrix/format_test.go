package matrix

import (
	"fmt"
	"math"
	"testing"
)

func TestFloat(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		f    format
		bits uint64
		want float64
	}{
		{f16, 0x3c00, 1}, {f16, 0xc000, -2}, {f16, 0x7bff, 65504}, {f16, 0x0001, 0x1p-24}, {f16, 0x83ff, -0x3ffp-24},
		{f16, 0x7c00, inf}, {f16, 0xfc00, -inf}, {f16, 0x7e01, nan}, {f16, 0xffff0000_3c00, 1},
		{bf16, 0x3f80, 1}, {bf16, 0xff7f, -0xffp120}, {bf16, 0x7f80, inf}, {bf16, 0x0001, 0x1p-133}, {bf16, 0xabcd_4040, 3},
		{tf32, 0x3f800000, 1}, {tf32, 0x3f801fff, 1}, {tf32, 0x3f802000, 1 + 0x1p-10}, {tf32, 0xff800000, -inf},
		{e4m3, 0x38, 1}, {e4m3, 0x7e, 448}, {e4m3, 0xfe, -448}, {e4m3, 0x78, 256}, {e4m3, 0x7f, nan}, {e4m3, 0xff, nan}, {e4m3, 0x01, 0x1p-9}, {e4m3, 0x87, -7 * 0x1p-9},
		{e5m2, 0x3c, 1}, {e5m2, 0x7b, 57344}, {e5m2, 0x7c, inf}, {e5m2, 0xfd, nan}, {e5m2, 0x01, 0x1p-16}, {e5m2, 0xff3c, 1},
		{f32, 0x40490fdb, float64(float32(math.Pi))}, {f64, 0x400921fb54442d18, math.Pi},
	} {
		if got := c.f.float(c.bits); got != c.want && !(got != got && c.want != c.want) {
			t.Errorf("format %d: %#x is %g, want %g", c.f, c.bits, got, c.want)
		}
	}
}

func TestInteger(t *testing.T) {
	for _, c := range []struct {
		f    format
		bits uint64
		want int64
	}{
		{s8, 0x7f, 127}, {s8, 0x1280, -128}, {u8, 0xf80, 128},
		{s4, 0x07, 7}, {s4, 0xf8, -8}, {u4, 0xf8, 8},
		{s32, 0x7fffffff, math.MaxInt32}, {s32, 0xf_80000000, math.MinInt32},
		{b1, 0xf_ffffffff, math.MaxUint32},
	} {
		if got := c.f.integer(c.bits); got != c.want {
			t.Errorf("format %d: %#x is %d, want %d", c.f, c.bits, got, c.want)
		}
	}
}

// TestRoundHalf: every number of 16 bits is itself, and what lies between two
// goes to the nearer, or to the even one.
func TestRoundHalf(t *testing.T) {
	for bits := range uint64(0x7c00) {
		for _, sign := range []uint64{0, 0x8000} {
			x, next := f16.float(sign|bits), f16.float(sign|bits+1)
			if bits == 0x7bff {
				next = math.Copysign(65536, x)
			}
			middle := (x + next) / 2
			even := sign | bits + bits&1
			for _, c := range []struct {
				x    float64
				want uint64
			}{{x, sign | bits}, {middle, even}, {math.Nextafter(middle, x), sign | bits}, {math.Nextafter(middle, next), sign | bits + 1}} {
				if got := f16.round(c.x); got != c.want {
					t.Fatalf("%g is rounded to %#x, want %#x", c.x, got, c.want)
				}
			}
		}
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		f    format
		x    float64
		want uint64
	}{
		{f16, math.Inf(1), 0x7c00}, {f16, math.Inf(-1), 0xfc00}, {f16, math.NaN(), 0x7fff}, {f16, 1e300, 0x7c00}, {f16, 1e-300, 0}, {f16, -1e-300, 0x8000},
		{f32, 1, 0x3f800000}, {f32, 1 + 0x1p-24, 0x3f800000}, {f32, 1 + 3*0x1p-24, 0x3f800002}, {f32, math.NaN(), 0x7fffffff}, {f32, 1e300, 0x7f800000}, {f32, math.Copysign(0, -1), 0x80000000},
		{f64, math.Pi, 0x400921fb54442d18},
	} {
		if got := c.f.round(c.x); got != c.want {
			t.Errorf("format %d: %g is rounded to %#x, want %#x", c.f, c.x, got, c.want)
		}
	}
}

// TestFormatNames: a format has the name of its PTX type and no other.
func TestFormatNames(t *testing.T) {
	seen := make(map[format]bool)
	for _, name := range []string{"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1", "s32"} {
		f := formatNamed(name)
		if f == noFormat || seen[f] || f.bits() == 0 {
			t.Errorf("%s: format %d of %d bits", name, f, f.bits())
		}
		seen[f] = true
	}
	for _, name := range []string{"", "f8", "F16", "u32", "b16", fmt.Sprint(f16)} {
		if f := formatNamed(name); f != noFormat {
			t.Errorf("%q: format %d", name, f)
		}
	}
}
