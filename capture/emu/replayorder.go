package emu

import (
	"container/heap"
	"encoding/binary"
	"slices"
)

// replayOrder makes the choices of a script. Those that cannot be made it
// counts and leaves out; after the last it goes on as round robin.
type replayOrder struct {
	timeOrder
	m     *machine
	bytes []byte // choices to come
	last  choice
	again uint64
}

func newReplayOrder(m *machine, choices []byte) *replayOrder {
	return &replayOrder{timeOrder: *newTimeOrder(), m: m, bytes: choices}
}

func (s *replayOrder) take() *actor {
	for len(s.heap.actors) > 0 {
		c, ok := s.choice()
		if !ok {
			break
		}
		if a := s.find(c); a != nil {
			return a
		}
		s.m.missed = s.m.missed + 1 + s.again
		s.again = 0 // nobody has moved: it cannot be made now either
	}
	return s.timeOrder.take()
}

// next knows no more than the schedule did that is replayed.
func (s *replayOrder) next() int64 {
	if s.again > 0 || len(s.bytes) > 0 {
		return 0
	}
	return s.timeOrder.next()
}

// find takes the actor of a choice, nil if it cannot go on.
func (s *replayOrder) find(c choice) *actor {
	if c.actor >= uint64(len(s.m.warps)) {
		i := slices.IndexFunc(s.heap.actors, func(a *actor) bool { return a.id == c.actor })
		if i < 0 {
			return nil
		}
		return heap.Remove(&s.heap, i).(*actor)
	}
	w := s.m.warps[c.actor]
	if w.at < 0 || c.lane >= 0 && w.ready>>c.lane&1 == 0 {
		return nil
	}
	heap.Remove(&s.heap, w.at)
	if c.lane >= 0 {
		w.choose(w.lanes[c.lane])
	}
	return &w.actor
}

// choice reads the next choice. What makes no sense ends the script.
func (s *replayOrder) choice() (choice, bool) {
	for s.again == 0 {
		code, ok := s.number()
		switch {
		case !ok || code == 1:
			return s.over()
		case code == 0:
			if s.again, ok = s.number(); !ok {
				return s.over()
			}
			continue
		}
		s.last = choice{code/2 - 1, -1}
		if code%2 == 1 {
			lane, ok := s.number()
			if !ok || lane > 31 {
				return s.over()
			}
			s.last.lane = int(lane)
		}
		return s.last, true
	}
	s.again--
	return s.last, true
}

func (s *replayOrder) over() (choice, bool) {
	s.bytes, s.again = nil, 0
	return choice{}, false
}

func (s *replayOrder) number() (uint64, bool) {
	v, n := binary.Uvarint(s.bytes)
	if n <= 0 {
		return 0, false
	}
	s.bytes = s.bytes[n:]
	return v, true
}
