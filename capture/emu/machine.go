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
	unit  uint64 // number in the launch
	alone bool   // no other machine runs
	built bool

	ctas   map[uint32]*cta
	order  []*cta
	warps  []*warp
	grid   map[string]*group
	layout layout
	sites  map[uintptr]*site
	sched  schedule
	log    *choiceLog // of the choices of sched; may be nil
	missed uint64     // choices of a script that could not be made
	now    int64
	steps  uint64
	live   int // lanes that have not exited

	issued  uint64 // agents so far
	agents  int    // under way
	waiting *actor // whose operation has to wait for other machines
	idle    uint64 // polls since anybody did anything else
	dormant bool   // they were enough
	moved   bool   // somebody did something else in this round
	halted  bool   // nobody can go on
	trap    string
	err     error
	fault   uint32 // CTA that did something last

	events   []trace.Event // not handed over yet, from sent on
	sent     int
	counted  uint64 // steps that the launch knows of
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
	block   *group
	groups  map[string]*group
	shared  map[string]any
	dynamic []byte
	program Block // of a Program
}

// cluster is a cluster of CTAs; a CTA of a launch without clusters is one of
// its own.
type cluster struct {
	ctas  []*cta // by rank
	bar   *barrier.Collective
	whole *group
}

// next is a time before which nothing happens in this machine.
func (m *machine) next() int64 {
	switch {
	case !m.built:
		return m.now + latency
	case m.waiting != nil:
		return m.now
	}
	return max(m.now+1, m.sched.next())
}

// over reports that it has ended the launch.
func (m *machine) over() bool { return m.trap != "" || m.err != nil }

// moment is when, and in which CTA, it has done so.
func (m *machine) moment() moment { return moment{m.now, uint64(m.fault)} }

// cancelEvery is how many turns may pass until a cancelled launch ends.
const cancelEvery = 256

// run lets the machine go on until the horizon, for at most so many steps.
func (m *machine) run(ctx context.Context, horizon int64, steps uint64) {
	if !m.built {
		m.build()
	}
	for end, turns := m.steps+steps, 0; m.steps < end && m.next() <= horizon; turns++ {
		if turns%cancelEvery == 0 && ctx.Err() != nil {
			return
		}
		if !m.turn() {
			m.halted = true
			return
		}
		if m.over() || m.waiting != nil {
			return
		}
		if m.dormant = m.dormant || m.polledOut(); m.dormant && m.alone {
			return
		}
	}
}

// runAlone is run while no other machine does.
func (m *machine) runAlone(ctx context.Context, horizon int64, steps uint64) {
	alone := m.alone
	m.alone = true
	m.run(ctx, horizon, steps)
	m.alone = alone
}

// turn lets one actor go on. It returns false if none can.
func (m *machine) turn() bool {
	a := m.waiting
	if a == nil {
		if a = m.sched.take(); a == nil {
			return false
		}
		m.now = max(m.now+1, a.due)
		if a.warp != nil && a.warp.op().global && !m.alone {
			m.waiting = a
			return true
		}
	}
	m.waiting = nil
	m.steps++
	if a.fire != nil {
		m.progress()
		a.fire()
		return true
	}
	m.step(a.warp)
	return true
}

// progress notes that something was done that others may wait for.
func (m *machine) progress() { m.idle, m.dormant, m.moved = 0, false, true }

// step lets a warp do the operation that its lanes in w.group are at, and
// runs those that it does not block on to their next operation.
func (m *machine) step(w *warp) {
	m.current = w
	w.steps++
	lanes, o := w.group, *w.op()
	switch {
	case o.polls():
		m.idle++
	case !o.silent():
		m.progress()
	}
	goOn := m.do(w, lanes, &o)
	if w.runner != nil && goOn != 0 && !m.over() {
		m.resume(w, goOn)
		goOn = 0
	}
	for ; goOn != 0 && !m.over(); goOn &= goOn - 1 {
		m.advance(w.lanes[bits.TrailingZeros32(goOn)])
	}
	m.current = nil
	if m.over() {
		return
	}
	if w.yielded != 0 {
		m.sched.yields(w, w.yielded)
		w.yielded = 0
	}
	m.schedule(w)
}

// advance runs a lane's code up to its next operation.
func (m *machine) advance(t *Thread) {
	m.running, m.fault = t, t.cta.id
	_, more := t.next()
	m.running = nil
	if t.err != nil {
		m.err = t.err
		return
	}
	if !more {
		t.set(op{kind: trace.KindExit})
	}
	t.place = t.op.place()
	t.since = m.steps
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
	m.issued++
	m.sched.put(&actor{
		id: uint64(len(m.warps)) + m.issued - 1, fire: func() { m.agents--; fire() }, due: due, at: -1,
	})
}

// polledOut reports whether the lanes that can still run only poll, and have
// done so for long enough.
func (m *machine) polledOut() bool {
	if m.idle == 0 || m.idle%m.l.cfg.SpinBudget != 0 || m.agents > 0 {
		return false
	}
	pollers := uint64(0)
	for _, w := range m.warps {
		for k := w.ready; k != 0; k &= k - 1 {
			if w.polling>>bits.TrailingZeros32(k)&1 == 0 {
				m.idle = 0
				return false
			}
		}
		if w.ready != 0 {
			pollers++
		}
	}
	return m.idle >= m.l.cfg.SpinBudget*pollers
}

// stop ends the coroutines of all lanes. A kernel's deferred functions run.
func (m *machine) stop() {
	m.stopping = true
	for _, w := range m.warps {
		for _, t := range w.lanes {
			t.abandon()
		}
	}
	m.stopping = false
}
