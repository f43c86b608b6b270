package pairs

import (
	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/replay/rules"
)

// hazards is about other schedules than the one that is recorded: the bad
// kernels run well here, and the good ones under every schedule.
func hazards() []Pair {
	hangs, hangsWhy := []barrier.Rule{rules.HazardDeadlock}, "in the other schedule lanes wait for ever"
	return []Pair{
		{Rule: rules.HazardRecycle, Threads: 64, Also: hangs, AlsoWhy: hangsWhy, Bad: Example{Run: hazardRecycleBad}, Good: Example{Run: hazardRecycleGood}},
		{Rule: rules.HazardLap, Threads: 64, Also: hangs, AlsoWhy: hangsWhy, Bad: Example{Run: hazardLapBad}, Good: Example{Run: hazardLapGood}},
		{Rule: rules.HazardInit, Threads: 64, Also: hangs, AlsoWhy: hangsWhy, Bad: Example{Run: hazardInitBad}, Good: Example{Run: hazardInitGood}},
		{Rule: rules.HazardTx, Threads: 64, Bad: Example{Run: hazardTxBad}, Good: Example{Run: hazardTxGood}},
		{Rule: rules.HazardDeadlock, Threads: 64, Also: []barrier.Rule{rules.HazardRecycle}, AlsoWhy: "that the third arrival may come before the end of the first phase is why", Bad: Example{Run: hazardDeadlockBad}, Good: Example{Run: hazardDeadlockGood}},
	}
}

func hazardRecycleBad(t *emu.Thread) {
	const full = 1
	if t.Warp() == 0 {
		t.BarArrive(full, 64)
		t.BarArrive(full, 64) // if warp 1 is late, these two are a phase
		return
	}
	t.BarSync(full, 64)
	t.BarSync(full, 64)
}

func hazardRecycleGood(t *emu.Thread) {
	const full, empty = 1, 2
	if t.Warp() == 0 {
		t.BarArrive(full, 64)
		t.BarSync(empty, 64)
		t.BarArrive(full, 64)
		return
	}
	t.BarSync(full, 64)
	t.BarArrive(empty, 64)
	t.BarSync(full, 64)
}

func hazardLapBad(t *emu.Thread) {
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(1)
	}
	t.Syncthreads()
	for phase := range 2 {
		if t.Thread() == 0 {
			full.Arrive() // the second, before the others have seen the first?
		}
		full.WaitParity(phase)
	}
}

func hazardLapGood(t *emu.Thread) {
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(1)
	}
	t.Syncthreads()
	for phase := range 2 {
		if t.Thread() == 0 {
			full.Arrive()
		}
		full.WaitParity(phase)
		t.Syncthreads() // all have seen it
	}
}

func hazardInitBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	bar.Arrive() // warp 1 may be here first
	bar.WaitParity(0)
}

func hazardInitGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	t.Syncthreads()
	bar.Arrive()
	bar.WaitParity(0)
}

func hazardTxBad(t *emu.Thread) {
	src, dst := make([]byte, 1024), emu.Shared[byte](t, "tile", 1024)
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(2)
	}
	t.Syncthreads()
	switch t.Thread() {
	case 0:
		full.Arrive()
		full.ExpectTx(1024) // too late, if thread 32 has arrived
		emu.BulkCopy(dst, src, full)
	case 32:
		t.Work(100)
		full.Arrive()
	}
	full.WaitParity(0)
}

func hazardTxGood(t *emu.Thread) {
	src, dst := make([]byte, 1024), emu.Shared[byte](t, "tile", 1024)
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(2)
	}
	t.Syncthreads()
	switch t.Thread() {
	case 0:
		full.ExpectTx(1024)
		full.Arrive()
		emu.BulkCopy(dst, src, full)
	case 32:
		t.Work(100)
		full.Arrive()
	}
	full.WaitParity(0)
}

func hazardDeadlockBad(t *emu.Thread) {
	const even, free = 1, 3 // and 2 for the odd rounds
	if t.Warp() == 0 {
		for i := range 4 {
			t.BarArrive(even+i%2, 64) // the third, before the first was seen?
		}
		t.BarSync(free, 64)
		return
	}
	for i := range 4 {
		t.BarSync(even+i%2, 64)
	}
	t.BarArrive(free, 64)
}

func hazardDeadlockGood(t *emu.Thread) {
	const even, free = 1, 3 // and 2 for the odd rounds
	if t.Warp() == 0 {
		for i := range 4 {
			t.BarArrive(even+i%2, 64)
			t.BarSync(free, 64)
		}
		return
	}
	for i := range 4 {
		t.BarSync(even+i%2, 64)
		t.BarArrive(free, 64)
	}
}
