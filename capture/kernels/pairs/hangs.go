package pairs

import "btrace/capture/emu"

// hangs is about launches that do not end, or not well.
func hangs() []Pair {
	return []Pair{
		{Rule: "deadlock-cycle", Threads: 64, Bad: Example{Run: cycleBad}, Good: Example{Run: cycleGood}},
		{Rule: "deadlock-missing-arrival", Threads: 64, Bad: Example{Run: missingArrivalBad}, Good: Example{Run: missingArrivalGood}},
		{Rule: "deadlock-exited", Threads: 64, Bad: Example{Run: exitedBad}, Good: Example{Run: exitedGood}},
		{Rule: "deadlock-count", Threads: 32, Bad: Example{Run: countBad}, Good: Example{Run: countGood}},
		{Rule: "deadlock-tx", Threads: 32, Bad: Example{Run: txBad}, Good: Example{Run: txGood}},
		{Rule: "deadlock-parity", Threads: 64, Bad: Example{Run: parityBad}, Good: Example{Run: parityGood}},
		{Rule: "deadlock-external", Threads: 64, Bad: Example{Run: externalBad}, Good: Example{Run: externalGood}},
		{Rule: "hang-unexplained", Threads: 64, Bad: Example{Run: unexplainedBad}, Good: Example{Run: unexplainedGood}},
		{Rule: "trap-unexplained", Threads: 64, Bad: Example{Run: trapBad}, Good: Example{Run: trapGood}},
	}
}

func cycleBad(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarSync(1, 64)
		t.BarSync(2, 64)
	} else {
		t.BarSync(2, 64)
		t.BarSync(1, 64)
	}
}

func cycleGood(t *emu.Thread) {
	if t.Warp() == 0 {
		t.BarSync(1, 64)
		t.BarSync(2, 64)
	} else {
		t.BarSync(1, 64)
		t.BarSync(2, 64)
	}
}

func missingArrivalBad(t *emu.Thread) {
	flag := emu.Shared[bool](t, "flag", 1)
	for t.Warp() == 1 && !flag[0] {
		t.Spin() // it is set after the barrier
	}
	t.Syncthreads()
	flag[0] = true
}

func missingArrivalGood(t *emu.Thread) {
	flag := emu.Shared[bool](t, "flag", 1)
	if t.Warp() == 0 {
		flag[0] = true
	}
	for t.Warp() == 1 && !flag[0] {
		t.Spin()
	}
	t.Syncthreads()
}

func exitedBad(t *emu.Thread) {
	if t.Warp() == 1 {
		return
	}
	t.BarSync(1, 64) // an exit does not lower a count
}

func exitedGood(t *emu.Thread) {
	if t.Warp() == 1 {
		return
	}
	t.BarSync(1) // all threads that have not exited
}

func countBad(t *emu.Thread) {
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(64)
	}
	t.Syncthreads()
	bar.ArriveAndWait()
}

func countGood(t *emu.Thread) {
	bar := emu.SharedBarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(32)
	}
	t.Syncthreads()
	bar.ArriveAndWait()
}

func txBad(t *emu.Thread) {
	src, dst := make([]byte, 1024), emu.Shared[byte](t, "tile", 1024)
	full := emu.SharedMbarrier(t, "full")
	if t.Lane() == 0 {
		full.Init(1)
		full.ArriveExpectTx(2048)
		emu.BulkCopy(dst, src, full)
	}
	t.Syncthreads()
	full.WaitParity(0)
}

func txGood(t *emu.Thread) {
	src, dst := make([]byte, 1024), emu.Shared[byte](t, "tile", 1024)
	full := emu.SharedMbarrier(t, "full")
	if t.Lane() == 0 {
		full.Init(1)
		full.ArriveExpectTx(1024)
		emu.BulkCopy(dst, src, full)
	}
	t.Syncthreads()
	full.WaitParity(0)
}

func parityBad(t *emu.Thread) {
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(1)
		full.Arrive()
	}
	t.Syncthreads()
	if t.Warp() == 1 {
		full.WaitParity(1) // phase 0 is over: this is a wait for phase 1
	}
}

func parityGood(t *emu.Thread) {
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(1)
		full.Arrive()
	}
	t.Syncthreads()
	if t.Warp() == 1 {
		full.WaitParity(0)
	}
}

func externalBad(t *emu.Thread) {
	flag, full := emu.Shared[bool](t, "flag", 1), emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(32)
	}
	t.Syncthreads()
	for phase := range 2 {
		for t.Warp() == 0 && phase == 1 && !flag[0] {
			t.Spin() // warp 1 would have to set it
		}
		if t.Warp() == 0 {
			full.Arrive()
		}
		full.WaitParity(phase)
		t.Syncthreads()
	}
}

func externalGood(t *emu.Thread) {
	flag, full := emu.Shared[bool](t, "flag", 1), emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(32)
	}
	t.Syncthreads()
	for phase := range 2 {
		for t.Warp() == 0 && phase == 1 && !flag[0] {
			t.Spin()
		}
		if t.Warp() == 0 {
			full.Arrive()
		}
		full.WaitParity(phase)
		t.Syncthreads()
		flag[0] = true
	}
}

func unexplainedBad(t *emu.Thread) {
	lock := emu.Shared[int](t, "lock", 2)
	mine, other := t.Warp(), 1-t.Warp()
	lock[mine] = 1
	for t.Work(100); lock[other] == 1; {
		t.Spin() // each of two warps holds what the other waits for
	}
	lock[mine] = 0
}

func unexplainedGood(t *emu.Thread) {
	lock := emu.Shared[int](t, "lock", 1)
	for lock[0] == 1-t.Warp() {
		t.Spin() // warp 0 first, then warp 1
	}
	t.Work(100)
	lock[0] = 1
}

func trapBad(t *emu.Thread) {
	if t.Thread() == 40 {
		t.Trap("assertion failed")
	}
	t.Syncthreads()
}

func trapGood(t *emu.Thread) {
	if t.Thread() == 40 {
		t.Mark("asserted")
	}
	t.Syncthreads()
}
