package kernels

import (
	"btrace/capture/emu"
	"btrace/trace"
)

// runAhead is a producer that does not wait until the consumer has taken its
// first signal.
func runAhead() Kernel {
	return Kernel{
		Name:   "run-ahead-arrive",
		Doc:    "a producer arrives twice on a named barrier: its two arrivals complete a phase, and the consumer waits alone",
		Expect: Expect{Verdict: deadlock, Rule: "bar-overrun", Barrier: "bar:1"},
		Block:  trace.Dim{64},
		Run:    runAheadKernel, Racy: true,
	}
}

func runAheadKernel(t *emu.Thread) {
	const ready = 1
	if t.Warp() == 0 {
		t.BarArrive(ready, 64)
		t.Work(200)
		t.BarArrive(ready, 64) // bug: the consumer has not been here yet
		return
	}
	t.Work(2000)
	t.BarSync(ready, 64)
	t.BarSync(ready, 64)
}

// circularWait is two warps, each of which would let the other go if it were
// let go first.
func circularWait() Kernel {
	return Kernel{
		Name:   "circular-wait",
		Doc:    "one warp waits on an mbarrier before bar.sync 5, the other on bar.sync 5 before it arrives on the mbarrier",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-cycle"},
		Block:  trace.Dim{64},
		Run:    circularWaitKernel,
	}
}

func circularWaitKernel(t *emu.Thread) {
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(1)
	}
	t.Syncthreads()
	if t.Warp() == 0 {
		full.WaitParity(0)
		t.BarSync(5, 64)
		return
	}
	t.Work(500)
	t.BarSync(5, 64) // bug: warp 0 comes here only after the arrive below
	if t.Lane() == 0 {
		full.Arrive()
	}
}
