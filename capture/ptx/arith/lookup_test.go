package arith

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
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
		"bar.sync":             "no instruction bar",
		"add":                  "names no type",
		"add.f32x2":            "no modifier .f32x2 is known",
		"add.wide.s32":         "takes no .wide",
		"add.sat.u32":          "takes no .sat",
		"add.ftz.ftz.f32":      "takes no .ftz",
		"add.rz.f16":           "no such form for the type",
		"add.b32":              "no such form for the type",
		"fma.f32":              "a modifier is missing",
		"mul.s32":              "a modifier is missing",
		"mul.wide.u64":         "no such form for the type",
		"setp.lo.s32":          "no such form for the type",
		"cvt.f32.f64":          "a modifier is missing",
		"cvt.rn.f64.f32":       "no such form for the type",
		"cvt.rn.f32.f32x2":     "no modifier .f32x2 is known",
		"cvt.sat.u32.u16":      "no such form for the type",
		"cvt.pack.sat.f16.s32": "no such form for the type",
	} {
		parts := strings.Split(name, ".")
		_, err := Lookup(parts[0], parts[1:])
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// What is above the width of an operand does not count, and what is above that
// of a result is its extension.
func TestExtension(t *testing.T) {
	for _, c := range hardwareCases() {
		parts := strings.Split(c.name, ".")
		op, err := Lookup(parts[0], parts[1:])
		if err != nil {
			continue // an atom, or one with an immediate
		}
		rapid.Check(t, func(t *rapid.T) {
			args := rapid.SliceOfN(rapid.Uint64(), 4, 4).Draw(t, "operands")
			noisy := slices.Clone(args)
			for i, s := range op.Src {
				noisy[i] = noise(t, noisy[i], s)
			}
			switch {
			case op.Carry != nil:
				cc := rapid.Bool().Draw(t, "carry")
				d, carry := op.Carry(args[0], args[1], args[2], cc)
				e, other := op.Carry(noisy[0], noisy[1], noisy[2], cc)
				if d != op.Dst.extend(d) || d != e || carry != other {
					t.Fatalf("%s: %#x, %v and %#x, %v", c.name, d, carry, e, other)
				}
			case op.Test != nil:
				if op.Test(args[0], args[1]) != op.Test(noisy[0], noisy[1]) {
					t.Fatal(c.name)
				}
				if op.TestHi != nil && op.TestHi(args[0], args[1]) != op.TestHi(noisy[0], noisy[1]) {
					t.Fatal(c.name)
				}
			default:
				if d, e := call(op, args), call(op, noisy); d != op.Dst.extend(d) || d != e {
					t.Fatalf("%s: %#x and %#x", c.name, d, e)
				}
			}
		})
	}
}

func noise(t *rapid.T, v uint64, typ Type) uint64 {
	if typ.Bits() == 64 || typ == Pred {
		return v
	}
	return v ^ rapid.Uint64().Draw(t, "noise")<<typ.Bits()
}

func TestTypes(t *testing.T) {
	for typ := U8; typ <= Pred; typ++ {
		if got, ok := ParseType(typ.String()); !ok || got != typ {
			t.Errorf("%v is parsed as %v, %v", typ, got, ok)
		}
	}
	for _, name := range []string{"", "none", "u128", "f32x2", ".u32"} {
		if got, ok := ParseType(name); ok {
			t.Errorf("%q is parsed as %v", name, got)
		}
	}
	if Type(0).Bits() != 0 || Type(200).Bits() != 0 || Type(200).String() != "none" || Type(200).Signed() || Type(200).Float() {
		t.Error("what is no type has properties")
	}
}

func TestThreeInput(t *testing.T) {
	const nan, one, two, minusThree = 0x7fc00000, 0x3f800000, 0x40000000, 0xc0400000
	for _, c := range []struct {
		name    string
		a, b, c uint64
		want    uint64
	}{
		{"min.f32", one, two, minusThree, minusThree},
		{"max.f32", one, two, minusThree, two},
		{"max.f32", nan, nan, one, one},
		{"max.f32", nan, nan, nan, 0x7fffffff},
		{"max.NaN.f32", one, nan, two, 0x7fffffff},
		{"min.f32", 0, 1 << 31, one, 1 << 31},
		{"max.abs.f32", one, two, minusThree, minusThree &^ (1 << 31)},
		{"min.ftz.f32", one, two, 1, 0},
	} {
		parts := strings.Split(c.name, ".")
		o, err := ThreeInput(parts[0], parts[1:])
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := o.F3(c.a, c.b, c.c); got != c.want {
			t.Errorf("%s %#x %#x %#x = %#x, want %#x", c.name, c.a, c.b, c.c, got, c.want)
		}
	}
	for _, name := range []string{"add.f32", "min.f64", "max.xorsign.abs.f32", "min.s32", "max.what.f32"} {
		parts := strings.Split(name, ".")
		if _, err := ThreeInput(parts[0], parts[1:]); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLop3(t *testing.T) {
	table, _ := Lookup("lop3", []string{"b32"})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b"), rapid.Uint64().Draw(t, "c")
		lut := rapid.Uint8().Draw(t, "lut")
		var want uint64
		for i := range 32 {
			want |= uint64(lut>>(a>>i&1<<2|b>>i&1<<1|c>>i&1)&1) << i
		}
		if got, given := Lop3(lut)(a, b, c), table.F4(a, b, c, uint64(lut)); got != want || given != want {
			t.Fatalf("%#x and %#x, want %#x", got, given, want)
		}
	})
	for lut := range 256 { // those with a function of their own among them
		if got, want := Lop3(uint8(lut))(0xf0, 0xcc, 0xaa), uint64(lut); got&0xff != want {
			t.Errorf("lop3 of table %#x makes %#x of its columns", lut, got)
		}
	}
}

func TestAtomicUnknown(t *testing.T) {
	for _, c := range [][2]string{
		{"add", "b32"}, {"add", "pred"}, {"add", ""}, {"add", "u16"}, {"inc", "s32"}, {"min", "f32"}, {"and", "u8"}, {"exch", "b16"},
		{"sub", "u32"}, {"", "u32"}, {"add.ftz", "f32"},
	} {
		if f, err := Atomic(c[0], c[1]); !errors.Is(err, ErrUnknown) || f != nil {
			t.Errorf("%q: %v", c, err)
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, c := range []string{"add.rn.ftz.sat.f32", "cvt.pack.sat.u8.s32.b32", "setp.lt.and.f16x2", "madc.hi.cc.u64", "max.NaN.abs.f32", "cvt.rn.satfinite.relu.e4m3x2.f16x2"} {
		f.Add(c, uint64(0), uint64(1), uint64(0x7fc00000), uint64(1)<<63)
	}
	f.Fuzz(func(t *testing.T, name string, a, b, c, d uint64) {
		parts := strings.Split(name, ".")
		o, err := Lookup(parts[0], parts[1:])
		if err != nil {
			if !errors.Is(err, ErrUnknown) || strings.Contains(err.Error(), "\n") && !strings.Contains(name, "\n") {
				t.Fatal(err)
			}
			return
		}
		set := 0
		for _, f := range []bool{o.F1 != nil, o.F2 != nil, o.F3 != nil, o.F4 != nil, o.Test != nil, o.Carry != nil} {
			if f {
				set++
			}
		}
		n := len(o.Src)
		if set != 1 || o.F1 != nil && n != 1 || o.F2 != nil && n != 2 || o.F3 != nil && n != 3 || o.F4 != nil && n != 4 {
			t.Fatalf("%s: %d functions, %d sources", name, set, n)
		}
		switch {
		case o.Test != nil:
			o.Test(a, b)
		case o.Carry != nil:
			o.Carry(a, b, c, d&1 != 0)
		default:
			if r := call(o, []uint64{a, b, c, d}); r != o.Dst.extend(r) {
				t.Fatalf("%s of %#x, %#x, %#x, %#x = %#x, which is no %v", name, a, b, c, d, r, o.Dst)
			}
		}
	})
}
