package litmus

import "btrace/replay/barrier"

// countRows is about the thread count of a named barrier.
func countRows() []Row {
	return []Row{
		{
			ID: 2, Threads: 96, Ends: ends(hung), Rules: demands("deadlock-exited"),
			Program: "w1 returns; others barrier.sync 1, 96 (explicit count)",
			Spec:    "deadlock", Silicon: "hang: exit does NOT lower an explicit count",
			Run: func(l *Lane) {
				if l.w == 1 {
					return
				}
				l.Work(100_000)
				l.BarrierSync(l.bar(1), l.n(96))
				l.put(1)
			},
		},
		{
			ID: 37, Threads: 64, Ends: ends(hung), Rules: demands("deadlock-exited"),
			Program: "w1 returns; w0 barrier.sync 1, 64",
			Spec:    "deadlock", Silicon: "hang",
			Run: func(l *Lane) {
				if l.w == 1 {
					return
				}
				l.Work(100_000)
				l.BarrierSync(l.bar(1), l.n(64))
				l.put(1)
			},
		},
		{
			ID: 3, Threads: 96, Ends: ends(hung), Rules: demands("deadlock-count"),
			Program: "all barrier.sync 1, 64",
			Spec:    "deadlock: 2 warps complete, the third starts a new phase", Silicon: "hang",
			Run: func(l *Lane) {
				l.BarrierSync(l.bar(1), l.n(64))
				l.put(1)
			},
		},
		{
			ID: 5, Threads: 64, Ends: ends(illegal), Rules: demands(barrier.BarCountMismatch), Also: demands(barrier.BarCountExceedsCTA),
			Program: "w0 sync 1, 64, w1 sync 1, 96",
			Spec:    "UB (counts differ in one phase)", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierSync(l.bar(1), l.n(64))
				} else {
					l.BarrierSync(l.bar(1), l.n(96))
				}
				l.put(1)
			},
		},
		{
			ID: 29, Threads: 64, Ends: ends(illegal), Rules: demands(barrier.BarCountMismatch),
			Program: "w0 bar.sync 1 (implicit, 64), w1 sync 1, 64",
			Spec:    "unstated: report as bar-count-mismatch", Silicon: "trap: illegal instruction (implicit and explicit do not mix)",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarSync(l.bar(1))
				} else {
					l.BarrierSync(l.bar(1), l.n(64))
				}
				l.put(1)
			},
		},
		{
			ID: 30, Threads: 128, Ends: ends(illegal), Rules: demands(barrier.BarCountMismatch),
			Other: ends(completed), OtherWhy: "w1 and w2 are through and gone before w0 comes", Loose: true,
			Program: "w0 bar.sync 1, w1-2 sync 1, 64, w3 returns",
			Spec:    "UB", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				switch {
				case l.w == 0:
					l.BarSync(l.bar(1))
				case l.w < 3:
					l.BarrierSync(l.bar(1), l.n(64))
				default:
					return
				}
				l.put(1)
			},
		},
		{
			ID: 35, Threads: 96, Ends: ends(illegal), Rules: demands(barrier.BarCountMismatch),
			Other: ends(completed), OtherWhy: "w1 and w2 complete a phase before w0 comes",
			Program: "w0 arrive 1, 96; w1, w2 sync 1, 64",
			Spec:    "UB", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				switch l.w {
				case 0:
					l.BarrierArrive(l.bar(1), l.n(96))
				case 1:
					l.Work(100_000)
					l.BarrierSync(l.bar(1), l.n(64))
				default:
					l.Work(200_000)
					l.BarrierSync(l.bar(1), l.n(64))
				}
				l.put(1)
			},
		},
		{
			ID: 6, Threads: 64, Ends: ends(illegal), Rules: demands(barrier.BarCountNotMultiple),
			Program: "barrier.sync 1, 48",
			Spec:    "UB (not a multiple of 32)", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				l.BarrierSync(l.bar(1), 32*l.p.Scale+16)
				l.put(1)
			},
		},
		{
			ID: 28, Threads: 64, Ends: ends(hung), Rules: demands("deadlock-count", barrier.BarCountExceedsCTA),
			Program: "sync 1, 128",
			Spec:    "deadlock", Silicon: "hang",
			Run: func(l *Lane) {
				l.BarrierSync(l.bar(1), l.n(128))
				l.put(1)
			},
		},
		{
			ID: 31, Threads: 64, Ends: ends(illegal), Rules: demands(barrier.BarCountMissing),
			Program: "barrier.arrive 1, 0 (count in a register)",
			Spec:    "UB", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				l.BarrierArrive(l.bar(1), 0)
				l.put(1)
			},
		},
		{
			ID: 32, Threads: 64, Ends: ends(completed), Values: all(1),
			Program: "barrier.sync 1, 0 (count in a register)",
			Spec:    "unstated: a note", Silicon: `completes, as "all threads"`,
			Run: func(l *Lane) {
				l.BarrierSync(l.bar(1), 0)
				l.put(1)
			},
		},
	}
}

