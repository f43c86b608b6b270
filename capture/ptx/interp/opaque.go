package interp

import (
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/trace"
)

// The instructions that do to barriers what they should, and to data nothing.

// opaque is an instruction that leaves data as it is.
func (l *lowering) opaque() error {
	l.note(l.i.Op + " does not compute: what it would write is not written")
	return l.nothing()
}

// note says once that something is not what it would be on a GPU.
func (l *lowering) note(text string) {
	if !l.noted[text] {
		l.noted[text] = true
		l.k.Opaque = append(l.k.Opaque, Note{l.k.file, l.i.Pos, text})
	}
}

// tensorCopy is cp.async.bulk.tensor. What it copies stands in a tensor map,
// which only the driver can make: it moves nothing, and its bytes are unknown.
func (l *lowering) tensorCopy() error {
	l.note("tensor copies move no data: their bytes on an mbarrier are taken to be what is expected")
	if !l.has("mbarrier::complete_tx::bytes") {
		return l.nothing()
	}
	if err := l.want(3, 4, 5, 6); err != nil {
		return err
	}
	ops := l.i.Operands
	n := 3 // the CTAs, behind the offsets of .im2col
	for n < len(ops)-1 {
		if _, ok := ops[n].(*ptx.Vector); !ok {
			break
		}
		n++
	}
	l.transfer(ops[2], l.multicast(n), func(*warp, *inst, int) *planned {
		return &planned{emu.UnknownBytes, func(int) {}}
	})
	return nil
}

// tensorCore is the tcgen05 family. It computes nothing, so that what a commit
// waits for has happened whenever there is one: it arrives at once.
func (l *lowering) tensorCore() error {
	if !l.has("commit") {
		return l.opaque()
	}
	if err := l.want(1, 2); err != nil {
		return err
	}
	l.in.mem = l.address(l.operand(0), l.spaceOf())
	ranks := l.multicast(1)
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			o := emu.Op{Kind: trace.KindMbarArrive, Count: 1}
			if !x.mbarrierAt(in, i, in.mem.space, x.address(&in.mem, i), &o) {
				return true
			}
			if ranks == nil {
				x.stopAt(1<<i, &o, 0)
				continue
			}
			if x.left[i] = x.ctas(x.val(*ranks)[i]); x.left[i] == 0 { // nobody
				x.stopAt(1<<i, &emu.Op{Kind: emu.OpPause}, 0)
				continue
			}
			x.arriveNext(in, i)
		}
		return true
	}
	l.in.finish = func(x *warp, in *inst, m uint32) {
		for k := m; k != 0; k &= k - 1 {
			if i := bits.TrailingZeros32(k) & 31; x.left[i] != 0 {
				x.arriveNext(in, i)
			}
		}
	}
	return nil
}

// arriveNext has a lane arrive on the mbarrier of the next of the CTAs that a
// commit is to tell.
func (x *warp) arriveNext(in *inst, lane int) {
	_, at := x.sharedPlace(in.mem.space, x.address(&in.mem, lane))
	rank := first(x.left[lane])
	x.left[lane] &= x.left[lane] - 1
	x.stopAt(1<<lane, &emu.Op{Kind: trace.KindMbarArrive, Count: 1, Owner: x.handle.CTAOf(rank), Addr: at}, 0)
}
