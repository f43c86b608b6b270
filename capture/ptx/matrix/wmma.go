package matrix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// WmmaLoad is one form of wmma.load: it loads one of the matrices A, B and C
// (PTX ISA, "wmma.load").
type WmmaLoad struct {
	Tile
	N int // registers that a lane receives: of 64 bits for .f64, else of 32
}

// WmmaStore is one form of wmma.store.d: the way back (PTX ISA, "wmma.store").
type WmmaStore struct {
	Tile
	N int // registers that a lane gives
}

// WmmaMma is one form of wmma.mma: D = A x B + C (PTX ISA, "wmma.mma").
type WmmaMma struct {
	D, A, B, C int // registers that a lane holds of each operand

	product product
}

// Tile is a matrix of a wmma in memory. Line i of it, a row of a .row matrix or
// a column of a .col one, lies i times the instruction's stride operand from
// the address, counted in elements.
type Tile struct {
	Lines        int
	Elements     int // of a line; and the stride of an instruction that has no such operand
	ElementBytes int

	format  format
	operand operand     // of A and B
	acc     accumulator // of C and D
	along   bool        // a line goes along a row of C and D, or along k of A and B
}

// Do multiplies and adds. Each operand is as many registers as the field of
// its name says. The registers of d may be among the others.
func (m *WmmaMma) Do(d, a, b, c []*[32]uint64) { m.product.do(d, a, b, c) }

// wmmaForm is what a shape and the types of a wmma have in common.
type wmmaForm struct {
	m, n, k int
	wide    bool // the product is that of the transposes: B^T is the tall operand
	format  format
}

// parseWmma checks the shape of products of elements of a type.
func parseWmma(shape, name string) (w wmmaForm, err error) {
	w.format = formatNamed(name)
	var shapes []string
	switch w.format {
	case f16, bf16, s8, u8:
		shapes = []string{"m16n16k16", "m32n8k16", "m8n32k16"}
	case tf32:
		shapes = []string{"m16n16k8"}
	case f64:
		shapes = []string{"m8n8k4"}
	}
	if !slices.Contains(shapes, shape) {
		return w, fmt.Errorf("no shape .%s of .%s is covered", shape, name)
	}
	w.m, w.n, w.k = sizes(shape)
	w.wide = w.m < w.n
	return w, nil
}

// a and b are the operands. The tall one has its 8-row blocks in turns.
func (w *wmmaForm) a() operand { return newOperand(w.format, w.m, w.k, min(w.m/8, 2)) }

func (w *wmmaForm) b() operand {
	if w.wide {
		return newOperand(w.format, w.n, w.k, 2)
	}
	return newOperand(w.format, w.n, w.k, 1)
}

// regs is how many registers an operand takes. Of f16 it is always 8: smaller
// fragments are repeated.
func (w *wmmaForm) regs(o operand) int {
	if w.format == f16 {
		return 8
	}
	return o.regs
}

// LookupWmmaLoad is the form of wmma.load that has these modifiers, in their
// order: load, a, b or c, sync, aligned, row or col, the shape, global, shared,
// shared::cta or nothing, and the type.
func LookupWmmaLoad(mods []string) (WmmaLoad, error) {
	t, n, err := parseTile("load", mods)
	if err != nil {
		return WmmaLoad{}, fmt.Errorf("wmma.%s: %w", strings.Join(mods, "."), err)
	}
	return WmmaLoad{t, n}, nil
}

// LookupWmmaStore is the form of wmma.store that has these modifiers, in their
// order: store, d, and what LookupWmmaLoad takes after c.
func LookupWmmaStore(mods []string) (WmmaStore, error) {
	t, n, err := parseTile("store", mods)
	if err != nil {
		return WmmaStore{}, fmt.Errorf("wmma.%s: %w", strings.Join(mods, "."), err)
	}
	return WmmaStore{t, n}, nil
}

func parseTile(name string, mods []string) (t Tile, n int, err error) {
	if len(mods) == 8 && slices.Contains([]string{"global", "shared", "shared::cta"}, mods[6]) {
		mods = slices.Delete(slices.Clone(mods), 6, 7)
	}
	if len(mods) != 7 || mods[0] != name || mods[2] != "sync" || mods[3] != "aligned" {
		return t, 0, fmt.Errorf("not covered: want .%s.MATRIX.sync.aligned.LAYOUT.SHAPE[.SPACE].TYPE", name)
	}
	matrix, layout, shape, typ := mods[1], mods[4], mods[5], mods[6]
	if layout != "row" && layout != "col" {
		return t, 0, fmt.Errorf("no layout .%s: want .row or .col", layout)
	}
	var w wmmaForm
	var rows, cols int
	t.format = formatNamed(typ)
	switch {
	case name == "load" && matrix == "a":
		if w, err = parseWmma(shape, typ); err != nil {
			return t, 0, err
		}
		t.operand, rows, cols = w.a(), w.m, w.k
		t.along = layout == "row"
		n = w.regs(t.operand)
	case name == "load" && matrix == "b":
		if w, err = parseWmma(shape, typ); err != nil {
			return t, 0, err
		}
		t.operand, rows, cols = w.b(), w.k, w.n
		t.along = layout == "col"
		n = w.regs(t.operand)
	case name == "load" && matrix == "c", name == "store" && matrix == "d":
		if w, err = parseWmma(shape, summand(t.format, shape)); err != nil {
			return t, 0, fmt.Errorf("no shape .%s with sums in .%s is covered", shape, typ)
		}
		t.acc, rows, cols = newAccumulator(t.format, w.m, w.n, w.wide), w.m, w.n
		t.along = layout == "row"
		n = t.acc.regs()
	default:
		return t, 0, fmt.Errorf("no matrix .%s", matrix)
	}
	t.Lines, t.Elements, t.ElementBytes = rows, cols, t.format.bits()/8
	if layout == "col" {
		t.Lines, t.Elements = cols, rows
	}
	return t, n, nil
}

