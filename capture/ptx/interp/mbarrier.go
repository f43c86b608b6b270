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
	if !sp.isShared() {
		x.wild(in, lane, trapIllegal, sp, addr, 8, "an mbarrier has to be in shared memory")
		return false
	}
	rank, own := x.sharedPlace(sp, addr)
	o.Owner, o.Addr = x.handle.CTAOf(rank), own
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
	at := 0 // the address
	token := sink
	if _, ok := l.operand(0).(*ptx.Address); !ok {
		at = 1
		if n, ok := l.operand(0).(*ptx.Name); !ok || n.Name != "_" {
			token = l.dst(0)
		}
	}
	if n := len(ops) - at; n < 1 || n > 2 {
		return fmt.Errorf("%d operands: it takes a state, an address and perhaps a count", len(ops))
	}
	l.in.mem, l.in.b = l.address(l.operand(at), l.spaceOf()), l.constant(1)
	if len(ops) == at+2 {
		l.in.b = l.src(at+1, u32)
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
			x.polling = x.polling&^m | m&^yes
		}
		x.setPred(p, m, yes)
	}
	return nil
}
