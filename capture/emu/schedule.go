package emu

import (
	"container/heap"
	"math/bits"
	"math/rand/v2"
)

// actor is something that can go on by itself: a warp that has a lane which
// can run, or an agent, such as a copy under way.
type actor struct {
	id       uint64 // in its machine: the warps come first
	warp     *warp
	fire     func() // of an agent
	due      int64  // not before this time
	turn     uint64 // when it was put, for fairness among equals
	priority int64  // under pct; 0 if it has none yet
	at       int    // place in the schedule, -1 outside
}

// schedule decides who goes on in a machine.
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
	// yields says that lanes of w, which runs, wait for others by polling.
	yields(w *warp, lanes uint32)
}

// newSchedule makes the schedule of m, and the log of its choices where they
// are not always the same.
func newSchedule(m *machine) (schedule, *choiceLog) {
	var s schedule
	switch cfg := &m.l.cfg; cfg.Schedule {
	case RoundRobin:
		return newTimeOrder(), nil
	case Random:
		s = &randomOrder{rng: rand.New(rand.NewPCG(cfg.Seed, m.unit))}
	case PCT:
		s = newPCTOrder(cfg.Seed, m.unit, cfg.ChangePoints)
	default:
		s = newReplayOrder(m, m.l.script.units[m.unit])
	}
	log := new(choiceLog)
	return &loggedOrder{s, log}, log
}

// timeOrder runs the actor that is due first; among equals, the one that has
// waited for longest.
type timeOrder struct {
	heap  actorHeap
	turns uint64
}

func newTimeOrder() *timeOrder {
	return &timeOrder{heap: actorHeap{before: func(a, b *actor) bool {
		return a.due < b.due || a.due == b.due && a.turn < b.turn
	}}}
}

func (s *timeOrder) put(a *actor) {
	if a.at < 0 {
		s.turns++
		a.turn = s.turns
	}
	s.heap.put(a)
}

func (s *timeOrder) take() *actor { return s.heap.take() }

func (s *timeOrder) next() int64 {
	if len(s.heap.actors) == 0 {
		return 0
	}
	return s.heap.actors[0].due
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

func (s *timeOrder) yields(*warp, uint32) {}

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

func (s *randomOrder) yields(*warp, uint32) {}

// actorHeap has the actor on top that comes before the others.
type actorHeap struct {
	actors []*actor
	before func(a, b *actor) bool
}

func (h *actorHeap) put(a *actor) {
	if a.at >= 0 {
		heap.Fix(h, a.at)
		return
	}
	heap.Push(h, a)
}

func (h *actorHeap) take() *actor {
	if len(h.actors) == 0 {
		return nil
	}
	return heap.Pop(h).(*actor)
}

func (h *actorHeap) Len() int           { return len(h.actors) }
func (h *actorHeap) Less(i, j int) bool { return h.before(h.actors[i], h.actors[j]) }
func (h *actorHeap) Swap(i, j int) {
	as := h.actors
	as[i], as[j] = as[j], as[i]
	as[i].at, as[j].at = i, j
}
func (h *actorHeap) Push(x any) {
	a := x.(*actor)
	a.at = len(h.actors)
	h.actors = append(h.actors, a)
}
func (h *actorHeap) Pop() any {
	old := h.actors
	a := old[len(old)-1]
	a.at = -1
	h.actors = old[:len(old)-1]
	return a
}
