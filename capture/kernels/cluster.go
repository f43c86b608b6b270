package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const exchangeRounds = 6

// clusterExchange lets the CTAs of a cluster read each other's shared memory,
// with the two barriers a round that this takes: one before it is read, one
// before it is written again. (CUDA C++ Programming Guide, "Cooperative
// Groups": cluster group, barrier_arrive and barrier_wait.)
func clusterExchange() Kernel {
	return Kernel{
		Name:    "cluster-exchange",
		Doc:     "four CTAs of a cluster read each other's shared memory between barrier_arrive and barrier_wait of the cluster group",
		Expect:  Expect{Verdict: clean},
		Grid:    trace.Dim{8},
		Block:   trace.Dim{64},
		Cluster: trace.Dim{4},
		Run:     clusterExchangeKernel,
		Check: func(r emu.Result) error {
			for i, sum := range emu.Output[int32](r, "sums") {
				want := int32(0)
				for round := range exchangeRounds {
					want += int32((i/64%4+1)%4*1000 + round*64 + i%64)
				}
				if sum != want {
					return fmt.Errorf("thread %d of CTA %d has %d, want %d", i%64, i/64, sum, want)
				}
			}
			return nil
		},
	}
}

func clusterExchangeKernel(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", n*t.CTAs())
	mine := emu.Shared[int32](t, "cells", n)
	cluster := t.ThisCluster()
	next := (t.ClusterRank() + 1) % t.ClusterSize()

	sum := int32(0)
	for round := range exchangeRounds {
		mine[t.Thread()] = int32(t.ClusterRank()*1000 + round*64 + t.Thread())
		written := cluster.Arrive()
		t.Work(300 + jitter(77*t.CTA()+round, 2000))
		cluster.Wait(written)
		sum += emu.SharedOf[int32](t, next, "cells", n)[t.Thread()]
		cluster.Sync() // nobody writes, or leaves, while others read
	}
	sums[t.CTA()*n+t.Thread()] = sum
}
