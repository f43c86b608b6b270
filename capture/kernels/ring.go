package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const (
	maxStages = 4
	ringTiles = 7 // not a multiple of any number of stages but one
)

// ringPipeline is a full/empty pipeline over a ring of n stages, for n from
// one to four. The parity of a wait is that of the round over the ring: it
// flips when the stage wraps, not with every tile. The producer starts with
// the parity that a fresh barrier passes, as the ring is empty to begin with.
// (CUDA C++ Programming Guide, "Spatial Partitioning (also known as Warp
// Specialization)"; the order of phases is PTX ISA's, "Phase of the mbarrier
// object".)
func ringPipeline() Kernel {
	return Kernel{
		Name:   "ring-pipeline",
		Doc:    "full and empty mbarriers around a ring of n stages, n = 1 to 4: a warp produces, two consume",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{96},
		Run:    ringPipelineKernel,
		Check: func(r emu.Result) error {
			for i, sum := range emu.Output[int32](r, "sums") {
				if want := int32(maxStages * (100*ringTiles*(ringTiles-1)/2 + ringTiles*(i%32))); sum != want {
					return fmt.Errorf("consumer %d has %d, want %d", i, sum, want)
				}
			}
			return nil
		},
	}
}

func ringPipelineKernel(t *emu.Thread) {
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
				empty[stage].WaitParity(parity ^ 1)
				t.Work(jitter(n+i, 300))
				ring[stage][t.Lane()] = int32(100*i + t.Lane())
				full[stage].Arrive()
			} else {
				full[stage].WaitParity(parity)
				sums[t.Thread()-32] += ring[stage][t.Lane()]
				t.Work(jitter(5*n+i+t.Warp(), 300))
				empty[stage].Arrive()
			}
		}
	}
}
