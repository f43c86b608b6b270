package litmus

import (
	"btrace/capture/emu"
	"btrace/replay/barrier"
)

// clusterRows is about the barrier of a cluster of two CTAs.
func clusterRows() []Row {
	return []Row{
		{
			ID: 60, Threads: 64, CTAs: 2, Ends: ends(completed), Values: all(1),
			Program: "CTA 1 of the cluster returns; CTA 0 cluster.arrive, wait",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				if l.cta == 1 {
					return
				}
				l.Work(100_000)
				l.ClusterArrive()
				l.ClusterWait()
				l.put(1)
			},
		},
		{
			ID: 61, Threads: 64, CTAs: 2, Ends: ends(completed), Rules: demands(barrier.ClusterWaitFirst), Values: all(1),
			Program: "cluster.wait before cluster.arrive",
			Spec:    "misuse (PTX speaks of the preceding arrive)", Silicon: "completes, silently",
			Run: func(l *Lane) {
				l.ClusterWait()
				l.ClusterArrive()
				l.put(1)
			},
		},
		{
			ID: 62, Threads: 64, CTAs: 2, Ends: ends(completed), Rules: demands(barrier.ClusterArriveTwice), Values: all(1),
			Program: "cluster.arrive twice, then wait",
			Spec:    "UB", Silicon: "completes, silently",
			Run: func(l *Lane) {
				l.ClusterArrive()
				l.ClusterArrive()
				l.ClusterWait()
				l.put(1)
			},
		},
		{
			ID: 63, Threads: 64, CTAs: 2, Ends: ends(hung), Rules: demands("deadlock-missing-arrival"),
			Program: "CTA 1 never arrives and never exits",
			Spec:    "deadlock", Silicon: "hang",
			Run: func(l *Lane) {
				if l.cta == 0 {
					l.ClusterArrive()
					l.ClusterWait()
				} else if l.t == 0 {
					l.forever()
				}
				l.put(1)
			},
		},
		{
			ID: 64, Threads: 64, CTAs: 2, Ends: ends(completed), Rules: demands(barrier.ClusterMissingWait), Warning: true, Values: all(1),
			Program: "both arrive, only CTA 0 waits",
			Spec:    "ok in PTX; cooperative groups demand the wait", Silicon: "completes",
			Run: func(l *Lane) {
				l.ClusterArrive()
				if l.cta == 0 {
					l.ClusterWait()
				}
				l.put(1)
			},
		},
	}
}

// block declares a cuda::barrier and has one thread initialise it.
func (l *Lane) block(expected int) emu.Barrier {
	b := emu.Barrier{Mbarrier: l.mb}
	if l.t == 0 {
		b.Init(expected)
	}
	l.Syncthreads()
	return b
}

// barrierRows is about cuda::barrier.
func barrierRows() []Row {
	but5 := each(func(_ Params, _, t, _ int) int32 {
		if t == 5 {
			return 0
		}
		return 1
	})
	return []Row{
		{
			ID: 70, Threads: 64, Ends: ends(hung), Rules: demands("deadlock-exited"),
			Program: "cuda::barrier init(64): t5 returns without arriving, the rest arrive_and_wait",
			Spec:    "deadlock", Silicon: "hang: exit does not count as an arrival",
			Run: func(l *Lane) {
				b := l.block(l.Threads())
				if l.t == 5 {
					return
				}
				b.ArriveAndWait()
				l.put(1)
			},
		},
		{
			ID: 71, Threads: 64, Ends: ends(completed), Values: but5,
			Program: "as 70 but t5 does arrive_and_drop first; the rest twice",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				b := l.block(l.Threads())
				if l.t == 5 {
					b.ArriveAndDrop()
					return
				}
				b.ArriveAndWait()
				b.ArriveAndWait()
				l.put(1)
			},
		},
		{
			ID: 72, Threads: 32, Ends: ends(hung), Rules: demands("deadlock-count"),
			Program: "cuda::barrier init(64), 32 threads arrive_and_wait",
			Spec:    "deadlock", Silicon: "hang",
			Run: func(l *Lane) {
				b := l.block(2 * l.Threads())
				b.ArriveAndWait()
				l.put(1)
			},
		},
		{
			// With several warps one of them could complete the first phase
			// by its two arrivals, and the row would be another.
			ID: 73, Threads: 32, MaxScale: 1, Ends: ends(completed), Rules: demands(barrier.MbarStaleToken), Also: demands("mbar-reuse-before-wait"), Values: all(1),
			Program: "k=arrive; arrive_and_wait x2; wait(k): a stale token",
			Spec:    "UB", Silicon: "completes, silently",
			Run: func(l *Lane) {
				b := l.block(l.Threads())
				k := b.Arrive()
				b.ArriveAndWait()
				b.ArriveAndWait()
				b.Wait(k)
				l.put(1)
			},
		},
	}
}
