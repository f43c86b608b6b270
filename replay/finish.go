package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"btrace/replay/diagnose"
	"btrace/replay/rules"
	"btrace/trace"
)

// finish ends the replay of a scope: what is still parked contradicts every
// order, and who still waits hangs. truncated says that the recording was cut,
// so that neither can be claimed.
func (s *scope) finish(truncated bool) {
	if s.spent {
		return
	}
	s.drain()
	if truncated {
		s.mute = true
	}
	for s.parked > 0 {
		s.forceEarliest()
	}
	for _, c := range s.sortedCTAs() {
		for _, mb := range sortedMbars(c) {
			s.finishCopies(mb)
			for _, c := range mb.reuses {
				s.confirmReuse(mb, c)
			}
		}
	}
	s.holes()
	if s.trap != "" && !s.explained && !truncated {
		s.trapUnexplained()
	}
	if s.mute || s.trapped || s.trap != "" {
		return
	}
	s.hang()
}

// holes reports warps of which event numbers are missing although the
// recorder did not say that it lost any.
func (s *scope) holes() {
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			if n := w.missing(); n > 0 && !w.lost && w.holeRow != nil {
				s.findings.incomplete = true
				r := w.holeRow
				s.findings.add(Finding{
					Rule: rules.TraceGap, BarrierRef: BarrierRef{CTA: c.id}, Threads: []Lanes{{CTA: c.id, Warp: w.id, Mask: w.all}},
					Time: r.time, Location: r.loc(), Events: []EventRef{r.ref()},
					Message: fmt.Sprintf("%d of the events of CTA %d, warp %d are missing: the first before its event %d", n, c.id, w.id, r.seq),
				})
			}
		}
	}
}

// trapUnexplained reports a trap that no broken rule accounts for.
func (s *scope) trapUnexplained() {
	x := Finding{Rule: rules.TrapUnexplained, Message: "the launch trapped (" + s.trap + "), and no rule explains it"}
	if s.members != nil {
		x.CTA = s.members[0]
	}
	if r := s.trapRow; r != nil {
		x.Threads, x.Time, x.Location, x.Events = []Lanes{r.who()}, r.time, r.loc(), []EventRef{r.ref()}
		x.CTA = r.cta
	}
	s.findings.add(x)
}

func (s *scope) sortedCTAs() []*cta {
	if len(s.sorted) != len(s.ctas) { // a scope only ever gets more
		s.sorted = slices.AppendSeq(s.sorted[:0], maps.Values(s.ctas))
		slices.SortFunc(s.sorted, func(a, b *cta) int { return cmp.Compare(a.id, b.id) })
	}
	return s.sorted
}

func sortedMbars(c *cta) []*mbar {
	out := make([]*mbar, 0, len(c.mbars))
	for _, m := range c.mbars {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *mbar) int { return cmp.Compare(a.ref.Barrier.ID, b.ref.Barrier.ID) })
	return out
}

// hang finds the barriers at which lanes are stuck, and their roots.
func (s *scope) hang() {
	s.lostArrivals()
	nodes := s.stuckBarriers()
	if len(nodes) == 0 {
		return
	}
	var list []*diagnose.Stuck
	for _, n := range nodes {
		s.describe(n)
		n.Missing = together(n.Missing)
		list = append(list, &n.Stuck)
	}
	s.tooLow(nodes)
	filed := make(map[*Finding]bool, len(s.findings.list)) // a misuse that is a root is there already
	for _, f := range s.findings.list {
		filed[f] = true
	}
	for _, root := range diagnose.Roots(s.launch, list) {
		if !filed[root] {
			s.findings.add(*root)
		}
		if x, ok := diagnose.ExitWithoutArrive(root); ok {
			s.findings.add(x)
		}
	}
}

// stuck is a barrier with lanes stuck at it.
type stuck struct {
	diagnose.Stuck
	mb    *mbar
	co    *collective
	warps []stuckStrand
}

type stuckStrand struct {
	w  *warp
	st *strand
}

