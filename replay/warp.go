package replay

import (
	"slices"

	"btrace/replay/barrier"
	"btrace/replay/explore"
	"btrace/trace"
)

// waitKind is what a strand is held by.
type waitKind uint8

const (
	running        waitKind = iota
	heldNamed               // came to a bar.arrive, other lanes of its warp have not
	waitNamed               // bar.sync, bar.red
	waitMbar                // mbar.wait
	passedMbar              // mbar.wait for the phase before the first: passes at once
	waitCollective          // cluster.wait, group.wait
	waitSyncwarp
	completing // runs a completion function
)

// strand is lanes of one warp with a common history.
type strand struct {
	lanes  uint32
	wait   waitKind
	free   bool // a model has released it
	parity bool // waits for the parity of the phase
	split  bool // its last event was an arrive, and it has not begun to wait
	// restarted: the mbarrier that it waited on was initialised again.
	restarted bool
	late      bool   // the barrier went on between its last event and its wait
	bar       uint32 // named barrier
	result    uint32 // of a reduction
	mb        *mbar
	co        *collective
	phase     uint64 // of the wait
	since     int64
	step      uint64    // of its last event
	op        *trace.Op // its last event; nil before the first
	seq       uint32    // and the number of that
}

// kind is the kind of the strand's last event.
func (st *strand) kind() trace.Kind {
	if st.op == nil {
		return trace.KindUnknown
	}
	return st.op.Kind
}

// loc is the place of the strand's last event.
func (st *strand) loc() Location {
	if st.op == nil {
		return Location{}
	}
	return Location{File: st.op.File, Line: st.op.Line, PC: st.op.PC}
}

// warp is one warp of a CTA.
type warp struct {
	cta     *cta
	id      uint32
	all     uint32    // lanes that exist
	live    uint32    // of them, not exited
	seen    uint32    // lanes that any event named
	gone    strand    // the exit of its lanes that exited last
	left    *trace.Op // what those did last before it; nil if nothing
	strands []strand
	sync    barrier.Warp

	parked parking // rows that are not possible yet
	order  *explore.Warp

	// Sequence numbers: count rows seen, the highest number, and where the
	// first hole opened.
	rows    uint32
	maxSeq  uint32
	holeRow *row
	// lost is true where the recorder says that it lost events of this warp.
	lost bool
}

// become puts the lanes of a row into one strand, which is running. Lanes that
// did an operation together have a common history from then on. Nearly always
// that is all lanes of the warp, and they did the one before together, too.
func (s *scope) become(w *warp, r *row) *strand {
	if len(w.strands) == 1 && w.strands[0].lanes&^r.lanes == 0 {
		s.seen(w, r)
	} else {
		s.leave(w, r)
		n := len(w.strands)
		w.strands = slices.Grow(w.strands, 1)[:n+1]
	}
	s.step++
	st := &w.strands[len(w.strands)-1]
	st.begin(r, s.step)
	return st
}

// begin makes the strand one that has just done what a row says. Field by
// field: as a whole it would be made elsewhere and copied, which waits for all
// that was written there.
func (st *strand) begin(r *row, step uint64) {
	st.wait, st.free, st.parity, st.split, st.restarted, st.late = running, false, false, false, false, false
	st.lanes, st.bar, st.result, st.seq = r.lanes, 0, 0, r.seq
	st.phase, st.since, st.step = 0, r.time, step
	st.mb, st.co, st.op = nil, nil, r.op
}

// seen is told of every row before its lanes change their state.
func (s *scope) seen(w *warp, r *row) {
	if s.watch != nil {
		s.watch.changed(s, w, r)
	}
	w.seen |= r.lanes
}

// leave takes the lanes of a row out of their strands.
func (s *scope) leave(w *warp, r *row) {
	s.seen(w, r)
	keep := 0
	for i := range w.strands {
		st := &w.strands[i]
		if st.lanes &^= r.lanes; st.lanes == 0 {
			continue
		}
		if keep < i {
			w.strands[keep] = *st
		}
		keep++
	}
	w.strands = w.strands[:keep]
}

// note keeps count of the warp's sequence numbers.
func (s *scope) note(w *warp, r *row) {
	if r.op.Kind != trace.KindMark && r.op.Kind != trace.KindGap {
		s.counts.WarpEvents++
		s.counts.ThreadEvents += uint64(popcount(r.lanes))
	} else if r.op.Implied&trace.ImpliedSeq != 0 {
		return // it has no number of its own
	}
	w.rows++
	if r.seq == w.rows-1 && w.maxSeq <= r.seq && w.holeRow == nil {
		w.maxSeq = r.seq // none is missing
		return
	}
	if r.seq > w.maxSeq {
		if r.seq > w.maxSeq+1 && w.holeRow == nil || w.rows == 1 {
			cp := *r
			w.holeRow = &cp
		}
		w.maxSeq = r.seq
	}
	if w.missing() == 0 {
		w.holeRow = nil
	}
}

// missing is how many numbers up to the highest were not seen.
func (w *warp) missing() uint32 {
	if w.rows == 0 || w.rows > w.maxSeq {
		return 0
	}
	return w.maxSeq + 1 - w.rows
}

// holed reports whether an event of the warp may be missing.
func (w *warp) holed() bool { return w.lost || w.missing() > 0 }

// gap takes a recorder's word that it lost events.
func (s *scope) gap(w *warp, r *row) {
	w.lost = true
	s.mute = true
	s.findings.gap(r, w, r.op.Lost)
}
