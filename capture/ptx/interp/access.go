package interp

import (
	"errors"
	"fmt"
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx"
)

// The traps that the interpreter itself finds, named as on silicon.
const (
	trapMisaligned  = "misaligned address"
	trapIllegal     = "illegal memory access"
	trapInstruction = "illegal instruction"
	trapStack       = "stack overflow"
	trapAssert      = "device-side assert triggered"
)

// access is where and how an instruction goes to memory.
type access struct {
	space  space
	frame  bool  // the base is the lane's frame
	base   int32 // register or constant
	offset uint64
	size   int // bytes of an element
	extend int // bits to sign-extend from; 0 for none
	regs   []int32
}

func (a *access) bytes() uint64 { return uint64(a.size * max(len(a.regs), 1)) }

// address decodes [base+offset], for an instruction that names the space, or
// generic.
func (l *lowering) address(o ptx.Operand, sp space) access {
	a := access{space: sp}
	var base ptx.Operand = o
	if in, ok := o.(*ptx.Address); ok {
		if len(in.Coordinates) > 0 {
			l.bad("the address has coordinates")
		}
		base, a.offset = in.Base, uint64(in.Offset)
	}
	switch b := base.(type) {
	case *ptx.Int:
		a.base = l.constant(b.Value)
	case *ptx.Name:
		if b.Sym == nil || b.Sym.Kind != ptx.SymVariable {
			a.base = l.name(b)
			break
		}
		v := b.Sym.Variable
		if v.Space == "reg" {
			a.base = l.name(b)
			break
		}
		a.offset += uint64(b.Offset)
		if dynamic(v) {
			a.base, a.offset = l.dynamicAddress(v, a.offset), 0
			if sp == generic {
				a.space = shared
			}
			break
		}
		in, at := l.place(v)
		a.frame, a.offset = in == local, a.offset+at
		a.base = l.constant(0)
		if in == local || in == param || sp == generic {
			a.space = in
		}
	default:
		l.bad("an address is wanted")
	}
	return a
}

// spaceOf is the state space that the modifiers name.
func (l *lowering) spaceOf() space {
	for _, m := range l.i.Mods {
		switch m {
		case "global":
			return global
		case "shared", "shared::cta", "shared::cluster":
			return shared
		case "local":
			return local
		case "param", "param::entry", "param::func":
			return param
		case "const":
			return constant
		}
	}
	return generic
}

// strong reports whether other threads may see, or have made, the access in
// order (PTX ISA, "Memory Consistency Model", strong operations).
func (l *lowering) strong() bool {
	return l.has("volatile") || l.has("relaxed") || l.has("acquire") || l.has("release") || l.has("acq_rel") || l.has("mmio")
}

// values is the registers of a scalar or vector operand of ld and st.
func (l *lowering) values(o ptx.Operand, one func(ptx.Operand) int32) ([]int32, error) {
	n := 1
	for _, m := range l.i.Mods {
		switch m {
		case "v2":
			n = 2
		case "v4":
			n = 4
		case "v8":
			n = 8
		}
	}
	v, ok := o.(*ptx.Vector)
	if !ok {
		if n != 1 {
			return nil, fmt.Errorf("a vector of %d is wanted", n)
		}
		return []int32{one(o)}, nil
	}
	if len(v.Elems) != n {
		return nil, fmt.Errorf("a vector of %d elements: it takes %d", len(v.Elems), n)
	}
	var regs []int32
	for _, e := range v.Elems {
		regs = append(regs, one(e))
	}
	return regs, nil
}

