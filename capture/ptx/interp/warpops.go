package interp

import (
	"errors"
	"fmt"
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
	"btrace/trace"
)

// The instructions by which the lanes of a warp look at each other. The .sync
// forms wait for all non-exited lanes of a mask (PTX ISA, "shfl.sync",
// "vote.sync", …). They meet as by bar.warp.sync, which is recorded as such:
// a hang may come of it, and it orders what the lanes have done at barriers
// before. Lanes that are all there and have done nothing there since they met
// last go on at once. Only of bar.warp.sync the ISA says that it orders memory
// as well.

// meet makes an instruction wait for the lanes in mask, which operand n is,
// and then do what act does with those that are there.
func (l *lowering) meet(n int, act func(x *warp, in *inst, m uint32)) {
	if !l.has("sync") { // the forms of before sm_70 take whoever is there
		l.in.do = act
		return
	}
	l.meetIn(l.src(n, u32), act)
}

// meetAll is meet for an instruction that all lanes have to execute.
func (l *lowering) meetAll(act func(x *warp, in *inst, m uint32)) {
	l.meetIn(l.constant(uint64(everyone)), act)
}

func (l *lowering) meetIn(mask int32, act func(x *warp, in *inst, m uint32)) {
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		masks := x.val(mask)
		want := uint32(masks[first(m)])
		together := want&x.handle.Live() == m
		for k := m; k != 0 && together; k &= k - 1 {
			together = uint32(masks[bits.TrailingZeros32(k)&31]) == want
		}
		if together && !x.news {
			act(x, in, m)
			return x.faulted
		}
		x.parts(m, func(i int, lanes uint32) {
			x.stopAt(lanes, &emu.Op{Kind: trace.KindSyncwarp, Mask: uint32(masks[i]), Sem: trace.SemRelaxed}, 0)
		}, mask)
		return true
	}
	l.in.finish = act
}

// shfl gives a lane what another has.
func (l *lowering) shfl() error {
	n := 4
	if l.has("sync") {
		n = 5
	}
	if err := l.want(n); err != nil {
		return err
	}
	var p int32
	l.in.dst, p = l.pairDst(l.operand(0))
	l.in.a, l.in.b, l.in.c = l.src(1, arith.B32), l.src(2, u32), l.src(3, u32)
	var from func(lane, b, low, high uint32) (j uint32, ok bool)
	switch {
	case l.has("up"):
		from = func(lane, b, _, high uint32) (uint32, bool) { j := lane - b; return j, int32(j) >= int32(high) }
	case l.has("down"):
		from = func(lane, b, _, high uint32) (uint32, bool) { j := lane + b; return j, j <= high }
	case l.has("bfly"):
		from = func(lane, b, _, high uint32) (uint32, bool) { j := lane ^ b; return j, j <= high }
	case l.has("idx"):
		from = func(_, b, low, high uint32) (uint32, bool) { j := low | b; return j, j <= high }
	default:
		return errors.New("it names no mode")
	}
	isIdx := l.has("idx")
	l.meet(4, func(x *warp, in *inst, m uint32) {
		src, bs, cs := x.val(in.a), x.val(in.b), x.val(in.c)
		var inside uint32 // lanes whose source is in their segment
		var out column
		for k := m; k != 0; k &= k - 1 {
			i := uint32(bits.TrailingZeros32(k) & 31)
			b, cv, seg := uint32(bs[i])&31, uint32(cs[i])&31, uint32(cs[i])>>8&31
			high := i&seg | cv&^seg
			low := i & seg
			if isIdx {
				b &^= seg
			}
			j, ok := from(i, b, low, high)
			if !ok {
				j = i
			} else {
				inside |= 1 << i
			}
			out[i] = src[j&31] & (1<<32 - 1)
		}
		x.keep(in.dst, &out, m)
		x.setPred(p, m, inside)
	})
	return nil
}

