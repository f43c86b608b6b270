package replay

import (
	"slices"

	"btrace/trace"
)

// picture is what a launch looks like from far away: for every warp the worst
// that happened in each slice of time, and the phases of every barrier. It is
// of bounded size: as time goes on, slices are joined, and so are phases.
type picture struct {
	origin int64 // time at which slice 0 begins
	shift  uint8 // a slice is 1<<shift ns
	cells  int   // slices that a row may have
	rows   map[Row]*track
	lanes  map[laneKey]*laneTrack
}

// track is the row of a warp.
type track struct {
	cells []uint8
	shift uint8 // its own slice width: rows are brought to one width at the end
	last  int64 // time up to which it is drawn
}

type laneKey struct {
	cta     uint32
	barrier trace.Barrier
}

// laneTrack is the phases of a barrier.
type laneTrack struct {
	done   []Phase
	stride uint64 // completed phases that one entry stands for
	open   Phase
	begun  bool
	total  uint64
}

// The bits of a cell: activity, severity, and two flags.
const (
	cellActivity = 0x0f
	cellSeverity = 0x30
	cellMixed    = 0x40
	cellEvents   = 0x80
)

// maxLanePhases bounds the entries of a barrier.
const maxLanePhases = 1024

func newPicture(origin int64, cells int) *picture {
	return &picture{origin: origin, cells: cells, rows: make(map[Row]*track), lanes: make(map[laneKey]*laneTrack)}
}

// joinCells is the worst of two cells.
func joinCells(a, b uint8) uint8 {
	if a&cellActivity != b&cellActivity && a&cellActivity != 0 && b&cellActivity != 0 {
		a |= cellMixed
	}
	return max(a&cellActivity, b&cellActivity) | max(a&cellSeverity, b&cellSeverity) | (a|b)&(cellMixed|cellEvents)
}

// slice is the cell that a time falls into; the track is widened to hold it.
func (p *picture) slice(t *track, time int64) int {
	at := max(time-p.origin, 0)
	for at>>t.shift >= int64(p.cells) {
		t.fold()
	}
	i := int(at >> t.shift)
	for len(t.cells) <= i {
		t.cells = append(t.cells, 0)
	}
	return i
}

// fold doubles the width of the track's slices.
func (t *track) fold() {
	for i := 0; i < len(t.cells); i += 2 {
		c := t.cells[i]
		if i+1 < len(t.cells) {
			c = joinCells(c, t.cells[i+1])
		}
		t.cells[i/2] = c
	}
	t.cells = t.cells[:(len(t.cells)+1)/2]
	t.shift++
}

// paint draws a state from one time to another.
func (p *picture) paint(t *track, from, to int64, cell uint8) {
	if to < from {
		return
	}
	last := p.slice(t, to)
	for i := p.slice(t, from); i <= last; i++ {
		t.cells[i] = joinCells(t.cells[i], cell)
	}
}

func (p *picture) row(r Row) *track {
	t := p.rows[r]
	if t == nil {
		t = &track{last: -1, shift: p.shift}
		p.rows[r] = t
	}
	return t
}

// changed draws the warp's state up to now.
func (p *picture) changed(s *scope, w *warp, r *row) {
	t := p.row(Row{w.cta.id, w.id})
	p.advance(s, w, t, r.time)
	t.cells[p.slice(t, r.time)] |= cellEvents
}

// released draws the wait that ends by the hand of others.
func (p *picture) released(s *scope, w *warp, time int64) {
	_, mixed := s.worstOf(w)
	p.upTo(p.row(Row{w.cta.id, w.id}), time, Waiting, mixed)
}

// advance draws what the warp has been doing since the last change.
func (p *picture) advance(s *scope, w *warp, t *track, time int64) {
	act, mixed := s.worstOf(w)
	p.upTo(t, time, act, mixed)
}

// upTo draws an activity from the last change on.
func (p *picture) upTo(t *track, time int64, act Activity, mixed bool) {
	if t.last >= 0 && time > t.last && act != Absent {
		cell := uint8(act)
		if mixed {
			cell |= cellMixed
		}
		p.paint(t, t.last, time-1, cell)
	}
	t.last = max(t.last, time)
}

