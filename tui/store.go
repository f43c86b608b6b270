package tui

import "slices"

// picture is what a timeline said about one row or barrier in a window: the
// cells of a row, the phases of a barrier.
type picture[T any] struct {
	view window
	n    int // cells in the window
	data []T
	err  error // why there is no data
	used uint64
}

// pictureKey names a picture.
type pictureKey[ID comparable] struct {
	id   ID
	view window
	n    int
}

// store keeps pictures, the most recently used ones up to a limit. While the
// picture of a new window is on its way, an older one of the same row stands
// in for it.
type store[ID comparable, T any] struct {
	exact  map[pictureKey[ID]]*picture[T]
	latest map[ID]*picture[T]
	weight int // elements held
	limit  int
	clock  uint64
}

func newStore[ID comparable, T any](limit int) *store[ID, T] {
	return &store[ID, T]{
		exact:  map[pictureKey[ID]]*picture[T]{},
		latest: map[ID]*picture[T]{},
		limit:  limit,
	}
}

// get returns the picture, or the latest one of the same row, or nil.
func (s *store[ID, T]) get(id ID, view window, n int) (p *picture[T], exact bool) {
	s.clock++
	if p, ok := s.exact[pictureKey[ID]{id, view, n}]; ok {
		p.used = s.clock
		s.latest[id] = p
		return p, true
	}
	p = s.latest[id]
	if p != nil {
		p.used = s.clock
	}
	return p, false
}

// has reports whether the picture is there, or is known not to be had.
func (s *store[ID, T]) has(id ID, view window, n int) bool {
	_, ok := s.exact[pictureKey[ID]{id, view, n}]
	return ok
}

func (s *store[ID, T]) put(id ID, view window, n int, data []T, err error) {
	s.clock++
	p := &picture[T]{view, n, data, err, s.clock}
	key := pictureKey[ID]{id, view, n}
	if old, ok := s.exact[key]; ok {
		s.weight -= old.cost()
	}
	s.exact[key] = p
	if err == nil || s.latest[id] == nil {
		s.latest[id] = p
	}
	s.weight += p.cost()
	if s.weight > s.limit {
		s.evict()
	}
}

// outdate makes every picture one that stands in for the right one: what they
// show may have changed.
func (s *store[ID, T]) outdate() {
	clear(s.exact)
	s.weight = 0
}

func (p *picture[T]) cost() int { return len(p.data) + 16 }

// evict drops the pictures that were not used for the longest time, until
// half of the limit is free.
func (s *store[ID, T]) evict() {
	keys := make([]pictureKey[ID], 0, len(s.exact))
	for k := range s.exact {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b pictureKey[ID]) int {
		if s.exact[a].used < s.exact[b].used {
			return -1
		}
		return 1
	})
	for _, k := range keys {
		if s.weight <= s.limit/2 {
			return
		}
		p := s.exact[k]
		delete(s.exact, k)
		if s.latest[k.id] == p {
			delete(s.latest, k.id)
		}
		s.weight -= p.cost()
	}
}
