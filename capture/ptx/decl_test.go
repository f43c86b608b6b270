package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// declared returns the variables of a module.
func declared(t rapid.TB, src string) []*Variable {
	t.Helper()
	m, err := Parse("f.ptx", []byte(head+src))
	if err == nil {
		err = Resolve(m)
	}
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	var vars []*Variable
	for _, d := range m.Decls {
		if v, ok := d.(*Variable); ok {
			vars = append(vars, v)
		}
	}
	return vars
}

// TestSizes: bytes and alignment of variables (PTX ISA, "Array Declarations",
// "Alignment").
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		src   string
		size  int64
		align int
	}{
		{".global .u8 x", 1, 1}, {".global .b128 x", 16, 16}, {".global .f16x2 x", 4, 4}, {".global .pred x", 1, 1},
		{".global .v4 .f32 x", 16, 16}, {".global .v2 .u8 x[3]", 6, 2}, {".global .v8 .b32 x", 32, 32},
		{".shared .align 128 .b8 x[10]", 10, 128}, {".shared .b8 .align 16 x[2][3][4]", 24, 16}, {".shared .b64 x[0]", 0, 8},
		{".extern .shared .align 16 .b8 x[]", 0, 16}, {".extern .shared .u32 x[][4]", 0, 4},
		{".global .u32 x[] = {1, 2, 3}", 12, 4}, {".global .u32 x[][2] = {1, 2, 3}", 16, 4}, {".global .u32 x[] = {}", 0, 4},
		{".global .v4 .u16 x[] = {{1}, {2}}", 16, 8},
		{".shared .b8 x[4294967296]", 1 << 32, 1}, {".shared .b64 x[65536][8192]", 1 << 32, 8},
	} {
		v := declared(t, tt.src+";")[0]
		if v.Size() != tt.size || v.Alignment() != tt.align {
			t.Errorf("%s has %d bytes, alignment %d; want %d, %d", tt.src, v.Size(), v.Alignment(), tt.size, tt.align)
		}
	}
	if _, ok := TypeSize("u12"); ok {
		t.Error("u12 is a type")
	}
}

// TestValues: initial values in the width of their type (PTX ISA,
// "Constants").
func TestValues(t *testing.T) {
	for _, tt := range []struct {
		typ, value string
		want       uint64
	}{
		{"u8", "-1", 0xFF}, {"u8", "300", 44}, {"s16", "-2", 0xFFFE}, {"b32", "0xFFFFFFFFFFFFFFFF", 0xFFFFFFFF}, {"b64", "-1", 1<<64 - 1},
		{"f32", "0f7F800001", 0x7F800001}, // a signalling NaN, untouched
		{"f32", "-0f7F800001", 0xFF800001},
		{"f32", "1.5", uint64(math.Float32bits(1.5))}, {"f32", "-2", uint64(math.Float32bits(-2))},
		{"f32", "0xFFFFFFFFFFFFFFFF", uint64(math.Float32bits(1 << 64))},
		{"f64", "0d7FF0000000000001", 0x7FF0000000000001}, {"f64", "3", math.Float64bits(3)}, {"f64", "1e999", math.Float64bits(math.Inf(1))},
		{"f64", "0f40000000", math.Float64bits(2)},
		{"b32", "0f3F800000", 0x3F800000}, {"b64", "1.0", math.Float64bits(1)}, {"b32", "1.0", 0x3F800000},
		{"pred", "-3", 1}, {"pred", "0", 0}, {"f16x2", "0x3C003C00", 0x3C003C00},
	} {
		if got := declared(t, ".global ."+tt.typ+" x = "+tt.value+";")[0].Init[0].Value; got != tt.want {
			t.Errorf(".%s %s is %#x, want %#x", tt.typ, tt.value, got, tt.want)
		}
	}
}

