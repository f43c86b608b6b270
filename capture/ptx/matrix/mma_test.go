package matrix

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLookupMma(t *testing.T) {
	for _, c := range []struct {
		mods       string
		d, a, b, c int // registers
	}{
		{"sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 2, 2, 1, 2},
		{"sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 4, 2, 4},
		{"sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 4, 2, 4},
		{"sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 4, 2, 1, 4},
		{"sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 2, 4},
		{"sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 4, 4, 2, 4},
		{"sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16", 2, 2, 1, 2},
		{"sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 2, 1, 1, 2},
		{"sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 4, 8, 4, 4},
		{"sync.aligned.m8n8k16.row.col.s32.s8.u8.s32", 2, 1, 1, 2},
		{"sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32", 4, 4, 2, 4},
		{"sync.aligned.m16n8k64.row.col.s32.u4.s4.s32", 4, 4, 2, 4},
		{"sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 4, 4, 2, 4},
	} {
		m, err := LookupMma(strings.Split(c.mods, "."))
		if err != nil {
			t.Error(err)
			continue
		}
		if m.D != c.d || m.A != c.a || m.B != c.b || m.C != c.c {
			t.Errorf("%s: registers of D, A, B, C: %d %d %d %d, want %d %d %d %d", c.mods, m.D, m.A, m.B, m.C, c.d, c.a, c.b, c.c)
		}
	}
}

func TestLookupMmaRefuses(t *testing.T) {
	for _, c := range []struct{ mods, want string }{
		{"", "not covered"},
		{"sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "not covered"},
		{"sync.aligned.m16n8k16", "not covered"},
		{"sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "no shape .m8n8k4 of .f16"},
		{"sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "no shape .m16n8k32 of .f16"},
		{"sync.aligned.m16n8k16.row.col.f32.f32.f32.f32", "no shape .m16n8k16 of .f32"},
		{"sync.aligned.m16n8k16.col.row.f32.f16.f16.f32", "want the layouts .row.col"},
		{"sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", "no products of .f16 and .bf16"},
		{"sync.aligned.m16n8k16.row.col.f32.f16.f16.f16", "no sums of .f16 in .f32 and .f16"},
		{"sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16", "no sums of .bf16"},
		{"sync.aligned.m16n8k16.row.col.f16.s8.s8.f16", "no sums of .s8"},
		{"sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", ".satfinite is for integers"},
		{"sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8", "want the types"},
		{"sync.aligned.m16n8k128.row.col.s32.b1.b1.s32", "want .xor.popc or .and.popc"},
		{"sync.aligned.m16n8k128.row.col.satfinite.s32.b1.b1.s32.xor.popc", ".satfinite is for integers"},
		{"sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.or.popc", "want .xor.popc or .and.popc"},
		{"sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.rn", ".rn follows the types"},
	} {
		_, err := LookupMma(strings.Split(c.mods, "."))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mma.%s: %v, want %q", c.mods, err, c.want)
		}
	}
}

// TestFragments holds the one rule of this package to rows and columns as the
// PTX ISA gives them for some shapes: element i of a lane's fragment.
func TestFragments(t *testing.T) {
	for _, c := range []struct {
		mods                string
		a, b, c             func(g, t, i int) (row, col int) // of lane 4*g + t
		aSize, bSize, cSize int
	}{
		{
			mods: "sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
			a: func(g, t, i int) (int, int) {
				row, col := g, t*2+i&1
				if !(i < 2 || i >= 4 && i < 6) {
					row += 8
				}
				if i >= 4 {
					col += 8
				}
				return row, col
			},
			aSize: 8,
			b: func(g, t, i int) (int, int) {
				row := t*2 + i&1
				if i >= 2 {
					row += 8
				}
				return row, g
			},
			bSize: 4,
			c: func(g, t, i int) (int, int) {
				if i >= 2 {
					g += 8
				}
				return g, t*2 + i&1
			},
			cSize: 4,
		},
		{
			mods: "sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
			a:    func(g, t, i int) (int, int) { return g + i%2*8, t + i/2*4 }, aSize: 4,
			b: func(g, t, i int) (int, int) { return t + i*4, g }, bSize: 2,
			c: func(g, t, i int) (int, int) { return g + i/2*8, t*2 + i%2 }, cSize: 4,
		},
		{
			mods: "sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
			a: func(g, t, i int) (int, int) {
				if i%2 == 0 {
					return g, i*2 + t
				}
				return g + 8, i*2 - 2 + t
			},
			aSize: 8,
			b:     func(g, t, i int) (int, int) { return t + i*4, g }, bSize: 4,
			c: func(g, t, i int) (int, int) { return g + i/2*8, t*2 + i%2 }, cSize: 4,
		},
		{
			mods: "sync.aligned.m8n8k16.row.col.s32.u8.s8.s32",
			a:    func(g, t, i int) (int, int) { return g, t*4 + i }, aSize: 4,
			b: func(g, t, i int) (int, int) { return t*4 + i, g }, bSize: 4,
			c: func(g, t, i int) (int, int) { return g, t*2 + i }, cSize: 2,
		},
		{
			mods: "sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
			a: func(g, t, i int) (int, int) {
				row, col := g, t*8+i&7
				if !(i < 8 || i >= 16 && i < 24) {
					row += 8
				}
				if i >= 16 {
					col += 32
				}
				return row, col
			},
			aSize: 32,
			b: func(g, t, i int) (int, int) {
				row := t*8 + i&7
				if i >= 8 {
					row += 32
				}
				return row, g
			},
			bSize: 16,
			c:     func(g, t, i int) (int, int) { return g + i/2*8, t*2 + i%2 }, cSize: 4,
		},
	} {
		m, err := LookupMma(strings.Split(c.mods, "."))
		if err != nil {
			t.Fatal(err)
		}
		p := &m.product
		for lane := range 32 {
			g, in := lane>>2, lane%4
			for i := range c.aSize {
				row, k := p.a.place(lane, i/p.a.per)
				if wantRow, wantK := c.a(g, in, i); row != wantRow || k+i%p.a.per != wantK {
					t.Errorf("%s: lane %d holds as a%d row %d, column %d; want %d, %d", c.mods, lane, i, row, k+i%p.a.per, wantRow, wantK)
				}
			}
			for i := range c.bSize {
				col, k := p.b.place(lane, i/p.b.per)
				if wantK, wantCol := c.b(g, in, i); col != wantCol || k+i%p.b.per != wantK {
					t.Errorf("%s: lane %d holds as b%d row %d, column %d; want %d, %d", c.mods, lane, i, k+i%p.b.per, col, wantK, wantCol)
				}
			}
			for i := range c.cSize {
				row, col := p.c.place(lane, i)
				if wantRow, wantCol := c.c(g, in, i); row != wantRow || col != wantCol {
					t.Errorf("%s: lane %d holds as c%d row %d, column %d; want %d, %d", c.mods, lane, i, row, col, wantRow, wantCol)
				}
			}
		}
	}
}

// forms lists one form of mma for every shape and type.
func forms() [][]string {
	var all [][]string
	for _, typ := range []string{"f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "s8", "u8", "s4", "u4", "b1"} {
		f := formatNamed(typ)
		for _, shape := range shapesOf(f) {
			for _, sum := range accumulatorsOf(f) {
				name := map[format]string{f16: "f16", f32: "f32", f64: "f64", s32: "s32"}[sum]
				form := []string{"sync", "aligned", shape, "row", "col", name, typ, typ, name}
				if f == b1 {
					form = append(form, "and", "popc")
				}
				all = append(all, form)
			}
		}
	}
	return all
}

// TestPlacesOnce: in every form each element of a matrix has one place.
func TestPlacesOnce(t *testing.T) {
	for _, form := range forms() {
		m, err := LookupMma(form)
		if err != nil {
			t.Fatal(err)
		}
		p := &m.product
		for which, o := range map[string]operand{"A": p.a, "B": p.b} {
			seen := make(map[[2]int]bool)
			for lane := range 32 {
				for r := range o.regs {
					row, k := o.place(lane, r)
					seen[[2]int{row, k}] = true
				}
			}
			if len(seen) != 32*o.regs {
				t.Errorf("%v: %d registers of %s are in %d places", form, 32*o.regs, which, len(seen))
			}
		}
		seen := make(map[[2]int]bool)
		for lane := range 32 {
			for i := range p.c.regs() * p.c.per {
				row, col := p.c.place(lane, i)
				seen[[2]int{row, col}] = row < p.c.rows && col < p.c.cols
			}
		}
		if len(seen) != p.c.rows*p.c.cols {
			t.Errorf("%v: C has %d places, want %d", form, len(seen), p.c.rows*p.c.cols)
		}
	}
}

// TestIdentity: A x 1 + 0 is A, as far as 1 has columns.
func TestIdentity(t *testing.T) {
	m, err := LookupMma([]string{"sync", "aligned", "m16n8k8", "row", "col", "f32", "f16", "f16", "f32"})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c, d := empty(m.A), empty(m.B), empty(m.C), empty(m.D)
	for r, reg := range a {
		for lane := range reg {
			for j := range 2 {
				row, col := lane/4+8*r, lane%4*2+j
				reg[lane] |= f16.round(float64(8*row+col)) << (16 * j)
			}
		}
	}
	for lane := range b[0] {
		for j := range 2 {
			if k, col := lane%4*2+j, lane/4; k == col {
				b[0][lane] |= f16.round(1) << (16 * j)
			}
		}
	}
	m.Do(d, a, b, c)
	for i, reg := range d {
		for lane := range reg {
			row, col := lane/4+8*(i/2), lane%4*2+i%2
			if got := f32.float(reg[lane]); got != float64(8*row+col) {
				t.Errorf("row %d, column %d is %g, want %d", row, col, got, 8*row+col)
			}
		}
	}
}

// TestAccumulate: where A or B is zero D is C, though it is C's own registers.
func TestAccumulate(t *testing.T) {
	all := forms()
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(all).Draw(t, "form")
		m, err := LookupMma(form)
		if err != nil {
			t.Fatal(err)
		}
		c := empty(m.C)
		for _, reg := range c {
			for lane := range reg {
				f := m.product.c.format
				for j := range m.product.c.per {
					v := float64(rapid.IntRange(-2000, 2000).Draw(t, "c"))
					if f == s32 {
						reg[lane] = uint64(uint32(int32(v)))
					} else {
						reg[lane] |= f.round(v) << (j * f.bits())
					}
				}
			}
		}
		want := make([][32]uint64, len(c))
		for i := range c {
			want[i] = *c[i]
		}
		m.Do(c, empty(m.A), empty(m.B), c)
		for i := range c {
			if *c[i] != want[i] {
				t.Fatalf("%v: register %d of D is %x, want %x", form, i, *c[i], want[i])
			}
		}
	})
}

// TestScaled: with twice A, D-C is twice what it was; and with A and B of
// small integers D is exact, whatever the order of the sum.
func TestScaled(t *testing.T) {
	all := slices.DeleteFunc(forms(), func(f []string) bool { return f[6] == "b1" || f[5] == "s32" })
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(all).Draw(t, "form")
		m, err := LookupMma(form)
		if err != nil {
			t.Fatal(err)
		}
		p := &m.product
		small := map[format][]uint64{ // -2, -1, 0, 1, 2
			f16:  {0xc000, 0xbc00, 0, 0x3c00, 0x4000},
			bf16: {0xc000, 0xbf80, 0, 0x3f80, 0x4000},
			tf32: {0xc0000000, 0xbf800000, 0, 0x3f800000, 0x40000000},
			e4m3: {0xc0, 0xb8, 0, 0x38, 0x40},
			e5m2: {0xc0, 0xbc, 0, 0x3c, 0x40},
			f64:  {math.Float64bits(-2), math.Float64bits(-1), 0, math.Float64bits(1), math.Float64bits(2)},
		}[p.a.format]
		once, twice, b := empty(m.A), empty(m.A), empty(m.B)
		for r := range once {
			for lane := range 32 {
				for j := range p.a.per {
					i := rapid.IntRange(1, 3).Draw(t, "a")
					once[r][lane] |= small[i] << (j * p.a.format.bits())
					twice[r][lane] |= small[2*i-2] << (j * p.a.format.bits())
				}
			}
		}
		for _, reg := range b {
			for lane := range reg {
				for j := range p.b.per {
					reg[lane] |= small[rapid.IntRange(0, 4).Draw(t, "b")] << (j * p.b.format.bits())
				}
			}
		}
		d1, d2 := empty(m.D), empty(m.D)
		m.Do(d1, once, b, empty(m.C))
		m.Do(d2, twice, b, empty(m.C))
		var m1, m2 [mostC]float64
		take(&p.d, m1[:], d1, format.float)
		take(&p.d, m2[:], d2, format.float)
		for i := range m1 {
			if m2[i] != 2*m1[i] || m1[i] != math.Trunc(m1[i]) || math.Abs(m1[i]) > float64(2*p.a.k) {
				t.Fatalf("%v: element %d is %g, and of twice A %g", form, i, m1[i], m2[i])
			}
		}
	})
}

// TestSaturate: a sum of integers stops at the ends with .satfinite, and goes
// around without.
func TestSaturate(t *testing.T) {
	for _, c := range []struct {
		satfinite  bool
		a, b, c, d uint64
	}{
		{false, 0x01010101, 0x01010101, 0x7fffffff, 0x8000000f},
		{true, 0x01010101, 0x01010101, 0x7fffffff, 0x7fffffff},
		{false, 0x01010101, 0xffffffff, 0x80000000, 0x7ffffff0},
		{true, 0x01010101, 0xffffffff, 0x80000000, 0x80000000},
		{true, 0x01010101, 0xffffffff, 5, 0xfffffff5},
	} {
		mods := []string{"sync", "aligned", "m8n8k16", "row", "col", "s32", "s8", "s8", "s32"}
		if c.satfinite {
			mods = slices.Insert(mods, 5, "satfinite")
		}
		m, err := LookupMma(mods)
		if err != nil {
			t.Fatal(err)
		}
		fill := func(n int, v uint64) []*[32]uint64 {
			regs := empty(n)
			for _, reg := range regs {
				for lane := range reg {
					reg[lane] = v
				}
			}
			return regs
		}
		d := empty(m.D)
		m.Do(d, fill(m.A, c.a), fill(m.B, c.b), fill(m.C, c.c))
		for _, reg := range d {
			for lane, v := range reg {
				if v != c.d {
					t.Errorf("satfinite %v: %#x x %#x + %#x is %#x in lane %d, want %#x", c.satfinite, c.a, c.b, c.c, v, lane, c.d)
				}
			}
		}
	}
}

func BenchmarkMma(b *testing.B) {
	for _, form := range [][]string{
		{"sync", "aligned", "m16n8k16", "row", "col", "f32", "f16", "f16", "f32"},
		{"sync", "aligned", "m16n8k32", "row", "col", "s32", "s8", "s8", "s32"},
	} {
		b.Run(fmt.Sprint(form[2], "_", form[6]), func(b *testing.B) {
			m, err := LookupMma(form)
			if err != nil {
				b.Fatal(err)
			}
			x, y, z := empty(m.A), empty(m.B), empty(m.C)
			b.ReportAllocs()
			for b.Loop() {
				m.Do(z, x, y, z)
			}
		})
	}
}
