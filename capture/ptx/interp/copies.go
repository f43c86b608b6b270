package interp

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/arith"
	"btrace/trace"
)

// copies is what a warp's lanes have asked to be copied in groups (PTX ISA,
// "Data Movement and Conversion Instructions: Asynchronous copy"). Nothing
// promises that such a copy happens before somebody waits for it, so that is
// when it does.
type copies struct {
	queue  [2][32][]groupCopy // by completion: cp.async, cp.async.bulk
	groups [2][32]uint32      // committed
	issued [32]uint64         // of cp.async
}

// The queues of copies.
const (
	nonBulk = iota
	bulk
)

// groupCopy is one of them.
type groupCopy struct {
	group uint32
	seq   uint64
	move  func()
}

func (c *copies) add(queue, lane int, move func()) {
	c.queue[queue][lane] = append(c.queue[queue][lane], groupCopy{c.groups[queue][lane], c.issued[lane], move})
	c.issued[lane]++
}

// done does those of a lane's copies that are meant.
func (c *copies) done(queue, lane int, meant func(g *groupCopy) bool) {
	c.queue[queue][lane] = slices.DeleteFunc(c.queue[queue][lane], func(g groupCopy) bool {
		if !meant(&g) {
			return false
		}
		g.move()
		return true
	})
}

// wait does all of a lane's committed groups but the last few.
func (c *copies) wait(queue, lane int, but uint32) {
	n := c.groups[queue][lane]
	c.done(queue, lane, func(g *groupCopy) bool { return g.group+but < n })
}

// finish does everything that a lane has asked for.
func (c *copies) finish(lane int) {
	for queue := range c.queue {
		c.done(queue, lane, func(*groupCopy) bool { return true })
	}
}

// copy is the cp family.
func (l *lowering) copy() error {
	queue := nonBulk
	if l.has("bulk") {
		queue = bulk
	}
	switch {
	case l.has("prefetch"):
		return l.nothing()
	case l.has("commit_group"):
		l.in.do = func(x *warp, _ *inst, m uint32) {
			for k := m; k != 0; k &= k - 1 {
				x.copies.groups[queue][bits.TrailingZeros32(k)&31]++
			}
		}
		return l.want(0)
	case l.has("wait_all"):
		l.in.do = func(x *warp, _ *inst, m uint32) {
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				x.copies.groups[queue][i]++
				x.copies.wait(queue, i, 0)
			}
		}
		return l.want(0)
	case l.has("wait_group"):
		n, ok := l.operand(0).(*ptx.Int)
		if !ok {
			return errors.New("it takes a constant number of groups")
		}
		l.in.do = func(x *warp, _ *inst, m uint32) {
			for k := m; k != 0; k &= k - 1 {
				x.copies.wait(queue, bits.TrailingZeros32(k)&31, uint32(n.Value))
			}
		}
		return l.want(1)
	case l.has("mbarrier") && l.has("arrive"):
		return l.copiesArrive()
	case l.has("tensor"):
		return l.tensorCopy()
	case l.has("reduce"):
		return l.bulkReduce()
	case queue == bulk:
		return l.bulkCopy()
	case l.has("async"):
		return l.asyncCopy()
	}
	return errUnknown
}

