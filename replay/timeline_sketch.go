package replay

import (
	"context"
	"errors"
	"fmt"

	"btrace/replay/diagnose"
	"btrace/trace"
)

// ErrSketch is what a sketch answers to what only a replay knows.
var ErrSketch = errors.New("the launch is still being replayed")

// Sketch is a launch as its events alone show it, for a viewer that waits for
// Open: what a warp does is taken from its last event, and phases, states and
// findings are not known. It costs one reading of the events. Where the trace
// brings what Open needs, there is nothing to wait for: Sketch returns nil.
func Sketch(ctx context.Context, src Source, launch uint32) (Timeline, error) {
	for _, l := range src.Launches() {
		if l.ID != launch {
			continue
		}
		v := &view{src: src, launch: l}
		if v.load() {
			return nil, nil
		}
		s := &sketched{view{src: src, launch: l, checked: true, data: &data{}}}
		if err := s.draw(ctx); err != nil {
			return nil, fmt.Errorf("launch %d: %w", launch, err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("no launch %d in this trace", launch)
}

// sketched is a Timeline without a replay.
type sketched struct{ view }

// sketchCells bounds the slices of a sketch over all rows that a launch
// declares.
const sketchCells = 4 << 20

// draw reads the events.
func (s *sketched) draw(ctx context.Context) error {
	rows := max(s.launch.Grid.Size()*uint64(max(s.launch.Warps(), 1)), 1)
	cells := 64
	for cells < 1024 && uint64(cells*2)*rows <= sketchCells {
		cells *= 2
	}
	first := true
	type pen struct {
		*track
		doing Activity
	}
	pens := map[Row]*pen{}
	for b, err := range s.src.Blocks(ctx, trace.Query{Launch: &s.launch.ID}) {
		if err != nil {
			return err
		}
		n := b.Len()
		if n == 0 {
			continue
		}
		if first {
			s.origin, first = b.Time[0], false
			s.pic = newPicture(s.origin, cells)
		}
		s.last = max(s.last, b.Time[n-1])
		for i := range n {
			row := Row{b.CTA[i], b.Warp[i]}
			p := pens[row]
			if p == nil {
				p = &pen{track: s.pic.row(row)}
				pens[row] = p
			}
			s.pic.upTo(p.track, b.Time[i], p.doing, false)
			p.cells[s.pic.slice(p.track, b.Time[i])] |= cellEvents
			p.doing = afterEvent(b.Ops[b.Op[i]].Kind)
		}
	}
	if first {
		s.pic = newPicture(0, cells)
	}
	for _, p := range pens {
		if p.doing == Waiting && s.launch.Outcome == trace.OutcomeHung {
			p.doing = Hung
		}
		s.pic.paint(p.track, p.last, s.last, uint8(p.doing))
	}
	s.pic.align()
	return nil
}

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
