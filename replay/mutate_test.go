package replay

import (
	"slices"
	"testing"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// clean are the recordings of launches that went well.
func clean() []string {
	return []string{
		"cluster_exchange", "ok_arrive_drop", "ok_early_exit", "producer_consumer", "psum_completion", "reductions", "split_arrive_wait",
		"tma_pipeline",
	}
}

// has reports whether a rule was found broken at a place: an event of the
// warp, or the barrier.
func has(rep *Report, rule barrier.Rule, b trace.Barrier) bool {
	return slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Rule == rule && f.Barrier == b })
}

// drop takes an event out; renumber closes the hole that this leaves in its
// warp's numbers.
func (r *recording) drop(i int, renumber bool) {
	gone := r.events[i]
	r.events = slices.Delete(slices.Clone(r.events), i, i+1)
	for k := range r.events {
		if e := &r.events[k]; renumber && e.CTA == gone.CTA && e.Warp == gone.Warp && e.Seq > gone.Seq {
			e.Seq--
		}
	}
}

// pick lists the events of some kinds; tests take a spread of them.
func (r *recording) pick(most int, kinds ...trace.Kind) []int {
	var all []int
	for i := range r.events {
		if slices.Contains(kinds, r.events[i].Kind) {
			all = append(all, i)
		}
	}
	if len(all) <= most {
		return all
	}
	var some []int
	for k := range most {
		some = append(some, all[k*len(all)/most])
	}
	return some
}

func TestChangedReductionResult(t *testing.T) {
	rec := sample(t, "reductions")
	n := 0
	for _, i := range rec.pick(100, trace.KindBarDone) {
		if !rec.events[i].Has.Has(trace.FieldResult) {
			continue
		}
		n++
		bad := *rec
		bad.events = slices.Clone(rec.events)
		e := &bad.events[i]
		e.Result ^= 1
		rep := bad.check(t)
		if len(rep.Findings) != 1 || rep.Findings[0].Rule != rules.BarRedResult || rep.Findings[0].Barrier != e.Barrier(e.Warp) ||
			rep.Findings[0].Events[0] != (EventRef{CTA: e.CTA, Warp: e.Warp, Seq: e.Seq}) || rep.Verdict != Violation {
			t.Errorf("event %d: %s", i, summary(rep))
		}
	}
	if n == 0 {
		t.Error("no reduction in the sample")
	}
}

// An arrive that releases others is deleted: those that came out all the same
// did so too early.
func TestDeletedArrive(t *testing.T) {
	// Without its arrive, a warp waits on the cluster's barrier first; the
	// silicon lets it pass, and its next arrive releases the others.
	early := map[trace.BarrierKind]barrier.Rule{
		trace.BarrierNamed: rules.BarEarlyRelease, trace.BarrierMbar: rules.MbarEarlyRelease, trace.BarrierCluster: barrier.ClusterWaitFirst,
	}
	for _, name := range clean() {
		rec := sample(t, name)
		done := map[trace.Barrier]int{}
		for _, e := range rec.events {
			if e.Kind == trace.KindBarDone || e.Kind == trace.KindMbarDone || e.Kind == trace.KindClusterDone {
				done[e.Barrier(e.Warp)] = max(done[e.Barrier(e.Warp)], int(e.Time))
			}
		}
		kinds := []trace.Kind{trace.KindBarArrive, trace.KindMbarArrive, trace.KindMbarArriveExpectTx, trace.KindClusterArrive}
		for _, i := range rec.pick(12, kinds...) {
			e := rec.events[i]
			b := e.Barrier(e.Warp)
			if int(e.Time) > done[b] {
				continue // nobody waits for this one
			}
			if !rec.releases(i) {
				continue
			}
			for _, renumber := range []bool{true, false} {
				bad := recording{rec.launch, rec.events}
				bad.drop(i, renumber)
				rep := bad.check(t)
				if !has(rep, early[b.Kind], b) {
					t.Errorf("%s: without %s of w%d seq %d on %s (renumbered %v):\n%s", name, e.Kind, e.Warp, e.Seq, b, renumber, summary(rep))
				}
				if !renumber && !slices.ContainsFunc(rep.Findings, func(f Finding) bool { return f.Rule == rules.TraceGap }) {
					t.Errorf("%s: the hole at w%d seq %d is not reported:\n%s", name, e.Warp, e.Seq, summary(rep))
				}
			}
		}
	}
}