// asyncCopy is cp.async: 4, 8 or 16 bytes from global to shared memory.
func (l *lowering) asyncCopy() error {
	if err := l.want(3, 4, 5); err != nil {
		return err
	}
	size, ok := l.operand(2).(*ptx.Int)
	if !ok || size.Value != 4 && size.Value != 8 && size.Value != 16 {
		return errors.New("it copies 4, 8 or 16 bytes")
	}
	n := size.Value
	to, from := l.address(l.operand(0), shared), l.address(l.operand(1), global)
	take, ignore := l.constant(n), predicate{slot: l.predConstant()}
	switch o := l.operand(3).(type) {
	case nil:
	case *ptx.Not:
		ignore = l.predSrc(o)
	case *ptx.Name:
		if o.Sym != nil && o.Sym.Variable != nil && o.Sym.Variable.Type == "pred" {
			ignore = l.predSrc(o)
		} else if !l.has("L2::cache_hint") || len(l.i.Operands) == 5 {
			take = l.srcOf(o, u32)
		}
	case *ptx.Int:
		take = l.constant(o.Value)
	}
	l.in.do = func(x *warp, in *inst, m uint32) {
		sizes, none := x.val(take), x.pred(ignore)
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			dst := x.reach(in, i, shared, x.address(&to, i), n, true)
			if dst == nil {
				return
			}
			part := min(uint64(uint32(sizes[i])), n)
			if none>>i&1 != 0 {
				part = 0
			}
			var src []byte
			if addr := x.address(&from, i); part > 0 {
				if addr%n != 0 {
					x.wild(in, i, trapMisaligned, global, addr, n, fmt.Sprintf("not a multiple of %d", n))
					return
				}
				var why string
				if src, why = x.find(i, global, addr, part, false); src == nil {
					x.wild(in, i, trapIllegal, global, addr, part, why)
					return
				}
			}
			x.copies.add(nonBulk, i, func() { clear(dst[copy(dst, src):]) })
		}
	}
	return nil
}

// copiesArrive is cp.async.mbarrier.arrive.
func (l *lowering) copiesArrive() error {
	if err := l.want(1); err != nil {
		return err
	}
	o := emu.Op{Kind: trace.KindMbarCpAsyncArrive, NoInc: l.has("noinc")}
	l.in.mem = l.address(l.operand(0), l.spaceOf())
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		for ; m != 0 && !x.faulted; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			o := o
			if x.mbarrierAt(in, i, in.mem.space, x.address(&in.mem, i), &o) {
				n := x.copies.issued[i]
				o.Move = func(int) { x.copies.done(nonBulk, i, func(g *groupCopy) bool { return g.seq < n }) }
				x.stopAt(1<<i, &o, 0)
			}
		}
		return true
	}
	return nil
}

// transfer stops lanes at a copy that completes its bytes on an mbarrier.
// plan gives for a lane its size and what moves the data to a CTA.
func (l *lowering) transfer(mbar ptx.Operand, ranks int32, plan func(x *warp, in *inst, lane int) (n uint64, move func(rank int), ok bool)) {
	l.in.mem = l.address(mbar, shared)
	l.in.stop = func(x *warp, in *inst, m uint32) bool {
		for k := m; k != 0; k &= k - 1 {
			i := bits.TrailingZeros32(k) & 31
			o := emu.Op{Kind: trace.KindMbarCopy}
			if !x.mbarrierAt(in, i, shared, x.address(&in.mem, i), &o) {
				return true
			}
			n, move, ok := plan(x, in, i)
			if !ok {
				return true
			}
			o.Bytes, o.Move = int64(n), move
			if n == unknownSize {
				o.Bytes = emu.UnknownBytes
			}
			if ranks != toOne {
				o.Mask = uint32(x.val(ranks)[i]) & 0xffff & (1<<x.block.at.Size - 1)
			}
			x.stopAt(1<<i, &o, 0)
		}
		return true
	}
}

const (
	unknownSize = ^uint64(0)
	toOne       = int32(-1) // no CTA mask: constants begin at -1, see maskOperand
)

// maskOperand is the CTA mask of a multicast.
func (l *lowering) maskOperand(n int) int32 {
	r := l.scratch()
	src := l.src(n, arith.U16)
	if src >= 0 {
		return src
	}
	// A constant: give it a register, so that it is not taken for toOne.
	l.k.specials = append(l.k.specials, special{r, func(x *warp, lane int) uint64 { return x.val(src)[lane] }})
	return r
}

// sharedPlace is where in shared memory an address is: the CTA's rank and the
// offset in its memory.
func (x *warp) sharedPlace(addr uint64) (rank int, offset uint64) {
	addr &= 1<<32 - 1
	if r := addr >> rankShift; r > 0 {
		return int(r - 1), addr & (1<<rankShift - 1)
	}
	return x.block.at.Rank, addr
}

