package matrix

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// RowBytes is the length of a row of an 8x8 matrix of 16-bit elements.
const RowBytes = 16

// LdMatrix is one form of ldmatrix (PTX ISA, "ldmatrix"): it loads N matrices
// of 8 x 8 elements of 16 bits, of which each becomes one register.
type LdMatrix struct {
	N     int // registers a lane receives
	trans bool
}

// StMatrix is one form of stmatrix (PTX ISA, "stmatrix"): the way back.
type StMatrix struct {
	N     int // registers a lane gives
	trans bool
}

// MovMatrix is movmatrix (PTX ISA, "movmatrix"): it transposes a matrix of 8 x
// 8 elements of 16 bits that lies in a register.
type MovMatrix struct{}

// LookupLdMatrix is the form of ldmatrix that has these modifiers, in their
// order: sync, aligned, m8n8, x1, x2 or x4, trans if it is wanted, shared or
// shared::cta or nothing, and b16.
func LookupLdMatrix(mods []string) (LdMatrix, error) {
	n, trans, err := lookupMove("ldmatrix", mods)
	return LdMatrix{n, trans}, err
}

// LookupStMatrix is the form of stmatrix that has these modifiers, which are
// those of ldmatrix.
func LookupStMatrix(mods []string) (StMatrix, error) {
	n, trans, err := lookupMove("stmatrix", mods)
	return StMatrix{n, trans}, err
}

func lookupMove(name string, mods []string) (n int, trans bool, err error) {
	rest := mods
	next := func(of ...string) bool {
		if len(rest) == 0 || !slices.Contains(of, rest[0]) {
			return false
		}
		rest = rest[1:]
		return true
	}
	ok := next("sync") && next("aligned") && next("m8n8")
	switch {
	case !ok:
	case next("x1"):
		n = 1
	case next("x2"):
		n = 2
	case next("x4"):
		n = 4
	}
	trans = next("trans")
	next("shared", "shared::cta")
	if n == 0 || !next("b16") || len(rest) > 0 {
		return 0, false, fmt.Errorf("%s.%s: not a form that is covered: want .sync.aligned.m8n8.(x1|x2|x4)[.trans][.shared].b16", name, strings.Join(mods, "."))
	}
	return n, trans, nil
}

// LookupMovMatrix checks the modifiers of movmatrix: sync, aligned, m8n8,
// trans, b16.
func LookupMovMatrix(mods []string) (MovMatrix, error) {
	if !slices.Equal(mods, []string{"sync", "aligned", "m8n8", "trans", "b16"}) {
		return MovMatrix{}, fmt.Errorf("movmatrix.%s: not a form that there is: want .sync.aligned.m8n8.trans.b16", strings.Join(mods, "."))
	}
	return MovMatrix{}, nil
}

// Rows is how many lanes' addresses are used, from lane 0: lane 8*i + r has
// that of row r of matrix i.
func (l LdMatrix) Rows() int { return 8 * l.N }

// Rows is how many lanes' addresses are used, as for ldmatrix.
func (s StMatrix) Rows() int { return 8 * s.N }

// Load fills the N registers of d. rows[i] is the RowBytes bytes at the address
// of lane i, for Rows lanes.
func (l LdMatrix) Load(rows [][]byte, d []*[32]uint64) {
	for i, reg := range d[:l.N] {
		matrix := rows[8*i:][:8]
		for lane := range reg {
			var word uint64
			for j := range 2 {
				row, col := half(lane, j, l.trans)
				word |= uint64(binary.LittleEndian.Uint16(matrix[row][2*col:])) << (16 * j)
			}
			reg[lane] = word
		}
	}
}

// Store writes the N registers of s. rows[i] is the RowBytes bytes at the
// address of lane i, for Rows lanes.
func (s StMatrix) Store(rows [][]byte, regs []*[32]uint64) {
	for i, reg := range regs[:s.N] {
		matrix := rows[8*i:][:8]
		for lane, word := range reg {
			for j := range 2 {
				row, col := half(lane, j, s.trans)
				binary.LittleEndian.PutUint16(matrix[row][2*col:], uint16(word>>(16*j)))
			}
		}
	}
}

// Do writes the transpose of a to d, which may be a.
func (MovMatrix) Do(d, a *[32]uint64) {
	src := *a
	for lane := range d {
		var word uint64
		for j := range 2 {
			row, col := half(lane, j, true)
			word |= src[row*4+col/2] >> (16 * (col % 2)) & 0xffff << (16 * j)
		}
		d[lane] = word
	}
}

// half is the place in an 8x8 matrix of the low or high half of a lane's
// register: four lanes hold a row, or a column if the matrix is transposed.
func half(lane, which int, trans bool) (row, col int) {
	row, col = lane/4, lane%4*2+which
	if trans {
		row, col = col, row
	}
	return row, col
}
