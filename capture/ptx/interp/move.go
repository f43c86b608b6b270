package interp

import (
	"fmt"
	"math/bits"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
)

// copyColumn is dst = a.
func copyColumn(x *warp, in *inst, m uint32) {
	d, a := &x.regs[in.dst], x.val(in.a)
	if m == everyone {
		*d = *a
		return
	}
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = a[i]
	}
}

// mov moves a register, a constant, an address, a predicate, or several that
// are packed into one.
func (l *lowering) mov() error {
	if err := l.want(2); err != nil {
		return err
	}
	to, from := l.operand(0), l.operand(1)
	if v, ok := to.(*ptx.Vector); ok {
		return l.unpack(v, from)
	}
	if v, ok := from.(*ptx.Vector); ok {
		return l.pack(to, v)
	}
	if l.has("pred") {
		p := l.predDst(to)
		if n, ok := from.(*ptx.Name); ok && n.Name == "%is_explicit_cluster" {
			l.in.do = func(x *warp, _ *inst, m uint32) { x.setPred(p, m, -bit(x.cfg.Cluster.Size() > 1)) }
			return nil
		}
		q := l.predSrc(from)
		l.in.do = func(x *warp, _ *inst, m uint32) { x.setPred(p, m, x.pred(q)) }
		return nil
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	l.in.dst = l.dstOf(to)
	if v := variableOf(from); v != nil && !dynamic(v) {
		if sp, at := l.place(v); sp == local {
			l.frameAddress(at+uint64(from.(*ptx.Name).Offset), 0)
			return nil
		}
	}
	if n, ok := from.(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymSpecial {
		if f := clock(n.Name); f != nil {
			l.in.do = f
			return nil
		}
	}
	l.in.a, l.in.do = l.srcOf(from, t), copyColumn
	return nil
}

// frameAddress is dst = the address of what is at an offset in the lane's
// frame.
func (l *lowering) frameAddress(at, base uint64) {
	l.in.do = func(x *warp, in *inst, m uint32) {
		d := &x.regs[in.dst]
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			d[i] = base + localBase + uint64(x.fp[i]) + at
		}
	}
}

func (l *lowering) unpack(to *ptx.Vector, from ptx.Operand) error {
	t, err := l.lastType()
	if err != nil {
		return err
	}
	if len(to.Elems) == 0 || t.Bits()%len(to.Elems) != 0 {
		return fmt.Errorf("%d parts of a .%s", len(to.Elems), t)
	}
	width := t.Bits() / len(to.Elems)
	src := l.srcOf(from, t)
	var parts []int32
	for _, e := range to.Elems {
		parts = append(parts, l.dstOf(e))
	}
	mask := uint64(1)<<width - 1
	l.in.do = func(x *warp, _ *inst, m uint32) {
		a := *x.val(src) // it may be one of the parts
		for n, p := range parts {
			d := &x.regs[p]
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				d[i] = a[i] >> (n * width) & mask
			}
		}
	}
	return nil
}

func (l *lowering) pack(to ptx.Operand, from *ptx.Vector) error {
	t, err := l.lastType()
	if err != nil {
		return err
	}
	if len(from.Elems) == 0 || t.Bits()%len(from.Elems) != 0 {
		return fmt.Errorf("%d parts of a .%s", len(from.Elems), t)
	}
	width := t.Bits() / len(from.Elems)
	part, _ := arith.ParseType(fmt.Sprintf("b%d", width))
	var parts []int32
	for _, e := range from.Elems {
		parts = append(parts, l.srcOf(e, part))
	}
	l.in.dst = l.dstOf(to)
	mask := uint64(1)<<width - 1
	l.in.do = func(x *warp, in *inst, m uint32) {
		var v column
		for n, p := range parts {
			a := x.val(p)
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				v[i] |= a[i] & mask << (n * width)
			}
		}
		x.keep(in.dst, &v, m)
	}
	return nil
}
