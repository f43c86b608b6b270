package matrix

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of testdata/h100 are what testdata/measure.sh left on an NVIDIA
// H100 80GB HBM3 with driver 580.159.04: for every entry of the PTX files of
// testdata its buffer, inputs and results.

// buffer is read from its front.
type buffer struct {
	t    *testing.T
	rest []byte
}

func measured(t *testing.T, entry string) *buffer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "h100", entry+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return &buffer{t, data}
}

func (b *buffer) bytes(n int) []byte {
	b.t.Helper()
	if n > len(b.rest) {
		b.t.Fatalf("%d bytes are left of the buffer, want %d", len(b.rest), n)
	}
	var data []byte
	data, b.rest = b.rest[:n], b.rest[n:]
	return data
}

// registers reads n registers of 32 lanes, of so many bytes each.
func (b *buffer) registers(n, size int) []*[32]uint64 {
	b.t.Helper()
	regs := empty(n)
	for _, reg := range regs {
		for lane := range reg {
			if data := b.bytes(size); size == 8 {
				reg[lane] = binary.LittleEndian.Uint64(data)
			} else {
				reg[lane] = uint64(binary.LittleEndian.Uint32(data))
			}
		}
	}
	return regs
}

func (b *buffer) end() {
	b.t.Helper()
	if len(b.rest) > 0 {
		b.t.Errorf("%d bytes are left of the buffer", len(b.rest))
	}
}

func empty(n int) []*[32]uint64 {
	regs := make([]*[32]uint64, n)
	for i := range regs {
		regs[i] = new([32]uint64)
	}
	return regs
}

// entries lists the entries of a PTX file of testdata.
func entries(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
			name, _, _ := strings.Cut(rest, "(")
			names = append(names, name)
		}
	}
	return names
}

