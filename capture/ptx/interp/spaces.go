package interp

import (
	"errors"
	"math/bits"

	"btrace/capture/ptx"
)

// cvta turns an address of a space into a generic one, or back.
func (l *lowering) cvta() error {
	if err := l.want(2); err != nil {
		return err
	}
	base := l.spaceOf().base()
	if l.has("to") {
		base = -base
	}
	l.in.dst = l.dst(0)
	if v := variableOf(l.operand(1)); v != nil && !dynamic(v) {
		if sp, at := l.place(v); sp == local {
			l.frameAddress(at+uint64(l.operand(1).(*ptx.Name).Offset), sp.base())
			return nil
		}
	}
	l.in.a = l.src(1, u64)
	if base == 0 {
		l.in.do = copyColumn
		return nil
	}
	l.in.f1, l.in.do = func(a uint64) uint64 { return a + base }, each1
	return nil
}

// isspacep asks which space a generic address is in.
func (l *lowering) isspacep() error {
	if err := l.want(2); err != nil {
		return err
	}
	p, a := l.predDst(l.operand(0)), l.src(1, u64)
	// The window of kernel parameters lies in that of global memory, the one of
	// constants does not.
	var in func(x *warp, sp space, at uint64) bool
	switch l.spaceOf() {
	case global:
		in = func(x *warp, sp space, at uint64) bool { return sp == param || sp == global && !x.isConstant(at) }
	case constant:
		in = func(x *warp, sp space, at uint64) bool { return sp == global && x.isConstant(at) }
	case local:
		in = func(_ *warp, sp space, _ uint64) bool { return sp == local }
	case param:
		in = func(_ *warp, sp space, _ uint64) bool { return sp == param }
	case cluster:
		in = func(_ *warp, sp space, _ uint64) bool { return sp == cluster }
	case shared:
		in = func(x *warp, sp space, at uint64) bool {
			rank, _ := x.sharedPlace(sp, at)
			return sp == cluster && rank == x.block.at.Rank
		}
	default:
		return errors.New("it names no state space")
	}
	l.in.do = func(x *warp, _ *inst, m uint32) {
		v := x.val(a)
		var yes uint32
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			if sp, at := window(v[i]); in(x, sp, at) {
				yes |= 1 << i
			}
		}
		x.setPred(p, m, yes)
	}
	return nil
}

// isConstant reports whether a global address is in constant memory.
func (x *warp) isConstant(at uint64) bool {
	i := x.mem.find(at, 1, x.hint)
	return i >= 0 && x.mem.segments[i].readOnly
}

// mapa is the address of the same variable in another CTA of the cluster.
func (l *lowering) mapa() error {
	if err := l.want(3); err != nil {
		return err
	}
	explicit := l.has("shared::cluster")
	l.in.dst, l.in.a, l.in.b = l.dst(0), l.src(1, u64), l.src(2, u32)
	l.in.f2, l.in.do = func(a, rank uint64) uint64 {
		base := uint64(0)
		if explicit {
			a &= windowSize - 1
		} else {
			var sp space
			if sp, a = window(a); sp != cluster {
				return a // not an address of shared memory: it stays what it is
			}
			base = sharedWindow
		}
		return base + rank&0xff<<rankShift + a&(1<<rankShift-1)
	}, each2
	return nil
}

// getctarank is the rank of the CTA that an address belongs to.
func (l *lowering) getctarank() error {
	if err := l.want(2); err != nil {
		return err
	}
	explicit := l.has("shared::cluster")
	l.in.dst, l.in.a = l.dst(0), l.src(1, u64)
	l.in.do = func(x *warp, in *inst, m uint32) {
		d, a := &x.regs[in.dst], x.val(in.a)
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			at := a[i]
			if !explicit {
				_, at = window(at)
			}
			rank, _ := x.sharedPlace(cluster, at)
			d[i] = uint64(rank)
		}
	}
	return nil
}
