package emu

import (
	"math/bits"

	"btrace/replay/barrier"
	"btrace/trace"
)

// FullMask names all lanes of a warp.
const FullMask = ^uint32(0)

// warp is up to 32 lanes that do what they can together.
type warp struct {
	actor
	cta    *cta
	runner Runner // of a Program; nil for Go code
	index  uint32
	lanes  []*Thread
	ready  uint32 // lanes that can go on with the operation that they are at
	live   uint32 // lanes that have not exited
	group  uint32 // lanes that do the warp's next operation
	sync   barrier.Warp
	seq    uint32
	steps  uint64
	works  uint64 // steps of Work

	polling uint32 // lanes that did nothing but poll of late
	preds   uint32 // lanes whose operand of a reduction is true
	yielded uint32 // lanes that polled in the current step
	order   int    // of its lanes, under pct
}

// op is the operation of the lanes that go on next.
func (w *warp) op() *op { return w.lanes[bits.TrailingZeros32(w.group)].op }

// choose makes t's operation the warp's next, for all lanes that are at the
// same with the same operands.
func (w *warp) choose(t *Thread) {
	w.group, w.due = 0, 0
	for k := w.ready; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k)
		if u := w.lanes[i]; same(u, t) {
			w.group |= 1 << i
			w.due = max(w.due, u.due)
		}
	}
}

func (w *warp) setPred(lanes uint32, pred bool) {
	w.preds &^= lanes
	if pred {
		w.preds |= lanes
	}
}

// become makes kind the kind of the operation that lanes of a Program are at.
// They share it; if others do too, who do not come along, they get their own.
func (w *warp) become(lanes uint32, kind trace.Kind) {
	p := w.lanes[bits.TrailingZeros32(lanes)].op
	for k := w.live &^ lanes; k != 0; k &= k - 1 {
		if w.lanes[bits.TrailingZeros32(k)].op == p {
			q := *p
			p = &q
			break
		}
	}
	p.kind = kind
	w.each(lanes, func(t *Thread) {
		if t.op != p {
			t.op = p
		}
	})
}

// same reports whether lanes are at the same operation.
func same(t, u *Thread) bool {
	return (t.op == u.op || *t.op == *u.op) && t.result == u.result
}

// behind is the ready lane that is furthest behind in the source.
func (w *warp) behind() *Thread {
	return w.least(func(t *Thread) uint64 { return t.place })
}

// oldest is the ready lane that has waited for longest.
func (w *warp) oldest() *Thread {
	return w.least(func(t *Thread) uint64 { return t.since })
}

func (w *warp) least(key func(*Thread) uint64) (best *Thread) {
	for k := w.ready; k != 0; k &= k - 1 {
		if t := w.lanes[bits.TrailingZeros32(k)]; best == nil || key(t) < key(best) {
			best = t
		}
	}
	return best
}

// nth is the ready lane with n ready lanes below it.
func (w *warp) nth(n int) *Thread {
	k := w.ready
	for ; n > 0; n-- {
		k &= k - 1
	}
	return w.lanes[bits.TrailingZeros32(k)]
}

// all is the lanes that the warp was made of.
func (w *warp) all() uint32 { return FullMask >> (32 - len(w.lanes)) }
