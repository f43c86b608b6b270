package interp

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/trace"
)

// copies is what a warp's lanes have asked to be copied in groups (PTX ISA,
// "Data Movement and Conversion Instructions: Asynchronous copy"). Nothing
// promises that such a copy happens before somebody waits for it, so that is
// when it does.
type copies struct {
	queue  [2][32][]groupCopy // by completion: cp.async, cp.async.bulk
	groups [2][32]uint64      // committed
	issued [2][32]uint64
}

// The queues of copies.
const (
	nonBulk = iota
	bulk
)

// groupCopy is one of them.
type groupCopy struct {
	group uint64
	seq   uint64
	move  func()
}

func (c *copies) add(queue, lane int, move func()) {
	c.queue[queue][lane] = append(c.queue[queue][lane], groupCopy{c.groups[queue][lane], c.issued[queue][lane], move})
	c.issued[queue][lane]++
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
func (c *copies) wait(queue, lane int, but uint64) {
	n := c.groups[queue][lane]
	c.done(queue, lane, func(g *groupCopy) bool { return g.group < n && n-g.group > but })
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
	case !l.has("async") || l.has("prefetch") && queue == nonBulk:
		return errUnknown
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
				x.copies.wait(queue, bits.TrailingZeros32(k)&31, uint64(uint32(n.Value)))
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
	}
	return l.asyncCopy()
}

// asyncCopy is cp.async: 4, 8 or 16 bytes from global to shared memory, of
// which the source may give fewer; the rest is zeros.
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
	take, ignore := l.constant(n), never()
	switch o := l.operand(3); {
	case o == nil || l.has("L2::cache_hint") && len(l.i.Operands) == 4:
	case isPredicate(o):
		ignore = l.predSrc(o)
	default:
		if _, ok := o.(*ptx.Not); ok {
			ignore = l.predSrc(o)
		} else {
			take = l.srcOf(o, u32)
		}
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
				if src = x.reachAny(in, i, global, addr, part, false); src == nil {
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
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			o := o
			if !x.mbarrierAt(in, i, in.mem.space, x.address(&in.mem, i), &o) {
				return true
			}
			n := x.copies.issued[nonBulk][i]
			o.Move = func(int) { x.copies.done(nonBulk, i, func(g *groupCopy) bool { return g.seq < n }) }
			x.stopAt(1<<i, &o, 0)
		}
		return true
	}
	return nil
}
