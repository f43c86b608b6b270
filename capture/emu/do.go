package emu

import (
	"math/bits"

	"btrace/replay/barrier"
	"btrace/trace"
)

// do has lanes of w do the operation that they are at, and returns those that
// go on at once.
func (m *machine) do(w *warp, lanes uint32, o *op) (goOn uint32) {
	if !o.silent() && !o.polls() {
		w.polling &^= lanes
	}
	switch o.kind {
	case kindResume:
		return lanes
	case kindWork:
		return m.work(w, lanes, o)
	case kindSpin:
		w.each(lanes, func(t *Thread) { t.poll(0) })
		return lanes
	case kindAtomic:
		return m.atomic(w, lanes)
	case trace.KindEnter:
		m.record(w, lanes, o.kind, o)
		if w.runner == nil {
			w.each(lanes, (*Thread).begin)
		}
		return lanes
	case trace.KindExit:
		return m.exit(w, lanes, o)
	case trace.KindMark:
		e := m.record(w, lanes, o.kind, o)
		e.Text, e.Has = o.text, e.Has.With(trace.FieldText)
		return lanes
	case trace.KindTrap:
		m.endTrap(w, lanes, o, o.text)
		return 0
	case trace.KindBarArrive, trace.KindBarSync, trace.KindBarRed:
		return m.bar(w, lanes, o)
	case trace.KindBarDone:
		return m.barDone(w, lanes, o)
	case trace.KindClusterArrive, trace.KindClusterWait, trace.KindClusterDone:
		return m.clusterBarrier(w, lanes, o)
	case trace.KindGroupArrive, trace.KindGroupWait, trace.KindGroupDone:
		return m.groupBarrier(w, lanes, o)
	case trace.KindSyncwarp, trace.KindSyncwarpDone:
		return m.syncwarp(w, lanes, o)
	}
	return m.mbarrier(w, lanes, o)
}

func (w *warp) each(lanes uint32, f func(*Thread)) {
	for ; lanes != 0; lanes &= lanes - 1 {
		f(w.lanes[bits.TrailingZeros32(lanes)])
	}
}

// then makes kind, with the same operands, the operation that lanes are at.
func (w *warp) then(lanes uint32, kind trace.Kind) {
	if w.runner != nil {
		w.become(lanes, kind)
		return
	}
	w.each(lanes, func(t *Thread) { t.op.kind = kind })
}

func (m *machine) work(w *warp, lanes uint32, o *op) uint32 {
	w.then(lanes, kindResume)
	w.each(lanes, func(t *Thread) {
		t.due = later(m.now, o.ns)
		t.since = m.steps
	})
	if w.works++; w.works%patience == 0 { // it may wait for something all the same
		w.yielded |= lanes
	}
	return 0
}

// patience is after how many turns of doing nothing but Work a warp is
// treated as one that polls.
const patience = 64

// poll makes the lane wait a while before it asks again, longer each time.
func (t *Thread) poll(least int64) {
	t.warp.yielded |= 1 << t.lane
	if t.warp.polling>>t.lane&1 == 0 {
		t.warp.polling |= 1 << t.lane
		t.polls = 0
	}
	t.delay = max(least, pollFirst<<t.polls)
	t.polls = min(t.polls+1, pollDoubles)
}

// exit takes lanes out of everything that waits for non-exited threads.
func (m *machine) exit(w *warp, lanes uint32, o *op) uint32 {
	m.record(w, lanes, o.kind, o)
	w.live &^= lanes
	w.hold(lanes)
	m.live -= bits.OnesCount32(lanes)
	w.each(lanes, func(t *Thread) { t.next, t.end, t.yield = nil, nil, nil })

	m.eff.Reset()
	w.cta.named.Exit(w.index, lanes, &m.eff)
	m.settleNamed(w.cta)

	m.exitFrom(w, lanes, w.cta.cluster.bar)
	if g := w.cta.block; g != nil {
		m.exitFrom(w, lanes, g.bar)
	}
	if g := w.cta.cluster.whole; g != nil {
		m.exitFrom(w, lanes, g.bar)
	}

	m.eff.Reset()
	w.sync.Exit(lanes, &m.eff)
	m.settleSyncwarp(w)
	return 0
}

