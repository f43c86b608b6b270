package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"btrace/replay/diagnose"
	"btrace/trace"
)

// ErrSketch is what a sketch answers to what only a replay knows.
var ErrSketch = errors.New("the launch is still being replayed")

// Sketch draws a launch as its events alone show it, for a viewer that waits
// for Open: what a warp does is taken from its last event, and phases, states
// and findings are not known. It costs one reading of the events. What is
// drawn is handed to show again and again, and at last as a whole: each is a
// Timeline of its own, in which events are drawn up to a time. Where the trace
// brings what Open needs, there is nothing to wait for, and nothing is drawn.
func Sketch(ctx context.Context, src Source, launch uint32, show func(drawn Timeline, upTo int64)) error {
	for _, l := range src.Launches() {
		if l.ID != launch {
			continue
		}
		if prepared(src, launch) {
			return nil
		}
		s := &sketcher{src: src, launch: l, show: show, pens: map[Row]*pen{}}
		if err := s.draw(ctx); err != nil {
			return fmt.Errorf("launch %d: %w", launch, err)
		}
		return nil
	}
	return fmt.Errorf("no launch %d in this trace", launch)
}

// prepared reports whether a source brings the picture of a launch.
func prepared(src Source, launch uint32) bool {
	s, ok := src.(sectioned)
	if !ok {
		return false
	}
	sec, ok, err := s.Section(pictureName(launch))
	return ok && err == nil && sec.Version == sectionVersion
}

// informed is a source that knows the times of its launches before it is read.
type informed interface{ Info() trace.Info }

// sketcher draws a picture from events alone.
type sketcher struct {
	src         Source
	launch      trace.Launch
	show        func(Timeline, int64)
	first, last int64 // of the launch, as far as they are known
	pic         *picture
	pens        map[Row]*pen
}

// pen draws the row of a warp: what it has been doing since its last event.
type pen struct {
	*track
	doing Activity
}

// sketchCells bounds the slices of a sketch over all rows that a launch
// declares.
const sketchCells = 4 << 20

// What is drawn is shown after the first of these, and each time as much later
// as the next; the last goes on.
const (
	sketchSoon = 20 * time.Millisecond
	sketchMost = 400 * time.Millisecond
)

// draw reads the events.
func (s *sketcher) draw(ctx context.Context) error {
	rows := max(s.launch.Grid.Size()*uint64(max(s.launch.Warps(), 1)), 1)
	cells := 64
	for cells < 1024 && uint64(cells*2)*rows <= sketchCells {
		cells *= 2
	}
	s.expect()
	s.pic = newPicture(s.first, cells)
	wait := sketchSoon
	shown := time.Now()
	seen := false
	for b, err := range s.src.Blocks(ctx, trace.Query{Launch: &s.launch.ID}) {
		if err != nil {
			return err
		}
		n := b.Len()
		if n == 0 {
			continue
		}
		if !seen {
			seen = true
			s.first = b.Time[0]
			s.pic.origin = s.first
		}
		for i := range n {
			row := Row{b.CTA[i], b.Warp[i]}
			p := s.pens[row]
			if p == nil {
				p = &pen{track: s.pic.row(row)}
				s.pens[row] = p
			}
			s.pic.upTo(p.track, b.Time[i], p.doing, false)
			p.cells[s.pic.slice(p.track, b.Time[i])] |= cellEvents
			p.doing = afterEvent(b.Ops[b.Op[i]].Kind)
		}
		upTo := b.Time[n-1]
		s.last = max(s.last, upTo)
		if time.Since(shown) >= wait {
			begun := time.Now()
			s.show(s.drawn(upTo), upTo)
			shown = time.Now()
			wait = max(min(wait*2, sketchMost), 10*shown.Sub(begun)) // most of the time is for reading
		}
	}
	for _, p := range s.pens {
		if p.doing == Waiting && s.launch.Outcome == trace.OutcomeHung {
			p.doing = Hung
		}
	}
	s.show(s.drawn(s.last), s.last)
	return nil
}

// expect takes the times of the launch from what the source knows of it.
func (s *sketcher) expect() {
	src, ok := s.src.(informed)
	if !ok {
		return
	}
	for _, l := range src.Info().Launches {
		if l.ID == s.launch.ID && l.First <= l.Last {
			s.first, s.last = l.First, l.Last
		}
	}
}

// drawn is a copy of what has been drawn: what warps are doing goes on until
// the last event that was read.
func (s *sketcher) drawn(upTo int64) Timeline {
	pic := newPicture(s.pic.origin, s.pic.cells)
	for row, p := range s.pens {
		t := &track{cells: slices.Clone(p.cells), shift: p.shift, last: p.last}
		pic.rows[row] = t
		pic.paint(t, t.last, upTo, uint8(p.doing))
	}
	pic.align()
	return &sketched{view{src: s.src, launch: s.launch, checked: true, data: &data{origin: s.first, last: s.last, pic: pic}}}
}

// sketched is a Timeline without a replay.
type sketched struct{ view }

// afterEvent is what lanes do after an event of that kind, as far as that can
// be told from it alone.
func afterEvent(k trace.Kind) Activity {
	switch k {
	case trace.KindBarSync, trace.KindBarRed, trace.KindMbarWait, trace.KindClusterWait, trace.KindGroupWait, trace.KindSyncwarp:
		return Waiting
	case trace.KindBarArrive, trace.KindMbarArrive, trace.KindMbarArriveDrop, trace.KindMbarArriveNoComplete, trace.KindMbarArriveExpectTx,
		trace.KindClusterArrive, trace.KindGroupArrive:
		return Arrived
	case trace.KindExit:
		return Exited
	case trace.KindTrap:
		return Trapped
	}
	return Running
}

func (s *sketched) Cells(_ context.Context, row Row, from, to int64, cells []Cell) error {
	clear(cells)
	if len(cells) > 0 && to > from {
		s.pic.fill(row, from, to, cells, true)
	}
	return nil
}

func (s *sketched) Phases(context.Context, Lane, int64, int64, int) ([]Phase, error) {
	return nil, ErrSketch
}

func (s *sketched) State(context.Context, uint32, int64) (*State, error) { return nil, ErrSketch }

func (s *sketched) Blocked(context.Context, uint32, int64) ([]diagnose.Stuck, error) {
	return nil, ErrSketch
}
