package emu

import (
	"container/heap"
	"math/bits"
	"math/rand/v2"
)

// actor is something that can go on by itself: a warp that has a lane which
// can run, or an agent, such as a copy under way.
type actor struct {
	warp *warp
	fire func() // of an agent
	due  int64  // not before this time
	turn uint64 // when it was put, for fairness among equals
	at   int    // place in the schedule, -1 outside
}

// schedule decides who goes on.
type schedule interface {
	// put adds an actor, or moves it after its due time changed.
	put(a *actor)
	// take removes and returns the next actor, nil if there is none.
	take() *actor
	// next is the time of the next actor, as far as that is known already.
	next() int64
	// leader picks the lane of w, one of those that can run, whose operation
	// the warp does next.
	leader(w *warp) *Thread
}

func newSchedule(name string, seed, unit uint64) schedule {
	if name == Random {
		return &randomOrder{rng: rand.New(rand.NewPCG(seed, unit))}
	}
	return &timeOrder{}
}

// timeOrder runs the actor that is due first; among equals, the one that has
// waited for longest.
type timeOrder struct {
	heap  actorHeap
	turns uint64
}

func (s *timeOrder) put(a *actor) {
	if a.at >= 0 {
		heap.Fix(&s.heap, a.at)
		return
	}
	s.turns++
	a.turn = s.turns
	heap.Push(&s.heap, a)
}

func (s *timeOrder) take() *actor {
	if len(s.heap) == 0 {
		return nil
	}
	return heap.Pop(&s.heap).(*actor)
}

func (s *timeOrder) next() int64 {
	if len(s.heap) == 0 {
		return 0
	}
	return s.heap[0].due
}

// fairEvery is how often a warp whose lanes have parted serves the lane that
// has waited for longest. Otherwise the lane that is furthest behind in the
// source goes first, which is what brings lanes together again after a
// branch; but lanes that poll in a loop must not starve those that they poll
// for.
const fairEvery = 64

func (s *timeOrder) leader(w *warp) *Thread {
	if w.steps%fairEvery == fairEvery-1 {
		return w.oldest()
	}
	return w.behind()
}

type actorHeap []*actor

func (h actorHeap) Len() int { return len(h) }
func (h actorHeap) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].turn < h[j].turn
}
func (h actorHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}
func (h *actorHeap) Push(x any) {
	a := x.(*actor)
	a.at = len(*h)
	*h = append(*h, a)
}
func (h *actorHeap) Pop() any {
	old := *h
	a := old[len(old)-1]
	a.at = -1
	*h = old[:len(old)-1]
	return a
}

// randomOrder runs any actor, due or not: nothing promises a program how fast
// a warp or a copy is.
type randomOrder struct {
	actors []*actor
	rng    *rand.Rand
}

func (s *randomOrder) put(a *actor) {
	if a.at < 0 {
		a.at = len(s.actors)
		s.actors = append(s.actors, a)
	}
}

func (s *randomOrder) take() *actor {
	n := len(s.actors)
	if n == 0 {
		return nil
	}
	i := s.rng.IntN(n)
	a := s.actors[i]
	s.actors[i] = s.actors[n-1]
	s.actors[i].at = i
	s.actors = s.actors[:n-1]
	a.at = -1
	return a
}

func (s *randomOrder) next() int64 { return 0 }

// leader mostly brings lanes together, and sometimes lets them drift apart as
// real warps do.
func (s *randomOrder) leader(w *warp) *Thread {
	if s.rng.IntN(4) != 0 {
		return w.behind()
	}
	return w.nth(s.rng.IntN(bits.OnesCount32(w.ready)))
}