func (m *machine) exitFrom(w *warp, lanes uint32, bar *barrier.Collective) {
	m.eff.Reset()
	bar.Exit(w.cta.id, w.index, lanes, &m.eff)
	m.settleCollective()
}

// bar does a PTX barrier instruction.
func (m *machine) bar(w *warp, lanes uint32, o *op) uint32 {
	b := barrier.NamedOp{
		Kind: o.named, Warp: w.index, Lanes: lanes, Pred: w.preds & lanes, Bar: o.bar, Count: o.count, Aligned: o.aligned, Site: uint64(o.site.pc),
	}
	e := m.record(w, lanes, o.kind, o)
	e.Bar, e.Count, e.Aligned = o.bar, o.count, o.aligned
	e.Has = e.Has.With(trace.FieldBar, trace.FieldCount, trace.FieldAligned)
	if o.kind == trace.KindBarRed {
		e.Red, e.Pred = redOf(o.named), b.Pred
		e.Has = e.Has.With(trace.FieldRed, trace.FieldPred)
	}
	w.hold(lanes)
	w.then(lanes, trace.KindBarDone)
	if o.kind == trace.KindBarArrive {
		w.then(lanes, kindResume)
	}
	m.eff.Reset()
	w.cta.named.Do(&b, &m.eff)
	if m.eff.Trap != "" {
		m.endTrap(w, lanes, o, m.eff.Trap)
		return 0
	}
	m.settleNamed(w.cta)
	if o.kind == trace.KindBarArrive {
		return lanes & w.ready
	}
	return 0
}

func redOf(k barrier.NamedKind) trace.Red {
	switch k {
	case barrier.NamedRedPopc:
		return trace.RedPopc
	case barrier.NamedRedAnd:
		return trace.RedAnd
	case barrier.NamedRedOr:
		return trace.RedOr
	}
	return trace.RedNone
}

// settleNamed lets those go whom a named barrier of c has released.
func (m *machine) settleNamed(c *cta) {
	for _, r := range m.eff.Released {
		w := c.warps[r.Warp]
		if r.Result != 0 {
			w.each(r.Lanes, func(t *Thread) { t.result = r.Result })
		}
		m.release(w, r.Lanes)
	}
}

func (m *machine) barDone(w *warp, lanes uint32, o *op) uint32 {
	e := m.record(w, lanes, o.kind, o)
	e.Bar, e.Has = o.bar, e.Has.With(trace.FieldBar)
	if redOf(o.named) != trace.RedNone {
		e.Result, e.Has = w.lanes[bits.TrailingZeros32(lanes)].result, e.Has.With(trace.FieldResult)
	}
	return lanes
}

func (m *machine) clusterBarrier(w *warp, lanes uint32, o *op) uint32 {
	e := m.record(w, lanes, o.kind, o)
	if o.kind != trace.KindClusterDone {
		o.order(e)
		if o.aligned {
			e.Aligned, e.Has = true, e.Has.With(trace.FieldAligned)
		}
	}
	m.eff.Reset()
	switch bar := w.cta.cluster.bar; o.kind {
	case trace.KindClusterArrive:
		bar.Arrive(w.cta.id, w.index, lanes, &m.eff)
		m.settleCollective()
	case trace.KindClusterWait:
		w.hold(lanes)
		w.then(lanes, trace.KindClusterDone)
		bar.Wait(w.cta.id, w.index, lanes, &m.eff)
		m.settleCollective()
		return 0
	}
	return lanes
}

// settleCollective lets those go whom the barrier of a cluster or group has
// released.
func (m *machine) settleCollective() {
	for _, r := range m.eff.Released {
		m.release(m.ctas[r.CTA].warps[r.Warp], r.Lanes)
	}
}

func (m *machine) syncwarp(w *warp, lanes uint32, o *op) uint32 {
	e := m.record(w, lanes, o.kind, o)
	e.Mask, e.Has = o.mask, e.Has.With(trace.FieldMask)
	if o.kind == trace.KindSyncwarpDone {
		return lanes
	}
	o.order(e)
	w.hold(lanes)
	w.then(lanes, trace.KindSyncwarpDone)
	m.eff.Reset()
	w.sync.Sync(lanes, o.mask, &m.eff)
	m.settleSyncwarp(w)
	return 0
}

func (m *machine) settleSyncwarp(w *warp) {
	for _, r := range m.eff.Released {
		m.release(w, r.Lanes)
	}
}
