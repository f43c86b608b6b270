package ptx

// slab hands out zero values, of which it allocates many at a time.
type slab[T any] struct{ free []T }

func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.free = make([]T, 128)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// arena keeps lists that were gathered in a stack, of which it allocates many
// at a time.
type arena[T any] struct {
	stack []T // of the lists that are being gathered, innermost last
	free  []T
}

// take returns the list that was gathered since the stack had n elements.
func (a *arena[T]) take(n int) []T {
	list := a.stack[n:]
	a.stack = a.stack[:n]
	if len(list) == 0 {
		return nil
	}
	if len(a.free) < len(list) {
		a.free = make([]T, max(512, len(list)))
	}
	kept := a.free[:len(list):len(list)]
	a.free = a.free[len(list):]
	copy(kept, list)
	return kept
}
