package kernels

import (
	"fmt"

	"btrace/capture/emu"
)

// ringTwins is the twins in which a wait may be lapped: a thread looks only
// after somebody has said that it is through.
func ringTwins() []Twin {
	return []Twin{
		{
			Of: "tma-pipeline", What: "lane 0 hands the stage back before the other lanes have seen that it was full",
			Rule: "hazard-lap", Barrier: "mbar:0x400", Run: tmaPipelineTwin,
		},
		{
			Of: "ring-pipeline", What: "the producer waits for an empty stage after it has filled it",
			Rule: "hazard-lap", Barrier: "mbar:0x400", Wrong: Hangs, Run: ringPipelineTwin,
		},
		{
			Of: "elected-arrive", What: "lane 0 arrives before the other lanes of its warp are there",
			Rule: "hazard-lap", Barrier: "mbar:0x800", Wrong: Hangs, Run: electedArriveTwin,
		},
	}
}

func tmaPipelineTwin(t *emu.Thread) { streamTilesTwin(t, tiles) }

func streamTilesTwin(t *emu.Thread, n int) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			full[s].Init(1)
			empty[s].Init(consumers)
		}
	}
	t.Syncthreads()
	if t.Warp() > 0 {
		consumeTwin(t, full, empty, n)
	} else if t.Lane() == 0 {
		produce(t, full, empty, n)
	}
}

func consumeTwin(t *emu.Thread, full, empty []emu.Mbarrier, n int) {
	sums := emu.Global[int32](t, "sums", tileSize*t.CTAs())
	buf := stageBuffers(t)
	for i := range n {
		s := i % stages
		full[s].WaitParity(i / stages & 1)
		me := t.Thread() - 32
		sums[t.CTA()*tileSize+me] += buf[s][me]
		t.Work(300 + jitter(5*i+t.Warp(), 1500))
		// twin: t.Syncwarp()
		if t.Lane() == 0 {
			empty[s].Arrive()
		}
		t.Syncwarp()
	}
}

func ringPipelineTwin(t *emu.Thread) {
	sums := emu.Global[int32](t, "sums", 64)
	for n := 1; n <= maxStages; n++ {
		full := emu.SharedMbarriers(t, fmt.Sprint("full", n), n)
		empty := emu.SharedMbarriers(t, fmt.Sprint("empty", n), n)
		ring := emu.Shared[[32]int32](t, fmt.Sprint("ring", n), n)
		if t.Thread() == 0 {
			for s := range n {
				full[s].Init(32)
				empty[s].Init(64)
			}
		}
		t.Syncthreads()
		for i := range ringTiles {
			stage, parity := i%n, i/n&1
			if t.Warp() == 0 {
				t.Work(jitter(n+i, 300))
				ring[stage][t.Lane()] = int32(100*i + t.Lane())
				full[stage].Arrive()
				empty[stage].WaitParity(parity ^ 1) // twin: first
			} else {
				full[stage].WaitParity(parity)
				sums[t.Thread()-32] += ring[stage][t.Lane()]
				t.Work(jitter(5*n+i+t.Warp(), 300))
				empty[stage].Arrive()
			}
		}
	}
}

func electedArriveTwin(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", n)
	cells := [2][]int32{emu.Shared[int32](t, "cells0", n), emu.Shared[int32](t, "cells1", n)}
	bar := emu.SharedMbarrier(t, "bar")
	if t.Thread() == 0 {
		bar.Init(n / 32)
	}
	t.Syncthreads()
	for round := range electedRounds {
		t.Work(jitter(round+3*t.Thread(), 200)) // every lane at its own pace
		cells[round%2][t.Thread()] = value(round, t.Thread())
		// twin: t.Syncwarp()
		if t.Lane() == 0 {
			bar.Arrive()
		}
		bar.WaitParity(round & 1)
		sums[t.Thread()] += cells[round%2][(t.Thread()+37)%n]
	}
}
