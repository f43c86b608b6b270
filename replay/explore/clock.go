package explore

// knowledge is what an agent knows to have happened.
type knowledge struct {
	// seen is, by agent, how many of its operations have happened.
	seen []uint32
	// done is, by barrier, the latest phase that is known to be complete; see
	// mark. 0 is nothing.
	done []mark
	// fresh is, by barrier, the latest initialisation whose effect on memory
	// is visible: the order of execution alone does not make it so (PTX ISA,
	// "Memory Consistency Model").
	fresh []uint32
}

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
	k.seen = joined(k.seen, o.seen)
	k.done = joined(k.done, o.done)
	if memory {
		k.fresh = joined(k.fresh, o.fresh)
	}
}

func joined[T uint32 | mark](a, b []T) []T {
	if len(b) > len(a) {
		a = append(a, make([]T, len(b)-len(a))...)
	}
	for i, v := range b {
		if v > a[i] {
			a[i] = v
		}
	}
	return a
}

// reset empties it and keeps its memory.
func (k *knowledge) reset() {
	k.seen, k.done, k.fresh = k.seen[:0], k.done[:0], k.fresh[:0]
}

// at is element i, 0 where there is none.
func at[T uint32 | mark](v []T, i int) T {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// raise makes element i at least x.
func raise[T uint32 | mark](v []T, i int, x T) []T {
	if i >= len(v) {
		v = append(v, make([]T, i+1-len(v))...)
	}
	v[i] = max(v[i], x)
	return v
}
