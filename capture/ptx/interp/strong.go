package interp

import (
	"errors"
	"fmt"
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
)

// Accesses that other threads may see, or have made, in order (PTX ISA,
// "Memory Consistency Model", strong operations) are turns of the schedule:
// a lane stops at one with emu.OpAccess, and does it when it is its turn.

// strong reports whether an access is one.
func (l *lowering) strong(a *access) bool {
	switch a.space {
	case local, param, constant:
		return false
	}
	return l.has("volatile") || l.has("relaxed") || l.has("acquire") || l.has("release")
}

// stopAccess stops lanes at a strong access.
func stopAccess(x *warp, in *inst, m uint32) bool {
	a := &in.mem
	var global uint32 // lanes
	for k := m; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		addr := x.address(a, i)
		if x.reach(in, i, a.space, addr, a.bytes(), in.writes) == nil {
			return true
		}
		global |= bit(!a.spaceAt(addr).isShared()) << i
	}
	if m&global != 0 {
		x.stopAt(m&global, &emu.Op{Kind: emu.OpAccess, Global: true}, 0)
	}
	if m&^global != 0 {
		x.stopAt(m&^global, &emu.Op{Kind: emu.OpAccess}, 0)
	}
	return true
}

// spaceAt is the space that an address of the access is in.
func (a *access) spaceAt(addr uint64) space {
	sp := a.space
	if sp == generic {
		sp, _ = window(addr)
	}
	return sp
}

// sight is what a lane saw at a place in memory.
type sight struct {
	pc    int32
	addr  uint64
	value uint64
}

// Access has lanes do the access at which they stopped (emu.Runner). A lane
// that changes nothing and sees what it saw last time is polling.
func (x *warp) Access(w emu.Warp, lanes uint32) (news uint32) {
	x.handle = w
	in := &x.k.code[x.pc[first(lanes)]]
	for k := lanes; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k) & 31
		var s sight
		b, changed := in.access(x, in, i)
		if !changed {
			s = sight{in.index, x.address(&in.mem, i), digest(b)}
		}
		if changed || s != x.seen[i] {
			news |= 1 << i
		}
		x.seen[i] = s
	}
	x.polling = x.polling&^lanes | lanes&^news
	return news
}

// digest tells what bytes of a power-of-two number there are apart: exactly up
// to 8 of them.
func digest(b []byte) (v uint64) {
	for ; len(b) > 8; b = b[8:] {
		v = (v + load(b, 8)) * 0x9e3779b97f4a7c15
	}
	return v + load(b, len(b))
}

// there is the bytes of a lane's strong access. They were there when it
// stopped, and so they still are.
func (x *warp) there(in *inst, lane int) []byte {
	b, _ := x.find(lane, in.mem.space, x.address(&in.mem, lane), in.mem.bytes(), in.writes)
	return b
}

func strongLoad(x *warp, in *inst, lane int) (b []byte, changed bool) {
	b = x.there(in, lane)
	x.take(&in.mem, lane, b)
	return b, false
}

func strongStore(x *warp, in *inst, lane int) (b []byte, changed bool) {
	b = x.there(in, lane)
	x.put(&in.mem, lane, b)
	return b, true
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
	r, err := l.reduction()
	if err != nil {
		return err
	}
	n := 3 + l.policies()
	if r.op == "cas" {
		n++
	}
	switch {
	case l.i.Op == "red" && (r.op == "cas" || r.op == "exch"):
		return fmt.Errorf("there is no .%s without a result", r.op)
	case len(ops) != n:
		return fmt.Errorf("%d operands: it takes %d", len(l.i.Operands), n-len(ops)+len(l.i.Operands))
	}
	in := l.in
	in.mem, in.writes = l.address(ops[1], l.spaceOf()), true
	in.mem.size = r.typ.Bits() / 8
	source := func(o ptx.Operand) int32 { return l.srcOf(o, r.typ) }
	if in.mem.regs, err = l.values(ops[2], source); err != nil {
		return err
	}
	to := []int32{sink}
	if l.i.Op == "atom" {
		if to, err = l.values(ops[0], l.dstOf); err != nil {
			return err
		}
	}
	in.b = in.mem.regs[0]
	if r.op == "cas" {
		in.b = source(ops[3])
	}
	signed := 0
	if r.typ.Signed() {
		signed = r.typ.Bits()
	}
	in.stop = stopAccess
	in.access = func(x *warp, in *inst, lane int) (b []byte, changed bool) {
		b = x.there(in, lane)
		f := r.elsewhere
		if in.mem.spaceAt(x.address(&in.mem, lane)).isShared() {
			f = r.shared
		}
		for k, s := range in.mem.regs { // of a vector each for itself
			at := b[k*in.mem.size:]
			old := load(at, in.mem.size)
			store(at, in.mem.size, f(old, x.val(s)[lane], x.val(in.b)[lane]))
			changed = changed || load(at, in.mem.size) != old
			if to[0] != sink {
				x.regs[to[k]][lane] = extend(old, signed)
			}
		}
		return b, changed
	}
	return nil
}

// reduction is what atom, red and cp.reduce compute.
type reduction struct {
	op  string
	typ arith.Type
	// From the value in memory and the operands the value to write there. The
	// adders of global memory are not those of shared memory.
	shared, elsewhere func(old, a, b uint64) uint64
}

// reduction is that which the modifiers name.
func (l *lowering) reduction() (r reduction, err error) {
	if r.typ, err = l.lastType(); err != nil {
		return r, err
	}
	for _, m := range l.i.Mods {
		switch m {
		case "add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas":
			r.op = m
			if r.shared, err = arith.Atomic(m, r.typ.String()); err != nil {
				return r, err
			}
			r.elsewhere = r.shared
			if m == "add" {
				r.elsewhere, err = arith.Atomic("add.global", r.typ.String())
			}
			return r, err
		}
	}
	return r, errors.New("it names no operation")
}
