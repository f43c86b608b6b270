package interp

import (
	"errors"
	"math/bits"

	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
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
	if n, ok := l.operand(1).(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymVariable {
		v := n.Sym.Variable
		if dynamic(v) {
			l.in.a = l.dynamicAddress(v, uint64(n.Offset))
		} else if sp, at := l.place(v); sp == local {
			l.frameAddress(at+uint64(n.Offset), base)
			return nil
		} else {
			l.in.a = l.constant(at + uint64(n.Offset))
		}
	} else {
		l.in.a = l.src(1, u64)
	}
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
	var in func(x *warp, sp space, at uint64) bool
	switch m := l.i.Mods[len(l.i.Mods)-1]; m {
	case "global", "local", "param", "param::entry":
		want := map[string]space{"global": global, "local": local}[m]
		if want == generic {
			want = param
		}
		in = func(_ *warp, sp space, _ uint64) bool { return sp == want }
	case "shared", "shared::cta":
		in = func(x *warp, sp space, at uint64) bool {
			rank := at >> rankShift
			return sp == shared && (rank == 0 || rank == uint64(x.block.at.Rank)+1)
		}
	case "shared::cluster":
		in = func(_ *warp, sp space, _ uint64) bool { return sp == shared }
	case "const":
		in = func(x *warp, sp space, at uint64) bool {
			if sp != global {
				return false
			}
			i := x.mem.find(at, 1, 0)
			return i >= 0 && x.mem.segments[i].readOnly
		}
	default:
		return errors.New("unknown state space")
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

// mapa is the address of the same variable in another CTA of the cluster.
func (l *lowering) mapa() error {
	if err := l.want(3); err != nil {
		return err
	}
	explicit := l.has("shared::cluster")
	l.in.dst, l.in.b = l.dst(0), l.src(2, u32)
	if n, ok := l.operand(1).(*ptx.Name); ok && n.Sym != nil && n.Sym.Kind == ptx.SymVariable && dynamic(n.Sym.Variable) {
		l.in.a = l.dynamicAddress(n.Sym.Variable, uint64(n.Offset))
	} else {
		l.in.a = l.src(1, u64)
	}
	narrow := l.has("u32")
	l.in.f2, l.in.do = func(a, rank uint64) uint64 {
		base := uint64(0)
		if !explicit {
			var sp space
			if sp, a = window(a); sp != shared {
				return a // not an address of shared memory: it stays what it is
			}
			base = sharedWindow
		} else if narrow {
			a &= 1<<32 - 1
		}
		return base + (rank&0xff+1)<<rankShift + a&(1<<rankShift-1)
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
			at := a[i] & (1<<32 - 1)
			if !explicit {
				_, at = window(a[i])
			}
			d[i] = uint64(x.block.at.Rank)
			if rank := at >> rankShift; rank > 0 {
				d[i] = rank - 1
			}
		}
	}
	return nil
}

// The types of operands that are not what the modifiers say.
const (
	u32 = arith.U32
	u64 = arith.U64
	s32 = arith.S32
)