// releases reports whether somebody came out of the phase that the arrive
// belongs to: whether the recording has a later done on the barrier before
// the barrier's count would be made up by others.
func (r *recording) releases(i int) bool {
	e := r.events[i]
	b := e.Barrier(e.Warp)
	mine := 0 // arrivals of this warp's lanes on the barrier up to this one
	for _, x := range r.events[:i+1] {
		if x.CTA == e.CTA && x.Warp == e.Warp && x.Kind == e.Kind && x.Barrier(x.Warp) == b {
			mine++
		}
	}
	// The done that this arrive allows is the one of the same round.
	dones := map[EventRef]int{}
	for _, x := range r.events {
		switch x.Kind {
		case trace.KindBarDone, trace.KindMbarDone, trace.KindClusterDone:
			if x.CTA == e.CTA && x.Barrier(x.Warp) == b {
				dones[EventRef{CTA: x.CTA, Warp: x.Warp}]++
			}
		}
	}
	for _, n := range dones {
		if n > mine {
			return true
		}
	}
	return false
}

// A done is moved in front of the operation that it came out of.
func TestDoneBeforeItsRelease(t *testing.T) {
	early := map[trace.Kind]barrier.Rule{
		trace.KindBarDone: rules.BarEarlyRelease, trace.KindMbarDone: rules.MbarEarlyRelease, trace.KindClusterDone: rules.ClusterEarlyRelease,
	}
	for _, name := range clean() {
		rec := sample(t, name)
		n := 0
		for _, i := range rec.pick(8, trace.KindBarDone, trace.KindMbarDone, trace.KindClusterDone) {
			e := rec.events[i]
			into := rec.into(i)
			if into < 0 || rec.fresh(into) {
				continue
			}
			n++
			// The done takes the place of the arrive, and those between move
			// up by one.
			bad := recording{rec.launch, slices.Clone(rec.events)}
			moved := &bad.events[i]
			to, at := rec.events[into].Seq, rec.events[into].Time
			for k := range bad.events {
				if x := &bad.events[k]; x.CTA == e.CTA && x.Warp == e.Warp && x.Seq >= to && x.Seq < e.Seq {
					x.Seq++
				}
			}
			moved.Seq, moved.Time = to, at
			slices.SortStableFunc(bad.events, func(a, b trace.Event) int { return a.Compare(&b) })
			rep := bad.check(t)
			if !has(rep, early[e.Kind], e.Barrier(e.Warp)) {
				t.Errorf("%s: %s of w%d moved from %d to %d:\n%s", name, e.Kind, e.Warp, e.Seq, to, summary(rep))
			}
		}
		if n == 0 {
			t.Errorf("%s: nothing to move", name)
		}
	}
}

// into finds the arrive, by the same warp, that a done follows and that its
// release cannot precede: the operation that went in, or the warp's own
// arrive of the phase.
func (r *recording) into(done int) int {
	d := r.events[done]
	for i := done - 1; i >= 0; i-- {
		e := r.events[i]
		if e.CTA != d.CTA || e.Warp != d.Warp || e.Lanes&d.Lanes == 0 || e.Barrier(e.Warp) != d.Barrier(d.Warp) {
			continue
		}
		switch e.Kind {
		case trace.KindBarSync, trace.KindBarRed, trace.KindMbarArrive, trace.KindClusterArrive:
			return i
		case trace.KindMbarDone, trace.KindBarDone, trace.KindClusterDone:
			return -1
		}
	}
	return -1
}

// fresh reports whether an mbarrier wait of that place could pass anyway.
func (r *recording) fresh(i int) bool {
	return r.events[i].Kind == trace.KindMbarArrive && r.events[i].Has.Has(trace.FieldToken)
}

