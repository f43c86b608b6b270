package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const splitRounds = 6

// splitArriveWait is the split arrive and wait of cuda::barrier in its five
// stages. (CUDA C++ Programming Guide, "Temporal Splitting and Five Stages of
// Synchronization".)
func splitArriveWait() Kernel {
	return Kernel{
		Name:   "split-arrive-wait",
		Doc:    "the five stages of a split barrier: work before, arrive, work between, wait, work after",
		Expect: Expect{Verdict: clean},
		Grid:   trace.Dim{2},
		Block:  trace.Dim{128},
		Run:    splitArriveWaitKernel,
		Check: func(r emu.Result) error {
			for i, sum := range emu.Output[int32](r, "sums") {
				want := int32(0)
				for round := range splitRounds {
					want += value(round, (i+1)%128)
				}
				if sum != want {
					return fmt.Errorf("thread %d of CTA %d has %d, want %d", i%128, i/128, sum, want)
				}
			}
			return nil
		},
	}
}

func value(round, thread int) int32 { return int32(100*round + thread) }

func splitArriveWaitKernel(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", n*t.CTAs())
	cells := [2][]int32{emu.Shared[int32](t, "cells0", n), emu.Shared[int32](t, "cells1", n)}
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(n)
	}
	t.Syncthreads()

	sum := int32(0)
	for round := range splitRounds {
		// 1: what others will see after the barrier
		t.Work(200 + jitter(31*t.Warp()+round, 1500))
		cells[round%2][t.Thread()] = value(round, t.Thread())
		// 2
		token := bar.Arrive()
		// 3: what has nothing to do with the others
		t.Work(100 + jitter(t.Warp()+7*round, 1000))
		// 4
		bar.Wait(token)
		// 5: what all have written before they arrived is there
		sum += cells[round%2][(t.Thread()+1)%n]
	}
	sums[t.CTA()*n+t.Thread()] = sum
}