func (l *lowering) load() error {
	if err := l.want(2, 3); err != nil { // the third is a cache policy
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	if t.Bits() > 64 {
		return errors.New("128-bit registers are not supported: use a vector of two")
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
	if l.strong() && !a.frame && a.space != param && a.space != constant && a.space != local {
		l.in.stop, l.in.access = stopAccess, strongLoad
		return nil
	}
	switch {
	case a.space == shared && len(a.regs) == 1 && a.size == 4 && a.extend == 0:
		l.in.do = loadShared4
	case a.space == global && len(a.regs) == 1 && !a.frame:
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
	if err := l.want(2, 3); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	if t.Bits() > 64 {
		return errors.New("128-bit registers are not supported: use a vector of two")
	}
	a := l.address(l.operand(0), l.spaceOf())
	a.size = t.Bits() / 8
	if a.regs, err = l.values(l.operand(1), func(o ptx.Operand) int32 { return l.srcOf(o, t) }); err != nil {
		return err
	}
	l.in.mem = a
	switch {
	case l.strong() && !a.frame && a.space != param && a.space != local:
		l.in.stop, l.in.access = stopAccess, strongStore
	case a.space == shared && len(a.regs) == 1 && a.size == 4:
		l.in.do = storeShared4
	default:
		l.in.do = storeAny
	}
	return nil
}

// at is a lane's address.
func (x *warp) address(a *access, lane int) uint64 {
	if a.frame {
		return localBase + uint64(x.fp[lane]) + a.offset
	}
	return x.val(a.base)[lane] + a.offset
}

// reach is the n bytes at a lane's address. If there are none, the launch
// traps and they are nil.
func (x *warp) reach(in *inst, lane int, sp space, addr, n uint64, writes bool) []byte {
	if addr&(n-1) != 0 && n&(n-1) == 0 {
		x.wild(in, lane, trapMisaligned, sp, addr, n, fmt.Sprintf("not a multiple of %d", n))
		return nil
	}
	b, why := x.find(lane, sp, addr, n, writes)
	if b == nil {
		x.wild(in, lane, trapIllegal, sp, addr, n, why)
	}
	return b
}

// wild traps because of an address.
func (x *warp) wild(in *inst, lane int, reason string, sp space, addr, n uint64, why string) {
	x.trap(in, lane, reason, fmt.Sprintf("%d bytes at %s address %#x: %s", n, sp, addr, why))
}

// find is the n bytes at an address, or why there are none.
func (x *warp) find(lane int, sp space, addr, n uint64, writes bool) (b []byte, why string) {
	if sp == generic {
		sp, addr = window(addr)
	}
	switch sp {
	case shared:
		own := x.block
		addr &= 1<<32 - 1
		if rank := addr >> rankShift; rank > 0 {
			if rank > uint64(x.block.at.Size) {
				return nil, fmt.Sprintf("there is no CTA of rank %d in the cluster", rank-1)
			}
			own = x.handle.Peer(int(rank - 1)).(*block)
			addr &= 1<<rankShift - 1
		}
		at := addr - sharedBase
		if at >= uint64(len(own.shared)) || n > uint64(len(own.shared))-at {
			return nil, fmt.Sprintf("shared memory is %#x to %#x", sharedBase, sharedBase+len(own.shared))
		}
		return own.shared[at : at+n], ""
	case local:
		at, top := addr-localBase, uint64(x.top[lane])
		if at >= top || n > top-at {
			return nil, fmt.Sprintf("the thread's local memory is %#x to %#x", localBase, localBase+top)
		}
		if uint64(len(x.local[lane])) < top {
			x.local[lane] = append(x.local[lane], make([]byte, int(top)-len(x.local[lane]))...)
		}
		return x.local[lane][at : at+n], ""
	case param:
		if writes {
			return nil, "kernel parameters cannot be written"
		}
		if addr >= uint64(len(x.param)) || n > uint64(len(x.param))-addr {
			return nil, fmt.Sprintf("the kernel has %d bytes of parameters", len(x.param))
		}
		return x.param[addr : addr+n], ""
	}
	i := x.mem.find(addr, n, x.hint)
	if i < 0 {
		return nil, x.mem.describe(addr)
	}
	s := &x.mem.segments[i]
	if writes && s.readOnly {
		return nil, s.name + " is constant"
	}
	x.hint = i
	at := addr - s.base
	return s.data[at : at+n], ""
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
	d, base, offset, mem := &x.regs[in.mem.regs[0]], x.val(in.mem.base), in.mem.offset-sharedBase, x.shared
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
	v, base, offset, mem := x.val(in.mem.regs[0]), x.val(in.mem.base), in.mem.offset-sharedBase, x.shared
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

// stopAccess stops lanes at an access that other threads have to see in
// order.
func stopAccess(x *warp, in *inst, m uint32) bool {
	a := &in.mem
	var global uint32 // lanes
	for k := m; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		addr := x.address(a, i)
		if x.reach(in, i, a.space, addr, a.bytes(), in.writes) == nil {
			return true
		}
		sp := a.space
		if sp == generic {
			sp, _ = window(addr)
		}
		global |= bit(sp != shared) << i
	}
	if m&global != 0 {
		x.stopAt(m&global, &emu.Op{Kind: emu.OpAccess, Global: true}, 0)
	}
	if m&^global != 0 {
		x.stopAt(m&^global, &emu.Op{Kind: emu.OpAccess}, 0)
	}
	return true
}

// Access has lanes do the access at which they stopped (emu.Runner).
func (x *warp) Access(w emu.Warp, lanes uint32) (news uint32) {
	x.handle = w
	in := &x.k.code[x.pc[bits.TrailingZeros32(lanes)&31]]
	a := &in.mem
	for k := lanes; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		addr := x.address(a, i)
		b := x.reach(in, i, a.space, addr, a.bytes(), in.writes)
		if b == nil { // it was there when the lane stopped
			continue
		}
		changed := in.access(x, in, i, b)
		s := sight{in.index, addr, load(b, min(a.size, 8))}
		if changed || s != x.seen[i] {
			news |= 1 << i
		}
		if x.seen[i] = s; changed {
			x.seen[i] = sight{}
		}
	}
	return news
}

func strongLoad(x *warp, in *inst, lane int, b []byte) bool {
	x.take(&in.mem, lane, b)
	return false
}

func strongStore(x *warp, in *inst, lane int, b []byte) bool {
	x.put(&in.mem, lane, b)
	return true
}

// atomic is atom and red.
func (l *lowering) atomic() error {
	if l.has("async") {
		return l.reduceAsync()
	}
	ops := l.i.Operands
	if l.i.Op == "red" {
		ops = append([]ptx.Operand{&ptx.Name{Name: "_"}}, ops...)
	}
	if len(ops) < 3 || len(ops) > 5 {
		return fmt.Errorf("%d operands", len(l.i.Operands))
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	if t.Bits() > 64 {
		return errors.New("128-bit registers are not supported")
	}
	if l.has("v2") || l.has("v4") || l.has("v8") {
		return errors.New("vectors are not supported: use scalar ones")
	}
	f, _, err := l.reduction()
	if err != nil {
		return err
	}
	in := l.in
	in.dst, in.a = l.dstOf(ops[0]), l.srcOf(ops[2], t)
	in.b = in.a
	if l.has("cas") {
		if len(ops) < 4 {
			return errors.New("cas takes a value to compare with and a new one")
		}
		in.b = l.srcOf(ops[3], t)
	}
	a := l.address(ops[1], l.spaceOf())
	a.size = t.Bits() / 8
	in.mem, in.writes = a, true
	signed := 0
	if t.Signed() {
		signed = t.Bits()
	}
	in.stop = stopAccess
	in.access = func(x *warp, in *inst, lane int, b []byte) bool {
		old := load(b, in.mem.size)
		v := f(old, x.val(in.a)[lane], x.val(in.b)[lane])
		store(b, in.mem.size, v)
		x.regs[in.dst][lane] = extend(old, signed)
		return load(b, in.mem.size) != old
	}
	return nil
}
