package kernels

import (
	"fmt"

	"btrace/capture/emu"
)

// namedTwins is the twins whose luck is with a named barrier: a warp may come
// to it for a second time before all have come for the first.
func namedTwins() []Twin {
	return []Twin{
		{
			Of: "producer-consumer", What: "one barrier tells both that the buffer is full and that it is empty",
			Rule: "hazard-recycle", Barrier: "bar:0", Wrong: Hangs, Run: producerConsumerTwin,
		},
		{
			Of: "barrier-reductions", What: "two warps reduce on the barrier that all three use in the next round",
			Rule: "hazard-recycle", Barrier: "bar:3", Wrong: Errs, Run: barrierReductionsTwin,
		},
		{
			Of: "ping-pong-consumers", What: "each group synchronises after its turn, both on barrier 1",
			Rule: "hazard-recycle", Barrier: "bar:1", Run: pingPongTwin,
		},
		{
			Of: "early-exit", What: "before the cells are written again every warp waits for itself only",
			Rule: "hazard-recycle", Barrier: "bar:1", Wrong: Results, Run: earlyExitTwin,
		},
		{
			Of: "cluster-exchange", What: "the warps of a CTA signal each other twice between arrive and wait, and nobody waits for the signals",
			Rule: "hazard-recycle", Barrier: "bar:1", Wrong: Errs, Run: clusterExchangeTwin,
		},
		{
			Of: "split-cluster-sync", What: "the warps of a CTA signal each other between arrive and wait, and nobody waits for the signal",
			Rule: "hazard-recycle", Barrier: "bar:1", Wrong: Errs, Run: splitClusterSyncTwin,
		},
		{
			Of: "prefix-sum", What: "the warps signal each other between arrive and wait, and nobody waits for the signal",
			Rule: "hazard-recycle", Barrier: "bar:1", Wrong: Errs, Run: prefixSumTwin,
		},
	}
}

func producerConsumerTwin(t *emu.Thread) {
	const full, empty = 0, 0 // twin: 0, 1
	sums := emu.Global[int32](t, "sums", 32)
	buf := emu.Shared[int32](t, "buf", 32)
	if t.Warp() == 0 {
		for i := range producerRounds {
			if i > 0 {
				t.BarSync(empty, 64)
			}
			t.Work(jitter(i, 1000))
			buf[t.Lane()] = int32(i + t.Lane())
			t.BarArrive(full, 64)
		}
		return
	}
	for i := range producerRounds {
		t.BarSync(full, 64)
		sums[t.Lane()] += buf[t.Lane()]
		t.Work(jitter(i+99, 1000))
		if i+1 < producerRounds {
			t.BarArrive(empty, 64)
		}
	}
}

func barrierReductionsTwin(t *emu.Thread) {
	results := emu.Global[[4]int32](t, "results", reductionRounds)
	for i := range reductionRounds {
		p := predicate(i, t.Thread())
		t.Work(jitter(10*t.Warp()+i, 400))
		count := t.BarRedPopc(3, p)
		every := t.SyncthreadsAnd(p)
		some := t.SyncthreadsOr(p)
		if t.Warp() == 2 {
			continue
		}
		two := t.BarRedPopc(3, p, 64) // twin: barrier 4
		if t.Thread() == 0 {
			results[i] = [4]int32{int32(count), bit(every), bit(some), int32(two)}
		}
	}
}

func pingPongTwin(t *emu.Thread) { takeTurnsTwin(t, pingPongRounds) }

func takeTurnsTwin(t *emu.Thread, n int) {
	const turnOf = 2 // barrier 2 for group 0, barrier 3 for group 1
	turns := emu.Global[int](t, "turns", 2*n)
	group := t.Warp() / 2
	if group == 1 {
		t.BarArrive(turnOf, 128) // group 0 goes first
	}
	for i := range n {
		t.BarSync(turnOf+group, 128)
		if t.Thread()%64 == 0 {
			turns[2*i+group] = group
		}
		t.Work(200 + jitter(i+group, 300))
		if group == 0 || i+1 < n {
			t.BarArrive(turnOf+1-group, 128)
		}
		t.BarSync(1, 64) // twin: work of its own
	}
}

func earlyExitTwin(t *emu.Thread) {
	sums := emu.Global[int32](t, "sums", earlyThreads)
	cells := emu.Shared[int32](t, "cells", earlyThreads)
	if t.Thread() >= earlyThreads {
		t.Work(jitter(t.Warp(), 900))
		return
	}
	for round := range 2 {
		cells[t.Thread()] = value(round, t.Thread())
		t.Syncthreads()
		sums[t.Thread()] += cells[(t.Thread()+1)%earlyThreads]
		t.BarSync(1, 32) // twin: t.Syncthreads()
	}
}

func clusterExchangeTwin(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", n*t.CTAs())
	mine := emu.Shared[int32](t, "cells", n)
	cluster := t.ThisCluster()
	next := (t.ClusterRank() + 1) % t.ClusterSize()

	sum := int32(0)
	for round := range exchangeRounds {
		mine[t.Thread()] = int32(t.ClusterRank()*1000 + round*64 + t.Thread())
		written := cluster.Arrive()
		signalTwice(t) // twin: work of its own
		cluster.Wait(written)
		sum += emu.SharedOf[int32](t, next, "cells", n)[t.Thread()]
		cluster.Sync() // nobody writes, or leaves, while others read
	}
	sums[t.CTA()*n+t.Thread()] = sum
}

func signalTwice(t *emu.Thread) {
	t.BarArrive(1, 64)
	t.BarArrive(1, 64)
}

func splitClusterSyncTwin(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int32](t, "sums", t.CTAs()*n)
	me := t.CTA()*n + t.Thread()
	for round := range splitClusterRounds {
		// Two buffers by turns: what is read in this round is written again
		// only after the barrier of the next.
		name := fmt.Sprint("cells", round%2)
		emu.Shared[int32](t, name, n)[t.Thread()] = value(round, me)
		t.ClusterArrive()
		t.BarArrive(1, 64) // twin: work of its own
		t.ClusterWait()
		sums[me] += emu.SharedOf[int32](t, 1-t.ClusterRank(), name, n)[t.Thread()]
	}
	t.ClusterArrive()
	t.ClusterWait() // nobody leaves while his memory is read
}

func prefixSumTwin(t *emu.Thread) {
	n := t.Threads()
	sums := emu.Global[int64](t, "sums", n*prefixTiles)
	calls := emu.Global[int](t, "calls", 1)
	cells := emu.Shared[int64](t, "cells", n)
	carry := emu.Shared[int64](t, "carry", 1)
	bar := emu.SharedBarrierFunc(t, "bar", func() {
		t.Work(120)
		for i := range cells {
			carry[0] += cells[i]
			cells[i] = carry[0]
		}
		calls[0]++
	})
	if t.Thread() == 0 {
		bar.Init(n)
	}
	t.Syncthreads()

	for tile := range prefixTiles {
		i := tile*n + t.Thread()
		t.Work(jitter(13*t.Warp()+tile, 900))
		cells[t.Thread()] = summand(i)
		token := bar.Arrive()
		t.BarArrive(1, 128) // twin: work of its own
		bar.Wait(token)
		sums[i] = cells[t.Thread()]
	}
}
