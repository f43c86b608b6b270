package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const prefixTiles = 5

// prefixSum has a completion function turn the values of all threads into
// their prefix sums: once a phase, on the thread that arrives last, before
// anybody is let go. (CUDA C++ Programming Guide, "Completion Function".)
func prefixSum() Kernel {
	return Kernel{
		Name:   "prefix-sum",
		Doc:    "a cuda::barrier whose completion function makes the prefix sums of a tile, phase by phase",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{128},
		Run:    prefixSumKernel,
		Check: func(r emu.Result) error {
			sum := int64(0)
			for i, got := range emu.Output[int64](r, "sums") {
				if sum += summand(i); got != sum {
					return fmt.Errorf("sum of the first %d values is %d, want %d", i+1, got, sum)
				}
			}
			if calls := emu.Output[int](r, "calls"); calls[0] != prefixTiles {
				return fmt.Errorf("the completion function ran %d times in %d phases", calls[0], prefixTiles)
			}
			return nil
		},
	}
}

func summand(i int) int64 { return int64(i*i%37 + 1) }

func prefixSumKernel(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int64](t, "sums", n*prefixTiles)
	calls := emu.Global[int](t, "calls", 1)
	cells := emu.Shared[int64](t, "cells", n)
	carry := emu.Shared[int64](t, "carry", 1)
	bar := emu.SharedBarrierFunc(t, "bar", func() {
		t.Work(120)
		for i := range cells {
			carry[0] += cells[i]
			cells[i] = carry[0]
		}
		calls[0]++
	})
	if t.Thread() == 0 {
		bar.Init(n)
	}
	t.Syncthreads()

	for tile := range prefixTiles {
		i := tile*n + t.Thread()
		t.Work(jitter(13*t.Warp()+tile, 900))
		cells[t.Thread()] = summand(i)
		token := bar.Arrive()
		t.Work(100)
		bar.Wait(token)
		sums[i] = cells[t.Thread()]
	}
}
