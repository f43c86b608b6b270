package emu

import (
	"math/bits"

	"btrace/replay/barrier"
	"btrace/trace"
)

// The traps of an access to shared memory that cannot be.
const (
	trapMisaligned = "misaligned address"
	trapIllegal    = "illegal memory access"
)

// mbar is an mbarrier object and those that wait for it.
type mbar struct {
	barrier.MBarrier
	waiters []waiter
	// Copies of unknown size: under way, and moved without being accounted
	// for.
	coming, moved int
}

// waiter is lanes that wait for a phase of that parity to be complete.
type waiter struct {
	w      *warp
	lanes  uint32
	parity uint8
}

// object is the mbarrier at an address of a CTA.
func (m *machine) object(cta uint32, addr uint64) *mbar {
	c := m.ctas[cta]
	b := c.mbars[addr]
	if b == nil {
		b = new(mbar)
		c.mbars[addr] = b
	}
	return b
}

// mbarrier does an operation on an mbarrier.
func (m *machine) mbarrier(w *warp, lanes uint32, o *op) uint32 {
	if reason := badAddress(o.addr); reason != "" {
		m.endTrap(w, lanes, o, reason)
		return 0
	}
	b := m.object(o.owner, o.addr)
	m.eff.Reset()
	n := bits.OnesCount32(lanes)
	switch o.kind {
	case trace.KindMbarWait:
		m.recordWait(w, lanes, o)
		w.then(lanes, trace.KindMbarDone)
		w.hold(lanes)
		b.wait(w, lanes, o.parity)
		m.wake(b)
		return 0
	case trace.KindMbarDone:
		if !b.TestParity(o.parity) { // lapped on the way
			w.hold(lanes)
			b.wait(w, lanes, o.parity)
			return 0
		}
		m.recordWait(w, lanes, o)
		return lanes
	case trace.KindMbarTest:
		m.test(w, lanes, o, b.TestParity(o.parity))
		return lanes
	case trace.KindMbarArrive, trace.KindMbarArriveDrop, trace.KindMbarArriveNoComplete, trace.KindMbarArriveExpectTx:
		m.arrive(w, lanes, o, b)
	case trace.KindMbarInit:
		e := m.recordMbar(w, lanes, o)
		e.Count, e.Has = o.count, e.Has.With(trace.FieldCount)
		for range n {
			b.Function = o.function
			b.Init(o.count, &m.eff)
		}
	case trace.KindMbarInval:
		m.recordMbar(w, lanes, o)
		for range n {
			b.Inval(&m.eff)
		}
	case trace.KindMbarExpectTx, trace.KindMbarCompleteTx:
		e := m.recordMbar(w, lanes, o)
		e.Bytes, e.Has = o.bytes, e.Has.With(trace.FieldBytes)
		for range n {
			if o.kind == trace.KindMbarExpectTx {
				b.ExpectTx(o.bytes, &m.eff)
				b.account(&m.eff)
			} else {
				b.CompleteTx(o.bytes, &m.eff)
			}
		}
	case trace.KindMbarCpAsyncArrive:
		m.cpAsyncArrive(w, lanes, o, b)
	case trace.KindMbarCopy:
		m.bulkCopy(w, lanes, o)
		return lanes
	case trace.KindCompletionBegin:
		m.recordMbar(w, lanes, o)
	case trace.KindCompletionEnd:
		m.recordMbar(w, lanes, o)
		b.Advance(&m.eff)
	}
	if m.eff.Trap != "" {
		m.endTrap(w, lanes, o, m.eff.Trap)
		return 0
	}
	m.wake(b)
	return lanes
}

func badAddress(addr uint64) string {
	switch {
	case addr%8 != 0:
		return trapMisaligned
	case addr < sharedBase || addr+8 > sharedBase+MaxShared:
		return trapIllegal
	}
	return ""
}

