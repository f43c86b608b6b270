package replay

import (
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// usable says whether the row can use the object now; an object that is not
// initialised may yet be, by a row to come.
func (s *scope) usable(mb *mbar, forced bool) bool {
	return forced || mb.adopted || mb.m.Life == barrier.Live
}

// adopt is called when a forced row uses an object that is none.
func (s *scope) adopt(mb *mbar) {
	if mb.m.Life != barrier.Live {
		mb.adopted = true
	}
}

// mbarLife performs mbar.init and mbar.inval.
func (s *scope) mbarLife(w *warp, r *row, forced bool) bool {
	mb := s.owner(w, r)
	if r.op.Kind == trace.KindMbarInval {
		if !s.usable(mb, forced) {
			return false
		}
		s.become(w, r)
		s.remote(w, r, mb)
		s.order.invalidated(w, r, mb)
		mb.m.Inval(&s.eff)
		s.violations(w, r, mb.at())
		s.progress = true
		return true
	}
	s.become(w, r)
	s.remote(w, r, mb)
	ref := mb.at()
	mb.again = mb.m.Life == barrier.Live
	s.restart(mb)
	s.order.initialised(w, r, mb)
	mb.m.Init(r.op.Count, &s.eff)
	s.violations(w, r, ref)
	mb.init, mb.initRef = r.loc(), r.ref()
	if s.watch != nil {
		s.watch.used(mb.ref)
	}
	mb.adopted, mb.reuses = false, mb.reuses[:0]
	mb.arrived, mb.waits, mb.tokens, mb.words = mb.arrived[:0], mb.waits.emptied(), mb.tokens.emptied(), mb.words[:0]
	mb.copies, mb.async, mb.unknown = mb.copies[:0], 0, false
	mb.maxWait, mb.fnPhase = -1, -1
	s.target(w, r)
	s.progress = true
	return true
}

// restart turns the waits on an object that is about to be initialised again
// into what the silicon makes of them: a poll for the same parity, of an
// object in phase 0. Who had passed has.
func (s *scope) restart(mb *mbar) {
	for _, w := range s.ctas[mb.ref.CTA].warps { // others may not wait on it
		for i := range w.strands {
			st := &w.strands[i]
			switch {
			case st.wait != waitMbar || st.mb != mb:
			case mb.passed(st.phase):
				st.wait, st.restarted = passedMbar, true
			case st.phase&1 != 0:
				st.wait = passedMbar
			default:
				st.phase, st.parity = 0, true
			}
		}
	}
}

// tooEarly remembers an operation on an object that nobody has initialised
// yet. It is lost if it really came first.
func (m *mbar) tooEarly(r *row) {
	if m.m.Life == barrier.NeverInit && m.early == nil {
		cp := *r
		m.early = &cp
	}
}

// lostArrivals reports operations that were recorded before the init of their
// mbarrier, where lanes hang at it although by now all have come.
func (s *scope) lostArrivals() {
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			for i := range w.strands {
				st := &w.strands[i]
				if st.wait != waitMbar || st.mb.early == nil || st.mb.misuse != nil || !s.mayLeave(st) {
					continue
				}
				mb, r := st.mb, st.mb.early
				ref := mb.ref
				ref.Phase = st.phase
				s.breach(barrier.MbarUninitialized, ref, r, "%s does %s on %s before w%d has initialised it: nothing orders the two, and it is lost",
					s.text(r.who(), ref.CTA), r.op.Kind, ref.Barrier, mb.initRef.Warp)
			}
		}
	}
}

// remote reports an operation that only the owner may do.
func (s *scope) remote(w *warp, r *row, mb *mbar) {
	if mb.ref.CTA == w.cta.id || s.mute {
		return
	}
	what := r.op.Kind.String()
	if r.op.Kind == trace.KindMbarArrive {
		if !r.op.Has.Has(trace.FieldToken) && !r.op.Has.Has(trace.FieldPhase) {
			return
		}
		what += " that returns a token"
	}
	s.breach(rules.MbarRemoteOp, mb.at(), r,
		"%s of CTA %d does %s on an mbarrier of CTA %d", s.text(r.who(), w.cta.id), w.cta.id, what, mb.ref.CTA)
}
