package interp

import (
	"fmt"

	"btrace/capture/ptx"
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
// generic (PTX ISA, "Addresses as Operands").
func (l *lowering) address(o ptx.Operand, sp space) access {
	a := access{space: sp}
	base := o
	if in, ok := o.(*ptx.Address); ok {
		if len(in.Coordinates) > 0 {
			l.bad("the address has coordinates")
		}
		base, a.offset = in.Base, uint64(in.Offset)
	}
	if v := variableOf(base); v != nil {
		l.inVariable(&a, v, uint64(base.(*ptx.Name).Offset))
		return a
	}
	switch b := base.(type) {
	case *ptx.Int:
		a.base = l.constant(b.Value)
	case *ptx.Name:
		a.base = l.name(b)
	default:
		l.bad("an address is wanted")
	}
	return a
}

// inVariable makes an address one in a variable. An instruction that names no
// space takes the variable's.
func (l *lowering) inVariable(a *access, v *ptx.Variable, offset uint64) {
	offset += a.offset
	sp := shared
	if dynamic(v) {
		a.base, a.offset = l.dynamicAddress(v, offset), 0
	} else {
		var at uint64
		sp, at = l.place(v)
		a.base, a.offset, a.frame = l.constant(0), offset+at, sp == local
		if sp == shared {
			a.base = l.sharedAddress(0)
		}
	}
	switch {
	case a.space == generic, a.space == param && sp == local:
		a.space = sp
	case a.space != sp && !(a.space == global && sp == constant) && !(a.space == cluster && sp == shared):
		l.bad("%s is in .%s memory", v.Name, sp)
	}
}

// spaceOf is the state space that the modifiers name.
func (l *lowering) spaceOf() space {
	for _, m := range l.i.Mods {
		switch m {
		case "global":
			return global
		case "shared::cluster":
			return cluster
		case "shared", "shared::cta":
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

// address is a lane's address.
func (x *warp) address(a *access, lane int) uint64 {
	if a.frame {
		return localBase + uint64(x.fp[lane]) + a.offset
	}
	return x.val(a.base)[lane] + a.offset
}

// reach is the n bytes at a lane's address, which has to be a multiple of n,
// a power of two. If there are none, the launch traps and they are nil.
func (x *warp) reach(in *inst, lane int, sp space, addr, n uint64, writes bool) []byte {
	if addr&(n-1) != 0 {
		x.wild(in, lane, trapMisaligned, sp, addr, n, fmt.Sprintf("not a multiple of %d", n))
		return nil
	}
	return x.reachAny(in, lane, sp, addr, n, writes)
}

// reachAny is reach without a demand on the alignment.
func (x *warp) reachAny(in *inst, lane int, sp space, addr, n uint64, writes bool) []byte {
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

// find is the n bytes at an address, of which there is at least one, or why
// there are none.
func (x *warp) find(lane int, sp space, addr, n uint64, writes bool) (b []byte, why string) {
	if sp == generic {
		sp, addr = window(addr)
	}
	addr &= sp.width()
	switch sp {
	case shared, cluster:
		rank, addr := x.sharedPlace(sp, addr)
		if rank >= x.block.at.Size {
			return nil, fmt.Sprintf("there is no CTA of rank %d in the cluster", rank)
		}
		own := x.block
		if rank != own.at.Rank {
			own = x.handle.Peer(rank).(*block)
		}
		if b = part(own.shared, addr-sharedBase, n); b == nil {
			return nil, fmt.Sprintf("shared memory is %#x to %#x", sharedBase, sharedBase+len(own.shared))
		}
		return b, ""
	case local:
		at, top := addr-localBase, uint64(x.top[lane])
		if at >= top || n > top-at {
			return nil, fmt.Sprintf("the thread's local memory is %#x to %#x", localBase, localBase+top)
		}
		if have := uint64(len(x.local[lane])); have < top {
			x.local[lane] = append(x.local[lane], make([]byte, top-have)...)
		}
		return part(x.local[lane], at, n), ""
	case param:
		if writes {
			return nil, "kernel parameters cannot be written"
		}
		if b = part(x.param, addr, n); b == nil {
			return nil, fmt.Sprintf("the kernel has %d bytes of parameters", len(x.param))
		}
		return b, ""
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
	return part(s.data, addr-s.base, n), ""
}

// part is n bytes of b from at on; nil if b has not got them.
func part(b []byte, at, n uint64) []byte {
	if size := uint64(len(b)); at >= size || n > size-at {
		return nil
	}
	return b[at : at+n : at+n]
}

// sharedPlace is where in shared memory an address is: the rank of the CTA,
// and the address there without it. A CTA need not say its own rank where it
// can only mean itself.
func (x *warp) sharedPlace(sp space, addr uint64) (rank int, own uint64) {
	rank, own = int(addr&(windowSize-1)>>rankShift), addr&(1<<rankShift-1)
	if rank == 0 && sp == shared {
		rank = x.block.at.Rank
	}
	return rank, own
}
