package tui

import (
	"context"
	"fmt"

	"btrace/replay"
	"btrace/trace"
)

// facts is what is known of the warps of a launch as a whole: what they did on
// which barriers, and where they waited longest. Filters and orders of rows
// are made of it.
type facts struct {
	of   map[replay.Row]*rowFacts
	last int64 // time of the last event: waits that never end last until then
}

// rowFacts are those of a warp.
type rowFacts struct {
	uses    []use
	waited  int64 // ns that it waited, lanes that wait together counted once
	longest wait
	hung    int64 // since when it waits for ever
	stuck   bool  // it does
	open    []opened
}

// use is what a warp did on a barrier, or apart from barriers.
type use struct {
	barrier trace.Barrier
	kinds   uint64 // one bit a trace.Kind
	longest wait
}

// wait is a wait of some lanes of a warp.
type wait struct {
	from, to int64
	cta      uint32 // that owns the barrier
	barrier  trace.Barrier
}

func (w wait) length() int64 { return w.to - w.from }

// opened is a wait that has not ended yet.
type opened struct {
	lanes uint32
	wait
}

// mostUses bounds the barriers that are kept of a warp; what a warp does on
// more is told apart no longer.
const mostUses = 256

// waits reports whether lanes wait after an event of that kind.
func waits(k trace.Kind) bool {
	switch k {
	case trace.KindBarSync, trace.KindBarRed, trace.KindMbarWait, trace.KindClusterWait, trace.KindGroupWait, trace.KindSyncwarp:
		return true
	}
	return false
}

// gather reads the whole launch once.
func gather(ctx context.Context, tl replay.Timeline) (*facts, error) {
	f := &facts{of: map[replay.Row]*rowFacts{}}
	_, f.last = tl.Span()
	n := 0
	err := tl.Events(ctx, trace.Query{}, func(ev *trace.Event) bool {
		f.note(ev)
		n++
		return n%4096 != 0 || ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	hung := tl.Launch().Outcome != trace.OutcomeCompleted
	for _, r := range f.of {
		for _, o := range r.open {
			o.to = f.last
			r.ended(o.wait)
			if hung && (!r.stuck || o.from < r.hung) {
				r.stuck, r.hung = true, o.from
			}
		}
		r.open = nil
	}
	return f, nil
}

// note takes in an event. A wait ends with the next event of its lanes: that
// is the one that they came out with, where the recorder observes it.
func (f *facts) note(ev *trace.Event) {
	row := replay.Row{CTA: ev.CTA, Warp: ev.Warp}
	r := f.of[row]
	if r == nil {
		r = &rowFacts{}
		f.of[row] = r
	}
	open := r.open[:0]
	for _, o := range r.open {
		if o.lanes&ev.Lanes != 0 {
			w := o.wait
			w.to = ev.Time
			r.ended(w)
			if o.lanes &^= ev.Lanes; o.lanes == 0 {
				continue
			}
		}
		open = append(open, o)
	}
	r.open = open
	b := ev.Barrier(ev.Warp)
	if u := r.use(b); u != nil {
		u.kinds |= 1 << ev.Kind
	}
	if waits(ev.Kind) {
		r.open = append(r.open, opened{ev.Lanes, wait{ev.Time, ev.Time, ev.OwnerCTA(ev.CTA), b}})
	}
}

// use is the entry of a barrier; nil if there is no room for one.
func (r *rowFacts) use(b trace.Barrier) *use {
	for i := range r.uses {
		if r.uses[i].barrier == b {
			return &r.uses[i]
		}
	}
	if len(r.uses) == mostUses {
		return nil
	}
	r.uses = append(r.uses, use{barrier: b})
	return &r.uses[len(r.uses)-1]
}

// ended takes in a wait. Lanes of a warp that wait at the same time count as
// one.
func (r *rowFacts) ended(w wait) {
	r.waited += w.length()
	if w.length() > r.longest.length() {
		r.longest = w
	}
	if u := r.use(w.barrier); u != nil && w.length() > u.longest.length() {
		u.longest = w
	}
}

// withFacts does something once the facts of the launch are known, reading
// them where they are not.
func (m *model) withFacts(f func(*model)) {
	if m.facts != nil {
		f(m)
		return
	}
	m.say("reading the launch")
	m.seek(func(m *model) job {
		tl := m.tl
		return job{run: func(ctx context.Context) func(*model) {
			known, err := gather(ctx, tl)
			return func(m *model) {
				if err != nil {
					m.complain(fmt.Errorf("read the launch: %w", err))
					return
				}
				m.message = ""
				m.facts = known
				f(m)
			}
		}}
	})
}
