package litmus

import "btrace/replay/barrier"

// mbarrierRows is what one thread sees of an mbarrier.
func mbarrierRows() []Row {
	return []Row{
		{
			ID: 16, Threads: 1, Ends: ends(completed), Values: notes(1, 0),
			Program: "mbarrier init(1): test parity 1, then parity 0",
			Spec:    "ok", Silicon: "true, false: a fresh barrier passes parity 1",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				l.note(0, l.mb.TestWaitParity(1))
				l.note(1, l.mb.TestWaitParity(0))
			},
		},
		{
			ID: 17, Threads: 1, Ends: ends(completed), Rules: demands(barrier.MbarStaleToken), Also: demands("mbar-reuse-before-wait"), Values: notes(0, 1, 0, 1, 1, 1, 1, 0),
			Program: "init(1); a=arrive, b=arrive (phase 2 now): test(a), test(b), parity 0, parity 1; c=arrive: test(a), test(c), parity 0, 1",
			Spec:    "test(a) is UB: two phases behind", Silicon: "false, true, false, true; true, true, true, false: an old token ALIASES",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				a := l.mb.Arrive(l.n(1))
				b := l.mb.Arrive(l.n(1))
				l.note(0, l.mb.TestWait(a))
				l.note(1, l.mb.TestWait(b))
				l.note(2, l.mb.TestWaitParity(0))
				l.note(3, l.mb.TestWaitParity(1))
				c := l.mb.Arrive(l.n(1))
				l.note(4, l.mb.TestWait(a))
				l.note(5, l.mb.TestWait(c))
				l.note(6, l.mb.TestWaitParity(0))
				l.note(7, l.mb.TestWaitParity(1))
			},
		},
		{
			ID: 18, Threads: 1, Ends: ends(completed), Rules: demands(barrier.MbarNoCompleteComplete),
			Program: "init(2); arrive.noComplete(2)",
			Spec:    "UB (it completed the phase)", Silicon: "completes the phase; pending_count(token) = 2",
			Run: func(l *Lane) {
				l.mb.Init(l.n(2))
				a := l.mb.ArriveNoComplete(l.n(2))
				l.note(0, l.mb.TestWait(a))
				l.note(1, l.mb.TestWaitParity(0))
				l.out[2] = int32(a.PendingCount() / l.p.Scale)
			},
			Values: notes(1, 1, 2),
		},
		{
			ID: 19, Threads: 1, Ends: ends(completed), Rules: demands(barrier.MbarReinit), Values: notes(0, 0, 1),
			Program: "init(2), arrive, init(2) again, arrive, arrive",
			Spec:    "UB (init over a live mbarrier)", Silicon: "starts over: completes after two more",
			Run: func(l *Lane) {
				l.mb.Init(l.n(2))
				l.mb.Arrive(l.n(1))
				l.mb.Init(l.n(2))
				l.note(0, l.mb.TestWaitParity(0))
				l.mb.Arrive(l.n(1))
				l.note(1, l.mb.TestWaitParity(0))
				l.mb.Arrive(l.n(1))
				l.note(2, l.mb.TestWaitParity(0))
			},
		},
		{
			ID: 20, Threads: 1, Ends: ends(failure), Rules: demands(barrier.MbarDropToZero),
			Program: "init(1), arrive_drop (expected becomes 0), arrive (which of the two trapped was not told apart)",
			Spec:    "UB", Silicon: "trap: launch failure",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				a := l.mb.ArriveDrop(l.n(1))
				l.note(0, l.mb.TestWait(a))
				l.note(1, l.mb.TestWaitParity(0))
				b := l.mb.Arrive(l.n(1))
				l.note(2, l.mb.TestWait(b))
			},
		},
		{
			ID: 21, Threads: 1, Ends: ends(completed), Rules: demands(barrier.MbarAfterInval), Values: notes(1, 1),
			Program: "init(1), inval, arrive",
			Spec:    "UB", Silicon: "no trap, test true",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				l.mb.Inval()
				l.note(0, true)
				a := l.mb.Arrive(l.n(1))
				l.note(1, l.mb.TestWait(a))
			},
		},
		{
			ID: 22, Threads: 1, Ends: ends(completed), Values: notes(0, 0, 1),
			Program: "init(1); complete_tx(32); expect_tx(32); arrive: parity 0 after each",
			Spec:    "ok: tx-count may run ahead", Silicon: "false, false, true",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				l.mb.CompleteTx(l.n(32))
				l.note(0, l.mb.TestWaitParity(0))
				l.mb.ExpectTx(l.n(32))
				l.note(1, l.mb.TestWaitParity(0))
				l.mb.Arrive(l.n(1))
				l.note(2, l.mb.TestWaitParity(0))
			},
		},
		{
			ID: 23, Threads: 1, Ends: ends(completed), Values: notes(0, 0, 1),
			Program: "init(1); expect_tx(64); arrive; complete_tx(32); complete_tx(32)",
			Spec:    "ok", Silicon: "false, false, true",
			Run: func(l *Lane) {
				l.mb.Init(l.n(1))
				l.mb.ExpectTx(l.n(64))
				a := l.mb.Arrive(l.n(1))
				l.note(0, l.mb.TestWait(a))
				l.mb.CompleteTx(l.n(32))
				l.note(1, l.mb.TestWait(a))
				l.mb.CompleteTx(l.n(32))
				l.note(2, l.mb.TestWait(a))
			},
		},
		{
			ID: 24, Threads: 1, Ends: ends(failure), Rules: demands(barrier.MbarOverArrival),
			Program: "init(3); arrive; arrive(2) (completes); arrive(5) (more than pending)",
			Spec:    "UB", Silicon: "trap: launch failure",
			Run: func(l *Lane) {
				l.mb.Init(l.n(3))
				l.mb.Arrive(l.n(1))
				b := l.mb.Arrive(l.n(2))
				l.note(0, l.mb.TestWait(b))
				l.mb.Arrive(l.n(5))
				l.note(1, l.mb.TestWaitParity(0))
			},
		},
		{
			ID: 41, Threads: 1, Ends: ends(completed), Values: notes(1, 1),
			Program: "init(2^19), arrive(2^19)",
			Spec:    "ok", Silicon: "completes",
			Run: func(l *Lane) {
				n := 1<<19 + l.p.Scale - 1
				l.mb.Init(n)
				a := l.mb.Arrive(n)
				l.note(0, l.mb.TestWait(a))
				l.note(1, l.mb.TestWaitParity(0))
			},
		},
	}
}