// namedRows is about arrive, sync and exit on a named barrier.
func namedRows() []Row {
	return []Row{
		{
			ID: 1, Threads: 96, Ends: ends(completed),
			Program: "w1 returns; others bar.sync 0 (all threads)",
			Spec:    "ok: exited warps are not waited for", Silicon: "completes",
			Run: func(l *Lane) {
				if l.w == 1 {
					return
				}
				l.BarSync(l.bar(1) - 1)
				l.put(1)
			},
			Values: each(func(_ Params, w, _, _ int) int32 {
				if w == 1 {
					return 0
				}
				return 1
			}),
		},
		{
			ID: 36, Threads: 96, Ends: ends(completed),
			Program: "t<40 return (w0 whole, w1 in part); the rest bar.sync 0",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				if l.w == 0 || l.w == 1 && l.l < 8 {
					return
				}
				l.BarSync(l.bar(1) - 1)
				l.put(1)
			},
			Values: each(func(_ Params, w, _, l int) int32 {
				if w == 0 || w == 1 && l < 8 {
					return 0
				}
				return 1
			}),
		},
		{
			ID: 4, Threads: 64, Ends: ends(hung), Rules: demands(barrier.BarOverrun),
			Other: ends(completed), OtherWhy: "w1 syncs between the two arrives, or before them",
			Program: "w0 barrier.arrive 1, 64 twice; w1 later barrier.sync 1, 64",
			Spec:    "misuse (run-ahead)", Silicon: "hang: the two arrives completed a phase alone",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierArrive(l.bar(1), l.n(64))
					l.BarrierArrive(l.bar(1), l.n(64))
				} else {
					l.Work(200_000)
					l.BarrierSync(l.bar(1), l.n(64))
				}
				l.put(1)
			},
		},
		{
			ID: 40, Threads: 64, Ends: ends(completed), Rules: demands(barrier.BarOverrun), Values: all(1),
			Program: "w0 arrive 1,64 then sync 1,64; w1 does neither",
			Spec:    "misuse", Silicon: "completes: w0 satisfied its own barrier",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierArrive(l.bar(1), l.n(64))
					l.BarrierSync(l.bar(1), l.n(64))
				} else {
					l.Work(200_000)
				}
				l.put(1)
			},
		},
		{
			ID: 13, Threads: 64, Ends: ends(completed), Values: all(1),
			Program: "all arrive 1, 64, nobody syncs",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				l.BarrierArrive(l.bar(1), l.n(64))
				l.put(1)
			},
		},
		{
			ID: 14, Threads: 64, Ends: ends(completed), Values: all(1),
			Program: "all arrive 1, 64, then (200 us later) all sync 1, 64",
			Spec:    "ok if the first phase was reset in between, as here; another schedule overruns: a hazard", Silicon: "completes (two phases)",
			Run: func(l *Lane) {
				l.BarrierArrive(l.bar(1), l.n(64))
				l.Work(200_000)
				l.BarrierSync(l.bar(1), l.n(64))
				l.put(1)
			},
		},
		{
			ID: 15, Threads: 64, Ends: ends(completed),
			Program: "w0 arrive 1, 64, kernel ends",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierArrive(l.bar(1), l.n(64))
					l.put(1)
				}
			},
			Values: each(func(_ Params, w, _, _ int) int32 { return int32(1 - w) }),
		},
		{
			ID: 7, Threads: 64, Ends: ends(completed), Rules: demands(barrier.BarIDRange), Values: all(1),
			Program: "barrier.sync 16, 64 (id in a register)",
			Spec:    "UB (id out of range)", Silicon: "completes, silently",
			Run: func(l *Lane) {
				l.BarrierSync(15+l.bar(1), l.n(64))
				l.put(1)
			},
		},
		{
			ID: 39, Threads: 64, Ends: ends(hung), Rules: demands("deadlock-cycle"),
			Program: "w0 sync 1,64; sync 2,64, w1 sync 2,64; sync 1,64",
			Spec:    "deadlock (cycle)", Silicon: "hang",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierSync(l.bar(1), l.n(64))
					l.BarrierSync(l.bar(2), l.n(64))
				} else {
					l.BarrierSync(l.bar(2), l.n(64))
					l.BarrierSync(l.bar(1), l.n(64))
				}
				l.put(1)
			},
		},
	}
}

