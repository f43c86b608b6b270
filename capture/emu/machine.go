package emu

import (
	"context"
	"math/bits"

	"btrace/replay/barrier"
	"btrace/trace"
)

// Virtual time, in ns. The figures only need to be plausible: what takes long
// on a GPU takes long here.
const (
	latency     = 8    // from an operation to the lane's next
	pollFirst   = 16   // from a failed poll to the next, doubled each time
	pollDoubles = 8    // up to 4 us
	tryLimit    = 1000 // what a try_wait waits before it gives up
	copyLatency = 600  // of an asynchronous copy, and bytes it moves a ns
	copyRate    = 32
)

// machine is the CTAs that run together under one scheduler: one cluster, or
// the whole of a cooperative grid. Nothing outside it can touch its barriers.
type machine struct {
	l     *launch
	ctas  map[uint32]*cta
	order []*cta
	grid  map[string]*group
	sched schedule
	now   int64
	live  int // lanes that have not exited

	agents int    // under way
	idle   uint64 // polls since anybody did anything else

	eff      barrier.Effect
	running  *Thread // the lane whose code runs
	current  *warp   // the warp that does its operation
	stopping bool
}

// cta is one CTA.
type cta struct {
	m       *machine
	id      uint32 // linear index in the grid
	idx     trace.Dim
	rank    int // in the cluster
	cluster *cluster
	warps   []*warp
	named   *barrier.Named
	mbars   map[uint64]*mbar
	groups  map[string]*group
	shared  map[string]any
	dynamic []byte
}

// cluster is a cluster of CTAs; a CTA of a launch without clusters is one of
// its own.
type cluster struct {
	ctas   []*cta // by rank
	bar    *barrier.Collective
	groups map[string]*group
}

// over reports that the launch has ended, for good or bad.
func (m *machine) over() bool { return m.l.trap != "" || m.l.err != nil }

// next is a time before which nothing happens in this machine.
func (m *machine) next() int64 { return max(m.now+1, m.sched.next()) }

// turn lets one actor go on. It returns false if none can.
func (m *machine) turn() bool {
	a := m.sched.take()
	if a == nil {
		return false
	}
	m.now = max(m.now+1, a.due)
	m.l.steps++
	if a.fire != nil {
		m.idle = 0
		a.fire()
		return true
	}
	m.step(a.warp)
	return true
}

// step lets a warp do the operation that its lanes in w.group are at, and
// runs those that it does not block on to their next operation.
func (m *machine) step(w *warp) {
	m.current = w
	w.steps++
	lanes := w.group
	o := w.lanes[bits.TrailingZeros32(lanes)].op
	switch {
	case o.polls():
		m.idle++
	case o.kind != kindWork && o.kind != kindResume:
		m.idle = 0
	}
	for goOn := m.do(w, lanes, &o); goOn != 0 && !m.over(); goOn &= goOn - 1 {
		m.advance(w.lanes[bits.TrailingZeros32(goOn)])
	}
	m.current = nil
	if !m.over() {
		m.schedule(w)
	}
}

// advance runs a lane's code up to its next operation.
func (m *machine) advance(t *Thread) {
	m.running = t
	_, more := t.next()
	m.running = nil
	if t.err != nil {
		m.l.err = t.err
		return
	}
	if !more {
		t.op = op{kind: trace.KindExit}
	}
	t.place = m.l.place(&t.op)
	t.since = m.l.steps
	t.due = m.now + latency + t.delay
	t.delay = 0
}

// schedule puts a warp where its lanes that can run have it go on.
func (m *machine) schedule(w *warp) {
	if w == m.current || w.ready == 0 {
		return
	}
	w.choose(m.sched.leader(w))
	m.sched.put(&w.actor)
}

// hold stops lanes until release.
func (w *warp) hold(lanes uint32) { w.ready &^= lanes }

// release lets lanes go on with the operation that they are at.
func (m *machine) release(w *warp, lanes uint32) {
	lanes &^= w.ready
	if lanes == 0 {
		return
	}
	w.ready |= lanes
	for k := lanes; k != 0; k &= k - 1 {
		w.lanes[bits.TrailingZeros32(k)].due = m.now + latency
	}
	m.schedule(w)
}

// agent has a function called later.
func (m *machine) agent(due int64, fire func()) {
	m.agents++
	m.sched.put(&actor{fire: func() { m.agents--; fire() }, due: due, at: -1})
}

// hung reports whether the lanes that can still run only poll, and have done
// so for long enough.
func (m *machine) hung() bool {
	if m.idle == 0 || m.idle%m.l.cfg.SpinBudget != 0 || m.agents > 0 {
		return false
	}
	pollers := uint64(0)
	for _, c := range m.order {
		for _, w := range c.warps {
			for k := w.ready; k != 0; k &= k - 1 {
				if !w.lanes[bits.TrailingZeros32(k)].polling {
					m.idle = 0
					return false
				}
			}
			if w.ready != 0 {
				pollers++
			}
		}
	}
	return m.idle >= m.l.cfg.SpinBudget*pollers
}

// stop ends the coroutines of all lanes. A kernel's deferred functions run.
func (m *machine) stop() {
	m.stopping = true
	for _, c := range m.order {
		for _, w := range c.warps {
			for _, t := range w.lanes {
				t.abandon()
			}
		}
	}
	m.stopping = false
}

// cancelEvery is how many steps may pass until a cancelled launch ends.
const cancelEvery = 256

// cancelled looks at the context now and then.
func (l *launch) cancelled(ctx context.Context) bool {
	if l.steps%cancelEvery == 0 && l.err == nil {
		l.err = context.Cause(ctx)
	}
	return l.err != nil
}
