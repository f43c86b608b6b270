package kernels

import "btrace/capture/emu"

// mbarrierTwins is the twins whose luck is with the life of an mbarrier.
func mbarrierTwins() []Twin {
	return []Twin{
		{
			Of: "phase-countdown", What: "the barrier is invalidated by the first that is done with it",
			Rule: "hazard-init", Barrier: "mbar:0x400", Wrong: Errs, Run: phaseCountdownTwin,
		},
		{
			Of: "split-arrive-wait", What: "nobody waits for the initialisation",
			Rule: "hazard-init", Barrier: "mbar:0x800", Wrong: Hangs, Run: splitArriveWaitTwin,
		},
		{
			Of: "arrive-and-drop", What: "only the first warp waits for the initialisation",
			Rule: "hazard-init", Barrier: "mbar:0x400", Wrong: Hangs, Run: arriveAndDropTwin,
		},
		{
			Of: "try-wait-stream", What: "the barriers are initialised after __syncthreads, not before",
			Rule: "hazard-init", Barrier: "mbar:0x480", Wrong: Hangs, Run: tryWaitStreamTwin,
		},
	}
}

func phaseCountdownTwin(t *emu.Thread) {
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

	// twin: t.Syncthreads()
	if t.Thread() == 0 {
		bar.Inval()
	}
}

func splitArriveWaitTwin(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", n*t.CTAs())
	cells := [2][]int32{emu.Shared[int32](t, "cells0", n), emu.Shared[int32](t, "cells1", n)}
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(n)
	}
	// twin: t.Syncthreads()

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

func arriveAndDropTwin(t *emu.Thread) {
	rounds := emu.Global[int32](t, "rounds", t.Threads())
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	t.Syncwarp() // twin: t.Syncthreads()
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

func tryWaitStreamTwin(t *emu.Thread) {
	sums := emu.Global[int32](t, "sums", 32)
	item := emu.Shared[int32](t, "item", 32)
	full, empty := emu.SharedMbarrier(t, "full"), emu.SharedMbarrier(t, "empty")
	t.Syncthreads() // twin: after the next block
	if t.Thread() == 0 {
		full.Init(32)
		empty.Init(32)
	}
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
