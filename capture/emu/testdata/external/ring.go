// Package ring hands items from one warp to another through a ring of slots.
package ring

import "btrace/capture/emu"

// Items is how many items go through the ring.
const Items = 6

// Args are the arguments of Kernel.
type Args struct {
	Slots int
	Got   []int // by item: what the consumer received
}

// Kernel is the protocol: warp 0 produces, warp 1 consumes.
func Kernel(t *emu.Thread, a Args) {
	slot := emu.Shared[int](t, "slot", a.Slots)
	full := emu.SharedMbarriers(t, "full", a.Slots)
	empty := emu.SharedMbarriers(t, "empty", a.Slots)
	if t.Thread() == 0 {
		for s := range a.Slots {
			full[s].Init(1)
			empty[s].Init(1)
		}
	}
	t.Syncthreads()
	if t.Lane() != 0 {
		return
	}
	for i := range Items {
		s := i % a.Slots
		if t.Warp() == 0 {
			empty[s].WaitParity(producerParity(i, a.Slots))
			slot[s] = 100 + i
			full[s].Arrive()
		} else {
			full[s].WaitParity(i / a.Slots & 1)
			a.Got[i] = slot[s]
			empty[s].Arrive()
		}
	}
}