// mmaOf is the form that an entry is named after: shape, types and the rest.
func mmaOf(t *testing.T, entry string) Mma {
	t.Helper()
	parts := strings.Split(entry, "_")
	m, err := LookupMma(slices.Concat([]string{"sync", "aligned", parts[0], "row", "col"}, parts[1:]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMeasuredMma: for every form, products of random numbers, and of small
// integers with a few special values among them, are those of the H100.
func TestMeasuredMma(t *testing.T) {
	for _, file := range []string{"float.ptx", "fp8.ptx", "double.ptx", "integer.ptx", "bits.ptx"} {
		for _, entry := range entries(t, file) {
			t.Run(entry, func(t *testing.T) {
				m := mmaOf(t, entry)
				size := m.product.a.format.registerBits() / 8
				buf := measured(t, entry)
				for range 2 {
					a, b, c := buf.registers(m.A, size), buf.registers(m.B, size), buf.registers(m.C, size)
					want := buf.registers(m.D, size)
					d := empty(m.D)
					m.Do(d, a, b, c)
					checkSum(t, &m.product, d, want, magnitudes(&m.product, a, b, c))
				}
				buf.end()
			})
		}
	}
}

// magnitudes are the sums of the absolute values of what D's elements are the
// sums of, by row; nil of integers.
func magnitudes(p *product, a, b, c []*[32]uint64) []float64 {
	if p.d.format == s32 {
		return nil
	}
	var am, bm, cm [mostA]float64
	gather(&p.a, am[:], a, format.float)
	gather(&p.b, bm[:], b, format.float)
	take(&p.c, cm[:], c, format.float)
	sums := make([]float64, p.c.rows*p.c.cols)
	for i := range sums {
		row, col := i/p.c.cols, i%p.c.cols
		sums[i] = math.Abs(cm[i])
		for k := range p.a.k {
			sums[i] += math.Abs(am[row*p.a.k+k] * bm[col*p.b.k+k])
		}
	}
	return sums
}

// tolerance is how much of the sum of the magnitudes the tensor core may be
// off. It cuts off bits where we round, and it may round in between.
func tolerance(p *product) float64 {
	switch {
	case p.d.format == f32:
		return 0x1p-23
	case p.d.format == f16 && p.a.format == f16:
		return 0x1p-12
	case p.d.format == f16: // products of 8-bit numbers are added 16 at a time
		return 0x1p-10
	}
	return 0
}

// checkSum holds D to what was measured: exactly if it is of integers or f64,
// a NaN, or infinite.
func checkSum(t *testing.T, p *product, d, want []*[32]uint64, magnitudes []float64) {
	t.Helper()
	if p.d.format == s32 {
		for r := range want {
			if *d[r] != *want[r] {
				t.Errorf("register %d is\n%x, on the H100\n%x", r, *d[r], *want[r])
			}
		}
		return
	}
	var dm, wm [mostC]float64
	take(&p.d, dm[:], d, format.float)
	take(&p.d, wm[:], want, format.float)
	for i, sum := range magnitudes {
		x, w := dm[i], wm[i]
		if x == w || x != x && w != w || math.Abs(x-w) <= tolerance(p)*sum {
			continue
		}
		t.Errorf("row %d, column %d is %g, on the H100 %g; the magnitudes are %g", i/p.d.cols, i%p.d.cols, x, w, sum)
	}
}

// permuted are the rows that lanes 0, 1, ... address in move.ptx.
func permuted(memory []byte) [][]byte {
	rows := make([][]byte, 32)
	for lane := range rows {
		rows[lane] = memory[RowBytes*(lane^5):][:RowBytes]
	}
	return rows
}

// TestMeasuredMoves: ldmatrix, stmatrix and movmatrix move what they move on
// the H100.
func TestMeasuredMoves(t *testing.T) {
	for _, entry := range entries(t, "move.ptx") {
		t.Run(entry, func(t *testing.T) {
			parts := strings.Split(entry, "_")
			mods := slices.Concat([]string{"sync", "aligned", "m8n8"}, parts[1:], []string{"b16"})
			buf := measured(t, entry)
			switch parts[0] {
			case "ldmatrix":
				l, err := LookupLdMatrix(mods)
				if err != nil {
					t.Fatal(err)
				}
				rows, want := permuted(buf.bytes(512)), buf.registers(l.N, 4)
				d := empty(l.N)
				l.Load(rows[:l.Rows()], d)
				checkRegisters(t, d, want)
			case "stmatrix":
				s, err := LookupStMatrix(mods)
				if err != nil {
					t.Fatal(err)
				}
				regs, want := buf.registers(s.N, 4), buf.bytes(512)
				memory := make([]byte, 512)
				s.Store(permuted(memory)[:s.Rows()], regs)
				if !bytes.Equal(memory, want) {
					t.Errorf("memory is\n%x, on the H100\n%x", memory, want)
				}
			case "movmatrix":
				m, err := LookupMovMatrix(mods)
				if err != nil {
					t.Fatal(err)
				}
				regs, want := buf.registers(1, 4), buf.registers(1, 4)
				m.Do(regs[0], regs[0])
				checkRegisters(t, regs, want)
			}
			buf.end()
		})
	}
}

func checkRegisters(t *testing.T, got, want []*[32]uint64) {
	t.Helper()
	for r := range want {
		if *got[r] != *want[r] {
			t.Errorf("register %d is\n%x, on the H100\n%x", r, *got[r], *want[r])
		}
	}
}

// TestMeasuredWmma: a wmma loads the same registers as on the H100, and stores
// the same product.
func TestMeasuredWmma(t *testing.T) {
	for _, entry := range entries(t, "wmma.ptx") {
		t.Run(entry, func(t *testing.T) {
			name := strings.Split(entry, "_") // wmma, the shape, three layouts, the types of D, of A and B, and of C
			shape, ab := name[1], name[6]
			load := func(which, layout, typ string) WmmaLoad {
				l, err := LookupWmmaLoad([]string{"load", which, "sync", "aligned", layout, shape, "global", typ})
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			la, lb, lc := load("a", name[2], ab), load("b", name[3], ab), load("c", name[4], name[7])
			st, err := LookupWmmaStore([]string{"store", "d", "sync", "aligned", name[4], shape, "global", name[5]})
			if err != nil {
				t.Fatal(err)
			}
			types := []string{name[5], ab, ab, name[7]}
			if ab == "f16" {
				types = []string{name[5], name[7]}
			}
			m, err := LookupWmmaMma(slices.Concat([]string{"mma", "sync", "aligned", name[2], name[3], shape}, types))
			if err != nil {
				t.Fatal(err)
			}

			buf := measured(t, entry)
			var frags [3][]*[32]uint64
			for i, l := range []WmmaLoad{la, lb, lc} {
				frags[i] = empty(l.N)
				l.Load(linesOf(l.Tile, buf.bytes(l.Lines*l.Elements*l.ElementBytes)), frags[i])
			}
			d, want := empty(m.D), empty(m.D)
			m.Do(d, frags[0], frags[1], frags[2])

			// D was stored: take it back into registers by the one load that there is of it.
			stored := buf.bytes(st.Lines * st.Elements * st.ElementBytes)
			ld := load("c", name[4], name[5])
			ld.Load(linesOf(ld.Tile, stored), want)
			checkSum(t, &m.product, d, want, magnitudes(&m.product, frags[0], frags[1], frags[2]))
			memory := make([]byte, len(stored))
			st.Store(linesOf(st.Tile, memory), want)
			if !bytes.Equal(memory, stored) {
				t.Error("to store what was loaded does not give the same")
			}

			for i, l := range []WmmaLoad{la, lb, lc} {
				checkRegisters(t, frags[i], buf.registers(l.N, l.format.registerBits()/8))
			}
			buf.end()
		})
	}
}

// linesOf are the lines of a matrix that lies in memory without gaps.
func linesOf(t Tile, memory []byte) [][]byte {
	lines := make([][]byte, t.Lines)
	n := t.Elements * t.ElementBytes
	for i := range lines {
		lines[i] = memory[i*n:][:n]
	}
	return lines
}
