package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

// The pipeline: warp 0 loads tiles, one stage each in turn, and four warps
// consume them. Of every stage an mbarrier tells that it is full, and another
// that it is empty again.
const (
	stages    = 4
	tiles     = 16
	consumers = 4 // warps
	tileSize  = 32 * consumers
	tileBytes = 4 * tileSize
)

// stageBarriers declares the barriers: full at 0x400, empty at 0x420.
func stageBarriers(t *emu.Thread) (full, empty []emu.Mbarrier) {
	return emu.SharedMbarriers(t, "full", stages), emu.SharedMbarriers(t, "empty", stages)
}

func stageBuffers(t *emu.Thread) (buf [stages][]int32) {
	for s := range buf {
		buf[s] = emu.Shared[int32](t, fmt.Sprint("stage", s), tileSize)
	}
	return buf
}

// tile is the tile in global memory that the copies read.
func tile(t *emu.Thread, i int) []int32 {
	src := emu.Global[int32](t, fmt.Sprint("tile", i), tileSize)
	for j := range src {
		src[j] = int32(1000*i + j)
	}
	return src
}

// consume is what the consumer warps do with n tiles, all in the same way.
func consume(t *emu.Thread, full, empty []emu.Mbarrier, n int) {
	sums := emu.Global[int32](t, "sums", tileSize*t.CTAs())
	buf := stageBuffers(t)
	for i := range n {
		s := i % stages
		full[s].WaitParity(i / stages & 1)
		me := t.Thread() - 32
		sums[t.CTA()*tileSize+me] += buf[s][me]
		t.Work(300 + jitter(5*i+t.Warp(), 1500))
		t.Syncwarp()
		if t.Lane() == 0 {
			empty[s].Arrive()
		}
		t.Syncwarp()
	}
}

// produce is what the elected producer does: it waits until the stage is
// empty, which it is to begin with, announces the bytes, and has them copied.
func produce(t *emu.Thread, full, empty []emu.Mbarrier, n int) {
	buf := stageBuffers(t)
	for i := range n {
		s := i % stages
		empty[s].WaitParity(i/stages&1 ^ 1)
		full[s].ArriveExpectTx(tileBytes)
		emu.BulkCopy(buf[s], tile(t, i%tiles), full[s])
	}
}

// tmaPipeline is the pipeline of CUTLASS and of the PTX ISA's asynchronous
// copies: full and empty barriers around a ring of buffers.
func tmaPipeline() Kernel {
	k := tmaPipelineOf(tiles)
	k.Run = tmaPipelineKernel
	return k
}

// tmaPipelineOf is the pipeline for n tiles, of which every sixteenth is the
// same.
func tmaPipelineOf(n int) Kernel {
	return pipelineKernel(Kernel{
		Name:   "tma-pipeline",
		Doc:    "a ring of four stages with full and empty mbarriers, fed by asynchronous copies that count bytes",
		Expect: Expect{Verdict: clean},
		Param:  &Param{Name: "tiles a CTA", Value: n, with: tmaPipelineOf},
		Run:    func(t *emu.Thread) { streamTiles(t, n) },
		Check: func(r emu.Result) error {
			first := 0 // of each tile, the first number
			for i := range n {
				first += 1000 * (i % tiles)
			}
			for i, sum := range emu.Output[int32](r, "sums") {
				if want := int32(first + n*(i%tileSize)); sum != want {
					return fmt.Errorf("consumer %d of CTA %d has %d, want %d", i%tileSize, i/tileSize, sum, want)
				}
			}
			return nil
		},
	})
}

func pipelineKernel(k Kernel) Kernel {
	k.Grid, k.Block = trace.Dim{2}, trace.Dim{32 * (1 + consumers)}
	return k
}

func tmaPipelineKernel(t *emu.Thread) { streamTiles(t, tiles) }

func streamTiles(t *emu.Thread, n int) {
	full, empty := stageBarriers(t)
	if t.Thread() == 0 {
		for s := range stages {
			full[s].Init(1)
			empty[s].Init(consumers)
		}
	}
	t.Syncthreads()
	if t.Warp() > 0 {
		consume(t, full, empty, n)
	} else if t.Lane() == 0 {
		produce(t, full, empty, n)
	}
}
