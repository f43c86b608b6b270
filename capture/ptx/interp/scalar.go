package interp

import (
	"math/bits"

	"btrace/capture/ptx/arith"
)

// arithmetic is an instruction that package arith knows.
func (l *lowering) arithmetic() error {
	if l.has("pred") {
		return l.predicates()
	}
	op, err := arith.Lookup(l.i.Op, l.i.Mods)
	if len(l.i.Operands) == 4 {
		if three, e := arith.ThreeInput(l.i.Op, l.i.Mods); e == nil {
			op, err = three, nil
		}
	}
	if err != nil {
		return err
	}
	in := l.in
	switch {
	case op.Test != nil:
		return l.test(op)
	case op.Bool != "" && op.F4 != nil:
		return l.logicTest(op)
	}
	if err := l.want(1 + len(op.Src)); err != nil {
		return err
	}
	in.dst = l.dst(0)
	for n, slot := range []*int32{&in.a, &in.b, &in.c, &in.d} {
		if n < len(op.Src) && op.Src[n] != arith.Pred {
			*slot = l.src(1+n, op.Src[n])
		}
	}
	switch {
	case len(op.Src) == 3 && op.Src[2] == arith.Pred: // set
		l.withPredicate(op.F3, l.predSrc(l.operand(3)))
	case op.F1 != nil:
		in.f1, in.do = op.F1, each1
	case op.F2 != nil:
		in.f2, in.do = op.F2, each2
	case op.F3 != nil:
		in.f3, in.do = op.F3, each3
	case op.F4 != nil:
		f := op.F4
		in.do = func(x *warp, in *inst, m uint32) {
			d, a, b, c, e := &x.regs[in.dst], x.val(in.a), x.val(in.b), x.val(in.c), x.val(in.d)
			for ; m != 0; m &= m - 1 {
				i := bits.TrailingZeros32(m) & 31
				d[i] = f(a[i], b[i], c[i], e[i])
			}
		}
	case op.Carry != nil:
		l.withCarry(op)
	}
	return nil
}

// withPredicate is an instruction whose third source is a predicate.
func (l *lowering) withPredicate(f func(a, b, c uint64) uint64, p predicate) {
	l.in.do = func(x *warp, in *inst, m uint32) {
		d, a, b, c := &x.regs[in.dst], x.val(in.a), x.val(in.b), x.pred(p)
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			d[i] = f(a[i], b[i], uint64(c>>i&1))
		}
	}
}

func each1(x *warp, in *inst, m uint32) {
	d, a, f := &x.regs[in.dst], x.val(in.a), in.f1
	if m == everyone {
		for i := range d {
			d[i] = f(a[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = f(a[i])
	}
}

func each2(x *warp, in *inst, m uint32) {
	d, a, b, f := &x.regs[in.dst], x.val(in.a), x.val(in.b), in.f2
	if m == everyone {
		for i := range d {
			d[i] = f(a[i], b[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = f(a[i], b[i])
	}
}

func each3(x *warp, in *inst, m uint32) {
	d, a, b, c, f := &x.regs[in.dst], x.val(in.a), x.val(in.b), x.val(in.c), in.f3
	if m == everyone {
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		d[i] = f(a[i], b[i], c[i])
	}
}

// withCarry is an instruction of the add.cc family.
func (l *lowering) withCarry(op arith.Op) {
	f, reads, writes := op.Carry, op.ReadsCC, op.WritesCC
	l.in.do = func(x *warp, in *inst, m uint32) {
		d, a, b, c := &x.regs[in.dst], x.val(in.a), x.val(in.b), x.val(in.c)
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			v, out := f(a[i], b[i], c[i], reads && x.carry>>i&1 != 0)
			d[i] = v
			if writes {
				x.carry &^= 1 << i
				if out {
					x.carry |= 1 << i
				}
			}
		}
	}
}
