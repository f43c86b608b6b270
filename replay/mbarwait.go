package replay

import (
	"fmt"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// waitPhase is the phase that a wait, a test or a done is about, and whether
// the recording says so exactly (rather than by its parity). A parity means
// the current phase if that has it, else the one before.
func (s *scope) waitPhase(w *warp, r *row, mb *mbar) (phase int64, exact bool) {
	now := int64(mb.m.Phase)
	parity := r.op.Parity
	switch has := r.op.Has; {
	case has.Has(trace.FieldPhase):
		return int64(r.phase), true
	case has.Has(trace.FieldToken):
		for i := len(mb.words) - 1; i >= 0; i-- {
			if mb.words[i].word == r.token {
				return int64(mb.words[i].phase), true
			}
		}
		parity = barrier.WordParity(r.token)
	case !has.Has(trace.FieldParity):
		return now, false
	}
	if uint8(now&1) == parity&1 {
		return now, false
	}
	return now - 1, false
}

// mbarWait performs mbar.wait and mbar.test.
func (s *scope) mbarWait(w *warp, r *row, forced bool) bool {
	mb := s.owner(w, r)
	if !s.usable(mb, forced) {
		return false
	}
	isTest := r.op.Kind == trace.KindMbarTest
	success := isTest && r.op.Has.Has(trace.FieldResult) && r.result != 0
	phase, exact := s.waitPhase(w, r, mb)
	live := mb.m.Life == barrier.Live && !mb.adopted
	if live {
		if phase >= int64(mb.m.Phase) {
			s.settle(mb)
		}
		if exact && mb.again && !mb.arrivedSince(r) {
			phase, exact = alias(mb, phase), false // its token is of the object's former life
		}
		if exact && phase > int64(mb.m.Phase) {
			if !forced {
				return false // the token does not exist yet
			}
			s.foreignToken(w, r, mb)
			phase, exact = alias(mb, phase), false
		} else if exact && phase+1 < int64(mb.m.Phase) {
			mb.m.CheckToken(uint64(phase), &s.eff)
			phase, exact = alias(mb, phase), false
		}
		if success && phase >= 0 && !mb.passed(uint64(phase)) && (exact || !s.movedSince(w, r, mb)) {
			if !forced {
				return false
			}
			s.early(w, r, rules.MbarEarlyRelease, mb.at())
		}
	}
	before, late := s.stepOf(w, r), !exact && s.movedSince(w, r, mb)
	if isTest {
		s.become(w, r)
	} else {
		if s.watch != nil {
			s.watch.used(mb.ref)
		}
		if s.watch != nil && live && !mb.passed(uint64(max(phase, 0))) {
			mb.waiters = append(mb.waiters, w)
		}
		st := s.become(w, r)
		st.wait, st.mb, st.phase, st.parity, st.late = waitMbar, mb, uint64(max(phase, 0)), !exact, late
		if phase < 0 {
			st.wait = passedMbar // a fresh barrier counts the phase before its first as complete
		}
	}
	if mb.adopted {
		return true
	}
	s.remote(w, r, mb)
	s.target(w, r)
	if !live {
		mb.m.ExpectTx(0, &s.eff) // says why it cannot be used
	} else if exact {
		s.strayToken(w, r, mb, uint64(phase))
	}
	if s.broken() {
		s.violations(w, r, mb.at())
	}
	if !isTest || success {
		mb.maxWait = max(mb.maxWait, phase)
		mb.clear(r, uint64(max(phase, 0)), exact, before)
	}
	switch {
	case success:
		mb.waited(r.who(), phase)
		s.order.waited(w, r, mb, phase, !exact)
	case isTest:
		s.order.polled()
	}
	s.adopt(mb)
	return true
}

// stepOf is the step of the last event of the row's lanes.
func (s *scope) stepOf(w *warp, r *row) (step uint64) {
	for i := range w.strands {
		if st := &w.strands[i]; st.lanes&r.lanes != 0 {
			step = max(step, st.step)
		}
	}
	return step
}

// movedSince reports whether a phase of the barrier ended after the last event
// of the row's lanes. Then a wait by parity that comes now may as well have
// come before that, whatever the recorded times say.
func (s *scope) movedSince(w *warp, r *row, mb *mbar) bool { return mb.moved > s.stepOf(w, r) }

// clear drops the arrives in doubt that a wait may have preceded: a wait for
// the phase in question, by other lanes, whose last event came before them.
func (m *mbar) clear(r *row, phase uint64, exact bool, before uint64) {
	keep := m.reuses[:0]
	for _, u := range m.reuses {
		same := u.row.cta == r.cta && u.row.warp == r.warp && u.row.lanes&r.lanes != 0
		hits := u.phase == phase || !exact && (u.phase^phase)&1 == 0
		if same || !hits || before > u.step {
			keep = append(keep, u)
		}
	}
	m.reuses = keep
}

// arrivedSince reports whether the row's lanes have arrived since the object
// was initialised.
func (m *mbar) arrivedSince(r *row) bool {
	_, ok := m.tokens.of(r.cta, r.warp, r.lanes&-r.lanes)
	return ok
}

// alias is the phase that the silicon takes a token of a wrong phase for: it
// compares parities only.
func alias(mb *mbar, phase int64) int64 {
	now := int64(mb.m.Phase)
	if (now^phase)&1 == 0 {
		return now
	}
	return now - 1
}

// mbarDone takes lanes out of a wait.
func (s *scope) mbarDone(w *warp, r *row, forced bool) bool {
	mb := s.owner(w, r)
	in := false
	for i := range w.strands {
		st := &w.strands[i]
		if st.lanes&r.lanes == 0 || st.mb != mb || st.wait != waitMbar && st.wait != passedMbar {
			continue
		}
		if r.op.Has.Has(trace.FieldPhase) && st.wait == waitMbar && !st.parity && st.phase != r.phase {
			if !forced {
				return false
			}
			s.otherPhase(w, r, mb, st.phase)
		}
		p := int64(st.phase)
		if st.wait == passedMbar {
			p = -1
		}
		if !in {
			s.order.waited(w, r, mb, p, st.parity)
		}
		in = true
		mb.waited(Lanes{CTA: w.cta.id, Warp: w.id, Mask: st.lanes & r.lanes}, p)
	}
	if !in && mb.m.Life == barrier.Live && !mb.adopted {
		// No wait is recorded. The phase must be complete all the same.
		phase, _ := s.waitPhase(w, r, mb)
		if phase >= int64(mb.m.Phase) {
			s.settle(mb)
		}
		if phase >= 0 && !mb.passed(uint64(phase)) && !w.holed() {
			if !forced {
				return false
			}
			s.early(w, r, rules.MbarEarlyRelease, mb.at())
		}
		mb.maxWait = max(mb.maxWait, phase)
		mb.waited(r.who(), phase)
		s.order.waited(w, r, mb, phase, true)
	}
	s.become(w, r)
	return true
}

// early reports lanes that left, or were told that they may leave, before
// the phase was complete.
func (s *scope) early(w *warp, r *row, rule barrier.Rule, ref BarrierRef) {
	if s.mute {
		return
	}
	s.findings.add(Finding{
		Rule: rule, BarrierRef: ref, Threads: []Lanes{r.who()}, Time: r.time, Location: r.loc(), Events: []EventRef{r.ref()},
		Missing: s.missing(ref),
		Message: s.earlyText(w, r, ref),
	})
}

// otherPhase reports lanes that come out of a wait for another phase than
// they went into.
func (s *scope) otherPhase(w *warp, r *row, mb *mbar, phase uint64) {
	s.breach(barrier.MbarStaleToken, mb.at(), r,
		"%s waited on %s for phase %d and came out with the token of phase %d", s.text(r.who(), mb.ref.CTA), mb.ref.Barrier, phase, r.phase)
}

// foreignToken reports a wait with a token that no arrive on this barrier can
// have returned: of a phase that has not begun.
func (s *scope) foreignToken(w *warp, r *row, mb *mbar) {
	rule, why := barrier.MbarStaleToken, fmt.Sprintf("which has not begun: the barrier is in phase %d", mb.m.Phase)
	if other := s.tokenOf(w, r, mb, r.phase); other != nil {
		rule, why = rules.MbarWrongToken, fmt.Sprintf("which its arrive on %s returned", other.ref.Barrier)
	}
	s.breach(rule, mb.at(), r,
		"%s waits on %s with a token of phase %d, %s", s.text(r.who(), mb.ref.CTA), mb.ref.Barrier, r.phase, why)
}

// strayToken reports lanes that wait on a barrier on which they never
// arrived, with a token that they hold from another and have not used there.
func (s *scope) strayToken(w *warp, r *row, mb *mbar, phase uint64) {
	if !r.op.Has.Has(trace.FieldPhase) {
		return
	}
	lane := r.lanes & -r.lanes
	if _, arrived := mb.tokens.of(w.cta.id, w.id, lane); arrived {
		return
	}
	other := s.tokenOf(w, r, mb, phase)
	if other == nil {
		return
	}
	s.breach(rules.MbarWrongToken, mb.at(), r,
		"%s waits on %s with the token that its arrive on %s returned", s.text(r.who(), mb.ref.CTA), mb.ref.Barrier, other.ref.Barrier)
}

// tokenOf finds another barrier from which the first lane of the row holds an
// unused token of that phase.
func (s *scope) tokenOf(w *warp, r *row, not *mbar, phase uint64) *mbar {
	lane := r.lanes & -r.lanes
	var found *mbar
	for _, other := range w.cta.mbars {
		if other == not {
			continue
		}
		p, ok := other.tokens.of(w.cta.id, w.id, lane)
		if !ok || p != int64(phase) {
			continue
		}
		if used, ok := other.waits.of(w.cta.id, w.id, lane); ok && used >= p {
			continue
		}
		if found == nil || other.ref.Barrier.ID < found.ref.Barrier.ID {
			found = other
		}
	}
	return found
}

// confirmReuse reports an arrive that no wait can have preceded.
func (s *scope) confirmReuse(mb *mbar, c reuse) {
	ref := mb.ref
	ref.Phase = c.phase + 1
	f := s.findings.add(Finding{
		Rule: rules.MbarReuseBeforeWait, BarrierRef: ref, Threads: []Lanes{c.row.who()}, Time: c.row.time, Location: c.row.loc(),
		Events: []EventRef{c.row.ref()},
		Message: fmt.Sprintf("%s arrives on %s in phase %d, and nobody can have waited for phase %d before that",
			s.text(c.row.who(), ref.CTA), ref.Barrier, c.phase+1, c.phase),
	})
	if mb.reused == nil {
		mb.reused = f
	}
}

// completion performs completion.begin and completion.end.
func (s *scope) completion(w *warp, r *row, forced bool) bool {
	mb := s.mbar(w.cta.id, r.op.Addr)
	m := &mb.m
	if !m.Function { // a barrier of which nothing else was recorded
		s.unknown = true
		if now := s.become(w, r); r.op.Kind == trace.KindCompletionBegin {
			now.wait, now.mb = completing, mb
		}
		return true
	}
	if !s.usable(mb, forced) {
		return false
	}
	if r.op.Kind == trace.KindCompletionEnd {
		before := m.Phase
		s.become(w, r)
		s.order.runs(w, r, mb)
		if m.Completing {
			m.Advance(&s.eff)
			s.advanced(mb, before)
		}
		return true
	}
	s.settle(mb)
	switch {
	case m.Completing && mb.fnPhase < int64(m.Phase):
		mb.fnPhase = int64(m.Phase)
	case !forced:
		return false
	case m.Completing || len(mb.arrived) == 0 && m.Phase > 0:
		s.breach(rules.CompletionCount, mb.at(), r, "the completion function of %s runs again in phase %d", mb.ref.Barrier, mb.fnPhase)
	default:
		mb.fnPhase = int64(m.Phase)
		s.breach(rules.CompletionOrder, mb.at(), r, "the completion function of %s runs in phase %d while %d arrivals are pending",
			mb.ref.Barrier, m.Phase, m.Pending)
	}
	mb.runner = r.who()
	s.order.runs(w, r, mb)
	now := s.become(w, r)
	now.wait, now.mb, now.phase = completing, mb, uint64(max(mb.fnPhase, 0))
	return true
}