// wait adds waiters.
func (b *mbar) wait(w *warp, lanes uint32, parity uint8) {
	b.waiters = append(b.waiters, waiter{w, lanes, parity})
}

// wake lets those waiters try again whose phase is complete now. By the time
// that they do, it may be incomplete again: then they wait on.
func (m *machine) wake(b *mbar) {
	keep := b.waiters[:0]
	for _, x := range b.waiters {
		if b.TestParity(x.parity) {
			m.release(x.w, x.lanes)
		} else {
			keep = append(keep, x)
		}
	}
	b.waiters = keep
}

// arrive has the lanes arrive, one after the other, and records those that
// arrived in the same phase as one event.
func (m *machine) arrive(w *warp, lanes uint32, o *op, b *mbar) {
	a := barrier.Arrive{
		Count: o.count, Drop: o.kind == trace.KindMbarArriveDrop, NoComplete: o.kind == trace.KindMbarArriveNoComplete, Tx: o.bytes,
	}
	var same uint32
	var phase uint64
	for rest := lanes; rest != 0 && m.eff.Trap == ""; rest &= rest - 1 {
		i := bits.TrailingZeros32(rest)
		t := w.lanes[i]
		was := b.Completing
		t.token = b.Arrive(a, &m.eff)
		t.completes = b.Completing && !was
		if same != 0 && t.token.Phase != phase {
			m.recordArrive(w, same, o, phase)
			same = 0
		}
		same, phase = same|1<<i, t.token.Phase
	}
	m.recordArrive(w, same, o, phase)
	b.account(&m.eff)
}

// recordMbar makes the event of an operation on an mbarrier.
func (m *machine) recordMbar(w *warp, lanes uint32, o *op) *trace.Event {
	e := m.record(w, lanes, o.kind, o)
	e.Addr, e.Has = o.addr, e.Has.With(trace.FieldAddr)
	if o.owner != w.cta.id {
		e.Owner, e.Has = o.owner, e.Has.With(trace.FieldOwnerCTA)
	}
	o.order(e)
	return e
}

func (m *machine) recordArrive(w *warp, lanes uint32, o *op, phase uint64) {
	e := m.recordMbar(w, lanes, o)
	e.Count, e.Has = o.count, e.Has.With(trace.FieldCount)
	if o.kind == trace.KindMbarArriveExpectTx || o.bytes != 0 {
		e.Bytes, e.Has = o.bytes, e.Has.With(trace.FieldBytes)
	}
	if o.owner == w.cta.id { // a remote arrive returns no token
		e.Phase, e.Has = phase, e.Has.With(trace.FieldPhase)
	}
}

func (m *machine) recordWait(w *warp, lanes uint32, o *op) *trace.Event {
	e := m.recordMbar(w, lanes, o)
	switch o.by {
	case byToken:
		e.Phase, e.Has = o.phase, e.Has.With(trace.FieldPhase)
	case byWord:
		e.Token, e.Has = o.phase, e.Has.With(trace.FieldToken)
	default:
		e.Parity, e.Has = o.parity, e.Has.With(trace.FieldParity)
	}
	return e
}

// test gives lanes the answer of a test_wait or try_wait. Of the failures of
// a lane that asks the same again and again, the first is recorded.
func (m *machine) test(w *warp, lanes uint32, o *op, answer bool) {
	var fresh uint32
	w.each(lanes, func(t *Thread) {
		t.answer = answer
		if answer || w.polling>>t.lane&1 == 0 || t.lastPoll != *o {
			fresh |= 1 << t.lane
		}
		switch {
		case answer:
			w.polling &^= 1 << t.lane
		case o.try:
			t.poll(tryLimit)
		default:
			t.poll(0)
		}
		t.lastPoll = *o
	})
	if fresh == 0 {
		return
	}
	e := m.recordWait(w, fresh, o)
	e.Has = e.Has.With(trace.FieldResult)
	if answer {
		e.Result = 1
	}
}
