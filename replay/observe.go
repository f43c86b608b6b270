package replay

import (
	"context"
	"fmt"

	"btrace/trace"
)

// Observer is told what a replay makes of the events: which phase an arrival
// counts in, which phase a wait is for, and when phases end. Of the CTAs that
// can synchronise with each other it hears in the order in which that was
// possible, which need not be that of the recorded times; of others in any.
type Observer interface {
	Arrived(Arrival)
	Completed(PhaseEnd)
	Waited(WaitSpan)
	// Over says that no more is to come of these CTAs, which are in order.
	// whole is false where the replay of them gave up: then only a part of
	// what they did was told.
	Over(ctas []uint32, whole bool)
}

// Arrival is lanes that arrived on a barrier in a phase. Meetings of a warp
// (syncwarp) have waits only.
type Arrival struct {
	BarrierRef
	Who  Lanes
	Time int64
	// Count is how many arrivals this makes, and Expected how many the phase
	// needs: threads for named barriers. Expected is 0 where that is not known.
	Count, Expected uint64
	At              Location
}

// PhaseEnd is the completion of a phase.
type PhaseEnd struct {
	BarrierRef
	// Time is that of the event with which the replay found the phase
	// complete.
	Time int64
	// Bytes is true where the bytes of copies were what it waited for last.
	// When they landed is not recorded: it was not after the end of any wait
	// for the phase.
	Bytes bool
}

// WaitSpan is lanes of a warp that waited together for a phase.
type WaitSpan struct {
	BarrierRef
	Who Lanes
	At  Location // of the wait
	// From and To are the times of the events before and after the wait; To is
	// not before From. Without Ended there is no To: no way out is recorded.
	From, To int64
	Ended    bool
	// Completed is true if the phase is complete, whether or not the way out
	// is recorded.
	Completed bool
	// Passed is true for a wait for the phase before the first, which a fresh
	// mbarrier lets pass. Phase is 0 then.
	Passed bool
}

// Observe replays a launch and tells observers what it makes of it. begin is
// called before the replay once for each worker; what one observer hears is
// one after the other, but several hear at once.
func Observe(ctx context.Context, src Source, launch uint32, opt Options, begin func() Observer) error {
	for _, l := range src.Launches() {
		if l.ID != launch {
			continue
		}
		opt.NoHazards = true
		r := newRun(src, l, opt)
		r.begin = begin
		if err := r.all(ctx); err != nil {
			return fmt.Errorf("launch %d: %w", launch, err)
		}
		if r.refuse != "" {
			return fmt.Errorf("launch %d: %s", launch, r.refuse)
		}
		return nil
	}
	return fmt.Errorf("no launch %d in this trace", launch)
}

// observation is a watcher that turns what happens into an observer's terms.
type observation struct{ to Observer }

func (o *observation) changed(s *scope, w *warp, r *row) {
	for i := range w.strands {
		if st := &w.strands[i]; st.lanes&r.lanes != 0 {
			o.waited(s, w, st, r)
		}
	}
}

// waited tells of lanes of a strand that leave their wait by a row, or of a
// strand that never does where there is none.
func (o *observation) waited(s *scope, w *warp, st *strand, r *row) {
	x := WaitSpan{Who: Lanes{CTA: w.cta.id, Warp: w.id, Mask: st.lanes}, At: st.loc(), From: st.since, Completed: st.free}
	switch st.wait {
	case waitNamed:
		x.BarrierRef = BarrierRef{CTA: w.cta.id, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: uint64(st.bar)}}
	case waitMbar, passedMbar:
		x.BarrierRef = st.mb.ref
		x.Passed = st.wait == passedMbar
		x.Completed = x.Passed || st.mb.passed(st.phase)
	case waitCollective:
		x.BarrierRef = st.co.ref
	case waitSyncwarp:
		x.BarrierRef = s.syncRef(w)
	default:
		return
	}
	x.Phase = st.phase
	if r != nil {
		x.Who.Mask &= r.lanes
	}
	if r != nil && r.op.Kind != trace.KindTrap {
		x.Ended, x.To = true, max(r.time, st.since)
	}
	o.to.Waited(x)
}

func (o *observation) arrived(r *row, ref BarrierRef, n, expected uint64) {
	o.to.Arrived(Arrival{BarrierRef: ref, Who: r.who(), Time: r.time, Count: n, Expected: expected, At: r.loc()})
}

func (o *observation) completed(s *scope, ref BarrierRef, time int64) {
	o.to.Completed(PhaseEnd{BarrierRef: ref, Time: time, Bytes: s.landing})
}

func (o *observation) released(*scope, *warp, int64) {}
func (o *observation) used(BarrierRef)               {}

// over tells of the waits that a scope ends with, and that it is over.
func (o *observation) over(s *scope) {
	var ctas []uint32
	for _, c := range s.sortedCTAs() {
		ctas = append(ctas, c.id)
		for _, w := range c.warps {
			for i := range w.strands {
				if !s.spent {
					o.waited(s, w, &w.strands[i], nil)
				}
			}
		}
	}
	o.to.Over(ctas, !s.spent)
}
