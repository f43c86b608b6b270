package barrier

import "testing"

func TestMBarrier(t *testing.T) {
	type m = *MBarrier
	op := func(want string, f func(b m, e *Effect)) step[m] { return step[m]{f, want} }
	initTo := func(n uint32, want string) step[m] { return op(want, func(b m, e *Effect) { b.Init(n, e) }) }
	arrive := func(n uint32, want string) step[m] {
		return op(want, func(b m, e *Effect) { b.Arrive(Arrive{Count: n}, e) })
	}
	as := func(a Arrive, want string) step[m] { return op(want, func(b m, e *Effect) { b.Arrive(a, e) }) }
	expect := func(n int64, want string) step[m] { return op(want, func(b m, e *Effect) { b.ExpectTx(n, e) }) }
	bytes := func(n int64, want string) step[m] { return op(want, func(b m, e *Effect) { b.CompleteTx(n, e) }) }
	issue := func(noInc bool, want string) step[m] {
		return op(want, func(b m, e *Effect) { b.CpAsyncIssue(noInc, e) })
	}
	copied := func(want string) step[m] { return op(want, func(b m, e *Effect) { b.CpAsyncDone(e) }) }
	inval := op("", func(b m, e *Effect) { b.Inval(e) })
	token := func(phase uint64, want string) step[m] {
		return op(want, func(b m, e *Effect) { b.CheckToken(phase, e) })
	}
	// passes tests both parities: 0, 1, none or both must pass.
	passes := func(p0, p1 bool) step[m] {
		return op("", func(b m, e *Effect) {
			if g0, g1 := b.TestParity(0), b.TestParity(1); g0 != p0 || g1 != p1 {
				t.Errorf("%+v: parity 0, 1 pass: %v %v, want %v %v", *b, g0, g1, p0, p1)
			}
		})
	}
	pending := func(n uint32) step[m] {
		return op("", func(b m, e *Effect) {
			if b.Pending != n {
				t.Errorf("pending %d, want %d", b.Pending, n)
			}
		})
	}

	run(t, func() m { return new(MBarrier) }, []script[m]{
		{"countdown", []step[m]{
			initTo(3, ""), passes(false, true), arrive(1, ""), arrive(1, ""), pending(1), arrive(1, "complete:1"), passes(true, false), pending(3),
			arrive(3, "complete:1"), passes(false, true),
		}},
		{"bytes", []step[m]{
			initTo(1, ""), expect(64, ""), arrive(1, ""), bytes(32, ""), passes(false, true), bytes(32, "complete:1"), passes(true, false),
		}},
		{"bytes before they are announced", []step[m]{
			initTo(1, ""), bytes(32, ""), expect(32, ""), passes(false, true), arrive(1, "complete:1"),
		}},
		{"arrive.expect_tx announces, then arrives", []step[m]{
			initTo(1, ""), as(Arrive{Count: 1, Tx: 32}, ""), bytes(32, "complete:1"),
		}},
		{"bytes come before arrive.expect_tx", []step[m]{
			initTo(1, ""), bytes(32, ""), as(Arrive{Count: 1, Tx: 32}, "complete:1"),
		}},
		{"drop lowers the phases that follow", []step[m]{
			initTo(2, ""), as(Arrive{Count: 1, Drop: true}, ""), arrive(1, "complete:1"), arrive(1, "complete:1"),
		}},
		{"mbar-drop-to-zero", []step[m]{
			initTo(1, ""), as(Arrive{Count: 1, Drop: true}, "complete:1 mbar-drop-to-zero(0,0)"), passes(true, false),
			arrive(1, "mbar-drop-to-zero(0,0)! trap:unspecified launch failure"),
		}},
		{"mbar-nocomplete-completes", []step[m]{
			initTo(2, ""), as(Arrive{Count: 1, NoComplete: true}, ""), as(Arrive{Count: 1, NoComplete: true}, "complete:1 mbar-nocomplete-completes(1,1)"),
		}},
		{"mbar-over-arrival", []step[m]{
			initTo(3, ""), arrive(1, ""), arrive(3, "mbar-over-arrival(3,2) trap:unspecified launch failure"),
		}},
		{"mbar-over-arrival while bytes are out", []step[m]{
			initTo(1, ""), as(Arrive{Count: 1, Tx: 8}, ""), arrive(1, "mbar-over-arrival(1,0) trap:unspecified launch failure"),
		}},
		{"bytes that ran ahead do not end a phase", []step[m]{
			initTo(1, ""), bytes(32, ""), arrive(1, ""), passes(false, true),
		}},
		{"drop of several", []step[m]{
			initTo(5, ""), as(Arrive{Count: 2, Drop: true}, ""), arrive(3, "complete:1"), pending(3),
		}},
		{"mbar-reinit", []step[m]{initTo(2, ""), arrive(1, ""), initTo(2, "mbar-reinit(2,2)"), arrive(1, ""), arrive(1, "complete:1")}},
		{"a new life after inval", []step[m]{initTo(2, ""), arrive(1, ""), inval, initTo(1, ""), arrive(1, "complete:1")}},
		{"mbar-uninitialized", []step[m]{
			arrive(1, "mbar-uninitialized(0,0)"), expect(8, "mbar-uninitialized(0,0)"), bytes(8, "mbar-uninitialized(0,0)"), issue(false, "mbar-uninitialized(0,0)"),
			copied(""), passes(false, true), op("mbar-uninitialized(0,0)", func(b m, e *Effect) { b.Inval(e) }),
		}},
		{"mbar-after-inval", []step[m]{
			initTo(1, ""), inval, passes(false, true), arrive(1, "complete:1 mbar-after-inval(0,0)"), passes(true, false), expect(8, "mbar-after-inval(0,0)"),
		}},
		{"mbar-count-range", []step[m]{
			initTo(MaxCount, ""), initTo(0, "mbar-reinit(0,1048575) mbar-count-range(0,1048575)"), initTo(1<<20, "mbar-reinit(1048576,0) mbar-count-range(1048576,1048575)"),
		}},
		{"mbar-count-range of an arrive", []step[m]{initTo(2, ""), arrive(0, "mbar-count-range(0,1048575)"), pending(2)}},
		{"mbar-tx-range", []step[m]{
			initTo(1, ""), expect(MaxTx, ""), expect(1, "mbar-tx-range(1048576,1048575)"), bytes(2*MaxTx, ""), bytes(1, "mbar-tx-range(-1048576,1048575)"),
		}},
		{"mbar-stale-token", []step[m]{
			initTo(1, ""), token(0, ""), token(1, "mbar-stale-token(1,0)"), arrive(1, "complete:1"), token(0, ""), token(1, ""), arrive(1, "complete:1"),
			token(0, "mbar-stale-token(0,2)"), token(1, ""),
		}},
		{"cp.async counts its arrival itself", []step[m]{
			initTo(1, ""), issue(false, ""), pending(2), arrive(1, ""), copied("complete:1"),
		}},
		{"cp.async.noinc is one of the expected", []step[m]{
			initTo(2, ""), issue(true, ""), pending(2), arrive(1, ""), copied("complete:1"),
		}},
		{"cp.async at the limit", []step[m]{initTo(MaxCount, ""), issue(false, "mbar-count-range(1048576,1048575)"), pending(MaxCount)}},
		{"a copy that comes after inval", []step[m]{initTo(1, ""), issue(false, ""), inval, copied("")}},
		{"a completion function ends the phase", []step[m]{
			op("", func(b m, e *Effect) { b.Function = true }), initTo(2, ""), arrive(2, ""), passes(false, true),
			op("complete:1", func(b m, e *Effect) {
				if !b.Completing {
					t.Error("the function does not run")
				}
				b.Advance(e)
			}), passes(true, false), pending(2), arrive(2, ""),
			op("complete:1", func(b m, e *Effect) { b.Advance(e) }), passes(false, true),
		}},
		{"noComplete before a completion function", []step[m]{
			op("", func(b m, e *Effect) { b.Function = true }), initTo(1, ""), as(Arrive{Count: 1, NoComplete: true}, "mbar-nocomplete-completes(1,1)"),
		}},
		{"lanes arrive one after the other", []step[m]{
			initTo(4, ""), op("complete:2", func(b m, e *Effect) {
				if tok := b.ArriveLanes(Arrive{Count: 1}, 9, e); tok != (Token{0, 4}) {
					t.Errorf("first token %+v, want phase 0, 4 pending", tok)
				}
			}), pending(3),
		}},
		{"lanes stop at a trap", []step[m]{
			initTo(3, ""), op("mbar-over-arrival(2,1) trap:unspecified launch failure", func(b m, e *Effect) { b.ArriveLanes(Arrive{Count: 2}, 9, e) }),
		}},
	})
}