// summand is a type whose products are added in sums of that type, in a shape.
func summand(sum format, shape string) string {
	switch {
	case sum == f32 && shape == "m16n16k8":
		return "tf32"
	case sum == f32 || sum == f16:
		return "f16"
	case sum == s32:
		return "s8"
	case sum == f64:
		return "f64"
	}
	return ""
}

// at is the line of element j of a lane's register, and its place there.
func (t *Tile) at(lane, reg, j int) (line, place int) {
	if t.acc.per > 0 {
		line, place = t.acc.place(lane, reg*t.acc.per+j)
	} else {
		line, place = t.operand.place(lane, reg%t.operand.regs)
		place += j
	}
	if !t.along {
		line, place = place, line
	}
	return line, place
}

// Load fills the N registers of d. data[i] is line i, of
// Elements times ElementBytes.
func (w *WmmaLoad) Load(data [][]byte, d []*[32]uint64) {
	width := w.format.bits()
	for r, reg := range d[:w.N] {
		for lane := range reg {
			var word uint64
			for j := range w.format.registerBits() / width {
				line, place := w.at(lane, r, j)
				word |= element(data[line], place, width) << (j * width)
			}
			reg[lane] = word
		}
	}
}

// Store writes the N registers of s. data[i] is line i, as for a load.
func (w *WmmaStore) Store(data [][]byte, s []*[32]uint64) {
	width := w.format.bits()
	for r, reg := range s[:w.N] {
		for lane, word := range reg {
			for j := range w.format.registerBits() / width {
				line, place := w.at(lane, r, j)
				setElement(data[line], place, width, word>>(j*width))
			}
		}
	}
}

func element(line []byte, i, width int) uint64 {
	switch width {
	case 8:
		return uint64(line[i])
	case 16:
		return uint64(binary.LittleEndian.Uint16(line[2*i:]))
	case 32:
		return uint64(binary.LittleEndian.Uint32(line[4*i:]))
	}
	return binary.LittleEndian.Uint64(line[8*i:])
}

func setElement(line []byte, i, width int, v uint64) {
	switch width {
	case 16:
		binary.LittleEndian.PutUint16(line[2*i:], uint16(v))
	case 32:
		binary.LittleEndian.PutUint32(line[4*i:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(line[8*i:], v)
	}
}

// LookupWmmaMma is the form of wmma.mma that has these modifiers, in their
// order: mma, sync, aligned, the layouts of A and B, the shape, rn for f64 if
// it is said, the types of D, A, B and C (for products of f16 only those of D
// and C), and satfinite of integers if it is wanted. The layouts do not
// matter: a fragment is the same wherever it came from.
func LookupWmmaMma(mods []string) (WmmaMma, error) {
	p, w, err := parseWmmaMma(mods)
	if err != nil {
		return WmmaMma{}, fmt.Errorf("wmma.%s: %w", strings.Join(mods, "."), err)
	}
	return WmmaMma{D: p.d.regs(), A: w.regs(p.a), B: w.regs(p.b), C: p.c.regs(), product: p}, nil
}

func parseWmmaMma(mods []string) (p product, w wmmaForm, err error) {
	if len(mods) < 8 || mods[0] != "mma" || mods[1] != "sync" || mods[2] != "aligned" {
		return p, w, errors.New("not covered: want .mma.sync.aligned.LAYOUT.LAYOUT.SHAPE and the types")
	}
	for _, layout := range mods[3:5] {
		if layout != "row" && layout != "col" {
			return p, w, fmt.Errorf("no layout .%s: want .row or .col", layout)
		}
	}
	shape, types := mods[5], mods[6:]
	if types[0] == "rn" && types[1] == "f64" {
		types = types[1:]
	}
	if last := len(types) - 1; types[last] == "satfinite" {
		p.saturate, types = true, types[:last]
	}
	if len(types) == 2 {
		types = []string{types[0], "f16", "f16", types[1]}
	}
	if len(types) != 4 {
		return p, w, errors.New("want the types of D, A, B and C")
	}
	if w, err = parseWmma(shape, types[1]); err != nil {
		return p, w, err
	}
	d, c := formatNamed(types[0]), formatNamed(types[3])
	sums := accumulatorsOf(w.format)
	switch {
	case types[2] != types[1]:
		return p, w, fmt.Errorf("no products of .%s and .%s", types[1], types[2])
	case !slices.Contains(sums, d) || !slices.Contains(sums, c):
		return p, w, fmt.Errorf("no sums of .%s in .%s and .%s", types[1], types[0], types[3])
	case p.saturate && d != s32:
		return p, w, errors.New(".satfinite is covered for integers only")
	}
	p.a, p.b = w.a(), w.b()
	p.c = newAccumulator(c, w.m, w.n, w.wide)
	p.d = newAccumulator(d, w.m, w.n, w.wide)
	return p, w, nil
}
