package tui

import (
	"context"
	"fmt"
	"math"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
)

// arrives reports whether an event of that kind can complete a phase.
func arrives(k trace.Kind) bool {
	switch k {
	case trace.KindBarArrive, trace.KindBarSync, trace.KindBarRed,
		trace.KindMbarArrive, trace.KindMbarArriveDrop, trace.KindMbarArriveNoComplete, trace.KindMbarArriveExpectTx,
		trace.KindMbarCpAsyncArrive, trace.KindMbarCopy, trace.KindMbarCompleteTx,
		trace.KindClusterArrive, trace.KindGroupArrive, trace.KindGroupWait, trace.KindSyncwarp:
		return true
	}
	return false
}

// leaves reports whether lanes come out of a wait with an event of that kind.
func leaves(k trace.Kind) bool {
	switch k {
	case trace.KindBarDone, trace.KindMbarDone, trace.KindClusterDone, trace.KindGroupDone, trace.KindSyncwarpDone:
		return true
	}
	return false
}

// completer is the event that completed a phase: the last arrival in it.
func completer(ctx context.Context, tl replay.Timeline, lane replay.Lane, p replay.Phase) (rowEvent, error) {
	var last rowEvent
	q := trace.Query{Barriers: []trace.Barrier{lane.Barrier}, From: p.From, To: saturate(p.To, 1, false)}
	if lane.Barrier.Kind != trace.BarrierMbar && lane.Barrier.Kind != trace.BarrierCluster {
		q.CTAs = []uint32{lane.CTA}
	}
	err := tl.Events(ctx, q, func(ev *trace.Event) bool {
		mine := ev.OwnerCTA(ev.CTA) == lane.CTA || lane.Barrier.Kind == trace.BarrierCluster || ev.Has.Has(trace.FieldCTAMask)
		if arrives(ev.Kind) && mine {
			last = rowEvent{*ev, true}
		}
		return ctx.Err() == nil
	})
	return last, err
}

// mostBack bounds how many events are gone back in search of the end of a
// wait.
const mostBack = 1000

// goReleaser goes to who let the focused row go last: the arrival that
// completed the phase that it came out of.
func (m *model) goReleaser() {
	m.seek(func(m *model) job {
		tl, warps, t := m.tl, m.tree.warps(m.focus.row), m.focus.time
		return job{run: func(ctx context.Context) func(*model) {
			out, err := lastEvent(ctx, tl, warps, t)
			for n := 0; err == nil && out.ok && !leaves(out.Kind) && n < mostBack; n++ {
				out, err = nearEvent(ctx, tl, warps, out.Time, -1)
			}
			if err != nil {
				return failing("look for who released this row", err)
			}
			if !out.ok || !leaves(out.Kind) {
				return func(m *model) { m.say("this row has not come out of a wait yet") }
			}
			lane := replay.Lane{CTA: out.OwnerCTA(out.CTA), Barrier: out.Barrier(out.Warp)}
			p, ok, err := phaseBefore(ctx, tl, lane, out.Time)
			if err != nil {
				return failing("look for who released this row", err)
			}
			if !ok {
				return func(m *model) { m.say("no phase of " + lane.Barrier.String() + " was complete by then") }
			}
			by, err := completer(ctx, tl, lane, p)
			return func(m *model) { m.arriveAtCompleter(lane, p, by, err, "released") }
		}}
	})
}

// phaseBefore is the last phase of a barrier that was complete by a time.
func phaseBefore(ctx context.Context, tl replay.Timeline, lane replay.Lane, t int64) (replay.Phase, bool, error) {
	first, _ := tl.Span()
	for width := uint64(1 << 10); ; width *= 4 {
		from := saturate(t, width, true)
		phases, err := tl.Phases(ctx, lane, from, saturate(t, 1, false), phaseBatch)
		if err != nil {
			return replay.Phase{}, false, err
		}
		best, found := replay.Phase{}, false
		for _, p := range phases {
			if p.To >= 0 && p.To <= t && (!found || p.To >= best.To) {
				best, found = p, true
			}
		}
		if found || from <= first || width > 1<<60 {
			return best, found, nil
		}
	}
}

// arriveAtCompleter goes to the event that completed a phase.
func (m *model) arriveAtCompleter(lane replay.Lane, p replay.Phase, by rowEvent, err error, what string) {
	switch {
	case err != nil:
		m.complain(fmt.Errorf("look for the last arrival: %w", err))
	case !by.ok:
		m.say(fmt.Sprintf("phase %d of %s was not completed by an arrival that is recorded", p.Phase, lane.Barrier))
	default:
		m.leave("completer", false)
		r := rowID{cta: by.CTA, warp: by.Warp}
		m.tree.unfold(r)
		m.setRow(r)
		m.follow(laneID{lane.CTA, lane.Barrier})
		m.setTime(by.Time)
		m.say(fmt.Sprintf("%s by %s of %s, the last of phase %d", what, opName(&by.Event), r, p.Phase))
	}
}

// goAwaited goes to who the focused row waits for: the arrival that will
// complete its phase, or, where none does, the first of those that do not
// come.
func (m *model) goAwaited() {
	m.seek(func(m *model) job {
		tl, row, t := m.tl, m.focus.row, m.focus.time
		return job{run: func(ctx context.Context) func(*model) {
			const looking = "look for who this row waits for"
			state, err := tl.State(ctx, row.cta, t)
			if err != nil {
				return failing(looking, err)
			}
			st, ok := waitingStrand(state, row)
			if !ok {
				return func(m *model) { m.say("this row waits for nobody here") }
			}
			lane := replay.Lane{CTA: st.On.CTA, Barrier: st.On.Barrier}
			p, ok, err := phaseOf(ctx, tl, lane, st.On.Phase, t)
			if err != nil {
				return failing(looking, err)
			}
			if ok && p.To >= 0 {
				by, err := completer(ctx, tl, lane, p)
				return func(m *model) { m.arriveAtCompleter(lane, p, by, err, "completed") }
			}
			list, err := tl.Blocked(ctx, row.cta, t)
			if err != nil {
				return failing(looking, err)
			}
			return func(m *model) { m.arriveAtMissing(list, st.On) }
		}}
	})
}

