package replay

import (
	"slices"

	"btrace/replay/diagnose"
)

// company is lanes that arrived on an mbarrier in the same phase.
type company struct {
	sum   uint64 // tells companies apart
	lanes laneSet
}

// maxCompanies bounds what is remembered of one barrier. Few use one by more
// turns than this.
const maxCompanies = 8

// came books lanes that arrive on the barrier.
func (m *mbar) came(who Lanes) {
	m.arrived.add(who)
	m.tally.add(who, 1)
	m.sum += uint64(who.Mask) * (uint64(who.CTA)<<20 | uint64(who.Warp)<<1 | 1) * 0x9e3779b97f4a7c15
}

// part ends a phase's company. If the barrier's count is right, the same lanes
// come in every phase, or groups of lanes by turns. Lanes that come with some
// of the others now, and with others then, say that it is not: the phase ends
// with any of them.
func (m *mbar) part() {
	sum := m.sum
	m.sum = 0
	for i := range m.companies {
		if m.companies[i].sum == sum {
			return
		}
	}
	if m.mixed || m.uneven || len(m.companies) == maxCompanies {
		return
	}
	for _, c := range m.companies {
		common, all := c.lanes.common(m.arrived)
		if common && !all {
			m.mixed = true
			return
		}
	}
	m.companies = append(m.companies, company{sum, slices.Clone(m.arrived)})
}

// common reports whether two sets have lanes in common, and whether they are
// the same.
func (l laneSet) common(o laneSet) (common, same bool) {
	same = len(l) == len(o)
	for _, e := range l {
		m := o.mask(e.CTA, e.Warp)
		common = common || m&e.Mask != 0
		same = same && m == e.Mask
	}
	return common, same
}

// maxLow bounds the places of which it is said that too few are expected.
const maxLow = 64

// tooLow finds the mbarriers of the scope on which more lanes arrive than they
// expect, one for each place where they are initialised, and ties the stuck
// ones to them: those of that place, and those at which their participants
// wait.
func (s *scope) tooLow(nodes []*stuck) {
	waiting := make([]laneSet, len(nodes))
	for i, n := range nodes {
		waiting[i] = n.waiting()
	}
	places := 0
	for _, c := range s.sortedCTAs() {
		done := make(map[Location]bool)
		for _, mb := range sortedMbars(c) {
			if !mb.mixed || done[mb.init] || places == maxLow {
				continue
			}
			done[mb.init] = true
			places++
			low, takers := s.describeLow(mb)
			if low.Takers <= low.Expected {
				continue
			}
			for i, n := range nodes {
				if n.mb == nil || n.Low != nil {
					continue
				}
				if n.mb == mb || n.mb.ref.CTA == c.id && n.mb.init == mb.init && mb.init != (Location{}) {
					n.Low, n.LowItself = low, true
				} else if waits, _ := takers.common(waiting[i]); waits {
					n.Low = low
				}
			}
		}
	}
}

// describeLow says of an mbarrier, and those that were initialised at the same
// place, how many arrive.
func (s *scope) describeLow(mb *mbar) (*diagnose.Low, laneSet) {
	low := &diagnose.Low{BarrierRef: mb.at(), Expected: uint64(mb.m.Expected), Init: mb.init}
	var takers laneSet
	for _, sib := range s.siblings(mb) {
		if sib.uneven {
			return low, nil
		}
		for _, e := range sib.tally.list {
			takers.add(e.Lanes)
		}
		if low.Misuse == nil {
			low.Misuse = sib.reused
		}
	}
	for _, l := range takers {
		low.Takers += uint64(popcount(l.Mask))
	}
	return low, takers
}

// waiting is the lanes that wait at a stuck barrier.
func (n *stuck) waiting() (lanes laneSet) {
	for _, x := range n.warps {
		lanes.add(Lanes{CTA: x.w.cta.id, Warp: x.w.id, Mask: x.st.lanes})
	}
	return lanes
}
