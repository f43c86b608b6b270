package interp

import (
	"errors"
	"fmt"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
	"btrace/capture/ptx/matrix"
)

// The matrix instructions work on fragments that the lanes of a warp hold
// together (PTX ISA, "Warp Level Matrix Instructions"). They are .sync: all
// non-exited lanes wait for each other. What exited ones would contribute is
// whatever their registers hold.

// matrix is mma, ldmatrix, stmatrix, movmatrix and wmma.
func (l *lowering) matrix() error {
	switch l.i.Op {
	case "mma":
		return l.mma()
	case "wmma":
		return l.wmma()
	case "movmatrix":
		mov, err := matrix.LookupMovMatrix(l.i.Mods)
		if err != nil {
			return err
		}
		l.in.dst, l.in.a = l.dst(0), l.src(1, arith.B32)
		l.meetAll(func(x *warp, in *inst, m uint32) {
			var d column
			mov.Do(&d, x.val(in.a))
			x.keep(in.dst, &d, m)
		})
		return l.want(2)
	case "ldmatrix":
		return l.loadMatrix()
	}
	return l.storeMatrix()
}

// fragment is the registers of an operand.
func (l *lowering) fragment(o ptx.Operand, n int, one func(ptx.Operand) int32) ([]int32, error) {
	elems := []ptx.Operand{o}
	if v, ok := o.(*ptx.Vector); ok {
		elems = v.Elems
	}
	if len(elems) != n {
		return nil, fmt.Errorf("a fragment of %d registers: it takes %d", len(elems), n)
	}
	var regs []int32
	for _, e := range elems {
		regs = append(regs, one(e))
	}
	return regs, nil
}

func (l *lowering) anySrc(o ptx.Operand) int32 {
	if f, ok := o.(*ptx.Float); ok && !f.Single {
		return l.srcOf(o, arith.F64)
	}
	return l.srcOf(o, arith.B32)
}

// columns is the registers themselves.
func (x *warp) columns(regs []int32) []*column {
	cs := make([]*column, len(regs))
	for i, r := range regs {
		cs[i] = x.val(r)
	}
	return cs
}

func (l *lowering) mma() error {
	if l.has("sp") || l.has("sp::ordered_metadata") {
		return errors.New("sparse matrices are not supported")
	}
	mma, err := matrix.LookupMma(l.i.Mods)
	if err != nil {
		return err
	}
	return l.multiply(mma.D, mma.A, mma.B, mma.C, mma.Do)
}

// multiply is D = A x B + C, of fragments of so many registers.
func (l *lowering) multiply(nd, na, nb, nc int, do func(d, a, b, c []*column)) error {
	if err := l.want(4); err != nil {
		return err
	}
	d, err := l.fragment(l.operand(0), nd, l.dstOf)
	if err != nil {
		return err
	}
	var abc [3][]int32
	for n, size := range []int{na, nb, nc} {
		if abc[n], err = l.fragment(l.operand(1+n), size, l.anySrc); err != nil {
			return err
		}
	}
	l.meetAll(func(x *warp, _ *inst, m uint32) {
		x.gather(d, m, func(to []*column) { do(to, x.columns(abc[0]), x.columns(abc[1]), x.columns(abc[2])) })
	})
	return nil
}

// gather writes registers of lanes that are computed for all of the warp.
func (x *warp) gather(regs []int32, m uint32, compute func(to []*column)) {
	out := make([]column, len(regs))
	to := make([]*column, len(regs))
	for i := range out {
		to[i] = &out[i]
	}
	compute(to)
	for i, r := range regs {
		x.keep(r, &out[i], m)
	}
}