// bulkRange is the n bytes of a bulk copy at an address, which has to be
// aligned to 16, as the size (PTX ISA, "cp.async.bulk").
func (x *warp) bulkRange(in *inst, lane int, sp space, addr, n uint64, writes bool) ([]byte, bool) {
	if addr%16 != 0 || n%16 != 0 {
		x.wild(in, lane, trapMisaligned, sp, addr, n, "address and size have to be multiples of 16")
		return nil, false
	}
	if n == 0 {
		return nil, true
	}
	b, why := x.find(lane, sp, addr, n, writes)
	if b == nil {
		x.wild(in, lane, trapIllegal, sp, addr, n, why)
	}
	return b, b != nil
}

// bulkCopy is cp.async.bulk.
func (l *lowering) bulkCopy() error {
	ops := l.i.Operands
	if len(ops) < 3 {
		return fmt.Errorf("%d operands: it takes at least 3", len(ops))
	}
	size := l.src(2, u32)
	if l.has("bulk_group") { // shared to global
		to, from := l.address(ops[0], global), l.address(ops[1], shared)
		l.in.do = func(x *warp, in *inst, m uint32) {
			for k := m; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(k) & 31
				n := uint64(uint32(x.val(size)[i]))
				dst, ok := x.bulkRange(in, i, global, x.address(&to, i), n, true)
				if !ok {
					return
				}
				src, ok := x.bulkRange(in, i, shared, x.address(&from, i), n, false)
				if !ok {
					return
				}
				x.copies.add(bulk, i, func() { copy(dst, src) })
			}
		}
		return nil
	}
	// The destination is shared memory, the source global or the CTA's own
	// shared memory: the first space named is the destination's.
	source := shared
	if l.has("global") {
		source = global
	}
	if len(ops) < 4 {
		return fmt.Errorf("%d operands: it takes at least 4", len(ops))
	}
	to, from := l.address(ops[0], shared), l.address(ops[1], source)
	ranks := toOne
	if l.has("multicast::cluster") {
		ranks = l.maskOperand(4)
	}
	l.transfer(ops[3], ranks, func(x *warp, in *inst, i int) (uint64, func(int), bool) {
		n := uint64(uint32(x.val(size)[i]))
		at := x.address(&to, i)
		src, ok := x.bulkRange(in, i, source, x.address(&from, i), n, false)
		if !ok {
			return 0, nil, false
		}
		dst, ok := x.bulkRange(in, i, shared, at, n, true)
		if !ok {
			return 0, nil, false
		}
		if ranks == toOne {
			return n, func(int) { copy(dst, src) }, true
		}
		_, offset := x.sharedPlace(at)
		return n, func(rank int) { copy(x.handle.Peer(rank).(*block).shared[offset-sharedBase:][:n], src) }, true
	})
	return nil
}

// storeAsync is st.async: it writes to shared memory of the cluster and
// completes its bytes on an mbarrier there.
func (l *lowering) storeAsync() error {
	if err := l.want(3); err != nil {
		return err
	}
	t, err := l.lastType()
	if err != nil {
		return err
	}
	a := l.address(l.operand(0), shared)
	a.size = t.Bits() / 8
	if a.regs, err = l.values(l.operand(1), func(o ptx.Operand) int32 { return l.srcOf(o, t) }); err != nil {
		return err
	}
	l.transfer(l.operand(2), toOne, func(x *warp, in *inst, i int) (uint64, func(int), bool) {
		n := a.bytes()
		dst := x.reach(in, i, shared, x.address(&a, i), n, true)
		if dst == nil {
			return 0, nil, false
		}
		v := make([]byte, n)
		x.put(&a, i, v)
		return n, func(int) { copy(dst, v) }, true
	})
	return nil
}