// phaseOf is a phase of a barrier by its number, that is under way at t or
// ends after it.
func phaseOf(ctx context.Context, tl replay.Timeline, lane replay.Lane, number uint64, t int64) (replay.Phase, bool, error) {
	_, last := tl.Span()
	for width := uint64(1 << 10); ; width *= 4 {
		to := saturate(t, width, false)
		phases, err := tl.Phases(ctx, lane, t, to, phaseBatch)
		if err != nil {
			return replay.Phase{}, false, err
		}
		for _, p := range phases {
			if p.Phase == number && (p.To >= 0 || to > last) {
				return p, true, nil
			}
		}
		if to > last || width > 1<<60 {
			return replay.Phase{}, false, nil
		}
	}
}

// waitingStrand is the first group of lanes of a row that waits.
func waitingStrand(s *replay.State, row rowID) (replay.Strand, bool) {
	for _, w := range s.Warps {
		if w.CTA != row.cta || !row.whole && w.Warp != row.warp {
			continue
		}
		for _, st := range w.Strands {
			if st.Activity == replay.Waiting || st.Activity == replay.Hung || st.Activity == replay.Completing {
				return st, true
			}
		}
	}
	return replay.Strand{}, false
}

// goLongest goes to the longest wait of the focused row, or of all rows.
func (m *model) goLongest(all bool) {
	m.withFacts(func(m *model) {
		rows := m.tree.warps(m.focus.row)
		if all {
			rows = m.tree.all
		}
		var best wait
		var who replay.Row
		for _, r := range rows {
			if x := m.facts.of[r]; x != nil && x.longest.length() > best.length() {
				best, who = x.longest, r
			}
		}
		if best.length() == 0 {
			m.say("no wait in this row")
			if all {
				m.say("no wait in this launch")
			}
			return
		}
		m.leave("longest-wait", false)
		r := rowID{cta: who.CTA, warp: who.Warp}
		m.tree.unfold(r)
		m.setRow(r)
		m.follow(laneID{best.cta, best.barrier})
		m.setTime(best.from)
		m.say(fmt.Sprintf("%s waits %s at %s, until %s", r, report.Time(best.length()), best.barrier, report.Time(best.to)))
	})
}

// seekAtBarrier goes to the next or previous event on the focused barrier, by
// whatever row.
func (m *model) seekAtBarrier(dir int) {
	m.seek(func(m *model) job {
		tl, now := m.tl, m.focus
		lane, ok := m.focusedLane()
		if !ok {
			return saying("no barrier is focused: b chooses one")
		}
		return job{run: func(ctx context.Context) func(*model) {
			ev, err := nearAtBarrier(ctx, tl, lane, now, dir)
			return func(m *model) {
				switch {
				case err != nil:
					m.complain(fmt.Errorf("look for an event: %w", err))
				case !ev.ok && dir > 0:
					m.say("no later event on " + lane.Barrier.String())
				case !ev.ok:
					m.say("no earlier event on " + lane.Barrier.String())
				default:
					m.leave("at-barrier", true)
					r := rowID{cta: ev.CTA, warp: ev.Warp}
					m.tree.unfold(r)
					m.setRow(r)
					m.follow(laneID{lane.CTA, lane.Barrier})
					m.setTime(ev.Time)
					m.say(opName(&ev.Event) + " by " + r.String())
				}
			}
		}}
	})
}

// nearAtBarrier is the event on a barrier that comes next after the focus, or
// last before it: events of one time go by CTA and warp.
func nearAtBarrier(ctx context.Context, tl replay.Timeline, lane replay.Lane, now focus, dir int) (rowEvent, error) {
	first, last := tl.Span()
	after := func(ev *trace.Event) int {
		at := rowID{cta: ev.CTA, warp: ev.Warp}
		switch {
		case ev.Time != now.time:
			return sign(ev.Time > now.time)
		case at == now.row:
			return 0
		}
		return sign(at.compare(now.row) > 0)
	}
	var best rowEvent
	for width := uint64(1 << 10); ; width *= 8 {
		q := trace.Query{Barriers: []trace.Barrier{lane.Barrier}, From: now.time, To: saturate(now.time, width, false)}
		if dir < 0 {
			q.From, q.To = saturate(now.time, width, true), saturate(now.time, 1, false)
		}
		if q.To == 0 {
			q.To = 1 // 0 would be no bound
		}
		err := tl.Events(ctx, q, func(ev *trace.Event) bool {
			if lane.Barrier.Kind != trace.BarrierCluster && ev.OwnerCTA(ev.CTA) != lane.CTA || after(ev) != dir {
				return ctx.Err() == nil
			}
			best = rowEvent{*ev, true}
			return dir < 0 && ctx.Err() == nil
		})
		if err != nil || best.ok || width > 1<<60 || dir > 0 && q.To > last || dir < 0 && q.From < max(first, math.MinInt64+1) {
			return best, err
		}
	}
}

func sign(positive bool) int {
	if positive {
		return 1
	}
	return -1
}

// failing is the answer of a job that has failed.
func failing(what string, err error) func(*model) {
	return func(m *model) { m.complain(fmt.Errorf("%s: %w", what, err)) }
}
