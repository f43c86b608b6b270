package replay

import (
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// force performs a parked row although the models do not allow it: no order
// of the events explains it. It reports the contradiction once, and then
// believes the recording: the phase that the lanes left is ended, so that one
// lost arrival is one finding and not one for every phase after it.
func (s *scope) force(w *warp, r *row) {
	for i := 0; i < len(w.strands); i++ {
		st := &w.strands[i]
		if st.lanes&r.lanes == 0 || s.mayLeave(st) {
			continue
		}
		s.forceOut(w, r, st)
		i = -1 // ending a phase may have changed any strand
	}
	s.perform(w, r, true)
}

// forceOut ends what holds a strand.
func (s *scope) forceOut(w *warp, r *row, st *strand) {
	c := w.cta
	switch st.wait {
	case heldNamed, waitNamed:
		ref := s.namedRef(c, st.bar)
		h := &c.bars[st.bar]
		if !h.forced && h.misuse == nil {
			s.early(w, r, rules.BarEarlyRelease, ref)
		}
		h.forced = true
		s.eff.Reset()
		c.named.End(int(st.bar), &s.eff)
		s.namedDone(c)
		st.free = true
	case waitMbar:
		mb := st.mb
		if st.late { // it came before the barrier went on, and passed
			st.wait = passedMbar
			return
		}
		rule := rules.MbarEarlyRelease
		if mb.m.Completing {
			rule = rules.CompletionCount
		}
		switch {
		case mb.forced, mb.misuse != nil:
		case rule == rules.CompletionCount:
			s.breach(rule, mb.at(), r,
				"%s came out of %s although its completion function did not run in that phase", s.text(r.who(), mb.ref.CTA), mb.ref.Barrier)
		default:
			ref := mb.at()
			ref.Phase = st.phase
			s.early(w, r, rule, ref)
		}
		s.eff.Reset()
		before := mb.m.Phase
		mb.m.Phase, mb.m.Tx, mb.copies = st.phase, 0, mb.copies[:0]
		mb.m.Advance(&s.eff)
		s.advanced(mb, before)
		mb.forced = true
	case waitCollective:
		rule := rules.ClusterEarlyRelease
		if st.co.m.Kind == barrier.Group {
			rule = rules.GroupMissingThread
		}
		if !st.co.forced {
			s.early(w, r, rule, st.co.at())
		}
		co := st.co
		s.eff.Reset()
		co.m.End(&s.eff)
		s.collectiveDone(co, w, r)
		co.forced = true
		for i := range w.strands {
			if w.strands[i].co == co && w.strands[i].wait == waitCollective {
				w.strands[i].free = true
			}
		}
	case waitSyncwarp:
		s.early(w, r, rules.SyncwarpMissingLane, s.syncRef(w))
		s.eff.Reset()
		w.sync.End(st.lanes, &s.eff)
		s.own(w)
		for i := range w.strands {
			if w.strands[i].wait == waitSyncwarp && w.strands[i].lanes&r.lanes != 0 {
				w.strands[i].free = true
			}
		}
	}
}

// missing is who has not arrived in a barrier's current phase although it is
// known, or was seen before, to take part.
func (s *scope) missing(ref BarrierRef) []Lanes {
	c := s.ctas[ref.CTA]
	var out []Lanes
	switch ref.Barrier.Kind {
	case trace.BarrierNamed:
		b := &c.named.Bars[ref.Barrier.ID]
		for _, w := range c.warps {
			come := uint32(0)
			for _, p := range b.Parts {
				if p.Warp == w.id {
					come |= p.Lanes
				}
			}
			took := b.Count == 0 || come != 0
			if n, ok := c.bars[ref.Barrier.ID].tally.of(c.id, w.id, w.all&-w.all); ok && n > 0 {
				took = true
			}
			if lanes := w.live &^ come; took && lanes != 0 {
				out = append(out, Lanes{CTA: c.id, Warp: w.id, Mask: lanes})
			}
		}
	case trace.BarrierMbar:
		mb := c.mbars[ref.Barrier.ID]
		for _, e := range mb.tally.list {
			if lanes := e.Mask &^ mb.arrived.mask(e.CTA, e.Warp); lanes != 0 {
				out = append(out, Lanes{CTA: e.CTA, Warp: e.Warp, Mask: lanes})
			}
		}
	case trace.BarrierCluster, trace.BarrierGroup:
		if g := s.collectiveAt(ref); g != nil {
			for _, w := range g.m.Warps {
				if lanes := w.Live &^ w.Arrived; lanes != 0 {
					out = append(out, Lanes{CTA: w.CTA, Warp: w.Warp, Mask: lanes})
				}
			}
		}
	case trace.BarrierWarp:
		w := c.warps[ref.Barrier.ID]
		for _, m := range w.sync.Meetings {
			if lanes := m.Mask & w.live &^ m.Lanes; lanes != 0 {
				out = append(out, Lanes{CTA: c.id, Warp: w.id, Mask: lanes})
			}
		}
	}
	return out
}
