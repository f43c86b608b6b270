package explore

import "btrace/trace"

// stepTime is the time from one operation of a Machine to the next, in ns.
const stepTime = 8

// recording keeps what a Machine does as the events of a trace. A nil
// recording keeps nothing.
type recording struct {
	events []trace.Event
	seq    map[warpKey]uint32
}

// Record makes the machine, which has to be at its beginning, keep its events.
func (m *Machine) Record() {
	m.log = &recording{seq: make(map[warpKey]uint32)}
	for i := range m.strands {
		m.log.add(m, i, trace.Op{Kind: trace.KindEnter, Has: 0})
	}
}

// Events is what it has kept, with the waits in which strands are stuck. The
// order is that of a trace.
func (m *Machine) Events() []trace.Event {
	for i := range m.strands {
		s := &m.strands[i]
		if !s.exited && !s.blocked && s.pc < len(m.p.Strands[i].Ops) && !m.can(i) {
			if op := &m.p.Strands[i].Ops[s.pc]; op.Kind == trace.KindMbarWait && !op.Test {
				m.log.wait(m, i, op)
			}
		}
	}
	return m.log.events
}

func (r *recording) add(m *Machine, i int, op trace.Op) *trace.Event {
	st := &m.p.Strands[i]
	k := warpKey{st.CTA, st.Warp}
	op.Lanes = st.Lanes
	r.events = append(r.events, trace.Event{Time: int64(len(r.events)+1) * stepTime, CTA: st.CTA, Warp: st.Warp, Seq: r.seq[k], Op: op})
	r.seq[k]++
	return &r.events[len(r.events)-1]
}

// site is an operation without operands, at the place of another.
func site(kind trace.Kind, at *Op) trace.Op {
	op := trace.Op{Kind: kind, File: at.File, Line: at.Line, PC: at.PC}
	op.Has = at.Has & trace.Fields(0).With(trace.FieldFile, trace.FieldLine, trace.FieldPC)
	return op
}

// does is an operation that a strand is about to do.
func (r *recording) does(m *Machine, i int, op *Op) {
	switch {
	case r == nil:
	case op.Kind == trace.KindMbarWait && op.Test:
		e := r.wait(m, i, op)
		e.Kind = trace.KindMbarTest
		e.Result, e.Has = 1, e.Has.With(trace.FieldResult)
	case op.Kind == trace.KindMbarWait:
		r.wait(m, i, op)
		r.wait(m, i, op).Kind = trace.KindMbarDone
	default:
		e := r.add(m, i, op.Op)
		e.Pred = op.Pred
		if e.Kind >= trace.KindMbarArrive && e.Kind <= trace.KindMbarArriveExpectTx { // of which phase is known only now
			e.Has &^= trace.Fields(0).With(trace.FieldToken, trace.FieldPhase)
		}
	}
}

// wait is an event of a wait, by the token that the strand holds or by parity.
func (r *recording) wait(m *Machine, i int, op *Op) *trace.Event {
	e := r.add(m, i, op.Op)
	e.Has &^= trace.Fields(0).With(trace.FieldToken, trace.FieldResult)
	if e.Has.Has(trace.FieldPhase) {
		e.Phase = m.strands[i].tokens[mbarKey{m.p.Strands[i].owner(&op.Op), op.Addr}]
	} else {
		e.Has = e.Has.With(trace.FieldParity)
	}
	return e
}

// left is a strand that comes out of what blocked it.
func (r *recording) left(m *Machine, i int, at *Op) {
	if r == nil {
		return
	}
	var kind trace.Kind
	switch at.Kind {
	case trace.KindBarSync, trace.KindBarRed:
		kind = trace.KindBarDone
	case trace.KindClusterWait:
		kind = trace.KindClusterDone
	case trace.KindGroupWait:
		kind = trace.KindGroupDone
	case trace.KindSyncwarp:
		kind = trace.KindSyncwarpDone
	default:
		return
	}
	op := site(kind, at)
	op.Bar, op.Group, op.Mask = at.Bar, at.Group, at.Mask
	op.Has |= at.Has & trace.Fields(0).With(trace.FieldBar, trace.FieldGroup, trace.FieldMask)
	r.add(m, i, op)
}

func (r *recording) exits(m *Machine, i int) {
	if r == nil {
		return
	}
	op := trace.Op{Kind: trace.KindExit}
	if ops := m.p.Strands[i].Ops; len(ops) > 0 {
		op = site(trace.KindExit, &ops[len(ops)-1])
	}
	r.add(m, i, op)
}
