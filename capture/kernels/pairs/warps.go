package pairs

import (
	"btrace/capture/emu"
	"btrace/replay/barrier"
)

// warps is about __syncwarp: PTX ISA, "bar.warp.sync".
func warps() []Pair {
	return []Pair{
		{Rule: barrier.SyncwarpExcludesCaller, Threads: 32, Bad: Example{Run: excludesCallerBad}, Good: Example{Run: excludesCallerGood}},
		{Rule: "syncwarp-missing-lane", Threads: 32, Bad: Example{Run: missingLaneBad}, Good: Example{Run: missingLaneGood}},
	}
}

func excludesCallerBad(t *emu.Thread) {
	if t.Lane() < 2 {
		t.Syncwarp(0x1) // lane 1 is not in it
	}
}

func excludesCallerGood(t *emu.Thread) {
	if t.Lane() < 2 {
		t.Syncwarp(0x3)
	}
}

func missingLaneBad(t *emu.Thread) {
	if t.Lane() < 16 {
		t.Syncwarp(0x1ffff) // lane 16 is in it, and goes straight to the next
	}
	t.Syncwarp()
}

func missingLaneGood(t *emu.Thread) {
	if t.Lane() < 16 {
		t.Syncwarp(0x0ffff)
	}
	t.Syncwarp()
}