// stuckAt is the barrier phase that holds a strand; ok is false if nothing
// does.
func (s *scope) stuckAt(w *warp, st *strand) (ref BarrierRef, ok bool) {
	switch st.wait {
	case heldNamed, waitNamed:
		ref = s.namedRef(w.cta, st.bar)
		ref.Phase = st.phase
		// Seen on silicon: after a misuse such as divergence, the barrier may
		// not let go of lanes although all have come.
		return ref, !st.free || w.cta.bars[st.bar].misuse != nil
	case waitMbar:
		ref = st.mb.ref
		ref.Phase = st.phase
		if st.mb.adopted {
			return ref, true // nobody knows what it waits for
		}
		if s.mayLeave(st) {
			if st.mb.early != nil {
				return ref, true // what came before the init was lost
			}
			// Lapped: the phase is over, but so is the one after it, and the
			// parity that the lanes poll for reads as not complete again.
			m := &st.mb.m
			lapped := st.parity && !st.mb.adopted && st.phase < m.Phase && (m.Phase-st.phase)%2 == 0
			if !lapped && st.phase == st.mb.surplusPhase && st.mb.surplus != 0 {
				return ref, true // or the copies came first, and it did not pass
			}
			ref.Phase = m.Phase
			return ref, lapped
		}
		return ref, true
	case passedMbar:
		return st.mb.at(), st.restarted // or it had not passed when the barrier was initialised again
	case waitCollective:
		ref = st.co.ref
		ref.Phase = st.phase
		return ref, !st.free
	case waitSyncwarp:
		return s.syncRef(w), !st.free
	}
	return ref, false
}

// stuckBarriers collects them in order of CTA and warp.
func (s *scope) stuckBarriers() []*stuck {
	index := make(map[BarrierRef]*stuck)
	var out []*stuck
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			for i := range w.strands {
				st := &w.strands[i]
				ref, held := s.stuckAt(w, st)
				if !held {
					continue
				}
				n := index[ref]
				if n == nil {
					n = &stuck{mb: st.mb, co: st.co}
					n.BarrierRef = ref
					index[ref] = n
					out = append(out, n)
				}
				who := Lanes{CTA: c.id, Warp: w.id, Mask: st.lanes}
				n.warps = append(n.warps, stuckStrand{w, st})
				n.Waits = addWait(n.Waits, Wait{BarrierRef: ref, Threads: []Lanes{who}, Location: st.loc(), Since: st.since})
				n.Events = append(n.Events, EventRef{CTA: c.id, Warp: w.id, Seq: st.seq})
			}
		}
	}
	return out
}

// addWait joins waits at one place.
func addWait(ws []Wait, x Wait) []Wait {
	for i := range ws {
		if w := &ws[i]; w.Location == x.Location {
			w.Threads = joinLanes(w.Threads, x.Threads[0])
			w.Since = min(w.Since, x.Since)
			return ws
		}
	}
	return append(ws, x)
}

// joinLanes adds lanes of a warp, whose other lanes may have been added last.
func joinLanes(ls []Lanes, x Lanes) []Lanes {
	if n := len(ls) - 1; n >= 0 && ls[n].CTA == x.CTA && ls[n].Warp == x.Warp {
		ls[n].Mask |= x.Mask
		return ls
	}
	return append(ls, x)
}

// whereabouts says where lanes of a warp are.
func (s *scope) whereabouts(w *warp, lanes uint32) []diagnose.Absent {
	var out []diagnose.Absent
	part := func(mask uint32, why diagnose.Whereabouts) *diagnose.Absent {
		out = append(out, diagnose.Absent{Lanes: Lanes{CTA: w.cta.id, Warp: w.id, Mask: mask}, Why: why})
		return &out[len(out)-1]
	}
	if gone := lanes & w.all &^ w.live; gone != 0 {
		a := part(gone, diagnose.Exited)
		left := strand{op: w.left}
		a.Location, a.Op = left.loc(), left.kind().String()
	}
	if never := lanes & w.live &^ w.seen; never != 0 {
		part(never, diagnose.NotStarted)
	}
	for i := range w.strands {
		st := &w.strands[i]
		mask := lanes & st.lanes
		if mask == 0 {
			continue
		}
		ref, held := s.stuckAt(w, st)
		why := diagnose.Running
		if held {
			why = diagnose.Elsewhere
		}
		a := part(mask, why)
		a.Location, a.Op = st.loc(), st.kind().String()
		if held {
			a.At = ref
		}
	}
	return out
}

// together joins lanes of a warp that are at the same place.
func together(missing []diagnose.Absent) []diagnose.Absent {
	at := make(map[diagnose.Absent]int)
	var out []diagnose.Absent
	for _, a := range missing {
		key := a
		key.Mask = 0
		if i, ok := at[key]; ok {
			out[i].Mask |= a.Mask
			continue
		}
		at[key] = len(out)
		out = append(out, a)
	}
	return out
}

// describe fills in what the diagnosis must know of a stuck barrier.
func (s *scope) describe(n *stuck) {
	if h := s.historyOf(n.BarrierRef); h != nil {
		n.Misuse = h.misuse
	}
	switch n.Barrier.Kind {
	case trace.BarrierNamed:
		s.describeNamed(n)
	case trace.BarrierMbar:
		s.describeMbar(n)
	case trace.BarrierCluster, trace.BarrierGroup:
		s.describeCollective(n)
	case trace.BarrierWarp:
		s.describeSyncwarp(n)
	}
}

