package pairs

import (
	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/trace"
)

// named is about bar and barrier: PTX ISA, "bar{.cta}, barrier{.cta}".
func named() []Pair {
	return []Pair{
		{Rule: barrier.BarIDRange, Threads: 64, Bad: Example{Run: idRangeBad}, Good: Example{Run: idRangeGood}},
		{Rule: barrier.BarCountNotMultiple, Threads: 64, Bad: Example{Run: countMultipleBad}, Good: Example{Run: countMultipleGood}},
		{Rule: barrier.BarCountMissing, Threads: 64, Bad: Example{Run: countMissingBad}, Good: Example{Run: countMissingGood}},
		{Rule: barrier.BarCountExceedsCTA, Threads: 40, Bad: Example{Run: countExceedsBad}, Good: Example{Run: countExceedsGood}},
		{Rule: barrier.BarCountMismatch, Threads: 64, Bad: Example{Run: countMismatchBad}, Good: Example{Run: countMismatchGood}},
		{Rule: barrier.BarRedMixed, Threads: 64, Bad: Example{Run: redMixedBad}, Good: Example{Run: redMixedGood}},
		{Rule: barrier.BarRedOpMismatch, Threads: 64, Bad: Example{Run: redOpBad}, Good: Example{Run: redOpGood}},
		{
			Rule: "bar-red-result", Threads: 64,
			Bad:  Example{Run: redResultKernel, Fault: wrongResult()},
			Good: Example{Run: redResultKernel},
		},
		{Rule: barrier.BarOverrun, Threads: 64, Bad: Example{Run: overrunBad}, Good: Example{Run: overrunGood}},
		{Rule: barrier.BarDivergent, Threads: 64, Bad: Example{Run: divergentBad}, Good: Example{Run: divergentGood}},
		{
			Rule: "bar-early-release", Threads: 64,
			Bad:  Example{Run: arriveAndSyncKernel, Fault: forgets(trace.KindBarArrive)},
			Good: Example{Run: arriveAndSyncKernel, Fault: recordsLate(trace.KindBarArrive)},
		},
		{
			Rule: "bar-target", Threads: 32,
			Bad:  Example{Run: halfWarpKernel, Arch: "sm_60"},
			Good: Example{Run: halfWarpKernel, Arch: "sm_70"},
		},
	}
}

func idRangeBad(t *emu.Thread) {
	t.BarrierSync(16, 64) // a CTA has barriers 0 to 15
}

func idRangeGood(t *emu.Thread) {
	t.BarrierSync(15, 64)
}

func countMultipleBad(t *emu.Thread) {
	if t.Thread() < 48 {
		t.BarrierSync(1, 48) // warps arrive whole: each counts for 32
	}
}

func countMultipleGood(t *emu.Thread) {
	if t.Thread() < 48 {
		t.BarrierSync(1, 64) // two warps, of one of which a half
	}
}

func countMissingBad(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarrierArrive(1) // how many threads is the phase made of?
		return
	}
	t.BarrierSync(1)
}

func countMissingGood(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarrierArrive(1, 64)
		return
	}
	t.BarrierSync(1, 64)
}

// The block has 40 threads: two warps.
func countExceedsBad(t *emu.Thread) {
	t.BarrierArrive(1, 96)
}

func countExceedsGood(t *emu.Thread) {
	t.BarrierArrive(1, 64) // 40 threads are two warps, which count for 64
}

func countMismatchBad(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarrierSync(1) // all threads: that is 64, and yet does not mix
		return
	}
	t.BarrierSync(1, 64)
}

func countMismatchGood(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarrierSync(1, 64)
		return
	}
	t.BarrierSync(1, 64)
}

func redMixedBad(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarrierSync(1, 64)
		return
	}
	t.BarrierRedPopc(1, true, 64)
}

func redMixedGood(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarrierRedPopc(1, false, 64) // takes part and adds nothing
		return
	}
	t.BarrierRedPopc(1, true, 64)
}

func redOpBad(t *emu.Thread) {
	if t.Warp() == 0 {
		t.SyncthreadsAnd(true)
		return
	}
	t.SyncthreadsOr(true)
}

func redOpGood(t *emu.Thread) {
	if t.Warp() == 0 {
		t.SyncthreadsOr(true)
		return
	}
	t.SyncthreadsOr(true)
}

func redResultKernel(t *emu.Thread) {
	t.SyncthreadsCount(t.Lane() < 5) // 10 of 64
}

func overrunBad(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarArrive(1, 64)
		t.BarSync(1, 64) // the two of them are 64: it never waits for warp 1
	}
}

func overrunGood(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarArrive(1, 64)
		t.BarSync(2, 64)
		return
	}
	t.BarSync(1, 64)
	t.BarSync(2, 64)
}

func divergentBad(t *emu.Thread) {
	if t.Lane() < 16 {
		t.Syncthreads()
		return
	}
	t.Syncthreads() // the same barrier, at another place of the same warp
}

func divergentGood(t *emu.Thread) {
	if t.Warp() == 0 {
		t.Syncthreads()
		return
	}
	t.Syncthreads() // another warp may be at another place
}

func arriveAndSyncKernel(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarArrive(1, 64)
		return
	}
	t.BarSync(1, 64)
}

func halfWarpKernel(t *emu.Thread) {
	if t.Lane() < 16 {
		t.BarrierSync(1, 32)
	}
}
