package interp

import (
	"errors"
	"fmt"
	"math/bits"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
)

const everyone = ^uint32(0)

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
	if err := l.want(1 + len(op.Src)); err != nil && op.Bool == "" {
		return err
	}
	in := l.in
	if op.Test != nil {
		return l.test(op)
	}
	if op.Bool != "" {
		return l.logicTest(op)
	}
	in.dst = l.dst(0)
	for n, slot := range []*int32{&in.a, &in.b, &in.c, &in.d} {
		if n < len(op.Src) {
			if op.Src[n] == arith.Pred {
				return errUnknown
			}
			*slot = l.src(1+n, op.Src[n])
		}
	}
	switch {
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

// predicates is and, or, xor and not on predicates.
func (l *lowering) predicates() error {
	p := l.predDst(l.operand(0))
	q, r := l.predSrc(l.operand(1)), noPredicate
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

// setp is a comparison into one predicate or two, perhaps combined with a
// third.
func (l *lowering) setp() error {
	op, err := arith.Lookup("setp", l.i.Mods)
	if err != nil {
		return err
	}
	return l.test(op)
}

func (l *lowering) test(op arith.Op) error {
	in := l.in
	p, q := int32(-1), int32(-1)
	if pair, ok := l.operand(0).(*ptx.Pair); ok {
		p, q = l.predDst(pair.A), l.predDst(pair.B)
	} else {
		p = l.predDst(l.operand(0))
	}
	n := len(op.Src)
	with := noPredicate
	if op.Bool != "" {
		if n > 2 { // the predicate is one of the sources
			n = 2
		}
		with = l.predSrc(l.operand(1 + n))
		if err := l.want(2 + n); err != nil {
			return err
		}
	} else if err := l.want(1 + n); err != nil {
		return err
	}
	in.a = l.src(1, op.Src[0])
	in.b = in.a
	if n > 1 {
		in.b = l.src(2, op.Src[1])
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
		p, q := l.predDst(to), l.predSrc(from)
		l.in.do = func(x *warp, _ *inst, m uint32) { x.setPred(p, m, x.pred(q)) }
		return nil
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	if t.Bits() > 64 {
		return errors.New("128-bit registers are not supported")
	}
	l.in.dst = l.dstOf(to)
	if n, ok := from.(*ptx.Name); ok && n.Sym != nil {
		switch n.Sym.Kind {
		case ptx.SymVariable:
			if sp, at := l.place(n.Sym.Variable); sp == local {
				l.frameAddress(at+uint64(n.Offset), 0)
				return nil
			}
		case ptx.SymSpecial:
			if f := clock(n.Name); f != nil {
				l.in.do = f
				return nil
			}
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
	if len(to.Elems) == 0 || t.Bits() > 64 || t.Bits()%len(to.Elems) != 0 {
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
	if len(from.Elems) == 0 || t.Bits() > 64 || t.Bits()%len(from.Elems) != 0 {
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
		d := &x.regs[in.dst]
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			d[i] = v[i]
		}
	}
	return nil
}
