package explore

import "slices"

// knowledge is what an agent, or a barrier, knows to have happened.
type knowledge struct {
	// seen is, by agent, how many of its operations have happened.
	seen []uint32
	// done is, by barrier, the latest phase that is known to be complete; see
	// mark. 0 is nothing.
	done []mark
	// fresh is the initialisations whose effect on memory is visible: the order
	// of execution alone does not make it so (PTX ISA, "Memory Consistency
	// Model").
	fresh *births
	// id names what was known at the end of a phase; 0 while more may come.
	id uint64
	// base is the name of something all of which is in here; 0 for none. If
	// whole is true, no more than that is in here but for the elements in over,
	// and of an agent its own operations.
	base  uint64
	whole bool
	over  elements
}

// elements names some elements of what is known. Agents that met at a barrier
// know the same from there on and a few things more: to tell each other those
// takes less than to go through all that they know.
type elements struct {
	agents   []int32 // of seen
	barriers []int32 // of done
}

// maxOver is up to how many agents, and barriers, are named.
const maxOver = 16

// mark counts the initialisations of a barrier, and of the latest of them the
// phases that are complete: later marks are greater.
type mark uint64

const phaseBits = 40

func markOf(life uint32, complete uint64) mark { return mark(life)<<phaseBits | mark(complete) }

func (m mark) life() uint32     { return uint32(m >> phaseBits) }
func (m mark) complete() uint64 { return uint64(m & (1<<phaseBits - 1)) }

// join adds what another knows. Only with memory does that hold for what is
// visible in memory too.
func (k *knowledge) join(o *knowledge, memory bool) {
	switch {
	case o.within(k.base):
		for _, i := range o.over.agents {
			k.sees(int(i), o.seen[i])
		}
		for _, i := range o.over.barriers {
			k.finds(int(i), o.done[i])
		}
	case len(k.seen) == 0 && len(k.done) == 0:
		k.seen, k.done = append(k.seen, o.seen...), append(k.done, o.done...)
		k.base, k.whole = o.base, o.whole
		k.over.agents, k.over.barriers = append(k.over.agents[:0], o.over.agents...), append(k.over.barriers[:0], o.over.barriers...)
	default:
		k.seen, k.done = joined(k.seen, o.seen), joined(k.done, o.done)
		if k.whole = false; o.base != 0 {
			k.base = o.base
		}
	}
	if memory {
		k.see(o.fresh)
	}
}

// within reports whether all that is known is that of the name, and what is
// over it.
func (k *knowledge) within(base uint64) bool { return k.whole && base != 0 && k.base == base }

// sees makes it known how many operations of an agent have happened.
func (k *knowledge) sees(agent int, n uint32) {
	if at(k.seen, agent) < n {
		k.seen = raise(k.seen, agent, n)
		k.note(&k.over.agents, agent)
	}
}

// finds makes it known how far a barrier is.
func (k *knowledge) finds(barrier int, m mark) {
	if at(k.done, barrier) < m {
		k.done = raise(k.done, barrier, m)
		k.note(&k.over.barriers, barrier)
	}
}

// note names an element that is not as in the base.
func (k *knowledge) note(over *[]int32, i int) {
	switch {
	case !k.whole || slices.Contains(*over, int32(i)):
	case len(*over) == maxOver:
		k.whole = false
	default:
		*over = append(*over, int32(i))
	}
}

// gather adds what an agent knows and has done.
func (k *knowledge) gather(a *agent, memory bool) {
	k.join(&a.knowledge, memory)
	k.sees(a.id, a.now)
}

// forget makes it known no longer what is known of by name.
func (k *knowledge) forget() { k.base, k.whole = 0, false }

func joined[T uint32 | int32 | mark](a, b []T) []T {
	if len(a) == 0 {
		return append(a, b...)
	}
	if len(b) > len(a) {
		a = append(a, b[len(a):]...)
	}
	to := a[:len(b)]
	for i, v := range b {
		to[i] = max(to[i], v)
	}
	return a
}

// reset empties it and keeps its memory.
func (k *knowledge) reset() {
	*k = k.emptied()
}

// at is element i, 0 where there is none.
func at[T uint32 | int32 | mark](v []T, i int) T {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// raise makes element i at least x.
func raise[T uint32 | int32 | mark](v []T, i int, x T) []T {
	if i >= len(v) {
		v = append(v, make([]T, i+1-len(v))...)
	}
	v[i] = max(v[i], x)
	return v
}

// births is, by barrier, the latest initialisation. They are few and then stay
// as they are, so that those who know the same have the same ones; what more
// than one has is not changed.
type births struct {
	of     []uint32
	shared bool
}

func (b *births) at(id int) uint32 {
	if b == nil {
		return 0
	}
	return at(b.of, id)
}

// see adds initialisations that are visible.
func (k *knowledge) see(o *births) {
	if o == nil || o == k.fresh {
		return
	}
	switch {
	case k.fresh == nil || k.fresh.within(o):
		k.fresh = o
		o.shared = true
	case !o.within(k.fresh):
		k.own()
		k.fresh.of = joined(k.fresh.of, o.of)
	}
}

// bear adds an initialisation.
func (k *knowledge) bear(id int, life uint32) {
	k.own()
	k.fresh.of = raise(k.fresh.of, id, life)
}

// own makes the births ones that nobody else has.
func (k *knowledge) own() {
	switch {
	case k.fresh == nil:
		k.fresh = new(births)
	case k.fresh.shared:
		k.fresh = &births{of: slices.Clone(k.fresh.of)}
	}
}

// within reports whether all of them are in o.
func (b *births) within(o *births) bool {
	for i, v := range b.of {
		if v > at(o.of, i) {
			return false
		}
	}
	return true
}
