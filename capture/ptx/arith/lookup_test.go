package arith

import (
	"errors"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		name string
		args []uint64
		want uint64
	}{
		{"add.s32", []uint64{0x7fffffff, 1}, 0xffffffff80000000},
		{"add.u32", []uint64{0xdead00007fffffff, 1}, 0x80000000},
		{"add.sat.s32", []uint64{0x7fffffff, 1}, 0x7fffffff},
		{"mad.lo.s32", []uint64{3, 0xffffffff, 1}, 0xfffffffffffffffe},
		{"mul.wide.u32", []uint64{0xffffffff, 0xffffffff}, 0xfffffffe00000001},
		{"add.f32", []uint64{0x3f800000, 0x40000000}, 0x40400000},
		{"cvt.rzi.s32.f32", []uint64{0xbfc00000}, 0xffffffffffffffff},
		{"cvt.u16.u32", []uint64{0x12345678}, 0x5678},
		{"shr.s32", []uint64{0x80000000, 40}, 0xffffffffffffffff},
		{"prmt.b32", []uint64{0x33221100, 0x77665544, 0x7654}, 0x77665544},
		{"lop3.b32", []uint64{0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0x96}, 0xff00ff00 ^ 0xf0f0f0f0 ^ 0xcccccccc},
		{"selp.b32", []uint64{1, 2, 0}, 2},
	} {
		parts := strings.Split(c.name, ".")
		o, err := Lookup(parts[0], parts[1:])
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := call(o, c.args); got != c.want {
			t.Errorf("%s %#x = %#x, want %#x", c.name, c.args, got, c.want)
		}
	}
}

// call calls that of F1 to F4 which is set.
func call(o Op, args []uint64) uint64 {
	switch {
	case o.F1 != nil:
		return o.F1(args[0])
	case o.F2 != nil:
		return o.F2(args[0], args[1])
	case o.F3 != nil:
		return o.F3(args[0], args[1], args[2])
	}
	return o.F4(args[0], args[1], args[2], args[3])
}

func TestLookupUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"bar.sync":         "no instruction bar",
		"add":              "names no type",
		"add.f32x2":        "names no type",
		"add.wide.s32":     "takes no .wide",
		"add.sat.u32":      "takes no .sat",
		"add.ftz.ftz.f32":  "takes no .ftz",
		"add.rz.f16":       "no such form for the type",
		"add.b32":          "no such form for the type",
		"fma.f32":          "a modifier is missing",
		"mul.s32":          "a modifier is missing",
		"mul.wide.u64":     "no such form for the type",
		"setp.lo.s32":      "no such form for the type",
		"cvt.f32.f64":      "a modifier is missing",
		"cvt.rn.f64.f32":   "no such form for the type",
		"cvt.rn.f32.f32x2": "not understood: .rn .f32x2",
	} {
		parts := strings.Split(name, ".")
		_, err := Lookup(parts[0], parts[1:])
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
