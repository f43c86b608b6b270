package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const electedRounds = 5

// electedArrive has one lane arrive for its warp. The __syncwarp before it is
// what makes the arrival speak for the other lanes. (PTX ISA, "bar.warp.sync"
// and "mbarrier.arrive".)
func electedArrive() Kernel {
	return Kernel{
		Name:   "elected-arrive",
		Doc:    "one elected lane arrives on an mbarrier for its warp, after __syncwarp; the count is the number of warps",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{128},
		Run:    electedArriveKernel,
		Check: func(r emu.Result) error {
			for i, sum := range emu.Output[int32](r, "sums") {
				want := int32(0)
				for round := range electedRounds {
					want += value(round, (i+37)%128)
				}
				if sum != want {
					return fmt.Errorf("thread %d has %d, want %d", i, sum, want)
				}
			}
			return nil
		},
	}
}

func electedArriveKernel(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", n)
	cells := [2][]int32{emu.Shared[int32](t, "cells0", n), emu.Shared[int32](t, "cells1", n)}
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(n / 32)
	}
	t.Syncthreads()
	for round := range electedRounds {
		t.Work(jitter(round+3*t.Thread(), 200)) // every lane at its own pace
		cells[round%2][t.Thread()] = value(round, t.Thread())
		t.Syncwarp()
		if t.Lane() == 0 {
			bar.Arrive()
		}
		bar.WaitParity(round & 1)
		sums[t.Thread()] += cells[round%2][(t.Thread()+37)%n]
	}
}
