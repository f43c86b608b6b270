package tui

import (
	"cmp"
	"slices"
	"sort"

	"btrace/replay"
	"btrace/trace"
)

// clusters tells in which cluster a CTA lies. CTAs are numbered row by row
// through the grid, clusters are boxes of it.
type clusters struct{ grid, cluster trace.Dim }

// several reports whether a cluster has more than one CTA.
func (c clusters) several() bool { return c.cluster.Size() > 1 }

func clustersOf(l trace.Launch) clusters { return clusters{l.Grid, l.Cluster} }

func (c clusters) of(cta uint32) uint64 {
	gx, gy := uint64(max(c.grid[0], 1)), uint64(max(c.grid[1], 1))
	cx, cy, cz := uint64(max(c.cluster[0], 1)), uint64(max(c.cluster[1], 1)), uint64(max(c.cluster[2], 1))
	x, y, z := uint64(cta)%gx/cx, uint64(cta)/gx%gy/cy, uint64(cta)/gx/gy/cz
	return x + (y+z*((gy+cy-1)/cy))*((gx+cx-1)/cx)
}

// laneID names a barrier of a launch.
type laneID struct {
	cta     uint32
	barrier trace.Barrier
}

func (l laneID) none() bool { return l.barrier.Kind == trace.BarrierNone }

func (l laneID) compare(o laneID) int {
	return cmp.Or(cmp.Compare(l.cta, o.cta), cmp.Compare(l.barrier.Kind, o.barrier.Kind),
		cmp.Compare(l.barrier.ID, o.barrier.ID), cmp.Compare(l.barrier.Name, o.barrier.Name))
}

// lanes are the barriers of a launch, by cluster: a frame shows those of the
// cluster in focus.
type lanes struct {
	clusters clusters
	all      []replay.Lane
}

func newLanes(l trace.Launch, all []replay.Lane) *lanes {
	s := &lanes{clustersOf(l), slices.Clone(all)}
	s.sort()
	return s
}

func (s *lanes) sort() {
	slices.SortStableFunc(s.all, func(a, b replay.Lane) int {
		return cmp.Or(cmp.Compare(s.clusters.of(a.CTA), s.clusters.of(b.CTA)),
			laneID{a.CTA, a.Barrier}.compare(laneID{b.CTA, b.Barrier}))
	})
}

// add puts in the barriers that findings name and the timeline does not list:
// one that is waited for and that nobody has ever arrived on, say.
func (s *lanes) add(findings []replay.Finding, launch uint32) {
	known := make(map[laneID]bool, len(s.all))
	for _, l := range s.all {
		known[laneID{l.CTA, l.Barrier}] = true
	}
	before := len(s.all)
	note := func(b replay.BarrierRef) {
		id := laneID{b.CTA, b.Barrier}
		if !id.none() && !known[id] {
			known[id] = true
			s.all = append(s.all, replay.Lane{CTA: b.CTA, Barrier: b.Barrier})
		}
	}
	for i := range findings {
		if f := &findings[i]; f.Launch == launch {
			note(f.BarrierRef)
			for _, b := range f.Cycle {
				note(b)
			}
			for _, w := range f.Behind {
				note(w.BarrierRef)
			}
		}
	}
	if len(s.all) > before {
		s.sort()
	}
}

// of are the barriers of a CTA's cluster.
func (s *lanes) of(cta uint32) []replay.Lane {
	want := s.clusters.of(cta)
	from := sort.Search(len(s.all), func(i int) bool { return s.clusters.of(s.all[i].CTA) >= want })
	to := sort.Search(len(s.all), func(i int) bool { return s.clusters.of(s.all[i].CTA) > want })
	return s.all[from:to]
}

// find is the place of a barrier among those of its cluster, or -1.
func (s *lanes) find(id laneID) int {
	for i, l := range s.of(id.cta) {
		if l.CTA == id.cta && l.Barrier == id.barrier {
			return i
		}
	}
	return -1
}

// like is the barrier in a CTA's cluster that stands for the given one: the
// same, the one of the same name in that CTA, else none.
func (s *lanes) like(id laneID, cta uint32) laneID {
	if id.none() {
		return id
	}
	if s.clusters.of(id.cta) == s.clusters.of(cta) && s.find(id) >= 0 {
		return id
	}
	for _, l := range s.of(cta) {
		if l.Barrier == id.barrier && (l.CTA == cta || l.Barrier.Kind == trace.BarrierCluster) {
			return laneID{l.CTA, l.Barrier}
		}
	}
	return laneID{}
}
