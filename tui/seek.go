package tui

import (
	"context"
	"fmt"
	"math"
	"slices"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// rowEvent is an event of a row, if there is one.
type rowEvent struct {
	trace.Event
	ok bool
}

// lastEvent is the latest event of some warps at or before t.
func lastEvent(ctx context.Context, tl replay.Timeline, warps []replay.Row, t int64) (rowEvent, error) {
	var best rowEvent
	for _, w := range warps {
		ev, ok, err := tl.Event(ctx, w, t, 0)
		if err != nil {
			return best, err
		}
		if ok && (!best.ok || ev.Compare(&best.Event) > 0) {
			best = rowEvent{ev, true}
		}
	}
	return best, nil
}

// nearEvent is the event of some warps that comes next after t, or last before
// it.
func nearEvent(ctx context.Context, tl replay.Timeline, warps []replay.Row, t int64, dir int) (rowEvent, error) {
	if dir < 0 {
		if t == math.MinInt64 {
			return rowEvent{}, nil
		}
		return lastEvent(ctx, tl, warps, t-1)
	}
	var best rowEvent
	for _, w := range warps {
		ev, ok, err := tl.Event(ctx, w, t, 1)
		if err != nil {
			return best, err
		}
		if ok && (!best.ok || ev.Compare(&best.Event) < 0) {
			best = rowEvent{ev, true}
		}
	}
	return best, nil
}

// phaseBatch is how many phases are asked for at once: an answer of that many
// may be thinned out, a shorter one is complete.
const phaseBatch = 256

// nearPhase is the phase of a barrier that begins next after t, or last before
// it. It asks for windows beside t that grow until there is one.
func nearPhase(ctx context.Context, tl replay.Timeline, lane replay.Lane, t int64, dir int, b bounds, hint uint64) (replay.Phase, bool, error) {
	var best replay.Phase
	width := max(hint, 1)
	lo, hi := t, saturate(t, 1, false) // what is known to hold none
	for {
		w := window{saturate(lo, width, true), lo}
		if dir > 0 {
			w = window{hi, saturate(hi, width, false)}
		}
		if dir > 0 && hi > b.last || dir < 0 && lo < b.first || w.from >= w.to {
			return best, false, nil
		}
		phases, err := tl.Phases(ctx, lane, w.from, w.to, phaseBatch)
		if err != nil {
			return best, false, err
		}
		found := false
		for _, p := range phases {
			after := dir > 0 && p.From > t && (!found || p.From < best.From)
			before := dir < 0 && p.From < t && (!found || p.From > best.From)
			if after || before {
				best, found = p, true
			}
		}
		if len(phases) >= phaseBatch && width > 1 {
			width = max(width/4, 1)
			continue
		}
		if found {
			return best, true, nil
		}
		lo, hi = w.from, w.to
		if width < 1<<62 {
			width *= 2
		}
	}
}

// phaseAt is the phase of a barrier at t.
func phaseAt(ctx context.Context, tl replay.Timeline, lane replay.Lane, t int64) (replay.Phase, bool, error) {
	phases, err := tl.Phases(ctx, lane, t, saturate(t, 1, false), phaseBatch)
	if err != nil || len(phases) == 0 {
		return replay.Phase{}, false, err
	}
	best := phases[0]
	for _, p := range phases {
		if p.From <= t && p.From > best.From {
			best = p
		}
	}
	return best, true, nil
}

// mostSeeks bounds how many steps may wait for the timeline: a key that is
// held down must not run on long after it is let go.
const mostSeeks = 8

// seek queues a question whose answer moves the focus.
func (m *model) seek(f func(*model) job) {
	if len(m.seeks) < mostSeeks {
		m.seeks = append(m.seeks, f)
	}
}

// seekEvent goes to the next or previous event of the focused row, and to the
// barrier that it is on.
func (m *model) seekEvent(dir int) {
	m.seek(func(m *model) job {
		tl, warps, t := m.tl, m.tree.warps(m.focus.row), m.focus.time
		return job{run: func(ctx context.Context) func(*model) {
			ev, err := nearEvent(ctx, tl, warps, t, dir)
			return func(m *model) { m.arriveAt(ev, dir, err) }
		}}
	})
}

func (m *model) arriveAt(ev rowEvent, dir int, err error) {
	switch {
	case err != nil:
		m.complain(fmt.Errorf("look for an event: %w", err))
	case !ev.ok && dir > 0:
		m.say("no later event in this row")
	case !ev.ok:
		m.say("no earlier event in this row")
	default:
		m.leave("event", true)
		m.setTime(ev.Time)
		m.follow(laneID{ev.OwnerCTA(ev.CTA), ev.Barrier(ev.Warp)})
	}
}

// follow focuses a barrier, if the launch has it.
func (m *model) follow(id laneID) bool {
	if id.none() {
		return false
	}
	if id = m.lanes.like(id, id.cta); !id.none() {
		m.focus.lane = id
	}
	return !id.none()
}

// focusedLane is the focused barrier as the timeline knows it.
func (m *model) focusedLane() (replay.Lane, bool) {
	if m.focus.lane.none() {
		return replay.Lane{}, false
	}
	if i := m.lanes.find(m.focus.lane); i >= 0 {
		return m.lanes.of(m.focus.lane.cta)[i], true
	}
	return replay.Lane{}, false
}

// seekPhase goes to where the next or previous phase of the focused barrier
// begins.
func (m *model) seekPhase(dir int) {
	m.seek(func(m *model) job {
		tl, t, b, hint := m.tl, m.focus.time, m.bounds, min(m.win.size()/4, m.bounds.fit(1).size()/128)
		lane, ok := m.focusedLane()
		if !ok {
			return saying("no barrier is focused: b chooses one")
		}
		return job{run: func(ctx context.Context) func(*model) {
			p, ok, err := nearPhase(ctx, tl, lane, t, dir, b, hint)
			return func(m *model) {
				switch {
				case err != nil:
					m.complain(fmt.Errorf("look for a phase: %w", err))
				case !ok && dir > 0:
					m.say("no later phase of " + lane.Barrier.String())
				case !ok:
					m.say("no earlier phase of " + lane.Barrier.String())
				default:
					m.leave("phase", true)
					m.setTime(p.From)
					m.say(fmt.Sprintf("phase %d of %s", p.Phase, lane.Barrier))
				}
			}
		}}
	})
}

// seekZoom shows the phase of the focused barrier at the playhead from its
// beginning to its end.
func (m *model) seekZoom() {
	m.seek(func(m *model) job {
		tl, t := m.tl, m.focus.time
		lane, ok := m.focusedLane()
		if !ok {
			return saying("no barrier is focused: b chooses one")
		}
		return job{run: func(ctx context.Context) func(*model) {
			p, ok, err := phaseAt(ctx, tl, lane, t)
			return func(m *model) {
				switch {
				case err != nil:
					m.complain(fmt.Errorf("look for a phase: %w", err))
				case !ok:
					m.say(lane.Barrier.String() + " is in no phase here")
				default:
					m.leave("zoom-phase", false)
					to := p.To
					if to < 0 {
						to = m.bounds.last
					}
					w := window{p.From, max(to, p.From)}
					pad := w.size()/16 + 1
					m.setWindow(window{saturate(w.from, pad, true), saturate(w.to, pad, false)})
				}
			}
		}}
	})
}

// seekHang moves the playhead of a hang on to where all who wait at its root
// have begun to, and those who have exited have: the finding's time is that of the first, and the state there
// does not yet show what the story tells.
func (m *model) seekHang(finding int, f replay.Finding) {
	m.seek(func(m *model) job {
		tl, last := m.tl, m.bounds.last
		var warps []replay.Row
		add := func(lanes []replay.Lanes) {
			for _, l := range lanes[:min(len(lanes), mostLanes)] {
				warps = append(warps, replay.Row{CTA: l.CTA, Warp: l.Warp})
			}
		}
		add(f.Threads)
		if f.Rule == rules.DeadlockExited {
			add(f.Missing)
		}
		for _, w := range f.Behind[:min(len(f.Behind), mostLanes)] {
			if slices.Contains(f.Cycle, w.BarrierRef) {
				add(w.Threads)
			}
		}
		return job{run: func(ctx context.Context) func(*model) {
			ev, err := lastEvent(ctx, tl, warps, last)
			return func(m *model) {
				if err == nil && ev.ok && ev.Time > f.Time && m.finding == finding && m.focus.time == f.Time {
					m.setTime(ev.Time)
				}
			}
		}}
	})
}

// saying is the job of a question that cannot be asked.
func saying(s string) job {
	return job{run: func(context.Context) func(*model) { return func(m *model) { m.say(s) } }}
}