// TestTokenWords: the words that an H100 gave for init(3) and four arrives.
func TestTokenWords(t *testing.T) {
	var b MBarrier
	var e Effect
	b.Init(3, &e)
	for i, want := range []uint64{0x7fffe80000000000, 0x7ffff00000000000, 0x7ffff80000000000, 0xffffe80000000000} {
		tok := b.Arrive(Arrive{Count: 1}, &e)
		if got := tok.Word(); got != want {
			t.Errorf("arrive %d: token %016x, the hardware %016x", i, got, want)
		}
		if got := PendingCount(want); got != tok.Pending {
			t.Errorf("arrive %d: pending count %d, want %d", i, got, tok.Pending)
		}
		if got := WordParity(want); uint64(got) != tok.Phase&1 {
			t.Errorf("arrive %d: parity %d in phase %d", i, got, tok.Phase)
		}
	}
}

// TestOldTokenAliases: only the parity of a token is looked at, as measured
// (litmus row 17).
func TestOldTokenAliases(t *testing.T) {
	var b MBarrier
	var e Effect
	b.Init(1, &e)
	old := b.Arrive(Arrive{Count: 1}, &e).Word()
	for phase, want := range []bool{true, false, true, false} {
		if got := b.TestWord(old); got != want {
			t.Errorf("token of phase 0 in phase %d: %v, want %v", phase+1, got, want)
		}
		b.Arrive(Arrive{Count: 1}, &e)
	}
}
