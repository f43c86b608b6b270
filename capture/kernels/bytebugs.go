package kernels

import (
	"btrace/capture/emu"
	"btrace/trace"
)

// tooFewBytes announces less than the copy brings.
func tooFewBytes() Kernel {
	return pipelineKernel(Kernel{
		Name:   "expect-tx-too-small",
		Doc:    "for the sixth tile the producer announces half of the bytes that the copy brings",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-tx", Barrier: "mbar:0x408"},
		Run:    tooFewBytesKernel,
	})
}

func tooFewBytesKernel(t *emu.Thread) {
	announcing(t, func(i int, full emu.Mbarrier) {
		bytes := tileBytes
		if i == 5 {
			bytes /= 2
		}
		full.ArriveExpectTx(bytes) // bug: too few for tile 5
	})
}

// noBytes does not announce the copies at all.
func noBytes() Kernel {
	return pipelineKernel(Kernel{
		Name:   "expect-tx-never",
		Doc:    "the producer arrives without expect_tx: no phase waits for its copy, and the bytes are too many in the next",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-tx", Barrier: "mbar:0x400"},
		Run:    noBytesKernel,
	})
}

func noBytesKernel(t *emu.Thread) {
	announcing(t, func(_ int, full emu.Mbarrier) {
		full.Arrive() // bug: the copy's bytes are not announced
	})
}

// announcing is a pipeline whose producer arrives on the full barrier of tile
// i by announce.
func announcing(t *emu.Thread, announce func(i int, full emu.Mbarrier)) {
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
		announce(i, full[s])
		emu.BulkCopy(buf[s], tile(t, i), full[s])
	}
}

// bytesOfOneCTA announces a multicast copy in the CTA that issues it, and not
// in the other that receives it, too.
func bytesOfOneCTA() Kernel {
	return Kernel{
		Name:    "expect-tx-by-one-cta",
		Doc:     "a multicast copy completes its bytes in both CTAs of the cluster, but only the one that issues it announces them",
		Expect:  Expect{Verdict: deadlock, Rule: "deadlock-tx", Barrier: "mbar:0x600"},
		Grid:    trace.Dim{2},
		Block:   trace.Dim{64},
		Cluster: trace.Dim{2},
		Run:     bytesOfOneCTAKernel,
		Racy:    true,
	}
}

func bytesOfOneCTAKernel(t *emu.Thread) {
	const n = 128
	dst := emu.Shared[int32](t, "tile", n)
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(1)
	}
	t.ClusterSync()
	if t.Thread() == 0 {
		if t.ClusterRank() == 0 {
			full.ArriveExpectTx(4 * n)
			to := func(rank int) []int32 { return emu.SharedOf[int32](t, rank, "tile", n) }
			emu.BulkCopyMulticast(to, emu.Global[int32](t, "source", n), full, 0b11)
		} else {
			t.Work(2000)
			full.Arrive() // bug: the bytes come here, too
		}
	}
	full.WaitParity(0)
	_ = dst[t.Thread()]
	t.ClusterSync()
}
