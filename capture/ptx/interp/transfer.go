package interp

import (
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
	"btrace/trace"
)

// The asynchronous operations that tell an mbarrier how many bytes they wrote
// (PTX ISA, ".mbarrier::complete_tx::bytes"). The emulator has an agent of its
// own do them, some time after the instruction.

// planned is what one lane's instruction is to move.
type planned struct {
	bytes int64 // or emu.UnknownBytes
	move  func(rank int)
}

// transfer stops lanes at a copy that completes its bytes on the mbarrier that
// is an operand. plan says what a lane's is, and is nil if that trapped. ranks
// is the operand with the CTAs of a multicast, for which there is one.
func (l *lowering) transfer(mbar ptx.Operand, ranks *int32, plan func(x *warp, in *inst, lane int) *planned) {
	l.in.mem = l.address(mbar, l.target())
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			o := emu.Op{Kind: trace.KindMbarCopy}
			if !x.mbarrierAt(in, i, in.mem.space, x.address(&in.mem, i), &o) {
				return true
			}
			p := plan(x, in, i)
			if p == nil {
				return true
			}
			o.Bytes, o.Move = p.bytes, p.move
			if ranks != nil {
				if o.Mask = x.ctas(x.val(*ranks)[i]); o.Mask == 0 { // nobody
					o = emu.Op{Kind: emu.OpPause}
				}
			}
			x.stopAt(1<<i, &o, 0)
		}
		return true
	}
}

// target is the shared memory that an instruction writes to, and where its
// mbarrier is.
func (l *lowering) target() space {
	if l.has("shared::cluster") {
		return cluster
	}
	return shared
}

// ctas is those CTAs of the cluster that a mask names.
func (x *warp) ctas(mask uint64) uint32 {
	return uint32(mask) & (1<<x.block.at.Size - 1)
}

// multicast is the operand with the CTAs of a multicast; nil if the
// instruction is none.
func (l *lowering) multicast(n int) *int32 {
	if !l.has("multicast::cluster") {
		return nil
	}
	mask := l.src(n, arith.U16)
	return &mask
}

// storeAsync is st.async: it writes to shared memory of the cluster.
func (l *lowering) storeAsync() error {
	if err := l.want(3); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	a := l.address(l.operand(0), l.target())
	a.size = t.Bits() / 8
	if a.regs, err = l.values(l.operand(1), func(o ptx.Operand) int32 { return l.srcOf(o, t) }); err != nil {
		return err
	}
	l.transfer(l.operand(2), nil, func(x *warp, in *inst, i int) *planned {
		n := a.bytes()
		dst := x.reach(in, i, a.space, x.address(&a, i), n, true)
		if dst == nil {
			return nil
		}
		v := make([]byte, n)
		x.put(&a, i, v)
		return &planned{int64(n), func(int) { copy(dst, v) }}
	})
	return nil
}

// reduceAsync is red.async: it does arithmetic on shared memory of the
// cluster.
func (l *lowering) reduceAsync() error {
	if err := l.want(3); err != nil {
		return err
	}
	r, err := l.reduction()
	if err != nil {
		return err
	}
	a := l.address(l.operand(0), l.target())
	a.size = r.typ.Bits() / 8
	v := l.src(1, r.typ)
	l.transfer(l.operand(2), nil, func(x *warp, in *inst, i int) *planned {
		dst := x.reach(in, i, a.space, x.address(&a, i), a.bytes(), true)
		if dst == nil {
			return nil
		}
		b := x.val(v)[i]
		return &planned{int64(a.bytes()), func(int) { store(dst, a.size, r.shared(load(dst, a.size), b, b)) }}
	})
	return nil
}
