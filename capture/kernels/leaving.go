package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const (
	earlyThreads  = 70 // of 128 have something to do
	leavingRounds = 4
)

// earlyExit is a kernel whose last threads have nothing to do and leave.
// __syncthreads does not wait for them. (PTX ISA, "bar{.cta}, barrier{.cta}":
// without a count, all threads that have not exited.)
func earlyExit() Kernel {
	return Kernel{
		Name:   "early-exit",
		Doc:    "threads beyond the end of the data return at once: a warp and a half; the others meet at __syncthreads",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{128},
		Run:    earlyExitKernel,
		Check: func(r emu.Result) error {
			for i, sum := range emu.Output[int32](r, "sums") {
				if want := value(0, (i+1)%earlyThreads) + value(1, (i+1)%earlyThreads); sum != want {
					return fmt.Errorf("thread %d has %d, want %d", i, sum, want)
				}
			}
			return nil
		},
	}
}

func earlyExitKernel(t *emu.Thread) {
	sums := emu.Global[int32](t, "sums", earlyThreads)
	cells := emu.Shared[int32](t, "cells", earlyThreads)
	if t.Thread() >= earlyThreads {
		t.Work(jitter(t.Warp(), 900))
		return
	}
	for round := range 2 {
		cells[t.Thread()] = value(round, t.Thread())
		t.Syncthreads()
		sums[t.Thread()] += cells[(t.Thread()+1)%earlyThreads]
		t.Syncthreads()
	}
}

// arriveAndDrop lets a warp leave after each round. Whoever leaves arrives
// one last time, and takes itself out of the rounds that follow. (CUDA C++
// Programming Guide, "Early Exit (Dropping out of Participation)".)
func arriveAndDrop() Kernel {
	return Kernel{
		Name:   "arrive-and-drop",
		Doc:    "a cuda::barrier from which one warp after the other drops out",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{32 * leavingRounds},
		Run:    arriveAndDropKernel,
		Check: func(r emu.Result) error {
			for i, n := range emu.Output[int32](r, "rounds") {
				if want := int32(i/32 + 1); n != want {
					return fmt.Errorf("thread %d took part in %d rounds, want %d", i, n, want)
				}
			}
			return nil
		},
	}
}

func arriveAndDropKernel(t *emu.Thread) {
	rounds := emu.Global[int32](t, "rounds", t.Threads())
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	t.Syncthreads()
	for round := range leavingRounds {
		rounds[t.Thread()]++
		t.Work(jitter(round+t.Warp(), 600))
		if t.Warp() == round && round+1 < leavingRounds {
			bar.ArriveAndDrop()
			return
		}
		bar.ArriveAndWait()
	}
}
