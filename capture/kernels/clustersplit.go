package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const splitClusterRounds = 4

// splitClusterSync does between barrier.cluster.arrive and .wait what has
// nothing to do with the other CTAs. (PTX ISA, "barrier.cluster".)
func splitClusterSync() Kernel {
	return Kernel{
		Name:    "split-cluster-sync",
		Doc:     "two CTAs exchange a value a round by barrier.cluster.arrive, work of their own, barrier.cluster.wait",
		Expect:  Expect{Verdict: clean},
		Grid:    trace.Dim{2},
		Block:   trace.Dim{64},
		Cluster: trace.Dim{2},
		Run:     splitClusterSyncKernel,
		Check: func(r emu.Result) error {
			for i, sum := range emu.Output[int32](r, "sums") {
				want := int32(0)
				for round := range splitClusterRounds {
					want += value(round, (i/64^1)*64+i%64)
				}
				if sum != want {
					return fmt.Errorf("thread %d of CTA %d has %d, want %d", i%64, i/64, sum, want)
				}
			}
			return nil
		},
	}
}

func splitClusterSyncKernel(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", t.CTAs()*n)
	me := t.CTA()*n + t.Thread()
	for round := range splitClusterRounds {
		// Two buffers by turns: what is read in this round is written again
		// only after the barrier of the next.
		name := fmt.Sprint("cells", round%2)
		emu.Shared[int32](t, name, n)[t.Thread()] = value(round, me)
		t.ClusterArrive()
		t.Work(jitter(round+5*t.CTA()+t.Warp(), 900))
		t.ClusterWait()
		sums[me] += emu.SharedOf[int32](t, 1-t.ClusterRank(), name, n)[t.Thread()]
	}
	t.ClusterArrive()
	t.ClusterWait() // nobody leaves while his memory is read
}
