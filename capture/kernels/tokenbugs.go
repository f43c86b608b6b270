package kernels

import (
	"btrace/capture/emu"
	"btrace/trace"
)

// skippedFlip is a consumer that keeps the phase in a variable, and forgets
// about it where there is nothing to do.
func skippedFlip() Kernel {
	return Kernel{
		Name:   "skipped-flip",
		Doc:    "a consumer skips an empty tile without flipping its phase bit, and waits for the wrong phase from there on",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-parity", Barrier: "mbar:0x400"},
		Block:  trace.Dim{64},
		Run:    skippedFlipKernel,
		Racy:   true,
	}
}

func skippedFlipKernel(t *emu.Thread) {
	full, empty := emu.SharedMbarrier(t, "full"), emu.SharedMbarrier(t, "empty")
	if t.Thread() == 0 {
		full.Init(32)
		empty.Init(32)
	}
	t.Syncthreads()
	if t.Warp() == 0 {
		for tile := range 8 {
			empty.WaitParity(tile&1 ^ 1)
			t.Work(200)
			full.Arrive()
		}
		return
	}
	isEmpty := func(tile int) bool { return tile == 3 }
	phase := 0
	for tile := range 8 {
		if isEmpty(tile) {
			empty.Arrive() // there is nothing in it
			continue       // bug: the phase goes on, the bit does not flip
		}
		full.WaitParity(phase)
		phase ^= 1
		t.Work(100) // read the tile
		empty.Arrive()
		t.Work(1000) // store the results
	}
}

// foreignToken is double buffering that mixes up its two barriers.
func foreignToken() Kernel {
	return Kernel{
		Name:   "token-of-another-barrier",
		Doc:    "two barriers in turn: the token of one is waited for on the other",
		Expect: Expect{Verdict: deadlock, Rule: "mbar-wrong-barrier-token", Barrier: "mbar:0x408"},
		Block:  trace.Dim{64},
		Run:    foreignTokenKernel,
	}
}

func foreignTokenKernel(t *emu.Thread) {
	bars := emu.SharedMbarriers(t, "bars", 2)
	if t.Thread() == 0 {
		bars[0].Init(t.Threads())
		bars[1].Init(t.Threads())
	}
	t.Syncthreads()
	for i := range 4 {
		token := bars[i%2].Arrive()
		t.Work(100 + jitter(i+t.Warp(), 300))
		bars[(i+1)%2].Wait(token) // bug: i, not i+1
	}
}
