package interp

import (
	"errors"
	"fmt"
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/replay/barrier"
	"btrace/trace"
)

// What the barrier instructions do is decided by the emulator, which asks
// package replay/barrier; here their operands are read.

// barrier is bar and barrier: of the CTA, the warp or the cluster.
func (l *lowering) barrier() error {
	switch {
	case l.has("warp"):
		return l.syncwarp()
	case l.has("cluster"):
		return l.clusterBarrier()
	}
	ops := l.i.Operands
	o := emu.Op{Aligned: l.i.Op == "bar" || l.has("aligned")}
	in := l.in
	first := 0
	result, p := int32(-1), int32(-1) // of a reduction: a register or a predicate
	with := noPredicate
	switch {
	case l.has("sync"):
		o.Kind = trace.KindBarSync
	case l.has("arrive"):
		o.Kind = trace.KindBarArrive
	case l.has("red"):
		o.Kind = trace.KindBarRed
		switch {
		case l.has("popc"):
			o.Red, result = trace.RedPopc, l.dst(0)
		case l.has("and"):
			o.Red, p = trace.RedAnd, l.predDst(l.operand(0))
		case l.has("or"):
			o.Red, p = trace.RedOr, l.predDst(l.operand(0))
		default:
			return errors.New("it names no reduction")
		}
		if len(ops) < 3 {
			return fmt.Errorf("%d operands: it takes 3 or 4", len(ops))
		}
		with = l.predSrc(ops[len(ops)-1])
		first, ops = 1, ops[1:len(ops)-1]
	default:
		return errUnknown
	}
	if len(ops) < 1 || len(ops) > 2 {
		return fmt.Errorf("%d operands: it takes a barrier, and perhaps a count", len(ops))
	}
	in.a, in.b = l.src(first, u32), l.constant(0)
	if len(ops) == 2 {
		in.b = l.src(first+1, u32)
	}
	in.stop = func(x *warp, in *inst, m uint32) bool {
		ids, counts, preds := x.val(in.a), x.val(in.b), x.pred(with)
		x.parts(m, func(i int, lanes uint32) {
			o := o
			o.Bar, o.Count = uint32(ids[i]), uint32(counts[i])
			x.stopAt(lanes, &o, preds)
		}, in.a, in.b)
		return true
	}
	if o.Kind == trace.KindBarRed {
		in.finish = func(x *warp, in *inst, m uint32) {
			v := x.handle.Result(lowest(m))
			if result >= 0 {
				x.fill(result, m, uint64(v))
			}
			x.setPred(p, m, -bit(v != 0))
		}
	}
	return nil
}

func (l *lowering) syncwarp() error {
	if err := l.want(1); err != nil {
		return err
	}
	l.in.a = l.src(0, u32)
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		masks := x.val(in.a)
		x.parts(m, func(i int, lanes uint32) {
			x.stopAt(lanes, &emu.Op{Kind: trace.KindSyncwarp, Mask: uint32(masks[i])}, 0)
		}, in.a)
		return true
	}
	return nil
}

// order is the memory ordering that the modifiers name.
func (l *lowering) order() trace.Sem {
	for _, m := range l.i.Mods {
		switch m {
		case "relaxed":
			return trace.SemRelaxed
		case "acquire":
			return trace.SemAcquire
		case "release":
			return trace.SemRelease
		case "acq_rel":
			return trace.SemAcqRel
		}
	}
	return trace.SemNone
}

func (l *lowering) clusterBarrier() error {
	o := emu.Op{Aligned: l.has("aligned"), Sem: l.order()}
	switch {
	case l.has("arrive"):
		o.Kind = trace.KindClusterArrive
	case l.has("wait"):
		o.Kind = trace.KindClusterWait
	default:
		return errUnknown
	}
	l.in.stop = func(x *warp, _ *inst, m uint32) bool {
		o := o
		x.stopAt(m, &o, 0)
		return true
	}
	return l.want(0)
}

// mbarrier is the mbarrier family.
func (l *lowering) mbarrier() error {
	switch {
	case l.has("pending_count"):
		if err := l.want(2); err != nil {
			return err
		}
		l.in.dst, l.in.a = l.dst(0), l.src(1, u64)
		l.in.f1, l.in.do = func(word uint64) uint64 { return uint64(barrier.PendingCount(word)) }, each1
		return nil
	case l.has("test_wait"), l.has("try_wait"):
		return l.mbarrierWait()
	case l.has("arrive"), l.has("arrive_drop"):
		return l.mbarrierArrive()
	}
	o := emu.Op{Sem: l.order()}
	n := 2
	switch {
	case l.has("init"):
		o.Kind = trace.KindMbarInit
	case l.has("inval"):
		o.Kind, n = trace.KindMbarInval, 1
	case l.has("expect_tx"):
		o.Kind = trace.KindMbarExpectTx
	case l.has("complete_tx"):
		o.Kind = trace.KindMbarCompleteTx
	default:
		return errUnknown
	}
	if err := l.want(n); err != nil {
		return err
	}
	l.in.mem, l.in.b = l.address(l.operand(0), l.spaceOf()), l.constant(0)
	if n == 2 {
		l.in.b = l.src(1, u32)
	}
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		v := x.val(in.b)
		x.onMbarriers(in, m, o, func(i int, o *emu.Op) {
			if o.Kind == trace.KindMbarInit {
				o.Count = uint32(v[i])
			} else {
				o.Bytes = int64(int32(v[i]))
			}
		})
		return true
	}
	return nil
}