// A token of another phase: on the arrive that returned it, on the wait that
// uses it, on the done.
func TestTokenOfAnotherPhase(t *testing.T) {
	for _, name := range []string{"split_arrive_wait", "psum_completion", "ok_arrive_drop"} {
		rec := sample(t, name)
		for _, by := range []int64{-2, 2, 5} {
			for _, i := range rec.pick(6, trace.KindMbarArrive, trace.KindMbarWait) {
				bad := recording{rec.launch, slices.Clone(rec.events)}
				e := &bad.events[i]
				if int64(e.Phase)+by < 0 {
					continue
				}
				e.Phase = uint64(int64(e.Phase) + by)
				rep := bad.check(t)
				at := slices.ContainsFunc(rep.Findings, func(f Finding) bool {
					return f.Rule == barrier.MbarStaleToken && f.Barrier == e.Barrier(e.Warp) && f.Events[0] == EventRef{CTA: e.CTA, Warp: e.Warp, Seq: e.Seq}
				})
				if !at || rep.Verdict != Violation {
					t.Errorf("%s: %s of w%d seq %d says phase %d:\n%s", name, e.Kind, e.Warp, e.Seq, e.Phase, summary(rep))
				}
			}
		}
	}
	rec := sample(t, "tma_pipeline") // tokens as the hardware writes them
	for _, i := range rec.pick(6, trace.KindMbarArrive) {
		bad := recording{rec.launch, slices.Clone(rec.events)}
		e := &bad.events[i]
		e.Token ^= 1 << 63
		rep := bad.check(t)
		if !has(rep, barrier.MbarStaleToken, e.Barrier(e.Warp)) {
			t.Errorf("token %016x of w%d seq %d:\n%s", e.Token, e.Warp, e.Seq, summary(rep))
		}
	}
}

// Any event dropped, with the hole that a lossy recorder leaves: the gap is
// reported, at its warp, and the launch is never clean.
func TestDroppedEvent(t *testing.T) {
	for _, name := range clean() {
		rec := sample(t, name)
		step := max(len(rec.events)/40, 1)
		for i := 0; i < len(rec.events); i += step {
			gone := rec.events[i]
			bad := recording{rec.launch, rec.events}
			bad.drop(i, false)
			rep := bad.check(t)
			gap := slices.ContainsFunc(rep.Findings, func(f Finding) bool {
				return f.Rule == rules.TraceGap && f.Launch == gone.Launch && (len(f.Threads) == 0 || f.Threads[0].CTA == gone.CTA && f.Threads[0].Warp == gone.Warp)
			})
			if !gap || rep.Verdict == Clean {
				t.Errorf("%s: %s of w%d seq %d dropped: %s", name, gone.Kind, gone.Warp, gone.Seq, summary(rep))
			}
			// A gap that the recorder admits is never held against the kernel.
			g := gone
			g.Op = trace.Op{Kind: trace.KindGap, Lost: 1, Has: fieldSet(trace.FieldLost)}
			bad.events = slices.Insert(slices.Clone(bad.events), i, g)
			if rep := bad.check(t); rep.Verdict != Incomplete {
				t.Errorf("%s: %s of w%d seq %d lost and said so: %s", name, gone.Kind, gone.Warp, gone.Seq, summary(rep))
			}
		}
	}
}

// The verdict rests on the events: not on the outcome, nor on names.
func TestVerdictIgnoresOutcomeAndNames(t *testing.T) {
	hung := []string{"hang_cross", "hang_mixed_cycle", "hang_run_ahead", "tma_pipeline_bytes", "tma_pipeline_count"}
	for _, name := range append(hung, "tma_pipeline", "psum_completion") {
		rec := sample(t, name)
		want := rec.check(t)
		for _, l := range []struct {
			outcome trace.Outcome
			ended   bool
		}{{trace.OutcomeUnknown, false}, {trace.OutcomeCompleted, true}, {trace.OutcomeHung, true}} {
			other := recording{rec.launch, rec.events}
			other.launch.Kernel, other.launch.Outcome, other.launch.Ended = "another_name", l.outcome, l.ended
			got := other.check(t)
			if summary(got) != summary(want) {
				t.Errorf("%s as %s:\n%s\nwant:\n%s", name, l.outcome, summary(got), summary(want))
			}
		}
	}
}
