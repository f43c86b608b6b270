package replay

import (
	"btrace/replay/diagnose"
)

// describeMbar says who is missing at an mbarrier. Nothing in the object says
// who its participants are; those who ever arrived on it, or on one that was
// initialised at the same place, are.
func (s *scope) describeMbar(n *stuck) {
	mb := n.mb
	m := &mb.m
	n.Pending, n.Expected = uint64(m.Pending), uint64(max(m.Expected, m.Pending))
	n.Tx, n.TxUnknown = m.Tx, mb.unknown
	if n.Phase < m.Phase && n.Phase == mb.surplusPhase {
		n.Pending, n.Tx = 0, -mb.surplus
	}
	n.Init, n.Announced, n.AnnouncedBy = mb.init, mb.expectLoc, mb.expectRef
	n.Copied, n.CopiedBy = mb.copyLoc, mb.copyBy
	n.Arrived = append(n.Arrived, mb.arrived...)
	n.Fresh = m.Phase == 0 && len(mb.tally.list) == 0
	s.describeParity(n)
	if n.WrongParity && n.Misuse == nil {
		n.Misuse = mb.reused // what made the barrier run ahead of those who wait
	}
	if !mb.uneven {
		for _, e := range mb.tally.list {
			n.Takers += uint64(popcount(e.Mask))
		}
	}
	if m.Completing {
		n.Members, n.Runner = true, mb.runner
		n.Missing = s.whereabouts(s.ctas[mb.runner.CTA].warps[mb.runner.Warp], mb.runner.Mask)
		return
	}

	siblings := s.siblings(mb)
	var part tally
	for _, sib := range siblings {
		for _, e := range sib.tally.list {
			part.add(e.Lanes, e.n)
		}
	}
	for _, e := range part.list {
		if lanes := e.Mask &^ mb.arrived.mask(e.CTA, e.Warp); lanes != 0 {
			for _, a := range s.whereabouts(s.ctas[e.CTA].warps[e.Warp], lanes) {
				a.Times = e.n
				if a.Why != diagnose.Exited && s.wentPast(a, mb, siblings) {
					a.Why = diagnose.Skipped
				}
				n.Missing = append(n.Missing, a)
			}
		}
	}
	if len(part.list) == 0 {
		n.Missing = s.others(n)
		if all := s.exist(); n.Expected > all {
			n.Bound = all
		}
		return
	}
	if len(n.Missing) > 0 || n.Pending == 0 {
		return
	}
	// Everyone who ever arrived has. Threads that left without ever arriving
	// are missing if they are just as many as the count lacks; otherwise the
	// count is wrong.
	var left []diagnose.Absent
	lanes := 0
	for _, w := range s.ctas[n.CTA].warps {
		for _, a := range s.whereabouts(w, w.all&^w.live&^mb.arrived.mask(n.CTA, w.id)) {
			left = append(left, a)
			lanes += popcount(a.Mask)
		}
	}
	if lanes > 0 && (uint64(lanes) == n.Pending || n.Expected == uint64(s.threads)) {
		n.Missing = left
		return
	}
	n.CountOff = true
}

// exist is the number of threads in the scope.
func (s *scope) exist() uint64 { return s.size() * uint64(s.threads) }

// describeParity fills in what the lanes that wait by parity had waited for
// before.
func (s *scope) describeParity(n *stuck) {
	n.Waited = -1
	for _, x := range n.warps {
		if !x.st.parity {
			continue
		}
		n.Parity = uint8(x.st.phase & 1)
		last, ok := n.mb.waits.of(x.w.cta.id, x.w.id, x.st.lanes&-x.st.lanes)
		if !ok {
			last = -1
		}
		n.Skips = n.Skips || n.mb.skipped.mask(x.w.cta.id, x.w.id)&x.st.lanes != 0
		// A barrier whose waiters have skipped phases before is used by turns.
		if int64(n.Phase) >= last+2 {
			n.Skips, n.WrongParity, n.Waited = true, !n.mb.turns, last
		}
	}
}

// siblings is the mbarriers of the CTA that were initialised at the same
// place, this one among them: the stages of a pipeline.
func (s *scope) siblings(mb *mbar) []*mbar {
	if mb.init.Line == 0 && mb.init.PC == 0 {
		return []*mbar{mb}
	}
	var out []*mbar
	for _, o := range sortedMbars(s.ctas[mb.ref.CTA]) {
		if o.init == mb.init {
			out = append(out, o)
		}
	}
	return out
}

// wentPast reports whether lanes that have not arrived in the phase are
// beyond the point where a peer did: they have arrived less often on this
// barrier than the peer, and either as often on all its siblings, or are
// stuck at the same place.
func (s *scope) wentPast(a diagnose.Absent, mb *mbar, siblings []*mbar) bool {
	lane := a.Mask & -a.Mask
	mine, _ := mb.tally.of(a.CTA, a.Warp, lane)
	for _, peer := range mb.arrived {
		plane := peer.Mask & -peer.Mask
		theirs, _ := mb.tally.of(peer.CTA, peer.Warp, plane)
		if mine >= theirs {
			continue
		}
		level := len(siblings) > 1
		for _, sib := range siblings {
			if sib == mb {
				continue
			}
			x, _ := sib.tally.of(a.CTA, a.Warp, lane)
			y, _ := sib.tally.of(peer.CTA, peer.Warp, plane)
			level = level && x >= y
		}
		if level {
			return true
		}
		if a.Why != diagnose.Elsewhere {
			continue
		}
		for _, p := range s.whereabouts(s.ctas[peer.CTA].warps[peer.Warp], plane) {
			if p.Why == diagnose.Elsewhere && p.At == a.At && p.Location == a.Location {
				return true
			}
		}
	}
	return false
}
