package interp

import (
	"errors"
	"math/bits"

	"btrace/capture/emu"
	"btrace/capture/ptx/arith"
)

// cp.async.bulk and cp.reduce.async.bulk: whole arrays, to or from shared
// memory.

// bulkRange is the n bytes of a bulk copy at an address, which has to be
// aligned to 16, as the size (PTX ISA, "cp.async.bulk").
func (x *warp) bulkRange(in *inst, lane int, sp space, addr, n uint64, writes bool) ([]byte, bool) {
	switch {
	case addr%16 != 0 || n%16 != 0:
		x.wild(in, lane, trapMisaligned, sp, addr, n, "address and size have to be multiples of 16")
		return nil, false
	case n == 0:
		return nil, true
	}
	b := x.reachAny(in, lane, sp, addr, n, writes)
	return b, b != nil
}

// array is the operands [to], [from], size.
type array struct {
	to, from access
	size     int32
}

func (l *lowering) array(to, from space) array {
	return array{l.address(l.operand(0), to), l.address(l.operand(1), from), l.src(2, u32)}
}

// ranges is a lane's bytes of an array.
func (x *warp) ranges(in *inst, lane int, a *array) (dst, src []byte, ok bool) {
	n := uint64(uint32(x.val(a.size)[lane]))
	if src, ok = x.bulkRange(in, lane, a.from.space, x.address(&a.from, lane), n, false); ok {
		dst, ok = x.bulkRange(in, lane, a.to.space, x.address(&a.to, lane), n, true)
	}
	return dst, src, ok
}

// bulkCopy is cp.async.bulk.
func (l *lowering) bulkCopy() error {
	if l.has("bulk_group") {
		return l.bulkStore()
	}
	// The first space named is that of the destination, which is always shared
	// memory.
	source := shared
	if l.has("global") {
		source = global
	}
	n := 4 + l.policies()
	if l.has("multicast::cluster") {
		n++
	}
	if err := l.want(n); err != nil {
		return err
	}
	a := l.array(l.target(), source)
	ranks := l.multicast(4)
	l.transfer(l.operand(3), ranks, func(x *warp, in *inst, i int) *planned {
		dst, src, ok := x.ranges(in, i, &a)
		if !ok {
			return nil
		}
		p := &planned{int64(len(src)), func(int) { copy(dst, src) }}
		if ranks != nil {
			_, at := x.sharedPlace(a.to.space, x.address(&a.to, i))
			p.move = func(rank int) { copy(x.handle.Peer(rank).(*block).shared[at-sharedBase:][:len(src)], src) }
		}
		return p
	})
	return nil
}

// bulkStore is cp.async.bulk from shared to global memory. A byte mask says
// which of every 16 bytes are written.
func (l *lowering) bulkStore() error {
	n := 3 + l.policies()
	if l.has("cp_mask") {
		n++
	}
	if err := l.want(n); err != nil {
		return err
	}
	a := l.array(global, shared)
	mask := l.constant(1<<16 - 1)
	if l.has("cp_mask") {
		mask = l.src(n-1, arith.U16)
	}
	l.in.do = func(x *warp, in *inst, m uint32) {
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			dst, src, ok := x.ranges(in, i, &a)
			if !ok {
				return
			}
			bytes := x.val(mask)[i]
			x.copies.add(bulk, i, func() {
				if bytes&0xffff == 0xffff {
					copy(dst, src)
					return
				}
				for at := range src {
					if bytes>>(at%16)&1 != 0 {
						dst[at] = src[at]
					}
				}
			})
		}
	}
	return nil
}

// bulkReduce is cp.reduce.async.bulk: arithmetic of an array in shared memory
// on one in global memory, or in shared memory of the cluster.
func (l *lowering) bulkReduce() error {
	r, err := l.reduction()
	if err != nil {
		return err
	}
	if r.op == "cas" || r.op == "exch" {
		return errors.New("it takes no ." + r.op)
	}
	elem := r.typ.Bits() / 8
	reduce := func(dst, src []byte, f func(old, a, b uint64) uint64) {
		for at := 0; at+elem <= len(dst); at += elem {
			v := load(src[at:], elem)
			store(dst[at:], elem, f(load(dst[at:], elem), v, v))
		}
	}
	if !l.has("bulk_group") {
		if err := l.want(4); err != nil {
			return err
		}
		a := l.array(l.target(), shared)
		l.transfer(l.operand(3), nil, func(x *warp, in *inst, i int) *planned {
			dst, src, ok := x.ranges(in, i, &a)
			if !ok {
				return nil
			}
			return &planned{int64(len(src)), func(int) { reduce(dst, src, r.shared) }}
		})
		return nil
	}
	if err := l.want(3 + l.policies()); err != nil {
		return err
	}
	// Other CTAs may reduce to the same place: it is done in order, and does
	// not wait for its group.
	a := l.array(global, shared)
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		for k := m; k != 0; k &= k - 1 {
			if _, _, ok := x.ranges(in, bits.TrailingZeros32(k)&31, &a); !ok {
				return true
			}
		}
		x.stopAt(m, &emu.Op{Kind: emu.OpAccess, Global: true}, 0)
		return true
	}
	l.in.access = func(x *warp, in *inst, i int) ([]byte, bool) {
		if dst, src, ok := x.ranges(in, i, &a); ok { // as it was before
			reduce(dst, src, r.elsewhere)
		}
		return nil, true
	}
	return nil
}