// wmma is the older family: load, store, mma.
func (l *lowering) wmma() error {
	switch {
	case l.has("mma"):
		mma, err := matrix.LookupWmmaMma(l.i.Mods)
		if err != nil {
			return err
		}
		return l.multiply(mma.D, mma.A, mma.B, mma.C, mma.Do)
	case l.has("load"):
		ld, err := matrix.LookupWmmaLoad(l.i.Mods)
		if err != nil {
			return err
		}
		d, err := l.fragment(l.operand(0), ld.N, l.dstOf)
		if err != nil {
			return err
		}
		lines, err := l.tile(1, ld.Tile, false)
		if err != nil {
			return err
		}
		l.meetAll(func(x *warp, in *inst, m uint32) {
			if data := lines(x, in, m); data != nil {
				x.gather(d, m, func(to []*column) { ld.Load(data, to) })
			}
		})
		return nil
	case l.has("store"):
		st, err := matrix.LookupWmmaStore(l.i.Mods)
		if err != nil {
			return err
		}
		from, err := l.fragment(l.operand(1), st.N, l.anySrc)
		if err != nil {
			return err
		}
		lines, err := l.tile(0, st.Tile, true)
		if err != nil {
			return err
		}
		l.meetAll(func(x *warp, in *inst, m uint32) {
			if data := lines(x, in, m); data != nil {
				st.Store(data, x.columns(from))
			}
		})
		return nil
	}
	return errUnknown
}

// tile finds the lines of a matrix in memory, at the address that operand n
// is and with the stride that the third may be.
func (l *lowering) tile(n int, t matrix.Tile, writes bool) (func(x *warp, in *inst, m uint32) [][]byte, error) {
	if err := l.want(2, 3); err != nil {
		return nil, err
	}
	l.in.mem = l.address(l.operand(n), l.spaceOf())
	stride := l.constant(uint64(t.Elements))
	if len(l.i.Operands) == 3 {
		stride = l.src(2, u32)
	}
	size := uint64(t.Elements * t.ElementBytes)
	return func(x *warp, in *inst, m uint32) [][]byte {
		lane := first(m)
		at := x.address(&in.mem, lane)
		step := uint64(uint32(x.val(stride)[lane])) * uint64(t.ElementBytes)
		lines := make([][]byte, t.Lines)
		for i := range lines {
			if lines[i] = x.reachAny(in, lane, in.mem.space, at+uint64(i)*step, size, writes); lines[i] == nil {
				return nil
			}
		}
		return lines
	}, nil
}

// rows is the rows of a matrix in shared memory, at the addresses of the
// first n lanes. A lane that is not there has no address: what its row holds
// is not defined, and here it is zeros.
func (x *warp) rows(in *inst, m uint32, n int, writes bool) [][]byte {
	rows := make([][]byte, n)
	for i := range rows {
		if m>>i&1 == 0 {
			rows[i] = make([]byte, matrix.RowBytes)
		} else if rows[i] = x.reach(in, i, in.mem.space, x.address(&in.mem, i), matrix.RowBytes, writes); rows[i] == nil {
			return nil
		}
	}
	return rows
}

func (l *lowering) loadMatrix() error {
	ld, err := matrix.LookupLdMatrix(l.i.Mods)
	if err != nil {
		return err
	}
	if err := l.want(2); err != nil {
		return err
	}
	d, err := l.fragment(l.operand(0), ld.N, l.dstOf)
	if err != nil {
		return err
	}
	l.in.mem = l.address(l.operand(1), l.spaceOf())
	l.meetAll(func(x *warp, in *inst, m uint32) {
		rows := x.rows(in, m, ld.Rows(), false)
		if rows == nil {
			return
		}
		x.gather(d, m, func(to []*column) { ld.Load(rows, to) })
	})
	return nil
}

func (l *lowering) storeMatrix() error {
	st, err := matrix.LookupStMatrix(l.i.Mods)
	if err != nil {
		return err
	}
	if err := l.want(2); err != nil {
		return err
	}
	from, err := l.fragment(l.operand(1), st.N, l.anySrc)
	if err != nil {
		return err
	}
	l.in.mem = l.address(l.operand(0), l.spaceOf())
	l.meetAll(func(x *warp, in *inst, m uint32) {
		if rows := x.rows(in, m, st.Rows(), true); rows != nil {
			st.Store(rows, x.columns(from))
		}
	})
	return nil
}
