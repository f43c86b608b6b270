package barrier

import "math/bits"

// CollectiveKind says whose rules a collective barrier follows.
type CollectiveKind uint8

// The kinds.
const (
	Cluster CollectiveKind = iota // barrier.cluster
	Group                         // a cooperative group's barrier_arrive / barrier_wait
)

// CollectiveWarp is a warp's part in a collective barrier.
type CollectiveWarp struct {
	CTA, Warp uint32
	Live      uint32 // lanes that belong and have not exited
	Arrived   uint32 // lanes that have arrived in the current phase
	Owed      uint32 // lanes that arrived in an earlier phase and have not waited yet
	Waiting   uint32 // lanes that wait for the current phase
}

// Collective is a barrier on which every thread of a fixed set arrives, and
// later waits, once a phase: the barrier of a cluster or of a cooperative
// group.
type Collective struct {
	Kind  CollectiveKind
	Phase uint64
	// Size is the number of threads that a phase needs, where the members
	// are not known one by one; 0 means the live lanes of Warps.
	Size  uint64
	Count uint64 // arrivals in the current phase
	Need  uint64 // live lanes that have not arrived (Size == 0)
	Warps []CollectiveWarp

	each  uint32 // warps of a CTA
	index map[uint64]int
}

// NewCollective returns a barrier without members.
func NewCollective(kind CollectiveKind, size uint64) *Collective {
	return &Collective{Kind: kind, Size: size}
}

// Add makes all threads of a CTA members.
func (c *Collective) Add(cta uint32, threads int) {
	c.each = uint32(threads+31) / 32
	for w := 0; 32*w < threads; w++ {
		cw := c.warp(cta, uint32(w))
		cw.Live = lanesOf(threads, w)
		c.Need += uint64(bits.OnesCount32(cw.Live))
	}
}

// warp finds a warp's part, or adds it.
func (c *Collective) warp(cta, warp uint32) *CollectiveWarp {
	// As a rule the CTAs follow each other, all with as many warps.
	if len(c.Warps) > 0 {
		i := uint64(cta-c.Warps[0].CTA)*uint64(c.each) + uint64(warp)
		if i < uint64(len(c.Warps)) && c.Warps[i].CTA == cta && c.Warps[i].Warp == warp {
			return &c.Warps[i]
		}
	}
	key := uint64(cta)<<32 | uint64(warp)
	if len(c.index) != len(c.Warps) { // after a checkpoint was read
		c.index = nil
	}
	if c.index == nil {
		c.index = make(map[uint64]int)
		for i, w := range c.Warps {
			c.index[uint64(w.CTA)<<32|uint64(w.Warp)] = i
			if w.CTA == c.Warps[0].CTA {
				c.each = w.Warp + 1
			}
		}
	}
	i, ok := c.index[key]
	if !ok {
		i = len(c.Warps)
		c.index[key] = i
		c.Warps = append(c.Warps, CollectiveWarp{CTA: cta, Warp: warp})
	}
	return &c.Warps[i]
}

// Arrive is barrier.cluster.arrive or barrier_arrive by lanes of a warp.
func (c *Collective) Arrive(cta, warp, lanes uint32, eff *Effect) {
	w := c.warp(cta, warp)
	if (w.Arrived|w.Owed)&lanes != 0 {
		r := ClusterArriveTwice
		if c.Kind == Group {
			r = GroupArriveTwice
		}
		eff.violate(r, c.Phase, 0, 0)
	}
	// Seen on silicon: a second arrival in a phase is no arrival.
	fresh := lanes &^ w.Arrived
	w.Arrived |= lanes
	c.Count += uint64(bits.OnesCount32(fresh))
	c.Need -= uint64(bits.OnesCount32(fresh & w.Live))
	c.complete(eff)
}

// Wait is barrier.cluster.wait or barrier_wait: lanes wait for the phase of
// their oldest arrival that they have not waited for.
func (c *Collective) Wait(cta, warp, lanes uint32, eff *Effect) {
	w := c.warp(cta, warp)
	if none := lanes &^ (w.Arrived | w.Owed); none != 0 {
		r := ClusterWaitFirst
		if c.Kind == Group {
			r = GroupWaitWithoutArrive
		}
		eff.violate(r, c.Phase, 0, 0)
	}
	// Seen on silicon: a wait without an arrive completes, silently.
	block := lanes & w.Arrived &^ w.Owed
	if free := lanes &^ block; free != 0 {
		eff.Released = append(eff.Released, Release{CTA: cta, Warp: warp, Lanes: free, Phase: max(c.Phase, 1) - 1})
	}
	w.Owed &^= lanes
	w.Waiting |= block
}

// WaitPhase is the phase that a lane's wait would be for.
func (c *Collective) WaitPhase(cta, warp, lanes uint32) uint64 {
	if w := c.warp(cta, warp); w.Owed&lanes != 0 && c.Phase > 0 {
		return c.Phase - 1
	}
	return c.Phase
}

// Owed is those of some lanes of a warp that arrived in an earlier phase and
// have not waited yet: their wait is for another phase than that of the others.
func (c *Collective) Owed(cta, warp, lanes uint32) uint32 { return c.warp(cta, warp).Owed & lanes }

// Outstanding is the lanes of a warp that have arrived and not waited yet.
func (c *Collective) Outstanding(cta, warp uint32) uint32 {
	w := c.warp(cta, warp)
	return w.Arrived | w.Owed
}

// Exit takes lanes out: they are not waited for any more.
func (c *Collective) Exit(cta, warp, lanes uint32, eff *Effect) {
	w := c.warp(cta, warp)
	if c.Kind == Cluster && (w.Arrived|w.Owed)&lanes != 0 {
		eff.violate(ClusterMissingWait, c.Phase, 0, 0)
	}
	c.Need -= uint64(bits.OnesCount32(w.Live & lanes &^ w.Arrived))
	w.Live &^= lanes
	w.Owed &^= lanes
	c.complete(eff)
}

// Pending is the number of arrivals that the current phase still needs.
func (c *Collective) Pending() uint64 {
	if c.Size == 0 {
		return c.Need
	}
	return c.Size - min(c.Size, c.Count)
}

// Expected is the number of arrivals that the current phase needs in all.
func (c *Collective) Expected() uint64 {
	if c.Size == 0 {
		return c.Need + c.Count
	}
	return c.Size
}

func (c *Collective) complete(eff *Effect) {
	if c.Count != 0 && c.Pending() == 0 {
		c.End(eff)
	}
}

// End ends the current phase: it is complete, or a recording says that it
// was.
func (c *Collective) End(eff *Effect) {
	c.Need = 0
	for i := range c.Warps {
		w := &c.Warps[i]
		if w.Waiting != 0 {
			eff.Released = append(eff.Released, Release{CTA: w.CTA, Warp: w.Warp, Lanes: w.Waiting, Phase: c.Phase})
		}
		w.Owed |= w.Arrived &^ w.Waiting & w.Live
		if c.Size != 0 {
			w.Owed |= w.Arrived &^ w.Waiting
		}
		w.Arrived, w.Waiting = 0, 0
		c.Need += uint64(bits.OnesCount32(w.Live))
	}
	c.Count = 0
	c.Phase++
	eff.Completed++
}