// TestInitializers: values in nested braces, in flat ones and in a mix of both
// land where C puts them.
func TestInitializers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 3).Draw(t, "dims")
		sizes := make([]int, len(dims)+1) // of an element in so many braces
		sizes[len(dims)] = 1
		for i := len(dims) - 1; i >= 0; i-- {
			sizes[i] = sizes[i+1] * dims[i]
		}
		want := map[int]uint64{}
		next, highest := uint64(1), 0
		var list func(level, at int) string
		list = func(level, at int) string {
			var parts []string
			full := false
			for pos := at; pos < at+sizes[level]; {
				if full = full || rapid.IntRange(0, 5).Draw(t, "stop") == 0; full && len(parts) > 0 {
					break // the rest is zeros
				}
				if level+1 < len(dims) && (pos-at)%sizes[level+1] == 0 && rapid.Bool().Draw(t, "braces") {
					parts = append(parts, list(level+1, pos))
					pos += sizes[level+1]
					continue
				}
				parts = append(parts, fmt.Sprint(next))
				want[pos] = next
				highest = max(highest, pos)
				next++
				pos++
			}
			return "{" + strings.Join(parts, ", ") + "}"
		}
		values := list(0, 0)
		typ, shape := "", ""
		for i, d := range dims {
			switch {
			case i == 0 && len(dims) > 1 && rapid.Bool().Draw(t, "open"):
				shape += "[]"
			case i > 0 && i == len(dims)-1 && (d == 2 || d == 4) && rapid.Bool().Draw(t, "vector"):
				typ = fmt.Sprintf(".v%d ", d)
			default:
				shape += fmt.Sprintf("[%d]", d)
			}
		}
		src := ".global " + typ + ".u64 x" + shape + " = " + values + ";"
		v := declared(t, src)[0]
		if len(v.Init) != highest+1 {
			t.Fatalf("%s has %d values, want %d", src, len(v.Init), highest+1)
		}
		for i, e := range v.Init {
			if e.Value != want[i] {
				t.Fatalf("%s: element %d is %d, want %d", src, i, e.Value, want[i])
			}
		}
		if strings.HasPrefix(shape, "[]") {
			if rows := (highest + sizes[1]) / sizes[1]; v.Dims[0] < int64(rows) || v.Dims[0] > int64(dims[0]) {
				t.Fatalf("%s has %d rows, values for %d", src, v.Dims[0], rows)
			}
		}
	})
}

// TestFunctions: declarations and definitions of one name are one function;
// a variable that is defined hides its .extern declaration.
func TestFunctions(t *testing.T) {
	m := parsed(t, "f.ptx", []byte(head+`
.extern .func f(.param .b32 a);
.extern .func g();
.func h();
.alias h, f;
.entry first() { call f, (1); call g; call h, (1); ret; }
.func f(.param .b32 a) { ret; }
.func f(.param .b32 a);
.entry declared();
.visible .entry second() { ld.global.u32 x, [x]; ret; }
.extern .global .u32 x;
.global .u32 x = 5;
`))
	var entries []string
	for _, f := range m.Entries() {
		entries = append(entries, f.Name)
	}
	if got := strings.Join(entries, " "); got != "first second" {
		t.Errorf("entries %s", got)
	}
	f := m.Lookup("f")
	if f.Body == nil || m.Lookup("h") != f || m.Lookup("g").Body != nil || m.Lookup("declared").Body != nil || m.Lookup("i") != nil {
		t.Errorf("f is %+v", f)
	}
	for i, want := range []*Function{f, m.Lookup("g"), f} {
		call := m.Lookup("first").Body.Statements[i].(*Instruction)
		if got := call.Operands[0].(*Name).Sym.Function; got != want {
			t.Errorf("call %d goes to %+v", i, got)
		}
	}
	each(m.Lookup("second").Body.Statements, func(n *Name) {
		if n.Sym.Variable.Init == nil {
			t.Errorf("x is the declaration on line %d", n.Sym.Variable.Pos.Line)
		}
	})
}
