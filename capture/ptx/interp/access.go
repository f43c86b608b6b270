package interp

import (
	"math/bits"

	"btrace/capture/ptx"
)

// ld and st, of lanes that need not mind others. Those that others may see in
// order are in strong.go.

func (l *lowering) load() error {
	if err := l.want(2 + l.policies()); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	a := l.address(l.operand(1), l.spaceOf())
	a.size = t.Bits() / 8
	if t.Signed() {
		a.extend = t.Bits()
	}
	if a.regs, err = l.values(l.operand(0), l.dstOf); err != nil {
		return err
	}
	l.in.mem = a
	switch {
	case l.strong(&a):
		l.in.stop, l.in.access = stopAccess, strongLoad
	case a.space == shared && len(a.regs) == 1 && a.size == 4 && a.extend == 0:
		l.in.do = loadShared4
	case a.space == global && len(a.regs) == 1:
		l.in.do = loadGlobal
	default:
		l.in.do = loadAny
	}
	return nil
}

func (l *lowering) store() error {
	if l.has("async") {
		return l.storeAsync()
	}
	if err := l.want(2 + l.policies()); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	a := l.address(l.operand(0), l.spaceOf())
	a.size = t.Bits() / 8
	if a.regs, err = l.values(l.operand(1), func(o ptx.Operand) int32 { return l.srcOf(o, t) }); err != nil {
		return err
	}
	l.in.mem, l.in.writes = a, true
	switch {
	case l.strong(&a):
		l.in.stop, l.in.access = stopAccess, strongStore
	case a.space == shared && len(a.regs) == 1 && a.size == 4:
		l.in.do = storeShared4
	default:
		l.in.do = storeAny
	}
	return nil
}

func extend(v uint64, from int) uint64 {
	if from == 0 {
		return v
	}
	return uint64(int64(v<<(64-from)) >> (64 - from))
}

// loadAny loads whatever from wherever.
func loadAny(x *warp, in *inst, m uint32) {
	a := &in.mem
	n := a.bytes()
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		b := x.reach(in, i, a.space, x.address(a, i), n, false)
		if b == nil {
			return
		}
		x.take(a, i, b)
	}
}

// take puts what was loaded into a lane's registers.
func (x *warp) take(a *access, lane int, b []byte) {
	for k, r := range a.regs {
		x.regs[r][lane] = extend(load(b[k*a.size:], a.size), a.extend)
	}
}

// loadShared4 is ld.shared.u32 and the like.
func loadShared4(x *warp, in *inst, m uint32) {
	d, base, offset, mem := &x.regs[in.mem.regs[0]], x.val(in.mem.base), in.mem.offset-x.sharedAt, x.shared
	for k := m; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		at := base[i] + offset
		if at&3 != 0 || at+4 > uint64(len(mem)) || at+4 < 4 {
			loadAny(x, in, k)
			return
		}
		d[i] = load(mem[at:], 4)
	}
}

// storeShared4 is st.shared.u32 and the like.
func storeShared4(x *warp, in *inst, m uint32) {
	v, base, offset, mem := x.val(in.mem.regs[0]), x.val(in.mem.base), in.mem.offset-x.sharedAt, x.shared
	for k := m; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		at := base[i] + offset
		if at&3 != 0 || at+4 > uint64(len(mem)) || at+4 < 4 {
			storeAny(x, in, k)
			return
		}
		store(mem[at:], 4, v[i])
	}
}

// loadGlobal loads one value from global memory.
func loadGlobal(x *warp, in *inst, m uint32) {
	a := &in.mem
	d, base, size := &x.regs[a.regs[0]], x.val(a.base), a.size
	s := &x.mem.segments[x.hint]
	for k := m; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		at := base[i] + a.offset - s.base
		if at&uint64(size-1) != 0 || at >= uint64(len(s.data)) || uint64(size) > uint64(len(s.data))-at {
			loadAny(x, in, k&-k)
			if x.faulted {
				return
			}
			s = &x.mem.segments[x.hint]
			continue
		}
		d[i] = extend(load(s.data[at:], size), a.extend)
	}
}

// storeAny stores whatever to wherever.
func storeAny(x *warp, in *inst, m uint32) {
	a := &in.mem
	n := a.bytes()
	for ; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m) & 31
		b := x.reach(in, i, a.space, x.address(a, i), n, true)
		if b == nil {
			return
		}
		x.put(a, i, b)
	}
}

// put writes a lane's registers to memory.
func (x *warp) put(a *access, lane int, b []byte) {
	for k, r := range a.regs {
		store(b[k*a.size:], a.size, x.val(r)[lane])
	}
}
