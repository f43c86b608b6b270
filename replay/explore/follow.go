package explore

import (
	"btrace/replay/barrier"
	"btrace/trace"
)

// follower tells an Order what a Machine does. A nil follower tells nobody.
type follower struct {
	*Order
	named []map[uint32]*Barrier // by CTA
	mbars map[mbarKey]*Barrier
	colls map[collKey]*Barrier
	exits []*Exits // by CTA
	gone  *Exits   // of the cluster
	live  []int    // strands of the CTAs that have not exited
}

// Follow makes an Order follow the machine, which has to be at its beginning.
func (m *Machine) Follow(o *Order) {
	f := &follower{Order: o, live: make([]int, len(m.ctas)), mbars: make(map[mbarKey]*Barrier), colls: make(map[collKey]*Barrier), gone: o.NewExits()}
	for i := range m.p.Strands {
		f.live[m.p.Strands[i].CTA]++
	}
	for range m.ctas {
		f.named = append(f.named, make(map[uint32]*Barrier))
		f.exits = append(f.exits, o.NewExits())
	}
	m.order = f
}

func (m *Machine) event(i int, op *trace.Op) *Event {
	st := &m.p.Strands[i]
	return &Event{CTA: st.CTA, Warp: st.Warp, Seq: uint32(m.strands[i].pc), Lanes: st.Lanes, Op: op}
}

func (f *follower) bar(m *Machine, i int, op *trace.Op, id uint32) {
	if f == nil {
		return
	}
	e := m.event(i, op)
	b := f.named[e.CTA][id]
	if b == nil {
		b = f.NewBarrier(id)
		f.exits[e.CTA].Holds(b)
		f.named[e.CTA][id] = b
	}
	f.ArriveWarp(b, e, m.ctas[e.CTA].named.Live[e.Warp], true)
}

func (f *follower) namedEnded(m *Machine, cta, id uint32) {
	if f == nil {
		return
	}
	f.Complete(f.named[cta][id], f.implicit(m, cta, id))
}

// implicit reports whether the operations on a named barrier have no count.
func (f *follower) implicit(m *Machine, cta, id uint32) bool {
	for i := range m.p.Strands {
		if st := &m.p.Strands[i]; st.CTA == cta {
			for j := range st.Ops {
				if op := &st.Ops[j]; op.Kind >= trace.KindBarArrive && op.Kind <= trace.KindBarRed && op.Bar%barrier.NumNamed == id && op.Count > 0 {
					return false
				}
			}
		}
	}
	return true
}

// joins is a strand that arrives on the barrier of the cluster or a group.
func (f *follower) joins(m *Machine, i int, op *trace.Op, c *collective) {
	if f == nil {
		return
	}
	e := m.event(i, op)
	b := f.colls[c.collKey]
	if b == nil {
		b = f.NewBarrier(c.collKey)
		f.gone.Holds(b)
		f.colls[c.collKey] = b
	}
	f.ArriveAll(b, e, op.Sem != trace.SemRelaxed)
}

func (f *follower) collectiveEnded(c *collective) {
	if f == nil {
		return
	}
	f.Complete(f.colls[c.collKey], c.exitLowers)
}

func (f *follower) function(m *Machine, i int, op *trace.Op, key mbarKey) {
	if b := f.mbarrierAt(key); b != nil {
		f.Function(b, m.event(i, op))
	}
}

func (f *follower) mbarrierAt(key mbarKey) *Barrier {
	if f == nil {
		return nil
	}
	return f.mbars[key]
}

func (f *follower) syncwarp(m *Machine, i int, op *trace.Op) {
	if f != nil {
		f.Syncwarp(m.event(i, op), op.Mask, op.Sem != trace.SemRelaxed)
	}
}

// left is a strand that comes out of what blocked it.
func (f *follower) left(m *Machine, i int, op *trace.Op, phase uint64) {
	if f == nil {
		return
	}
	e := m.event(i, op)
	switch op.Kind {
	case trace.KindBarSync, trace.KindBarRed:
		f.Leave(f.named[e.CTA][op.Bar%barrier.NumNamed], e, phase, true)
	case trace.KindClusterWait, trace.KindGroupWait:
		f.Leave(f.colls[m.collective(&m.p.Strands[i], &Op{Op: *op}).collKey], e, phase, true)
	case trace.KindSyncwarp:
		f.Met(e, op.Mask)
	}
}

func (f *follower) exit(m *Machine, i int) {
	if f == nil {
		return
	}
	e := m.event(i, nil)
	f.Exit(e, f.exits[e.CTA], f.gone)
	if f.live[e.CTA]--; f.live[e.CTA] == 0 {
		for k, b := range f.mbars {
			if k.cta == e.CTA {
				f.Gone(b, f.exits[e.CTA])
			}
		}
	}
}

// mbarrier is an operation on an mbarrier that is about to be done.
func (f *follower) mbarrier(m *Machine, i int, op *trace.Op, key mbarKey) {
	if f == nil {
		return
	}
	e := m.event(i, op)
	b := f.mbars[key]
	if b == nil {
		b = f.NewMbarrier(key, key.cta)
		f.mbars[key] = b
	}
	switch op.Kind {
	case trace.KindMbarInit:
		f.Init(b, e)
	case trace.KindMbarWait:
		if op.Has.Has(trace.FieldPhase) {
			f.WaitPhase(b, e, m.strands[i].tokens[key], op.Sem != trace.SemRelaxed)
		} else {
			f.Wait(b, e, op.Parity&1, op.Sem != trace.SemRelaxed)
		}
	case trace.KindMbarExpectTx:
		f.Announce(b, e)
	case trace.KindMbarCpAsyncArrive:
		if !op.NoInc {
			f.Announce(b, e)
		}
		if op.NoInc {
			f.Arrive(b, e, true)
		} else {
			f.Copy(b, e, true)
		}
	case trace.KindMbarInval:
		f.Inval(b, e)
	case trace.KindMbarCopy, trace.KindMbarCompleteTx:
		f.Copy(b, e, op.Sem != trace.SemRelaxed)
	default:
		f.Arrive(b, e, op.Sem != trace.SemRelaxed)
	}
	n := int64(m.p.Strands[i].lanes()) * op.Bytes
	switch op.Kind {
	case trace.KindMbarExpectTx, trace.KindMbarArriveExpectTx, trace.KindMbarArriveDrop:
		b.Bytes(e, n)
	case trace.KindMbarCopy, trace.KindMbarCompleteTx:
		b.Bytes(e, -n)
	}
}

// spills is an arrive of more than was pending: the rest counts in the next
// phase.
func (f *follower) spills(m *Machine, i int, op *trace.Op, key mbarKey) {
	if f != nil {
		f.Arrive(f.mbars[key], m.event(i, op), op.Sem != trace.SemRelaxed)
	}
}

// ended tells of the phases of an mbarrier that have ended.
func (f *follower) ended(m *Machine, key mbarKey, before uint64) {
	if f == nil {
		return
	}
	for b := f.mbars[key]; b != nil && before < m.ctas[key.cta].mbars[key.addr].Phase; before++ {
		f.Complete(b, false)
	}
}
