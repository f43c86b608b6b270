package interp

import (
	"errors"
	"math/bits"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
)

// The instructions that read or write predicates.

// setp is a comparison into one predicate or two, perhaps combined with a
// third.
func (l *lowering) setp() error {
	op, err := arith.Lookup("setp", l.i.Mods)
	if err != nil {
		return err
	}
	return l.test(op)
}

// test is setp, and testp, which has one source.
func (l *lowering) test(op arith.Op) error {
	in, n := l.in, len(op.Src)
	p, q := sink, sink
	if pair, ok := l.operand(0).(*ptx.Pair); ok {
		p, q = l.predDst(pair.A), l.predDst(pair.B)
	} else {
		p = l.predDst(l.operand(0))
	}
	in.a = l.src(1, op.Src[0])
	if in.b = in.a; n > 1 {
		in.b = l.src(2, op.Src[1])
	}
	with := always()
	if op.Bool != "" {
		n++
		with = l.predSrc(l.operand(n))
	}
	if err := l.want(1 + n); err != nil {
		return err
	}
	test, high := op.Test, op.TestHi
	combine := op.Bool
	in.do = func(x *warp, in *inst, m uint32) {
		a, b := x.val(in.a), x.val(in.b)
		var t, u uint32
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			if test(a[i], b[i]) {
				t |= 1 << i
			}
			if high != nil && high(a[i], b[i]) {
				u |= 1 << i
			}
		}
		if high == nil {
			u = ^t
		}
		switch c := x.pred(with); combine {
		case "and":
			t, u = t&c, u&c
		case "or":
			t, u = t|c, u|c
		case "xor":
			t, u = t^c, u^c
		}
		x.setPred(p, m, t)
		x.setPred(q, m, u)
	}
	return nil
}

func (l *lowering) selp() error {
	if err := l.want(4); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	l.in.dst, l.in.a, l.in.b = l.dst(0), l.src(1, t), l.src(2, t)
	p := l.predSrc(l.operand(3))
	l.in.do = func(x *warp, in *inst, m uint32) {
		d, a, b, take := &x.regs[in.dst], x.val(in.a), x.val(in.b), x.pred(p)
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			if take>>i&1 != 0 {
				d[i] = a[i]
			} else {
				d[i] = b[i]
			}
		}
	}
	return nil
}

// predicates is and, or, xor and not on predicates.
func (l *lowering) predicates() error {
	p := l.predDst(l.operand(0))
	q, r := l.predSrc(l.operand(1)), always()
	n := 3
	var f func(a, b uint32) uint32
	switch l.i.Op {
	case "and":
		f = func(a, b uint32) uint32 { return a & b }
	case "or":
		f = func(a, b uint32) uint32 { return a | b }
	case "xor":
		f = func(a, b uint32) uint32 { return a ^ b }
	case "not":
		n, f = 2, func(a, _ uint32) uint32 { return ^a }
	default:
		return errUnknown
	}
	if n == 3 {
		r = l.predSrc(l.operand(2))
	}
	l.in.do = func(x *warp, _ *inst, m uint32) { x.setPred(p, m, f(x.pred(q), x.pred(r))) }
	return l.want(n)
}

// logicTest is lop3 with a second destination: p is whether the result has a
// bit set, combined with q.
func (l *lowering) logicTest(op arith.Op) error {
	if err := l.want(6); err != nil {
		return err
	}
	pair, ok := l.operand(0).(*ptx.Pair)
	if !ok {
		return errors.New("the destination has to be d|p")
	}
	in := l.in
	in.dst = l.dstOf(pair.A)
	p, q := l.predDst(pair.B), l.predSrc(l.operand(5))
	in.a, in.b, in.c, in.d = l.src(1, u32), l.src(2, u32), l.src(3, u32), l.src(4, u32)
	f, or := op.F4, op.Bool == "or"
	in.do = func(x *warp, in *inst, m uint32) {
		d, a, b, c, e := &x.regs[in.dst], x.val(in.a), x.val(in.b), x.val(in.c), x.val(in.d)
		var some uint32
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			d[i] = f(a[i], b[i], c[i], e[i])
			some |= bit(d[i] != 0) << i
		}
		if or {
			some |= x.pred(q)
		} else {
			some &= x.pred(q)
		}
		x.setPred(p, m, some)
	}
	return nil
}
