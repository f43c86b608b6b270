package interp

import (
	"errors"
	"fmt"

	"btrace/capture/emu"
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
	at := 0                 // the first of the others
	result, p := sink, sink // of a reduction: a register or a predicate
	with := always()
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
		at, ops = 1, ops[1:len(ops)-1]
	default:
		return errUnknown
	}
	if len(ops) < 1 || len(ops) > 2 {
		return fmt.Errorf("%d operands: it takes a barrier, and perhaps a count", len(ops))
	}
	in.a, in.b = l.src(at, u32), l.constant(0)
	if len(ops) == 2 {
		in.b = l.src(at+1, u32)
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
			v := x.handle.Result(first(m))
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