// onMbarriers stops lanes at an operation on the mbarriers at their
// addresses. operands fills in what the operand b says.
func (x *warp) onMbarriers(in *inst, m uint32, o emu.Op, operands func(lane int, o *emu.Op)) {
	x.parts(m, func(i int, lanes uint32) {
		o := o
		if !x.mbarrierAt(in, i, in.mem.space, x.address(&in.mem, i), &o) {
			return
		}
		operands(i, &o)
		x.stopAt(lanes, &o, 0)
	}, in.mem.base, in.b)
}

// mbarrierAt finds the mbarrier at an address: its CTA, and its place there.
func (x *warp) mbarrierAt(in *inst, lane int, sp space, addr uint64, o *emu.Op) bool {
	if x.reach(in, lane, sp, addr, 8, true) == nil {
		return false
	}
	if sp == generic {
		sp, addr = window(addr)
	}
	if sp != shared {
		x.wild(in, lane, trapIllegal, sp, addr, 8, "an mbarrier has to be in shared memory")
		return false
	}
	addr &= 1<<32 - 1
	o.Owner = x.block.at.CTA
	if rank := addr >> rankShift; rank > 0 {
		o.Owner = x.handle.CTAOf(int(rank - 1))
	}
	o.Addr = addr & (1<<rankShift - 1)
	return true
}

func (l *lowering) mbarrierArrive() error {
	o := emu.Op{Kind: trace.KindMbarArrive, Sem: l.order()}
	drop, expect := l.has("arrive_drop"), l.has("expect_tx")
	switch {
	case drop:
		o.Kind = trace.KindMbarArriveDrop
	case expect:
		o.Kind = trace.KindMbarArriveExpectTx
	case l.has("noComplete"):
		o.Kind = trace.KindMbarArriveNoComplete
	}
	ops := l.i.Operands
	first := 0
	token := int32(-1)
	if _, ok := l.operand(0).(*ptx.Address); !ok {
		first = 1
		if n, ok := l.operand(0).(*ptx.Name); !ok || n.Name != "_" {
			token = l.dst(0)
		}
	}
	if n := len(ops) - first; n < 1 || n > 2 {
		return fmt.Errorf("%d operands: it takes a state, an address and perhaps a count", len(ops))
	}
	l.in.mem, l.in.b = l.address(l.operand(first), l.spaceOf()), l.constant(1)
	if len(ops) == first+2 {
		l.in.b = l.src(first+1, u32)
	} else if expect {
		return errors.New("it takes a number of bytes")
	}
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		v := x.val(in.b)
		x.onMbarriers(in, m, o, func(i int, o *emu.Op) {
			if o.Count = uint32(v[i]); expect {
				o.Count, o.Bytes = 1, int64(int32(v[i]))
			}
		})
		return true
	}
	if token >= 0 {
		l.in.finish = func(x *warp, _ *inst, m uint32) {
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				x.regs[token][i] = x.handle.Token(i)
			}
		}
	}
	return nil
}

// mbarrierWait is test_wait and try_wait. Where the program can do nothing
// but ask again as long as the answer is no, it waits; see waits.go.
func (l *lowering) mbarrierWait() error {
	if err := l.want(3, 4); err != nil { // the fourth says how long to try
		return err
	}
	p := l.predDst(l.operand(0))
	o := emu.Op{Kind: trace.KindMbarTest, Try: l.has("try_wait"), ByToken: !l.has("parity"), Sem: l.order()}
	if l.waits[l.i] {
		o.Kind, o.Try = trace.KindMbarWait, false
	}
	l.in.mem = l.address(l.operand(1), l.spaceOf())
	l.in.b = l.src(2, u64)
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		v := x.val(in.b)
		x.onMbarriers(in, m, o, func(i int, o *emu.Op) {
			if o.ByToken {
				o.Token = v[i]
			} else {
				o.Parity = uint8(v[i] & 1)
			}
		})
		return true
	}
	l.in.finish = func(x *warp, _ *inst, m uint32) {
		yes := everyone
		if o.Kind == trace.KindMbarTest {
			yes = 0
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				yes |= bit(x.handle.Answer(i)) << i
			}
		}
		x.setPred(p, m, yes)
	}
	return nil
}
