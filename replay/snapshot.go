package replay

import (
	"cmp"
	"slices"

	"btrace/replay/barrier"
	"btrace/trace"
)

// activity is what a strand does.
func (s *scope) activity(st *strand) Activity {
	switch {
	case s.trap != "":
		return Trapped
	case st.wait == completing:
		return Completing
	case st.wait == running && st.split:
		return Arrived
	case st.wait == running:
		return Running
	case st.wait == passedMbar, st.free, st.wait == waitMbar && st.mb.passed(st.phase):
		return Released
	}
	return Waiting
}

// place is a location with its file: the launch's program, where the event
// names none.
func (s *scope) place(l Location) Location {
	if l.File == "" && l.Line > 0 {
		l.File = s.launch.Program
	}
	return l
}

// on is the barrier that a strand is at.
func (s *scope) on(w *warp, st *strand) (ref BarrierRef) {
	switch {
	case st.wait == heldNamed, st.wait == waitNamed:
		ref = s.namedRef(w.cta, st.bar)
	case st.mb != nil:
		ref = st.mb.ref
	case st.co != nil:
		ref = st.co.ref
	case st.wait == waitSyncwarp:
		ref = s.syncRef(w)
	}
	if ref.Barrier.Kind != trace.BarrierNone {
		ref.Phase = st.phase
	}
	return ref
}

// state is the state of the scope's warps and barriers now.
func (s *scope) state(t int64) *State {
	out := &State{Launch: s.launch.ID, Time: t}
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			out.Warps = append(out.Warps, s.warpState(w))
		}
	}
	out.Barriers = s.barrierStates()
	return out
}

func (s *scope) warpState(w *warp) WarpState {
	ws := WarpState{CTA: w.cta.id, Warp: w.id}
	if gone := w.all &^ w.live; gone != 0 {
		ws.Strands = append(ws.Strands, Strand{
			Lanes: gone, Activity: Exited, Since: w.gone.since, Op: w.gone.kind().String(), Seq: w.gone.seq, Location: s.place(w.gone.loc()),
		})
	}
	for i := range w.strands {
		st := &w.strands[i]
		ws.Strands = append(ws.Strands, Strand{
			Lanes: st.lanes, Activity: s.activity(st), On: s.on(w, st), Since: st.since, Op: st.kind().String(), Seq: st.seq, Location: s.place(st.loc()),
		})
	}
	if rest := w.live &^ w.seen; rest != 0 {
		ws.Strands = append(ws.Strands, Strand{Lanes: rest, Activity: Absent})
	}
	slices.SortFunc(ws.Strands, func(a, b Strand) int { return cmp.Compare(a.Lanes&-a.Lanes, b.Lanes&-b.Lanes) })
	return ws
}

// barrierStates lists the barriers that were used, by CTA, kind and id.
func (s *scope) barrierStates() []BarrierState {
	waiting := make(map[BarrierRef][]Lanes)
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			for i := range w.strands {
				if st := &w.strands[i]; s.activity(st) == Waiting {
					ref := s.on(w, st)
					waiting[ref] = append(waiting[ref], Lanes{CTA: c.id, Warp: w.id, Mask: st.lanes})
				}
			}
		}
	}
	var out []BarrierState
	add := func(b BarrierState) {
		b.Waiting = waiting[b.BarrierRef]
		slices.SortFunc(b.Arrived, func(x, y Lanes) int { return cmp.Or(cmp.Compare(x.CTA, y.CTA), cmp.Compare(x.Warp, y.Warp)) })
		out = append(out, b)
	}
	for _, c := range s.sortedCTAs() {
		for id := range c.named.Bars {
			b := &c.named.Bars[id]
			if !b.Active && b.Phase == 0 {
				continue
			}
			st := BarrierState{BarrierRef: s.namedRef(c, uint32(id)), Live: true}
			st.Pending, st.Expected, _ = s.pending(st.BarrierRef)
			for _, p := range b.Parts {
				st.Arrived = append(st.Arrived, Lanes{CTA: c.id, Warp: p.Warp, Mask: p.Lanes})
			}
			add(st)
		}
		for _, mb := range sortedMbars(c) {
			st := BarrierState{
				BarrierRef: mb.at(), Live: mb.m.Life == barrier.Live, Tx: mb.m.Tx, TxUnknown: mb.unknown, Init: s.place(mb.init),
				Pending: uint64(mb.m.Pending), Expected: uint64(max(mb.m.Expected, mb.m.Pending)), Arrived: append([]Lanes(nil), mb.arrived...),
			}
			for _, b := range mb.copies {
				st.InFlight += b
			}
			add(st)
		}
	}
	for _, co := range s.collectives {
		st := BarrierState{BarrierRef: co.at(), Live: true, Pending: co.m.Pending(), Expected: co.m.Expected()}
		for _, w := range co.m.Warps {
			if w.Arrived != 0 {
				st.Arrived = append(st.Arrived, Lanes{CTA: w.CTA, Warp: w.Warp, Mask: w.Arrived})
			}
		}
		add(st)
	}
	slices.SortStableFunc(out, func(a, b BarrierState) int {
		return cmp.Or(cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.Barrier.Kind, b.Barrier.Kind), cmp.Compare(a.Barrier.ID, b.Barrier.ID), cmp.Compare(a.Barrier.Name, b.Barrier.Name))
	})
	return out
}
