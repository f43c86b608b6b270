package litmus

import "btrace/replay/barrier"

// moreRows was measured in addition, on the same kind of machine.
func moreRows() []Row {
	return []Row{
		{
			ID: 80, Threads: 128, Ends: ends(completed), Values: all(1),
			Program: "lanes 0-15 of w2 barrier.sync 1, 64; then w0, w1 barrier.sync 1, 64; then w2's other lanes exit; then w3 barrier.sync 1, 64",
			Spec:    "ok", Silicon: "completes: w0 goes with w1, and w2 with w3: a warp of which a part has come is no part of a phase",
			Run: func(l *Lane) {
				switch {
				case l.w == 2 && l.l >= 16:
					l.Work(1_000_000)
					l.put(1)
					return
				case l.w < 2:
					l.Work(200_000)
				case l.w == 3:
					l.Work(2_000_000)
				}
				l.BarrierSync(l.bar(1), l.n(64))
				l.put(1)
			},
		},
		{
			ID: 81, Threads: 128, Ends: ends(completed),
			// Under another schedule other warps meet, with another count.
			Program: "as 80 with red.popc, true for lanes 0-15 of w2; w2's other lanes come instead of leaving",
			Spec:    "ok", Silicon: "w0 and w1 get 0, w2 and w3 get 16",
			Run: func(l *Lane) {
				switch {
				case l.w == 2 && l.l >= 16:
					l.Work(1_000_000)
				case l.w < 2:
					l.Work(200_000)
				case l.w == 3:
					l.Work(2_000_000)
				}
				l.put(l.BarrierRedPopc(l.bar(1), l.w == 2 && l.l < 16, l.n(64)))
			},
			Values: each(func(p Params, w, _, _ int) int32 { return int32(w / 2 * 16 * p.Scale) }),
			Paused: true,
		},
		{
			ID: 82, Threads: 64, Ends: ends(completed), Values: all(1),
			Program: "w0's halves barrier.arrive 1, 64 at two places; w1 later barrier.sync 1, 64",
			Spec:    "ok for barrier", Silicon: "completes: the warp has arrived once",
			Run: func(l *Lane) {
				switch {
				case l.w == 1:
					l.Work(1_000_000)
					l.BarrierSync(l.bar(1), l.n(64))
				case l.l < 16:
					l.BarrierArrive(l.bar(1), l.n(64))
				default:
					l.Work(200_000)
					l.BarrierArrive(l.bar(1), l.n(64))
				}
				l.put(1)
			},
		},
		{
			ID: 83, Threads: 96, Ends: ends(illegal), Rules: demands(barrier.BarCountMismatch), MaxScale: 1,
			Program: "lanes 0-15 of w0 sync 1, 64, lanes 16-31 sync 1, 96; w1 returns",
			Spec:    "UB", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				if l.w > 0 {
					return
				}
				if l.l < 16 {
					l.BarrierSync(l.bar(1), 64)
				} else {
					l.Work(200_000)
					l.BarrierSync(l.bar(1), 96)
				}
			},
		},
		{
			ID: 84, Threads: 64, Ends: ends(completed), Rules: demands(barrier.BarOverrun), Values: all(1),
			Program: "w0 barrier.arrive 1, 64 three times; w1 later barrier.sync 1, 64",
			Spec:    "misuse (run-ahead)", Silicon: "completes: two arrives completed a phase alone, the third goes with w1",
			Run: func(l *Lane) {
				if l.w == 0 {
					for range 3 {
						l.BarrierArrive(l.bar(1), l.n(64))
					}
				} else {
					l.Work(200_000)
					l.BarrierSync(l.bar(1), l.n(64))
				}
				l.put(1)
			},
		},
		{
			ID: 85, Threads: 64, Ends: ends(illegal), Rules: demands(barrier.BarRedMixed),
			Program: "w0 arrive 1, 64; w1 red.popc 1, 64",
			Spec:    "UB (mixed)", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierArrive(l.bar(1), l.n(64))
				} else {
					l.Work(200_000)
					l.BarrierRedPopc(l.bar(1), true, l.n(64))
				}
			},
		},
		{
			ID: 86, Threads: 64, Ends: ends(illegal), Rules: demands(barrier.BarRedOpMismatch),
			Program: "w0 red.popc 1, 64; w1 red.and 1, 64",
			Spec:    "UB", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierRedPopc(l.bar(1), true, l.n(64))
				} else {
					l.BarrierRedAnd(l.bar(1), true, l.n(64))
				}
			},
		},
		{
			ID: 90, Threads: 1, Ends: ends(failure), Rules: demands(barrier.MbarOverArrival),
			Program: "init(1); arrive.expect_tx(64); arrive",
			Spec:    "UB (nothing is pending but bytes)", Silicon: "trap: launch failure",
			Run: func(l *Lane) {
				l.mb.Init(1)
				l.mb.ArriveExpectTx(64)
				l.mb.Arrive()
			},
		},
		{
			ID: 91, Threads: 1, Ends: ends(completed), Rules: demands(barrier.MbarDropToZero), Warning: true, Values: notes(1, 0),
			Program: "init(1), arrive_drop: parity 0, parity 1",
			Spec:    "ok while nothing follows", Silicon: "true, false: it is the operation after it that traps in row 20",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				l.mb.ArriveDrop(l.n(1))
				l.note(0, l.mb.TestWaitParity(0))
				l.note(1, l.mb.TestWaitParity(1))
			},
		},
		{
			ID: 92, Threads: 1, Ends: ends(completed), Rules: demands(barrier.MbarAfterInval), Values: notes(0, 1, 1, 0),
			Program: "init(1), inval: parity 0, parity 1; init(1), arrive, inval: parity 0, parity 1",
			Spec:    "UB", Silicon: "false, true; true, false: inval changes nothing",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				l.mb.Inval()
				l.note(0, l.mb.TestWaitParity(0))
				l.note(1, l.mb.TestWaitParity(1))
				l.mb.Init(l.n(1))
				l.mb.Arrive(l.n(1))
				l.mb.Inval()
				l.note(2, l.mb.TestWaitParity(0))
				l.note(3, l.mb.TestWaitParity(1))
			},
		},
		{
			ID: 95, Threads: 32, Ends: ends(completed), Rules: demands(barrier.SyncwarpExcludesCaller),
			Program: "lanes 0, 1 __syncwarp(1)",
			Spec:    "UB (the mask lacks lane 1)", Silicon: "completes",
			Run: func(l *Lane) {
				if l.l < 2 {
					l.Syncwarp(1)
				}
				l.put(1)
			},
			Values: all(1),
		},
		{
			ID: 96, Threads: 32, Ends: ends(completed), Values: all(1),
			Program: "lanes 0-15 __syncwarp(0xffff), lanes 16-31 later __syncwarp(~0)",
			Spec:    "ok once the others exit", Silicon: "completes",
			Run: func(l *Lane) {
				if l.l < 16 {
					l.Syncwarp(0xffff)
				} else {
					l.Work(200_000)
					l.Syncwarp(0xffffffff)
				}
				l.put(1)
			},
		},
		{
			ID: 97, Threads: 32, CTAs: 2, Ends: ends(completed), Values: all(1),
			Program: "lanes 0-15 cluster.arrive, wait; lanes 16-31 exit later",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				if l.l < 16 {
					l.ClusterArrive()
					l.ClusterWait()
				} else {
					l.Work(1_000_000)
				}
				l.put(1)
			},
		},
	}
}
