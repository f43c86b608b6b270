package emu

import "math/bits"

// Integer is what an Atomic may hold.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64
}

// Atomic is a thread's handle of an integer in memory. What is done on it is
// done by the scheduler: other threads may run before it, and clusters may
// use it to share memory however many of them run at the same time. It is no
// event.
//
// Memory that lanes merely read and write changes between two operations
// only; with an Atomic a schedule can also find the bugs of a program that
// synchronises by flags and locks.
type Atomic[T Integer] struct {
	t      *Thread
	p      *T
	global bool
}

// GlobalAtomics declares an array of n integers in global memory, as Global
// does; Output returns it as a []T.
func GlobalAtomics[T Integer](t *Thread, name string, n int) []Atomic[T] {
	return atomics(t, Global[T](t, name, n), true)
}

// SharedAtomics declares an array of n integers in shared memory, as Shared
// does.
func SharedAtomics[T Integer](t *Thread, name string, n int) []Atomic[T] {
	return atomics(t, Shared[T](t, name, n), false)
}

func atomics[T Integer](t *Thread, mem []T, global bool) []Atomic[T] {
	as := make([]Atomic[T], len(mem))
	for i := range as {
		as[i] = Atomic[T]{t, &mem[i], global}
	}
	return as
}

// Load reads the value. A loop of Load alone polls, as one with Thread.Spin.
//
//go:noinline
func (a Atomic[T]) Load() (v T) {
	a.t.here()
	a.do(func() bool { v = *a.p; return false })
	return v
}

// Store writes a value.
//
//go:noinline
func (a Atomic[T]) Store(v T) {
	a.t.here()
	a.do(func() bool { *a.p = v; return true })
}

// Add is atomicAdd: it returns the value before.
//
//go:noinline
func (a Atomic[T]) Add(n T) (old T) {
	a.t.here()
	a.do(func() bool { old = *a.p; *a.p += n; return true })
	return old
}

// Exchange is atomicExch: it writes a value and returns the one before.
//
//go:noinline
func (a Atomic[T]) Exchange(v T) (old T) {
	a.t.here()
	a.do(func() bool { old = *a.p; *a.p = v; return old != v })
	return old
}

// CompareAndSwap is atomicCAS: it writes v if the value is old, and returns
// whether it did.
//
//go:noinline
func (a Atomic[T]) CompareAndSwap(old, v T) (swapped bool) {
	a.t.here()
	a.do(func() bool {
		if swapped = *a.p == old; swapped {
			*a.p = v
		}
		return swapped
	})
	return swapped
}

// seen is what an operation that changed nothing found where.
type seen struct {
	site  *site
	p     any
	value uint64
}

func (a Atomic[T]) do(f func() (changed bool)) {
	t := a.t
	t.act = func() (bool, seen) {
		changed := f()
		return changed, seen{t.op.site, a.p, uint64(*a.p)}
	}
	t.do(op{kind: kindAtomic, global: a.global})
	t.act = nil
}

// atomic has lanes do their operations, one after the other. To find again
// what one found last time is to poll.
func (m *machine) atomic(w *warp, lanes uint32) uint32 {
	if w.runner != nil {
		return m.access(w, lanes)
	}
	news := false
	w.each(lanes, func(t *Thread) {
		changed, s := t.act()
		if changed || s != t.lastSeen {
			news = true
			w.polling &^= 1 << t.lane
		} else {
			t.poll(0)
		}
		if t.lastSeen = s; changed {
			t.lastSeen = seen{}
		}
	})
	if news {
		m.progress()
	} else {
		m.idle++
	}
	return lanes
}

// access is atomic for a Program.
func (m *machine) access(w *warp, lanes uint32) uint32 {
	news := w.runner.Access(Warp{w}, lanes)
	for k := lanes; k != 0; k &= k - 1 {
		i := bits.TrailingZeros32(k)
		if news>>i&1 != 0 {
			w.polling &^= 1 << i
		} else {
			w.lanes[i].poll(0)
		}
	}
	if news != 0 {
		m.progress()
	} else {
		m.idle++
	}
	return lanes
}
