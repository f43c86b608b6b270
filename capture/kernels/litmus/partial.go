package litmus

import "btrace/replay/barrier"

// partialRows is about warps of which not all lanes come.
func partialRows() []Row {
	halves := each(func(_ Params, _, _, l int) int32 {
		if l < 16 {
			return 1
		}
		return 2
	})
	return []Row{
		{
			ID: 11, Threads: 64, Ends: ends(completed),
			Program: "even and odd lanes call barrier.sync 1, 64 (unaligned) at two places",
			Spec:    "ok for barrier", Silicon: "completes",
			Run: func(l *Lane) {
				if l.t%2 != 0 {
					l.BarrierSync(l.bar(1), l.n(64))
					l.put(1)
				} else {
					l.BarrierSync(l.bar(1), l.n(64))
					l.put(2)
				}
			},
			Values: each(func(_ Params, _, t, _ int) int32 { return int32(2 - t%2) }),
		},
		{
			ID: 42, Threads: 64, Ends: ends(completed, hung), Rules: demands(barrier.BarDivergent),
			Program: "the same with bar.sync/__syncthreads (aligned), real divergence",
			Spec:    "UB", Silicon: "hang, or completes where the compiler predicated the branch: both ends allowed",
			Run: func(l *Lane) {
				if l.t%2 != 0 {
					l.BarSync(l.bar(1), l.n(64))
					l.put(1)
				} else {
					l.BarSync(l.bar(1), l.n(64))
					l.put(2)
				}
			},
		},
		{
			ID: 12, Threads: 32, Ends: ends(completed), Values: halves,
			Program: "lanes 0-15 barrier.sync 1, 32; lanes 16-31 exit later",
			Spec:    "ok", Silicon: "completes once they exit",
			Run: func(l *Lane) {
				if l.l < 16 {
					l.BarrierSync(l.bar(1), l.n(32))
					l.put(1)
				} else {
					l.Work(3_000_000)
					l.put(2)
				}
			},
		},
		{
			ID: 33, Threads: 64, Ends: ends(completed), Values: all(1),
			Program: "one lane per warp barrier.sync 1, 64, the rest run on and exit",
			Spec:    "ok once they exit", Silicon: "completes",
			Run: func(l *Lane) {
				if l.l == 0 {
					l.BarrierSync(l.bar(1), l.n(64))
				}
				l.put(1)
			},
		},
		{
			ID: 34, Threads: 64, Ends: ends(hung), Rules: demands("deadlock-missing-arrival"),
			Program: "one lane per warp barrier.sync 1, 64, the rest never exit",
			Spec:    "deadlock", Silicon: "hang",
			Run: func(l *Lane) {
				if l.l == 0 {
					l.BarrierSync(l.bar(1), l.n(64))
					l.put(1)
				} else {
					l.forever()
				}
			},
		},
		{
			ID: 25, Threads: 32, Ends: ends(completed), Values: halves,
			Program: "lanes 0-15 __syncwarp(~0), lanes 16-31 exit later",
			Spec:    "ok once they exit (CUDA guide: non-exited threads)", Silicon: "completes once they exit",
			Run: func(l *Lane) {
				if l.l < 16 {
					l.Syncwarp(0xffffffff)
					l.put(1)
				} else {
					l.Work(2_000_000)
					l.put(2)
				}
			},
		},
		{
			ID: 26, Threads: 32, Ends: ends(completed), Values: halves,
			Program: "two half-warp masks, each by its own half",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				if l.l < 16 {
					l.Syncwarp(0x0000ffff)
					l.put(1)
				} else {
					l.Syncwarp(0xffff0000)
					l.put(2)
				}
			},
		},
		{
			ID: 27, Threads: 32, Ends: ends(hung), Rules: demands("syncwarp-missing-lane"),
			Program: "lanes 0-15 __syncwarp(0x1ffff), lane 16 never comes",
			Spec:    "deadlock", Silicon: "hang",
			Run: func(l *Lane) {
				if l.l < 16 {
					l.Syncwarp(0x0001ffff)
					l.put(1)
				} else {
					if l.l == 16 {
						l.forever()
					}
					l.put(2)
				}
			},
		},
	}
}
