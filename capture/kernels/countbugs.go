package kernels

import (
	"btrace/capture/emu"
	"btrace/trace"
)

// countTooLow is a pipeline that takes a stage for empty when the slowest
// consumer still reads it. Its last arrival counts for the next phase, until
// the phases are so far ahead that the parity tells the opposite.
func countTooLow() Kernel {
	return pipelineKernel(Kernel{
		Name:   "tma-pipeline-count-too-low",
		Doc:    "the empty barriers expect three arrivals, but four consumer warps arrive: the phases run ahead of the producer",
		Expect: Expect{Verdict: deadlock, Rule: "mbar-reuse-before-wait", Barrier: "mbar:0x420"},
		Racy:   true,
		Run:    countTooLowKernel,
	})
}

func countTooLowKernel(t *emu.Thread) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			full[s].Init(1)
			empty[s].Init(consumers - 1) // bug: one too few
		}
	}
	t.Syncthreads()
	if t.Warp() > 0 {
		consume(t, full, empty, tiles)
		return
	}
	if t.Lane() != 0 {
		return
	}
	buf := stageBuffers(t)
	for i := range tiles {
		s := i % stages
		t.Work(1500) // find out what the next tile is
		empty[s].WaitParity(i/stages&1 ^ 1)
		full[s].ArriveExpectTx(tileBytes)
		emu.BulkCopy(buf[s], tile(t, i), full[s])
	}
}

// oneForAll is a barrier that counts every thread, on which one arrives.
func oneForAll() Kernel {
	return Kernel{
		Name:   "one-arrives-for-all",
		Doc:    "the mbarrier expects 64 arrivals, one a thread, but only thread 0 arrives",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-count", Barrier: "mbar:0x400"},
		Block:  trace.Dim{64},
		Run:    oneForAllKernel,
	}
}

func oneForAllKernel(t *emu.Thread) {
	ready := emu.SharedMbarrier(t, "ready")
	if t.Thread() == 0 {
		ready.Init(t.Threads()) // bug: counts all threads, and one arrives
	}
	t.Syncthreads()
	if t.Thread() == 0 {
		t.Work(300)
		ready.Arrive()
	}
	ready.WaitParity(0)
}

// allForOne is a barrier that counts one arrival, on which every thread
// arrives.
func allForOne() Kernel {
	return Kernel{
		Name:   "all-arrive-for-one",
		Doc:    "the mbarrier expects one arrival, that of thread 0, but all 64 threads arrive",
		Expect: Expect{Verdict: deadlock, Rule: "mbar-reuse-before-wait", Barrier: "mbar:0x400"},
		Block:  trace.Dim{64},
		Run:    allForOneKernel,
	}
}

func allForOneKernel(t *emu.Thread) {
	ready := emu.SharedMbarrier(t, "ready")
	if t.Thread() == 0 {
		ready.Init(1)
	}
	t.Syncthreads()
	t.Work(300)
	ready.Arrive() // bug: thread 0 should, for all
	ready.WaitParity(0)
}

// exitWithoutDrop is a warp that leaves a cuda::barrier as one leaves
// __syncthreads.
func exitWithoutDrop() Kernel {
	return Kernel{
		Name:   "exit-without-drop",
		Doc:    "two warps meet on a cuda::barrier in four rounds; one returns after two, and does not drop out",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-exited", Barrier: "mbar:0x400"},
		Block:  trace.Dim{64},
		Run:    exitWithoutDropKernel,
	}
}

func exitWithoutDropKernel(t *emu.Thread) {
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	t.Syncthreads()
	for round := range 4 {
		if round == 2 && t.Warp() == 1 {
			return // bug: without bar.ArriveAndDrop()
		}
		t.Work(jitter(round+t.Warp(), 500))
		bar.ArriveAndWait()
	}
}
