package kernels

import (
	"btrace/capture/emu"
	"btrace/trace"
)

// missingInit leaves one barrier of a ring as it is.
func missingInit() Kernel {
	return pipelineKernel(Kernel{
		Name:   "init-missing",
		Doc:    "the full barrier of the first stage is not initialised",
		Expect: Expect{Verdict: deadlock, Rule: "mbar-uninitialized", Barrier: "mbar:0x400"},
		Run:    missingInitKernel,
	})
}

func missingInitKernel(t *emu.Thread) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			if s > 0 { // bug: the first stage is left out
				full[s].Init(1)
			}
			empty[s].Init(consumers)
		}
	}
	t.Syncthreads()
	if t.Warp() > 0 {
		consume(t, full, empty, tiles)
	} else if t.Lane() == 0 {
		produce(t, full, empty, tiles)
	}
}

// racedInit has no barrier between the initialisation and the first use.
func racedInit() Kernel {
	return Kernel{
		Name:   "init-raced",
		Doc:    "nothing orders the first arrive after the init: it comes too early, and is lost",
		Expect: Expect{Verdict: deadlock, Rule: "mbar-uninitialized", Barrier: "mbar:0x400"},
		Block:  trace.Dim{64},
		Run:    racedInitKernel,
		Racy:   true,
	}
}

func racedInitKernel(t *emu.Thread) {
	ready := emu.SharedMbarrier(t, "ready")
	if t.Thread() == 0 {
		t.Work(400)
		ready.Init(32)
	}
	// bug: __syncthreads() is missing here
	if t.Warp() == 1 {
		ready.Arrive()
	} else {
		ready.WaitParity(0)
	}
}

// repeatedInit initialises its barrier for every tile anew.
func repeatedInit() Kernel {
	return Kernel{
		Name:   "init-repeated",
		Doc:    "thread 0 initialises the barrier for every tile, and wipes out the arrivals of a warp that is ahead",
		Expect: Expect{Verdict: deadlock, Rule: "mbar-reinit", Barrier: "mbar:0x400"},
		Block:  trace.Dim{64},
		Run:    repeatedInitKernel,
	}
}

func repeatedInitKernel(t *emu.Thread) {
	bar := emu.SharedBarrier(t, "bar")
	for tile := range 3 {
		if t.Thread() == 0 {
			t.Work(200)
			bar.Init(t.Threads()) // bug: once is enough
		}
		if tile == 0 {
			t.Syncthreads()
		}
		bar.ArriveAndWait()
	}
}