// reduceAsync is red.async: it does arithmetic on shared memory of the
// cluster and completes its bytes on an mbarrier there.
func (l *lowering) reduceAsync() error {
	if err := l.want(3); err != nil {
		return err
	}
	f, t, err := l.reduction()
	if err != nil {
		return err
	}
	a := l.address(l.operand(0), shared)
	a.size = t.Bits() / 8
	v := l.src(1, t)
	l.transfer(l.operand(2), toOne, func(x *warp, in *inst, i int) (uint64, func(int), bool) {
		dst := x.reach(in, i, shared, x.address(&a, i), a.bytes(), true)
		if dst == nil {
			return 0, nil, false
		}
		b := x.val(v)[i]
		return a.bytes(), func(int) { store(dst, a.size, f(load(dst, a.size), b, b)) }, true
	})
	return nil
}

// reduction is the arithmetic that the modifiers of a red name.
func (l *lowering) reduction() (f func(old, a, b uint64) uint64, t arith.Type, err error) {
	if t, err = l.lastType(); err != nil {
		return nil, t, err
	}
	for _, m := range l.i.Mods {
		switch m {
		case "add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas":
			f, err = arith.Atomic(m, t.String())
			return f, t, err
		}
	}
	return nil, t, errors.New("it names no operation")
}

// bulkReduce is cp.reduce.async.bulk: arithmetic of an array in shared memory
// on one in global or shared memory.
func (l *lowering) bulkReduce() error {
	ops := l.i.Operands
	if len(ops) < 3 {
		return fmt.Errorf("%d operands: it takes at least 3", len(ops))
	}
	f, t, err := l.reduction()
	if err != nil {
		return err
	}
	size, elem := l.src(2, u32), t.Bits()/8
	from := l.address(ops[1], shared)
	reduce := func(dst, src []byte) {
		for at := 0; at+elem <= len(dst); at += elem {
			v := load(src[at:], elem)
			store(dst[at:], elem, f(load(dst[at:], elem), v, v))
		}
	}
	ranges := func(x *warp, in *inst, i int, sp space, at uint64) (dst, src []byte, ok bool) {
		n := uint64(uint32(x.val(size)[i]))
		if dst, ok = x.bulkRange(in, i, sp, at, n, true); ok {
			src, ok = x.bulkRange(in, i, shared, x.address(&from, i), n, false)
		}
		return dst, src, ok
	}
	if !l.has("bulk_group") {
		if len(ops) < 4 {
			return fmt.Errorf("%d operands: it takes at least 4", len(ops))
		}
		to := l.address(ops[0], shared)
		l.transfer(ops[3], toOne, func(x *warp, in *inst, i int) (uint64, func(int), bool) {
			dst, src, ok := ranges(x, in, i, shared, x.address(&to, i))
			return uint64(len(dst)), func(int) { reduce(dst, src) }, ok
		})
		return nil
	}
	// Other CTAs may reduce to the same place: it is done in order.
	a := l.address(ops[0], global)
	a.size = elem
	l.in.mem, l.in.writes = a, true
	l.in.stop = stopAccess
	l.in.access = func(x *warp, in *inst, i int, _ []byte) bool {
		dst, src, ok := ranges(x, in, i, global, x.address(&in.mem, i))
		if ok {
			reduce(dst, src)
		}
		return true
	}
	return nil
}

// tensorCopy is cp.async.bulk.tensor. What it copies stands in a tensor map,
// which only the driver can make: it moves nothing, and its bytes are unknown.
func (l *lowering) tensorCopy() error {
	l.note("tensor copies move no data: their bytes on an mbarrier are taken to be what is expected")
	ops := l.i.Operands
	if !l.has("mbarrier::complete_tx::bytes") {
		return l.nothing()
	}
	if len(ops) < 3 {
		return fmt.Errorf("%d operands: it takes at least 3", len(ops))
	}
	ranks := toOne
	if l.has("multicast::cluster") {
		n := 3
		for n < len(ops)-1 { // offsets of im2col may come first
			if _, ok := ops[n].(*ptx.Vector); !ok {
				break
			}
			n++
		}
		ranks = l.maskOperand(n)
	}
	l.transfer(ops[2], ranks, func(*warp, *inst, int) (uint64, func(int), bool) {
		return unknownSize, func(int) {}, true
	})
	return nil
}
