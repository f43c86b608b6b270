package replay

import (
	"fmt"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// mbar is an mbarrier and what is remembered of it beyond its model.
type mbar struct {
	history
	ref     BarrierRef // its phase is not kept up
	m       barrier.MBarrier
	init    Location
	initRef EventRef

	// Asynchronous work that was issued and is not known to have finished:
	// copies in order of issue, and cp.async arrivals.
	copies    []int64 // bytes
	unknown   bool    // a copy or an announcement of unknown size in this phase
	async     uint32
	expectLoc Location // where bytes were last announced
	expectRef EventRef

	arrived laneSet // who arrived in the current phase
	waits   tally   // latest phase that each lane has waited for
	tokens  tally   // latest phase that each lane arrived in
	words   []word  // latest hardware tokens
	maxWait int64   // latest phase that any wait or test was for; -1 for none

	// turns is true once a lane skipped a phase: it waits by turns with
	// others.
	turns   bool
	skipped laneSet // those that did
	reuses  []reuse
	// waiters is the warps that wait for the current phase, where a picture
	// is drawn.
	waiters []*warp
	// moved is the step at which its phase last ended.
	moved uint64
	// surplus is bytes of copies that were under way, unannounced, when phase
	// surplusPhase ended: had they landed first, it would not have.
	surplus      int64
	surplusPhase uint64
	// fnPhase is the phase whose completion function ran last; -1 for none.
	fnPhase int64
	// again is true for an object that was initialised while it was live.
	again bool
	// early is the first operation that was recorded before the object was
	// initialised, and later found a place after that.
	early *row
	// reused is the first arrive that came although nobody had waited for the
	// phase before.
	reused *Finding
	// runner is the lanes that ran the completion function last.
	runner Lanes
	// copyLoc is where the last copy that completes here was issued, copyBy
	// who did.
	copyLoc Location
	copyBy  Lanes
	// uneven is true if participants dropped out, or arrivals were added to
	// a phase: then the count does not tell how many take part.
	uneven bool
	// companies is who arrived together in a phase, sum the current phase's;
	// mixed is true once two of them overlapped.
	companies []company
	sum       uint64
	mixed     bool
	// adopted is true for an object that was used without being initialised:
	// said once, then ignored.
	adopted bool
}

// word is a hardware token and the phase that it was returned in.
type word struct {
	word  uint64
	phase uint64
}

// reuse is an arrive that may break the rule that a phase is waited for
// before the next is arrived on. A wait by others that may have come first
// clears it.
type reuse struct {
	row   row
	step  uint64
	phase uint64 // the phase that nobody had waited for
}

// maxReuses bounds the arrives in doubt on one barrier.
const maxReuses = 16

func (m *mbar) at() BarrierRef {
	ref := m.ref
	ref.Phase = m.m.Phase
	return ref
}

// passed reports whether the phase is complete.
func (m *mbar) passed(phase uint64) bool {
	return m.adopted || m.m.Life != barrier.Live || m.m.Phase > phase
}

// mbar finds the mbarrier of an operation.
func (s *scope) mbar(owner uint32, addr uint64) *mbar {
	c := s.cta(owner)
	near := &c.near[addr/8%nearMbars]
	if *near != nil && (*near).ref.Barrier.ID == addr {
		return *near
	}
	m := c.mbars[addr]
	if m == nil && len(c.mbars) >= maxMbars {
		// More than the memory holds: the surplus shares one object.
		addr = ^uint64(0)
		m = c.mbars[addr]
		s.findings.incomplete = true
	}
	if m == nil {
		m = &mbar{
			m:       barrier.MBarrier{Function: s.functions[mbarKey{owner, addr}]},
			ref:     BarrierRef{CTA: owner, Barrier: trace.Barrier{Kind: trace.BarrierMbar, ID: addr}},
			maxWait: -1, fnPhase: -1,
		}
		c.mbars[addr] = m
	}
	if m.ref.Barrier.ID == addr {
		*near = m
	}
	return m
}

// mbarKey names an mbarrier of a launch.
type mbarKey struct {
	cta  uint32
	addr uint64
}

// settle lets asynchronous work finish where that completes the current
// phase: a copy's completion is not recorded, it is known once a wait is
// over.
func (s *scope) settle(mb *mbar) {
	m := &mb.m
	if m.Life != barrier.Live || m.Completing || mb.async == 0 && len(mb.copies) == 0 && !mb.unknown {
		return
	}
	eff := &s.landed // the caller's effect is not ours
	eff.Reset()
	s.landing = true
	phase := m.Phase
	if mb.async > 0 && m.Pending > 0 && m.Pending <= mb.async {
		for m.Phase == phase && mb.async > 0 && !m.Completing && m.Pending > 0 {
			mb.async--
			m.CpAsyncDone(eff)
		}
	}
	if m.Pending == 0 && m.Phase == phase && m.Tx != 0 {
		if mb.unknown {
			mb.copies = mb.copies[:0]
			m.CompleteTx(m.Tx, eff)
		} else {
			sum := int64(0)
			for i, b := range mb.copies {
				if sum += b; sum == m.Tx {
					mb.copies = append(mb.copies[:0], mb.copies[i+1:]...)
					m.CompleteTx(sum, eff)
					break
				}
			}
		}
	}
	s.advanced(mb, phase)
	s.landing = false
}

// finishCopies completes all asynchronous work: the launch is over, and
// copies do not hang.
func (s *scope) finishCopies(mb *mbar) {
	s.settle(mb)
	if mb.m.Life != barrier.Live {
		return
	}
	s.eff.Reset()
	phase := mb.m.Phase
	for _, b := range mb.copies {
		mb.m.CompleteTx(b, &s.eff)
	}
	mb.copies = mb.copies[:0]
	for ; mb.async > 0 && mb.m.Pending > 0; mb.async-- {
		mb.m.CpAsyncDone(&s.eff)
	}
	s.landing = true
	s.advanced(mb, phase)
	s.landing = false
}

// advanced does what the end of phases entails.
func (s *scope) advanced(mb *mbar, before uint64) {
	s.progress = s.progress || mb.m.Completing // its function can run
	if mb.m.Phase == before {
		return
	}
	s.progress = true
	s.order.mbarEnded(mb)
	s.counts.Phases += mb.m.Phase - before
	mb.part()
	mb.arrived = mb.arrived[:0]
	mb.unknown, mb.forced = false, false
	mb.moved = s.step
	mb.surplus, mb.surplusPhase = 0, before
	for _, b := range mb.copies {
		mb.surplus += b
	}
	if s.watch != nil {
		for _, w := range mb.waiters {
			s.watch.released(s, w, s.now)
		}
		mb.waiters = mb.waiters[:0]
		// One operation of a warp ends 32 phases at most, unless it was forced.
		for p := max(before, mb.m.Phase-min(mb.m.Phase, 32)); p < mb.m.Phase; p++ {
			ref := mb.ref
			ref.Phase = p
			s.watch.completed(s, ref, s.now)
		}
	}
}

// waited books a successful wait of lanes for a phase.
func (m *mbar) waited(who Lanes, phase int64) {
	if e := m.waits.find(&who); e != nil && phase < e.n+2 { // nearly always
		e.n = phase
		return
	}
	last, ok := m.waits.of(who.CTA, who.Warp, who.Mask&-who.Mask)
	if ok && phase >= last+2 {
		m.turns = true
		m.skipped.add(who)
	}
	m.waits.set(who, phase)
}

// mbarArrive performs the arrives.
func (s *scope) mbarArrive(w *warp, r *row, forced bool) bool {
	mb := s.owner(w, r)
	m := &mb.m
	if !s.usable(mb, forced) || m.Completing && !forced {
		mb.tooEarly(r)
		return false
	}
	has := r.op.Has
	a := barrier.Arrive{
		Count: 1, Drop: r.op.Kind == trace.KindMbarArriveDrop, NoComplete: r.op.Kind == trace.KindMbarArriveNoComplete, Tx: r.op.Bytes,
	}
	if has.Has(trace.FieldCount) {
		a.Count = r.op.Count
	}
	n := max(popcount(r.lanes), 1)
	live := m.Life == barrier.Live && !mb.adopted
	if live && uint64(m.Pending) < uint64(n)*uint64(a.Count) || !agrees(m, r) {
		s.settle(mb)
	}
	if live && !agrees(m, r) {
		if has.Has(trace.FieldPhase) && r.phase < m.Phase && mb.forced && r.phase+1 == m.Phase {
			s.become(w, r).split = true // the late arrival of a phase that was ended without it
			return true
		}
		if !forced {
			return false
		}
		s.wrongToken(w, r, mb)
	} else if live && !forced && uint64(n)*uint64(a.Count) > uint64(m.Pending) && m.Expected > 0 && !a.NoComplete && n == 1 {
		return false // more than is pending: another order may have room
	}
	s.become(w, r).split = true
	if mb.adopted {
		return true
	}
	s.remote(w, r, mb)
	s.afterExit(w, r, mb)
	s.target(w, r)
	before := m.Phase
	if live && before > 0 && mb.maxWait < int64(before)-1 && len(mb.reuses) < maxReuses {
		mb.reuses = append(mb.reuses, reuse{row: *r, step: s.step, phase: before - 1})
	}
	if r.op.Kind == trace.KindMbarArriveExpectTx {
		s.expects(mb, r)
	}
	mb.uneven = mb.uneven || a.Drop
	s.arrivedOn(mb, r, uint64(n)*uint64(a.Count))
	spills := live && uint64(n)*uint64(a.Count) > uint64(m.Pending)
	s.order.arrives(w, r, mb)
	tok := m.ArriveLanes(a, n, &s.eff)
	if m.Completing && mb.fnPhase == int64(m.Phase) {
		m.Advance(&s.eff) // its function has run already, too early
	}
	mb.tokens.set(r.who(), int64(tok.Phase))
	if has.Has(trace.FieldToken) {
		mb.remember(r.token, tok.Phase)
	}
	if s.broken() {
		ref := mb.ref
		ref.Phase = before
		s.violations(w, r, ref)
	}
	s.apply(w.cta, running)
	s.advanced(mb, before)
	if spills {
		s.order.spills(w, r, mb)
	}
	s.adopt(mb)
	return true
}

// arrivedOn books who arrived.
func (s *scope) arrivedOn(mb *mbar, r *row, arrivals uint64) {
	mb.came(r.who())
	if s.watch != nil {
		s.watch.arrived(r, mb.at(), arrivals, uint64(mb.m.Expected))
	}
}

// agrees reports whether the token that a row records fits the barrier's
// phase.
func agrees(m *barrier.MBarrier, r *row) bool {
	switch has := r.op.Has; {
	case m.Life != barrier.Live:
		return true
	case has.Has(trace.FieldPhase):
		return r.phase == m.Phase
	case has.Has(trace.FieldToken):
		return barrier.WordParity(r.token) == uint8(m.Phase&1)
	}
	return true
}

// remember keeps the latest hardware tokens: a wait names its phase by one.
func (m *mbar) remember(w, phase uint64) {
	for i := range m.words {
		if m.words[i].word == w {
			m.words[i].phase = phase
			return
		}
	}
	if len(m.words) == 64 {
		m.words = append(m.words[:0], m.words[1:]...)
	}
	m.words = append(m.words, word{w, phase})
}

// wrongToken reports an arrive whose recorded token belongs to another
// phase.
func (s *scope) wrongToken(w *warp, r *row, mb *mbar) {
	got := fmt.Sprintf("phase %d", r.phase)
	if !r.op.Has.Has(trace.FieldPhase) {
		got = fmt.Sprintf("a phase of parity %d", barrier.WordParity(r.token))
	}
	s.breach(barrier.MbarStaleToken, mb.at(), r,
		"%s arrived on %s in phase %d, but the token recorded is of %s", s.text(r.who(), mb.ref.CTA), mb.ref.Barrier, mb.m.Phase, got)
}

// afterExit reports a remote operation on a CTA that has gone: its shared
// memory has, too.
func (s *scope) afterExit(w *warp, r *row, mb *mbar) {
	if mb.ref.CTA == w.cta.id || s.mute || s.cta(mb.ref.CTA).live > 0 {
		return
	}
	s.breach(rules.ClusterExitEarly, mb.at(), r,
		"%s does %s on %s of CTA %d, which has exited", s.text(r.who(), mb.ref.CTA), r.op.Kind, mb.ref.Barrier, mb.ref.CTA)
}

// expects books an announcement of bytes.
func (s *scope) expects(mb *mbar, r *row) {
	if !r.op.Has.Has(trace.FieldBytes) {
		mb.unknown = true
	}
	mb.expectLoc, mb.expectRef = r.loc(), r.ref()
}

// mbarTx performs expect_tx, complete_tx, asynchronous copies and
// cp.async.mbarrier.arrive.
func (s *scope) mbarTx(w *warp, r *row, forced bool) bool {
	mb := s.owner(w, r)
	if !s.usable(mb, forced) {
		mb.tooEarly(r)
		return false
	}
	s.become(w, r)
	if mb.adopted {
		return true
	}
	s.target(w, r)
	s.afterExit(w, r, mb)
	n := int64(max(popcount(r.lanes), 1))
	before := mb.m.Phase
	if r.op.Kind != trace.KindMbarCopy {
		s.order.transfers(w, r, mb)
	}
	switch r.op.Kind {
	case trace.KindMbarExpectTx:
		s.expects(mb, r)
		mb.m.ExpectTx(n*r.op.Bytes, &s.eff)
	case trace.KindMbarCompleteTx:
		mb.m.CompleteTx(n*r.op.Bytes, &s.eff)
	case trace.KindMbarCpAsyncArrive:
		mb.uneven = mb.uneven || !r.op.NoInc
		mb.came(r.who())
		for range n {
			mb.m.CpAsyncIssue(r.op.NoInc, &s.eff)
		}
		if mb.m.Life == barrier.Live {
			mb.async += uint32(n)
		}
	case trace.KindMbarCopy:
		s.copyTo(w, mb, r, n)
		if r.op.CTAMask != 0 {
			for rank, to := range s.layout.clusterOf(w.cta.id) {
				if r.op.CTAMask>>rank&1 != 0 && to != mb.ref.CTA {
					s.copyTo(w, s.mbar(to, r.op.Addr), r, n)
				}
			}
		}
		if mb.m.Life != barrier.Live {
			mb.m.ExpectTx(0, &s.eff) // says why it cannot take it
		}
	}
	if s.broken() {
		ref := mb.ref
		ref.Phase = before
		s.violations(w, r, ref)
	}
	s.landing = r.op.Kind == trace.KindMbarCompleteTx
	s.advanced(mb, before)
	s.landing = false
	s.adopt(mb)
	s.progress = true
	return true
}

func (s *scope) copyTo(w *warp, mb *mbar, r *row, n int64) {
	s.order.transfers(w, r, mb)
	if !r.op.Has.Has(trace.FieldBytes) {
		mb.unknown = true
	}
	if len(mb.copies) < 1<<16 {
		mb.copies = append(mb.copies, n*r.op.Bytes)
	}
	mb.copyLoc, mb.copyBy = r.loc(), r.who()
}