// vote combines a predicate over lanes.
func (l *lowering) vote() error {
	if l.has("sync") {
		if err := l.want(3); err != nil {
			return err
		}
	} else if err := l.want(2); err != nil {
		return err
	}
	p := l.predSrc(l.operand(1))
	if l.has("ballot") {
		l.in.dst = l.dst(0)
		l.meet(2, func(x *warp, in *inst, m uint32) {
			v := uint64(x.pred(p) & m)
			x.fill(in.dst, m, v)
		})
		return nil
	}
	q := l.predDst(l.operand(0))
	var holds func(yes, m uint32) bool
	switch {
	case l.has("all"):
		holds = func(yes, m uint32) bool { return yes == m }
	case l.has("any"):
		holds = func(yes, _ uint32) bool { return yes != 0 }
	case l.has("uni"):
		holds = func(yes, m uint32) bool { return yes == m || yes == 0 }
	default:
		return errors.New("it names no mode")
	}
	l.meet(2, func(x *warp, _ *inst, m uint32) {
		x.setPred(q, m, -bit(holds(x.pred(p)&m, m)))
	})
	return nil
}

// match finds the lanes that have the same value.
func (l *lowering) match() error {
	if err := l.want(3); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	var p int32
	l.in.dst, p = l.pairDst(l.operand(0))
	l.in.a = l.src(1, t)
	width := ^uint64(0) >> (64 - t.Bits())
	all := l.has("all")
	l.meet(2, func(x *warp, in *inst, m uint32) {
		a := *x.val(in.a)
		var found column
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			for j := m; j != 0; j &= j - 1 {
				if n := bits.TrailingZeros32(j) & 31; a[n]&width == a[i]&width {
					found[i] |= 1 << n
				}
			}
		}
		if all {
			same := uint32(found[first(m)]) == m
			x.fill(in.dst, m, uint64(-bit(same)&m))
			x.setPred(p, m, -bit(same))
			return
		}
		x.keep(in.dst, &found, m)
	})
	return nil
}

// redux reduces a value over lanes.
func (l *lowering) redux() error {
	if err := l.want(3); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	name := ""
	for _, m := range l.i.Mods {
		switch m {
		case "add", "min", "max", "and", "or", "xor":
			name = m
		}
	}
	f, err := arith.Atomic(name, t.String())
	if err != nil || t.Float() || t.Bits() != 32 {
		return fmt.Errorf("no such reduction of .%s", t)
	}
	l.in.dst, l.in.a = l.dst(0), l.src(1, t)
	signed := 0
	if t.Signed() {
		signed = 32
	}
	l.meet(2, func(x *warp, in *inst, m uint32) {
		a := x.val(in.a)
		v := a[first(m)]
		for k := m & (m - 1); k != 0; k &= k - 1 {
			v = f(v, a[bits.TrailingZeros32(k)&31], 0)
		}
		x.fill(in.dst, m, extend(v&(1<<32-1), signed))
	})
	return nil
}

// activemask is the lanes that run together.
func (l *lowering) activemask() error {
	if err := l.want(1); err != nil {
		return err
	}
	l.in.dst = l.dst(0)
	l.in.do = func(x *warp, in *inst, m uint32) { x.fill(in.dst, m, uint64(m)) }
	return nil
}

// elect picks one of the lanes: the first.
func (l *lowering) elect() error {
	if err := l.want(2); err != nil {
		return err
	}
	pair, ok := l.operand(0).(*ptx.Pair)
	if !ok {
		return errors.New("the destination has to be d|p")
	}
	l.in.dst = l.dstOf(pair.A)
	p := l.predDst(pair.B)
	l.meet(1, func(x *warp, in *inst, m uint32) {
		i := first(m)
		x.fill(in.dst, m, uint64(i))
		x.setPred(p, m, 1<<i)
	})
	return nil
}

// nanosleep lets time pass.
func (l *lowering) nanosleep() error {
	if err := l.want(1); err != nil {
		return err
	}
	l.in.a = l.src(0, u32)
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		ns := x.val(in.a)
		x.parts(m, func(i int, lanes uint32) {
			x.stopAt(lanes, &emu.Op{Kind: emu.OpSleep, Nanos: int64(uint32(ns[i]))}, 0)
		}, in.a)
		return true
	}
	return nil
}
