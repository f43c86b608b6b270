package emu

import (
	"fmt"
	"math/bits"

	"btrace/trace"
)

const batch = 1024

// recorder hands events to the sink, in batches.
type recorder struct {
	sink   Sink
	launch uint32
	events []trace.Event
	err    error

	warpEvents, threadEvents uint64
}

func (r *recorder) add(events []trace.Event) {
	r.warpEvents += uint64(len(events))
	for i := range events {
		r.threadEvents += uint64(bits.OnesCount32(events[i].Lanes))
	}
	if r.sink == nil {
		return
	}
	for len(events) > 0 && r.err == nil {
		if r.events == nil {
			r.events = make([]trace.Event, 0, batch)
		}
		n := min(len(events), batch-len(r.events))
		r.events = append(r.events, events[:n]...)
		if events = events[n:]; len(r.events) == batch {
			_ = r.flush() // kept in r.err
		}
	}
}

func (r *recorder) flush() error {
	if r.err != nil || len(r.events) == 0 {
		return r.err
	}
	if err := r.sink.Write(r.events); err != nil {
		r.err = fmt.Errorf("writing events of launch %d: %w", r.launch, err)
	}
	r.events = r.events[:0]
	return r.err
}

// record makes the event of an operation by lanes of w, without operands. It
// is valid until the next.
func (m *machine) record(w *warp, lanes uint32, kind trace.Kind, o *op) *trace.Event {
	m.events = append(m.events, trace.Event{})
	e := &m.events[len(m.events)-1]
	e.Time, e.Launch, e.CTA, e.Warp, e.Seq = m.now, m.l.cfg.Launch, w.cta.id, w.index, w.seq
	w.seq++
	e.Kind, e.Lanes = kind, lanes
	at := o.site
	if kind == trace.KindEnter {
		at = m.l.entry
	}
	switch {
	case at != nil:
		m.locate(e, at.file, at.line)
		if at.counter {
			e.PC, e.Has = uint64(at.pc), e.Has.With(trace.FieldPC)
		}
	case kind == trace.KindEnter:
		m.locate(e, m.l.program, m.l.line)
	}
	return e
}

// order notes the memory ordering of an operation.
func (o *op) order(e *trace.Event) {
	if o.sem != trace.SemNone {
		e.Sem, e.Has = o.sem, e.Has.With(trace.FieldSem)
	}
}

func (m *machine) locate(e *trace.Event, file string, line uint32) {
	if line != 0 {
		e.Line, e.Has = line, e.Has.With(trace.FieldLine)
	}
	if file != m.l.program {
		e.File, e.Has = file, e.Has.With(trace.FieldFile)
	}
}

// endTrap ends the launch with a trap by lanes of w.
func (m *machine) endTrap(w *warp, lanes uint32, o *op, reason string) {
	e := m.record(w, lanes, trace.KindTrap, o)
	e.Text, e.Has = reason, e.Has.With(trace.FieldReason)
	m.trap, m.fault = reason, w.cta.id
}

// report lists the lanes that cannot go on.
func (m *machine) report() {
	for _, w := range m.warps {
		for lanes := w.live; lanes != 0; {
			s := m.stuckAt(w, lanes)
			m.l.stuck = append(m.l.stuck, s)
			lanes &^= s.Lanes
		}
	}
}

// stuckAt describes the first of the lanes and those that are at the same.
func (m *machine) stuckAt(w *warp, lanes uint32) Stuck {
	t := w.lanes[bits.TrailingZeros32(lanes)]
	s := Stuck{CTA: w.cta.id, Warp: w.index, Op: t.op.name(), Barrier: t.op.barrier(w.index), File: m.l.program}
	if at := t.op.site; at != nil {
		s.File, s.Line = at.file, at.line
	}
	for ; lanes != 0; lanes &= lanes - 1 {
		if i := bits.TrailingZeros32(lanes); same(w.lanes[i], t) {
			s.Lanes |= 1 << i
		}
	}
	return s
}
