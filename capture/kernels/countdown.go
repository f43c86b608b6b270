package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

// phaseCountdown is the life of an mbarrier, with the rules of its use: one
// thread initialises it and the CTA synchronises before anybody uses it; the
// pending count goes down with every arrival; at zero the phase is complete
// and the count is set again; nobody arrives for a phase before the one
// before it is known to be complete; it is invalidated when all are done with
// it. (CUDA C++ Programming Guide, "A Barrier's Phase: Arrival, Countdown,
// Completion, and Reset".)
func phaseCountdown() Kernel {
	return Kernel{
		Name:   "phase-countdown",
		Doc:    "four phases of an mbarrier: arrive per thread, arrive for a warp, drop, and what is left",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{64},
		Run:    phaseCountdownKernel,
		Check: func(r emu.Result) error {
			for t, n := range emu.Output[int32](r, "phases") {
				if want := int32(4 - t/32); n != want {
					return fmt.Errorf("thread %d took part in %d phases, want %d", t, n, want)
				}
			}
			return nil
		},
	}
}

func phaseCountdownKernel(t *emu.Thread) {
	phases := emu.Global[int32](t, "phases", t.Threads())
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(64)
	}
	t.Syncthreads()

	// Phase 0: every thread arrives for itself.
	t.Work(jitter(t.Warp(), 500))
	token := bar.Arrive()
	bar.Wait(token)
	phases[t.Thread()]++

	// Phase 1: in warp 0, one lane arrives for all 32.
	t.Work(jitter(t.Warp()+2, 500))
	if t.Warp() == 0 {
		t.Syncwarp()
		if t.Lane() == 0 {
			bar.Arrive(32)
		}
	} else {
		bar.Arrive()
	}
	bar.WaitParity(1)
	phases[t.Thread()]++

	// Phase 2: warp 1 leaves. From the next phase on, 32 arrivals are enough.
	if t.Warp() == 1 {
		bar.ArriveDrop()
		phases[t.Thread()]++
		t.Syncthreads()
		return
	}
	bar.Wait(bar.Arrive())
	phases[t.Thread()]++

	// Phase 3: warp 0 alone.
	token = bar.Arrive()
	for !bar.TryWait(token) {
		t.Work(50)
	}
	phases[t.Thread()]++

	t.Syncthreads()
	if t.Thread() == 0 {
		bar.Inval()
	}
}
