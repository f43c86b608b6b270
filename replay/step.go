package replay

import (
	"fmt"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// try performs a row if it is possible now.
func (s *scope) try(w *warp, r *row) bool {
	if r.op.Kind == trace.KindTrap {
		return s.perform(w, r, false) // also by lanes that wait: what they did is what trapped
	}
	for i := range w.strands {
		if st := &w.strands[i]; st.lanes&r.lanes != 0 && !s.mayLeave(st) {
			return false
		}
	}
	return s.perform(w, r, false)
}

// mayLeave reports whether nothing holds the strand.
func (s *scope) mayLeave(st *strand) bool {
	switch st.wait {
	case running, completing, passedMbar:
		return true
	case waitMbar:
		s.settle(st.mb)
		return st.mb.passed(st.phase)
	}
	return st.free
}

// perform runs a row through the models. Unless it is forced, it refuses (and
// changes nothing) when a fact that the row records is not true yet.
func (s *scope) perform(w *warp, r *row, forced bool) bool {
	if gone := r.lanes &^ w.live; gone != 0 && s.afterLife(w, r) {
		return true
	}
	s.eff.Reset()
	switch r.op.Kind {
	case trace.KindEnter:
		s.become(w, r)
	case trace.KindExit:
		s.exit(w, r)
	case trace.KindBarArrive, trace.KindBarSync, trace.KindBarRed:
		s.bar(w, r)
	case trace.KindBarDone:
		return s.barDone(w, r, forced)
	case trace.KindMbarInit, trace.KindMbarInval:
		return s.mbarLife(w, r, forced)
	case trace.KindMbarArrive, trace.KindMbarArriveDrop, trace.KindMbarArriveNoComplete, trace.KindMbarArriveExpectTx:
		return s.mbarArrive(w, r, forced)
	case trace.KindMbarExpectTx, trace.KindMbarCompleteTx, trace.KindMbarCopy, trace.KindMbarCpAsyncArrive:
		return s.mbarTx(w, r, forced)
	case trace.KindMbarWait, trace.KindMbarTest:
		return s.mbarWait(w, r, forced)
	case trace.KindMbarDone:
		return s.mbarDone(w, r, forced)
	case trace.KindCompletionBegin, trace.KindCompletionEnd:
		return s.completion(w, r, forced)
	case trace.KindClusterArrive, trace.KindClusterWait, trace.KindClusterDone,
		trace.KindGroupArrive, trace.KindGroupWait, trace.KindGroupDone:
		return s.collect(w, r, forced)
	case trace.KindSyncwarp:
		st := s.become(w, r)
		st.wait, st.phase = waitSyncwarp, w.sync.Phase
		s.order.meets(w, r)
		w.sync.Sync(r.lanes, r.op.Mask, &s.eff)
		s.own(w)
		if s.broken() {
			s.violations(w, r, s.syncRef(w))
		}
	case trace.KindSyncwarpDone:
		in := false
		for i := range w.strands {
			st := &w.strands[i]
			in = in || st.lanes&r.lanes != 0 && st.wait == waitSyncwarp
		}
		if !in && !s.comesFromNowhere(w, r, forced, rules.SyncwarpMissingLane, s.syncRef(w)) {
			return false
		}
		s.become(w, r)
		s.order.met(w, r)
	case trace.KindTrap:
		if s.trap == "" {
			s.trap = "trap"
			if r.op.Text != "" {
				s.trap = r.op.Text
			}
			cp := *r
			s.trapRow = &cp
		}
		s.become(w, r)
	}
	return true
}

// afterLife drops the lanes of a row that have exited before it: a recording
// that says so contradicts itself. It reports whether none are left.
func (s *scope) afterLife(w *warp, r *row) bool {
	s.findings.incomplete = true
	s.findings.add(Finding{
		Rule: rules.TraceGap, BarrierRef: BarrierRef{CTA: w.cta.id}, Threads: []Lanes{{CTA: w.cta.id, Warp: w.id, Mask: r.lanes &^ w.live}},
		Time: r.time, Location: r.loc(), Events: []EventRef{r.ref()},
		Message: fmt.Sprintf("CTA %d, warp %d has an event (%s) of lanes that had exited", w.cta.id, w.id, r.op.Kind),
	})
	r.lanes &= w.live
	return r.lanes == 0
}

// owner finds the mbarrier that a row is about. A target outside the scope
// cannot be: only a cluster's shared memory is within reach.
func (s *scope) owner(w *warp, r *row) *mbar {
	id := r.op.OwnerCTA(w.cta.id)
	if id == w.cta.id || s.has(id) {
		return s.mbar(id, r.op.Addr)
	}
	mb := s.mbar(w.cta.id, r.op.Addr)
	s.breach(rules.MbarRemoteOp, mb.at(), r,
		"%s does %s on an mbarrier of CTA %d, which is not in its cluster", s.text(r.who(), w.cta.id), r.op.Kind, id)
	return mb
}

func (s *scope) syncRef(w *warp) BarrierRef {
	return BarrierRef{CTA: w.cta.id, Barrier: trace.Barrier{Kind: trace.BarrierWarp, ID: uint64(w.id)}, Phase: w.sync.Phase}
}

// own applies the effect of a model that knows no warps but its own.
func (s *scope) own(w *warp) {
	for i := range s.eff.Released {
		s.eff.Released[i].Warp = w.id
	}
	s.apply(w.cta, waitSyncwarp)
}

// comesFromNowhere is called for lanes that come out of a wait that they are
// not in, and reports whether they may: if the recording says so, and only
// where it does, or if the event is lost by which they went in.
func (s *scope) comesFromNowhere(w *warp, r *row, forced bool, early barrier.Rule, ref BarrierRef) bool {
	if forced {
		s.breach(early, ref, r,
			"%s came out of %s without having gone in", s.text(r.who(), ref.CTA), ref.Barrier)
	}
	return forced || w.holed()
}

// exit takes lanes out of every barrier that counts the living.
func (s *scope) exit(w *warp, r *row) {
	lanes := r.lanes & w.live
	for i := range w.strands {
		if st := &w.strands[i]; st.lanes&lanes != 0 {
			w.left = st.op
		}
	}
	s.order.exit(w, r)
	s.leave(w, r)
	w.live &^= lanes
	w.gone.since, w.gone.op, w.gone.seq = r.time, r.op, r.seq
	w.cta.live -= popcount(lanes)
	s.exited += uint64(popcount(lanes))
	s.progress = true // others may have waited for these lanes to go

	w.cta.named.Exit(w.id, lanes, &s.eff)
	s.namedDone(w.cta)
	s.violations(w, r, BarrierRef{CTA: w.cta.id})
	s.eff.Reset()
	w.sync.Exit(lanes, &s.eff)
	s.own(w)
	for _, c := range s.collectives {
		if c.exitLowers && c.of(w.cta.id) {
			s.eff.Reset()
			c.m.Exit(w.cta.id, w.id, lanes, &s.eff)
			s.collectiveDone(c, w, r)
		}
	}
}

// bar performs bar.arrive, bar.sync or bar.red.
func (s *scope) bar(w *warp, r *row) {
	c, id := w.cta, r.op.Bar%barrier.NumNamed
	b := &c.named.Bars[id]
	op := barrier.NamedOp{
		Kind: namedKind(r.op), Warp: w.id, Lanes: r.lanes, Bar: r.op.Bar, Count: r.op.Count,
		Aligned: r.op.Aligned, Pred: r.pred, Site: r.site(),
	}
	st := s.become(w, r)
	st.wait, st.bar, st.phase = waitNamed, id, b.Phase
	if op.Kind == barrier.NamedArrive {
		st.wait = heldNamed
	}
	if op.Kind != barrier.NamedArrive && op.Count == 0 {
		s.inFlight(w, r)
	}
	if !b.Active {
		c.bars[id].forced = false
	}
	phase := b.Phase
	c.bars[id].tally.add(r.who(), 1)
	c.bars[id].implicit = op.Count == 0
	s.order.arrival(w, r, id)
	c.named.Do(&op, &s.eff)
	if s.watch != nil {
		s.watch.arrived(r, s.namedIn(c, id, phase), uint64(popcount(r.lanes)), uint64(c.named.Expected(int(id))))
	}
	if s.broken() {
		s.violations(w, r, s.namedIn(c, id, phase))
	}
	s.target(w, r)
	s.namedDone(c)
}

func namedKind(op *trace.Op) barrier.NamedKind {
	switch {
	case op.Kind == trace.KindBarArrive:
		return barrier.NamedArrive
	case op.Kind == trace.KindBarSync:
		return barrier.NamedSync
	case op.Red == trace.RedAnd:
		return barrier.NamedRedAnd
	case op.Red == trace.RedOr:
		return barrier.NamedRedOr
	}
	return barrier.NamedRedPopc
}

// namedRef is a named barrier in the phase that it is in.
func (s *scope) namedRef(c *cta, id uint32) BarrierRef {
	return s.namedIn(c, id, c.named.Bars[id].Phase)
}

func (s *scope) namedIn(c *cta, id uint32, phase uint64) BarrierRef {
	return BarrierRef{CTA: c.id, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: uint64(id)}, Phase: phase}
}

