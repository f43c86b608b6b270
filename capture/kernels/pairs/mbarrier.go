package pairs

import (
	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/trace"
)

// mbarriers is about the life, the phases and the tokens of mbarriers: PTX
// ISA, "mbarrier".
func mbarriers() []Pair {
	return []Pair{
		{Rule: barrier.MbarUninitialized, Threads: 64, Bad: Example{Run: uninitializedBad}, Good: Example{Run: uninitializedGood}},
		{Rule: barrier.MbarReinit, Threads: 1, Bad: Example{Run: reinitBad}, Good: Example{Run: reinitGood}},
		{Rule: barrier.MbarAfterInval, Threads: 1, Bad: Example{Run: afterInvalBad}, Good: Example{Run: afterInvalGood}},
		{Rule: barrier.MbarCountRange, Threads: 1, Bad: Example{Run: countRangeBad}, Good: Example{Run: countRangeGood}},
		{Rule: barrier.MbarOverArrival, Threads: 1, Bad: Example{Run: overArrivalBad}, Good: Example{Run: overArrivalGood}},
		{Rule: "mbar-reuse-before-wait", Threads: 1, Bad: Example{Run: reuseBad}, Good: Example{Run: reuseGood}},
		{Rule: barrier.MbarStaleToken, Threads: 1, Bad: Example{Run: staleTokenBad}, Good: Example{Run: staleTokenGood}},
		{Rule: "mbar-wrong-barrier-token", Threads: 2, Bad: Example{Run: wrongTokenBad}, Good: Example{Run: wrongTokenGood}},
		{Rule: barrier.MbarNoCompleteComplete, Threads: 1, Bad: Example{Run: noCompleteBad}, Good: Example{Run: noCompleteGood}},
		{Rule: barrier.MbarDropToZero, Threads: 1, Bad: Example{Run: dropToZeroBad}, Good: Example{Run: dropToZeroGood}},
		{
			Rule: "mbar-early-release", Threads: 64,
			Bad:  Example{Run: arriveAndWaitKernel, Fault: forgets(trace.KindMbarArrive)},
			Good: Example{Run: arriveAndWaitKernel, Fault: recordsLate(trace.KindMbarArrive)},
		},
		{Rule: "mbar-remote-op", Threads: 1, CTAs: 2, Bad: Example{Run: remoteOpBad}, Good: Example{Run: remoteOpGood}},
		{
			Rule: "mbar-exit-without-arrive", Threads: 32,
			Bad: Example{Run: exitWithoutArriveBad}, Good: Example{Run: exitWithoutArriveGood},
			Also: []barrier.Rule{"deadlock-exited"}, AlsoWhy: "it is reported only to explain a wait that starves",
		},
	}
}

func uninitializedBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	t.Syncthreads()
	if t.Lane() == 0 {
		bar.Arrive()
	}
}

func uninitializedGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(2)
	}
	t.Syncthreads()
	if t.Lane() == 0 {
		bar.Arrive()
	}
}

func reinitBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.Init(1)
}

func reinitGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.Inval()
	bar.Init(1)
}

func afterInvalBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.Inval()
	bar.Arrive()
}

func afterInvalGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.Arrive()
	bar.Inval()
}

func countRangeBad(t *emu.Thread) {
	emu.SharedMbarrier(t, "bar").Init(1 << 20)
}

func countRangeGood(t *emu.Thread) {
	emu.SharedMbarrier(t, "bar").Init(1<<20 - 1)
}

func overArrivalBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(3)
	bar.Arrive(2)
	bar.Arrive(2) // one is pending
}

func overArrivalGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(3)
	bar.Arrive(2)
	bar.Arrive(1)
}

func reuseBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.Arrive()
	bar.Arrive() // phase 0 is over, but nobody has looked
}

func reuseGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.Arrive()
	bar.WaitParity(0)
	bar.Arrive()
}

func staleTokenBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	token := bar.Arrive()
	bar.WaitParity(0)
	bar.Wait(bar.Arrive())
	bar.TestWait(token) // of phase 0, in phase 2: the silicon says no
}

func staleTokenGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	token := bar.Arrive()
	bar.WaitParity(0)
	bar.TestWait(token) // of phase 0, in phase 1
	bar.Wait(bar.Arrive())
}

func wrongTokenBad(t *emu.Thread) {
	bars := emu.SharedMbarriers(t, "bars", 2)
	mine, other := bars[t.Thread()], bars[1-t.Thread()]
	mine.Init(1)
	t.Syncthreads()
	token := mine.Arrive()
	other.Wait(token) // the phases happen to agree
}

func wrongTokenGood(t *emu.Thread) {
	bars := emu.SharedMbarriers(t, "bars", 2)
	mine, other := bars[t.Thread()], bars[1-t.Thread()]
	mine.Init(1)
	t.Syncthreads()
	token := mine.Arrive()
	mine.Wait(token)
	other.WaitParity(0)
}

func noCompleteBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(2)
	bar.ArriveNoComplete(2)
}

func noCompleteGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(2)
	bar.ArriveNoComplete(1)
	bar.Arrive()
}

func dropToZeroBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(2)
	bar.ArriveDrop()
	bar.ArriveDrop() // nobody is left for phase 1
}

func dropToZeroGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(2)
	bar.ArriveDrop()
	bar.Arrive()
}

func arriveAndWaitKernel(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(32)
	}
	t.Syncthreads()
	if t.Warp() == 0 {
		bar.Arrive()
	} else {
		bar.WaitParity(0)
	}
}

func remoteOpBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	t.ClusterSync()
	if t.ClusterRank() == 0 {
		bar.Arrive()
	} else {
		bar.Remote(0).WaitParity(0)
	}
	t.ClusterSync()
}

func remoteOpGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	t.ClusterSync()
	if t.ClusterRank() == 0 {
		bar.Remote(1).Arrive()
	} else {
		bar.WaitParity(0)
	}
	t.ClusterSync()
}

func exitWithoutArriveBad(t *emu.Thread) {
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	t.Syncthreads()
	if t.Thread() == 5 {
		return
	}
	bar.ArriveAndWait()
}

func exitWithoutArriveGood(t *emu.Thread) {
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	t.Syncthreads()
	if t.Thread() == 5 {
		bar.ArriveAndDrop()
		return
	}
	bar.ArriveAndWait()
}