// reductionRows is about barrier.red.
func reductionRows() []Row {
	third := func(t int) bool { return t%3 == 0 }
	return []Row{
		{
			ID: 8, Threads: 96, Ends: ends(completed),
			Program: "w0, w1 red.popc 1, 64, p; w2 nothing",
			Spec:    "ok", Silicon: "result counts the participants only (22 of 64)",
			Run: func(l *Lane) {
				if l.w < 2 {
					l.put(100 + l.BarrierRedPopc(l.bar(1), third(l.t), l.n(64)))
				} else {
					l.put(-1)
				}
			},
			Values: each(func(p Params, w, _, _ int) int32 {
				if w == 2 {
					return -1
				}
				return int32(100 + (64*p.Scale+2)/3)
			}),
		},
		{
			ID: 9, Threads: 96, Ends: ends(completed),
			Program: "w1 returns; others red.popc 1, p (all threads)",
			Spec:    "ok", Silicon: "result counts the non-exited only",
			Run: func(l *Lane) {
				if l.w == 1 {
					return
				}
				l.Work(100_000)
				l.put(100 + l.BarrierRedPopc(l.bar(1), third(l.t)))
			},
			Values: each(func(p Params, w, _, _ int) int32 {
				n := int32(0)
				for t := range 96 * p.Scale {
					if t/32/p.Scale != 1 && third(t) {
						n++
					}
				}
				if w == 1 {
					return 0
				}
				return 100 + n
			}),
		},
		{
			ID: 38, Threads: 64, Ends: ends(completed), Values: all(10),
			Program: "red.and 1, 64, p, one lane false",
			Spec:    "ok", Silicon: "false everywhere",
			Run: func(l *Lane) {
				v := 10
				if l.BarrierRedAnd(l.bar(1), l.t != 3, l.n(64)) {
					v++
				}
				l.put(v)
			},
		},
		{
			ID: 10, Threads: 64, Ends: ends(illegal), Rules: demands(barrier.BarRedMixed),
			Program: "w0 sync 1, 64, w1 red.popc 1, 64",
			Spec:    "UB (mixed)", Silicon: "trap: illegal instruction",
			Run: func(l *Lane) {
				if l.w == 0 {
					l.BarrierSync(l.bar(1), l.n(64))
					l.put(5)
				} else {
					l.put(100 + l.BarrierRedPopc(l.bar(1), true, l.n(64)))
				}
			},
		},
	}
}