func (s *scope) describeNamed(n *stuck) {
	c := s.ctas[n.CTA]
	id := uint32(n.Barrier.ID)
	b := &c.named.Bars[id]
	n.Pending, n.Expected, _ = s.pending(n.BarrierRef)
	n.Aligned = true
	come := make([]uint32, len(c.warps))
	for _, p := range b.Parts {
		come[p.Warp] |= p.Lanes
		n.Arrived = append(n.Arrived, Lanes{CTA: c.id, Warp: p.Warp, Mask: p.Lanes})
		n.Aligned = n.Aligned && p.Aligned
		if rest := c.named.Live[p.Warp] &^ p.Lanes; rest != 0 && !p.Counted {
			n.Split, n.Members = true, true
			n.Missing = append(n.Missing, s.whereabouts(c.warps[p.Warp], rest)...)
		}
	}
	if b.Count == 0 {
		n.Members = true
		for _, w := range c.warps {
			if come[w.id] == 0 && w.live != 0 {
				n.Missing = append(n.Missing, s.whereabouts(w, w.live)...)
			}
		}
		return
	}
	if all := uint64(32 * len(c.warps)); n.Expected > all {
		n.Bound = all
	}
	if n.Split {
		return // the warps that are here in part are missing first of all
	}
	// Of an explicit count it is not known whose it is. Warps that have done
	// less on this barrier than others are behind; if there are none, it is
	// those that never came.
	done := make([]int64, len(c.warps))
	most := int64(0)
	for _, w := range c.warps {
		done[w.id], _ = c.bars[id].tally.of(c.id, w.id, w.all&-w.all)
		most = max(most, done[w.id])
	}
	var behind, never []*warp
	for _, w := range c.warps {
		switch {
		case come[w.id] != 0:
		case done[w.id] == 0:
			never = append(never, w)
		case done[w.id] < most:
			behind = append(behind, w)
		}
	}
	if len(behind) == 0 {
		behind = never
	}
	for _, w := range behind {
		for _, a := range s.whereabouts(w, w.all) {
			a.Times = done[w.id]
			n.Missing = append(n.Missing, a)
		}
	}
	n.CountOff = len(behind) == 0
}

func (s *scope) describeCollective(n *stuck) {
	m := n.co.m
	n.Pending, n.Expected = m.Pending(), m.Expected()
	n.Members = n.co.known
	for _, w := range m.Warps {
		if w.Arrived != 0 {
			n.Arrived = append(n.Arrived, Lanes{CTA: w.CTA, Warp: w.Warp, Mask: w.Arrived})
		}
		lanes := w.Live &^ w.Arrived
		if !n.co.known || lanes == 0 {
			continue
		}
		if c := s.ctas[w.CTA]; c != nil {
			n.Missing = append(n.Missing, s.whereabouts(c.warps[w.Warp], lanes)...)
		} else {
			n.Missing = append(n.Missing, diagnose.Absent{Lanes: Lanes{CTA: w.CTA, Warp: w.Warp, Mask: lanes}, Why: diagnose.NotStarted})
		}
	}
	if n.co.known {
		return
	}
	// Only the number of members is known: those who came in other phases
	// and are not here are missing; else all others may be.
	for _, e := range n.co.tally.list {
		if lanes := e.Mask &^ laneSet(n.Arrived).mask(e.CTA, e.Warp); lanes != 0 {
			n.Missing = append(n.Missing, s.whereabouts(s.ctas[e.CTA].warps[e.Warp], lanes)...)
		}
	}
	if len(n.Missing) == 0 {
		n.Missing = s.others(n)
	}
}

func (s *scope) describeSyncwarp(n *stuck) {
	w := s.ctas[n.CTA].warps[n.Barrier.ID]
	n.Members = true
	for _, m := range w.sync.Meetings {
		rest := m.Mask & w.live &^ m.Lanes
		n.Expected += uint64(popcount(m.Mask & w.live))
		n.Pending += uint64(popcount(rest))
		n.Arrived = append(n.Arrived, Lanes{CTA: n.CTA, Warp: w.id, Mask: m.Lanes})
		n.Missing = append(n.Missing, s.whereabouts(w, rest)...)
	}
}

// others is all lanes of the scope that do not wait at the barrier: the
// living, or, if there are none, the dead.
func (s *scope) others(n *stuck) []diagnose.Absent {
	waiting := make(map[*warp]uint32)
	for _, x := range n.warps {
		waiting[x.w] |= x.st.lanes
	}
	var living, dead []diagnose.Absent
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			for _, a := range s.whereabouts(w, w.all&^waiting[w]) {
				if a.Why == diagnose.Exited {
					dead = append(dead, a)
				} else {
					living = append(living, a)
				}
			}
		}
	}
	if len(living) > 0 {
		return living
	}
	return dead
}
