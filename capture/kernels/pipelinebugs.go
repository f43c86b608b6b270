package kernels

import "btrace/capture/emu"

// wrongEmptyCount is a pipeline that works until the ring is full for the
// first time.
func wrongEmptyCount() Kernel {
	return pipelineKernel(Kernel{
		Name:   "tma-pipeline-empty-count",
		Doc:    "the empty barriers expect five arrivals, one for every warp, but only the four consumers arrive",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-count", Barrier: "mbar:0x420"},
		Run:    wrongEmptyCountKernel,
	})
}

func wrongEmptyCountKernel(t *emu.Thread) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			full[s].Init(1)
			empty[s].Init(t.Threads() / 32) // bug: the producer's warp does not arrive
		}
	}
	t.Syncthreads()
	if t.Warp() > 0 {
		consume(t, full, empty, tiles)
	} else if t.Lane() == 0 {
		produce(t, full, empty, tiles)
	}
}

// wrongBytes announces bytes that no copy brings.
func wrongBytes() Kernel {
	return pipelineKernel(Kernel{
		Name:   "tma-pipeline-bytes",
		Doc:    "for the seventh tile the producer announces twice the bytes that the copy brings",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-tx", Barrier: "mbar:0x410"},
		Run:    wrongBytesKernel,
	})
}

func wrongBytesKernel(t *emu.Thread) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			full[s].Init(1)
			empty[s].Init(consumers)
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
		empty[s].WaitParity(i/stages&1 ^ 1)
		bytes := tileBytes
		if i == 6 {
			bytes *= 2
		}
		full[s].ArriveExpectTx(bytes) // bug: too many for tile 6
		emu.BulkCopy(buf[s], tile(t, i), full[s])
	}
}

// wrongParity waits for a stage to be emptied that was never filled.
func wrongParity() Kernel {
	return pipelineKernel(Kernel{
		Name:   "tma-pipeline-parity",
		Doc:    "the producer starts with parity 0, and so waits for consumers that wait for it",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-parity", Barrier: "mbar:0x420"},
		Run:    wrongParityKernel,
	})
}

func wrongParityKernel(t *emu.Thread) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			full[s].Init(1)
			empty[s].Init(consumers)
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
		empty[s].WaitParity(i / stages & 1) // bug: a stage is empty to begin with, parity 1 passes
		full[s].ArriveExpectTx(tileBytes)
		emu.BulkCopy(buf[s], tile(t, i), full[s])
	}
}

// lostArrive is a consumer that leaves one arrival out.
func lostArrive() Kernel {
	return pipelineKernel(Kernel{
		Name:   "tma-pipeline-lost-arrive",
		Doc:    "warp 3 does not hand the stage of the tenth tile back",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-missing-arrival", Barrier: "mbar:0x428"},
		Run:    lostArriveKernel,
	})
}

func lostArriveKernel(t *emu.Thread) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			full[s].Init(1)
			empty[s].Init(consumers)
		}
	}
	t.Syncthreads()
	if t.Warp() == 0 {
		if t.Lane() == 0 {
			produce(t, full, empty, tiles)
		}
		return
	}
	for i := range tiles {
		s := i % stages
		full[s].WaitParity(i / stages & 1)
		t.Work(300 + jitter(5*i+t.Warp(), 1500))
		if i == 9 && t.Warp() == 3 {
			continue // bug: the stage is not handed back
		}
		t.Syncwarp()
		if t.Lane() == 0 {
			empty[s].Arrive()
		}
	}
}
