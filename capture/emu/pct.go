package emu

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// The steps at which priorities change are chosen among the first 2^k, with
// k drawn too: how many steps a launch takes is not known beforehand, and
// most kernels that are tested take few.
const (
	leastScale = 4
	mostScale  = 16
)

// pctOrder runs the actor with the highest priority, due or not; see PCT.
//
// Warps and copies are what has a priority. The lanes of a warp have, in half
// of the warps, an order of their own; in the others the lane goes first that
// is furthest behind in the source.
type pctOrder struct {
	rng     *rand.Rand
	heap    actorHeap
	step    uint64
	changes map[uint64]int64 // the priority that a step gives
	least   int64            // given to those who poll, and lowered each time
}

// newPCTOrder gives the i'th of the change points priority i, which is below
// all that actors begin with.
func newPCTOrder(seed, unit uint64, changePoints int) *pctOrder {
	s := &pctOrder{
		rng:     rand.New(rand.NewPCG(seed, ^unit)),
		heap:    actorHeap{before: func(a, b *actor) bool { return a.priority > b.priority }},
		changes: make(map[uint64]int64),
	}
	scale := uint64(1) << (leastScale + s.rng.IntN(mostScale-leastScale+1))
	for i := range changePoints {
		s.changes[1+s.rng.Uint64N(scale)] = int64(i + 1)
	}
	return s
}

// any is a priority above those of the change points.
func (s *pctOrder) any() int64 { return maxChangePoints + 1 + s.rng.Int64N(math.MaxInt64/2) }

func (s *pctOrder) put(a *actor) {
	if a.priority == 0 {
		a.priority = s.any()
	}
	s.heap.put(a)
}

func (s *pctOrder) take() *actor {
	if len(s.heap.actors) == 0 {
		return nil
	}
	s.step++
	if p := s.changes[s.step]; p != 0 {
		a := s.heap.actors[0]
		a.priority = p
		if w := a.warp; w != nil {
			s.last(w, w.group)
		}
		s.heap.put(a)
	}
	return s.heap.take()
}

func (s *pctOrder) next() int64 { return 0 }

func (s *pctOrder) leader(w *warp) *Thread {
	if w.order == 0 {
		w.order = 1 + s.rng.IntN(2)
		for _, t := range w.lanes {
			t.priority = s.any()
		}
	}
	if w.order == 1 || w.ready&(w.ready-1) == 0 {
		return w.behind()
	}
	var best *Thread
	for k := w.ready; k != 0; k &= k - 1 {
		if t := w.lanes[bits.TrailingZeros32(k)]; best == nil || t.priority > best.priority {
			best = t
		}
	}
	return best
}

// last makes lanes come after the others of their warp.
func (s *pctOrder) last(w *warp, lanes uint32) {
	s.least--
	w.each(lanes, func(t *Thread) { t.priority = s.least })
}

func (s *pctOrder) yields(w *warp, lanes uint32) {
	s.last(w, lanes)
	w.priority = s.least
}
