package matrix

// Where a matrix's elements lie in the registers of a warp (PTX ISA, "Matrix
// Fragments for mma.m8n8k4" and those after it). All shapes are of one rule,
// which that text states shape by shape; and the fragments of wmma, which it
// leaves unspecified, follow it as well on the H100.

// operand is how A, or B transposed, lies in registers. lane/4 is a row within
// 8, lane%4 a place along k, and a register holds neighbours along k. The
// registers of a group of 8-row blocks come together: those of the group's
// blocks in turn, for one stretch of k after the other.
type operand struct {
	format format
	per    int // elements in a register
	group  int // 8-row blocks that take turns: 1 or 2
	chunks int // stretches along k, of 4 lanes' registers
	regs   int // registers, before they repeat
	k      int // columns of the matrix
}

func newOperand(f format, rows, k, group int) operand {
	o := operand{format: f, per: f.registerBits() / f.bits(), group: group, k: k}
	if f == b1 { // 32 bits are handled as one element
		o.per, o.k = 1, k/32
	}
	o.chunks = o.k / (4 * o.per)
	o.regs = rows / 8 * o.chunks
	return o
}

// place is the row, and the place along k, of the first element of a register.
func (o *operand) place(lane, reg int) (row, k int) {
	block, turn := reg/(o.group*o.chunks), reg%(o.group*o.chunks)
	return lane/4 + 8*(block*o.group+turn%o.group), (turn/o.group*4 + lane%4) * o.per
}

// gather takes the elements out of registers, row by row.
func gather[T any](o *operand, dst []T, regs []*[32]uint64, decode func(format, uint64) T) {
	width := o.format.bits()
	for r, reg := range regs[:o.regs] {
		for lane, word := range reg {
			row, k := o.place(lane, r)
			at := dst[row*o.k+k:][:o.per]
			for j := range at {
				at[j] = decode(o.format, word)
				word >>= width
			}
		}
	}
}

// accumulator is how C or D lies in registers: lane/4 is a row, and each lane
// has two neighbours in it; blocks of 8x8 come down the rows and then along
// the columns. Of the transpose, where there are more columns than rows, it is
// the other way round.
type accumulator struct {
	format     format
	per        int // elements in a register
	rows, cols int // of the matrix
	transposed bool
}

func newAccumulator(f format, rows, cols int, transposed bool) accumulator {
	return accumulator{f, f.registerBits() / f.bits(), rows, cols, transposed}
}

// regs is how many registers it is.
func (c *accumulator) regs() int { return c.rows * c.cols / 32 / c.per }

// place is the row and column of element i of a lane, counted through its
// registers.
func (c *accumulator) place(lane, i int) (row, col int) {
	rows, pair := c.rows, i/2
	if c.transposed {
		rows = c.cols
	}
	row = lane/4 + pair*8%rows
	col = lane%4*2 + i%2 + pair*8/rows*8
	if c.transposed {
		row, col = col, row
	}
	return row, col
}

// take takes the elements out of registers, row by row.
func take[T any](c *accumulator, dst []T, regs []*[32]uint64, decode func(format, uint64) T) {
	for r, reg := range regs[:c.regs()] {
		for lane, word := range reg {
			for j := range c.per {
				row, col := c.place(lane, r*c.per+j)
				dst[row*c.cols+col] = decode(c.format, word>>(j*c.format.bits()))
			}
		}
	}
}

// put puts the elements into registers.
func put[T any](c *accumulator, regs []*[32]uint64, src []T, encode func(format, T) uint64) {
	for r, reg := range regs[:c.regs()] {
		for lane := range reg {
			var word uint64
			for j := range c.per {
				row, col := c.place(lane, r*c.per+j)
				word |= encode(c.format, src[row*c.cols+col]) << (j * c.format.bits())
			}
			reg[lane] = word
		}
	}
}
