package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const streamItems = 10

// tryWaitStream is a consumer that does something else while it waits: it
// polls with try_wait, which may say no at any time and means nothing by it.
// (PTX ISA, "mbarrier.test_wait / mbarrier.try_wait".)
func tryWaitStream() Kernel {
	return Kernel{
		Name:   "try-wait-stream",
		Doc:    "a stream of phases that a consumer polls for with try_wait, doing other work in between",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{64},
		Run:    tryWaitStreamKernel,
		Check: func(r emu.Result) error {
			for lane, sum := range emu.Output[int32](r, "sums") {
				if want := int32(streamItems*(streamItems-1)/2 + streamItems*lane); sum != want {
					return fmt.Errorf("lane %d consumed %d, want %d", lane, sum, want)
				}
			}
			return nil
		},
	}
}

func tryWaitStreamKernel(t *emu.Thread) {
	sums := emu.Global[int32](t, "sums", 32)
	item := emu.Shared[int32](t, "item", 32)
	full, empty := emu.SharedMbarrier(t, "full"), emu.SharedMbarrier(t, "empty")
	if t.Thread() == 0 {
		full.Init(32)
		empty.Init(32)
	}
	t.Syncthreads()
	for i := range streamItems {
		if t.Warp() == 0 {
			for !empty.TryWaitParity(i&1 ^ 1) {
				t.Work(60)
			}
			t.Work(jitter(i, 2500))
			item[t.Lane()] = int32(i + t.Lane())
			full.Arrive()
			continue
		}
		for !full.TryWaitParity(i & 1) {
			t.Work(60)
		}
		sums[t.Lane()] += item[t.Lane()]
		empty.Arrive()
	}
}
