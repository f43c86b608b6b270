package replay

import (
	"fmt"
	"slices"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// collective is the barrier of a cluster or of a cooperative group.
type collective struct {
	history
	ref  BarrierRef // of its first CTA; its phase is not kept up
	ctas []uint32   // that take part; nil for all of the launch
	m    *barrier.Collective
	// exitLowers: a thread that exits is not waited for. True for the groups
	// whose hardware barrier works so: the CTA and the cluster.
	exitLowers bool
	// known is true where the members are: of other groups only the number
	// of threads can be.
	known bool
}

func (c *collective) at() BarrierRef {
	ref := c.ref
	ref.Phase = c.m.Phase
	return ref
}

// of reports whether a CTA takes part.
func (c *collective) of(cta uint32) bool { return c.ctas == nil || slices.Contains(c.ctas, cta) }

// collective finds the barrier of a cluster or group operation, or makes it.
func (s *scope) collective(w *warp, r *row) *collective {
	b := r.op.Barrier(w.id)
	if c := w.cta.collective; c != nil && c.ref.Barrier == b {
		return c
	}
	c := s.findCollective(w.cta.id, b, r)
	w.cta.collective = c
	return c
}

func (s *scope) findCollective(cta uint32, b trace.Barrier, r *row) *collective {
	ref := BarrierRef{CTA: cta, Barrier: b}
	ctas := s.participants(ref)
	if ref.CTA = 0; ctas != nil {
		ref.CTA = ctas[0]
	}
	if c := s.collectiveAt(ref); c != nil {
		return c
	}
	c := &collective{ref: ref, ctas: ctas}
	switch {
	case b.Kind == trace.BarrierCluster:
		s.fill(c, barrier.Cluster)
	case s.wholly(r.op, ctas):
		s.fill(c, barrier.Group)
	default:
		c.m = barrier.NewCollective(barrier.Group, uint64(r.op.Count))
	}
	c.exitLowers = c.known && b.Name != "grid"
	s.collectives = append(s.collectives, c)
	return c
}

// wholly reports whether all threads of a block, cluster or grid are in a group:
// it has that name, and does not say that some of them arrive for the others.
func (s *scope) wholly(op *trace.Op, ctas []uint32) bool {
	all := uint64(s.threads) * uint64(len(ctas))
	switch op.Group {
	case "grid":
		all = s.launch.CTAs() * uint64(s.threads)
	case "block", "cluster":
	default:
		return false
	}
	return op.Count == 0 || uint64(op.Count) >= all
}

// collectiveAt finds the collective barrier that a reference names; nil for
// none.
func (s *scope) collectiveAt(ref BarrierRef) *collective {
	for _, c := range s.collectives {
		if c.ref.CTA == ref.CTA && c.ref.Barrier == ref.Barrier {
			return c
		}
	}
	return nil
}

// participants lists the CTAs that take part in the barrier of a CTA; nil
// means all of the launch.
func (s *scope) participants(ref BarrierRef) []uint32 {
	switch b := ref.Barrier; {
	case b.Kind == trace.BarrierCluster, b.Name == "cluster":
		return s.layout.clusterOf(ref.CTA)
	case b.Name == "grid":
		return nil
	}
	return []uint32{ref.CTA}
}

// fill makes all threads of the barrier's CTAs its members; those that have
// exited are not.
func (s *scope) fill(c *collective, kind barrier.CollectiveKind) {
	c.m, c.known = barrier.NewCollective(kind, 0), true
	var eff barrier.Effect
	ctas := c.ctas
	if ctas == nil {
		for id := range uint32(s.layout.ctas) {
			ctas = append(ctas, id)
		}
	}
	for _, id := range ctas {
		c.m.Add(id, s.threads)
		if ct := s.ctas[id]; ct != nil {
			for _, w := range ct.warps {
				c.m.Exit(id, w.id, w.all&^w.live, &eff)
			}
		}
	}
}

// collect performs the operations of cluster and group barriers.
func (s *scope) collect(w *warp, r *row, forced bool) bool {
	c := s.collective(w, r)
	id := w.cta.id
	switch r.op.Kind {
	case trace.KindClusterArrive, trace.KindGroupArrive:
		if !s.collectAgrees(c, r, c.m.Phase, w, forced) {
			return false
		}
		st := s.become(w, r)
		st.split, st.co = true, c
		c.tally.add(r.who(), 1)
		if s.watch != nil {
			s.watch.arrived(r, c.at(), uint64(popcount(r.lanes)), c.m.Expected())
		}
		s.order.joins(w, r, c)
		c.m.Arrive(id, w.id, r.lanes, &s.eff)
		s.target(w, r)
	case trace.KindClusterWait, trace.KindGroupWait:
		phase := c.m.WaitPhase(id, w.id, r.lanes)
		if !s.collectAgrees(c, r, phase, w, forced) {
			return false
		}
		st := s.become(w, r)
		st.wait, st.co, st.phase = waitCollective, c, phase
		if owed := c.m.Owed(id, w.id, r.lanes); owed != 0 && owed != r.lanes && phase < c.m.Phase {
			// The others wait for the phase under way.
			rest := *st
			st.lanes, rest.lanes, rest.phase = owed, r.lanes&^owed, c.m.Phase
			w.strands = append(w.strands, rest)
		}
		c.m.Wait(id, w.id, r.lanes, &s.eff)
	default:
		rule := rules.ClusterEarlyRelease
		if c.m.Kind == barrier.Group {
			rule = rules.GroupMissingThread
		}
		s.parting = s.parting[:0]
		for i := range w.strands {
			st := &w.strands[i]
			if st.lanes&r.lanes != 0 && st.wait == waitCollective && st.co == c {
				s.parting = append(s.parting, parting{lanes: st.lanes & r.lanes, phase: st.phase})
			}
		}
		if len(s.parting) == 0 && !s.comesFromNowhere(w, r, forced, rule, c.at()) {
			return false
		}
		s.become(w, r)
		s.parts(w, r, c)
		return true
	}
	s.collectiveDone(c, w, r)
	return true
}

// parting is lanes that come out of a wait, and the phase that it was for.
type parting struct {
	lanes uint32
	phase uint64
}

// parts tells the order of lanes that came out of a wait, each of its phase.
func (s *scope) parts(w *warp, r *row, c *collective) {
	if len(s.parting) < 2 {
		phase := uint64(0)
		for i := range s.parting {
			phase = s.parting[i].phase
		}
		s.order.parts(w, r, c, phase)
		return
	}
	for i := range s.parting {
		part := *r
		part.lanes = s.parting[i].lanes
		s.order.parts(w, &part, c, s.parting[i].phase)
	}
}

// collectAgrees checks the token that a group's operation records.
func (s *scope) collectAgrees(c *collective, r *row, phase uint64, w *warp, forced bool) bool {
	if !r.op.Has.Has(trace.FieldPhase) || r.phase == phase {
		return true
	}
	if !forced && r.phase > phase {
		return false
	}
	s.breach(barrier.GroupToken, c.at(), r,
		"%s uses a token of phase %d on %s, its own is of phase %d", s.text(r.who(), c.ref.CTA), r.phase, c.ref.Barrier, phase)
	return true
}

// collectiveDone applies the effect of an operation on a collective barrier.
func (s *scope) collectiveDone(c *collective, w *warp, r *row) {
	ref := c.at()
	if s.eff.Completed > 0 {
		s.order.collectiveEnded(c)
		s.counts.Phases += uint64(s.eff.Completed)
		ref.Phase -= uint64(s.eff.Completed)
		c.forced = false
		if s.watch != nil {
			s.watch.completed(s, ref, s.now)
		}
	}
	s.violations(w, r, ref)
	s.apply(w.cta, waitCollective)
}

// inFlight reports a collective operation of the CTA by lanes that have
// arrived on the CTA's group and not yet waited (CUDA programming guide,
// barrier_arrive: no other collective operation in between).
func (s *scope) inFlight(w *warp, r *row) {
	g := s.collectiveAt(BarrierRef{CTA: w.cta.id, Barrier: trace.Barrier{Kind: trace.BarrierGroup, Name: "block"}})
	if g == nil || s.mute {
		return
	}
	if lanes := r.lanes & g.m.Outstanding(w.cta.id, w.id); lanes != 0 {
		s.findings.add(Finding{
			Rule: rules.GroupCollectiveInFlight, BarrierRef: g.at(), Threads: []Lanes{{CTA: w.cta.id, Warp: w.id, Mask: lanes}}, Time: r.time, Location: r.loc(),
			Events:  []EventRef{r.ref()},
			Message: fmt.Sprintf("%s does %s between its barrier_arrive and barrier_wait on %s", s.text(r.who(), g.ref.CTA), r.op.Kind, g.ref.Barrier),
		})
	}
}