// namedDone applies the effect of the CTA's named barriers.
func (s *scope) namedDone(c *cta) {
	if s.eff.Completed > 0 {
		s.order.namedEnded(c)
		s.counts.Phases += uint64(s.eff.Completed)
		if s.watch != nil {
			for i, rel := range s.eff.Released {
				if i == 0 || rel.Bar != s.eff.Released[i-1].Bar {
					ref := s.namedRef(c, rel.Bar)
					ref.Phase = rel.Phase
					s.watch.completed(s, ref, s.now)
				}
			}
		}
	}
	s.apply(c, waitNamed)
}

// barDone takes lanes out of a bar.sync or bar.red and checks what it
// returned.
func (s *scope) barDone(w *warp, r *row, forced bool) bool {
	id := r.op.Bar % barrier.NumNamed
	var want uint32
	var phase uint64
	in, reduced := false, false
	for i := range w.strands {
		st := &w.strands[i]
		if st.lanes&r.lanes == 0 || st.wait != waitNamed || st.bar != id {
			continue
		}
		in, phase = true, st.phase
		if st.op.Kind == trace.KindBarRed {
			want, reduced = st.result, true
		}
	}
	if !in && !s.comesFromNowhere(w, r, forced, rules.BarEarlyRelease, s.namedRef(w.cta, id)) {
		return false
	}
	s.become(w, r)
	s.order.left(w, r, id, phase)
	if reduced && !forced && r.op.Has.Has(trace.FieldResult) && r.result != want {
		ref := s.namedRef(w.cta, id)
		ref.Phase = phase
		s.breach(rules.BarRedResult, ref, r,
			"%s got %d from the reduction on %s, the predicates of phase %d give %d",
			s.text(r.who(), ref.CTA), r.result, ref.Barrier, phase, want)
	}
	return true
}