// worstOf is the activity of a warp that a picture shows first, and whether
// its lanes do different things.
func (s *scope) worstOf(w *warp) (worst Activity, mixed bool) {
	for i := range w.strands {
		a := s.activity(&w.strands[i])
		mixed = mixed || i > 0 && a != worst
		worst = max(worst, a)
	}
	return worst, mixed
}

// arrived opens a phase of a barrier, or adds to it.
func (p *picture) arrived(r *row, ref BarrierRef, n, expected uint64) {
	l := p.lane(ref)
	if !l.begun {
		l.begun, l.open = true, Phase{Phase: ref.Phase, From: r.time, To: -1}
	}
	l.open.From = min(l.open.From, r.time)
	l.open.Arrivals += n
	l.open.Expected = max(l.open.Expected, expected)
}

func (p *picture) used(ref BarrierRef) { p.lane(ref) }

func (p *picture) lane(ref BarrierRef) *laneTrack {
	k := laneKey{ref.CTA, ref.Barrier}
	l := p.lanes[k]
	if l == nil {
		l = &laneTrack{stride: 1}
		p.lanes[k] = l
	}
	return l
}

// completed ends the phase.
func (p *picture) completed(_ *scope, ref BarrierRef, time int64) {
	l := p.lane(ref)
	if !l.begun {
		l.open = Phase{Phase: ref.Phase, From: time}
	}
	ph := l.open
	ph.Phase, ph.To = ref.Phase, max(time, ph.From)
	l.begun, l.open = false, Phase{}
	i := int(l.total / l.stride)
	l.total++
	if i < len(l.done) {
		e := &l.done[i]
		e.To = max(e.To, ph.To)
		return
	}
	l.done = append(l.done, ph)
	if len(l.done) == maxLanePhases {
		for i := 0; i < len(l.done); i += 2 {
			e := l.done[i]
			e.To = l.done[i+1].To
			l.done[i/2] = e
		}
		l.done = l.done[:len(l.done)/2]
		l.stride *= 2
	}
}

// begin takes over the states that warps are in when a picture begins in the
// middle of a launch.
func (p *picture) begin(s *scope, time int64) {
	for _, c := range s.ctas {
		for _, w := range c.warps {
			if w.seen != 0 || w.live != w.all {
				p.row(Row{c.id, w.id}).last = time
			}
			for i := range w.strands {
				if st := &w.strands[i]; st.wait == waitMbar {
					st.mb.waiters = append(st.mb.waiters, w)
				}
			}
		}
	}
}

// end draws the states that last to the end of the picture.
func (p *picture) end(s *scope, last int64) {
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			t := p.row(Row{c.id, w.id})
			if t.last < 0 {
				continue
			}
			p.advance(s, w, t, last)
			act, _ := s.worstOf(w)
			if w.live == 0 {
				act = Exited
			}
			p.paint(t, t.last, last, uint8(act))
		}
	}
}

// hung draws lanes that wait for ever.
func (p *picture) hung(row Row, since, last int64) {
	if t := p.rows[row]; t != nil {
		p.paint(t, since, last, uint8(Hung))
	}
}

// mark puts the severity of a finding where it happened.
func (p *picture) mark(row Row, time int64, severity uint8) {
	if t := p.rows[row]; t != nil {
		i := p.slice(t, time)
		if old := t.cells[i] & cellSeverity >> 4; severity > old {
			t.cells[i] = t.cells[i]&^cellSeverity | severity<<4
		}
	}
}

// merge takes over the rows and lanes of a picture of other warps.
func (p *picture) merge(o *picture) {
	for k, t := range o.rows {
		p.rows[k] = t
	}
	for k, l := range o.lanes {
		p.lanes[k] = l
	}
}

// align brings all rows to one slice width.
func (p *picture) align() {
	for _, t := range p.rows {
		p.shift = max(p.shift, t.shift)
	}
	for _, t := range p.rows {
		for t.shift < p.shift {
			t.fold()
		}
	}
}

// phases lists those of a barrier that touch [from, to), the open one too.
func (l *laneTrack) phases(from, to int64) []Phase {
	first, _ := slices.BinarySearchFunc(l.done, from, func(p Phase, t int64) int {
		if p.To < t {
			return -1
		}
		return 1
	})
	var out []Phase
	for _, ph := range l.done[first:] {
		if ph.From >= to {
			break
		}
		out = append(out, ph)
	}
	if l.begun && l.open.From < to {
		out = append(out, l.open)
	}
	return out
}
