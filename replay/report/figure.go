package report

import (
	"context"
	"fmt"
	"slices"

	"btrace/replay"
	"btrace/trace/plain"
)

// figure is the picture of a page: a lane for every barrier, a row for every
// warp, time to the right. Lengths are in the units of the drawing.
type figure struct {
	Width, Height int
	Plot          int // where time begins
	Rows          []figureRow
	Ticks         []tick
	Mark          int // where the finding is; 0: nowhere
	Legend        []legend
	Left          int // rows that there is no room for
	LegendY       int
}

type figureRow struct {
	Name string
	Y    int
	Bars []bar
}

type bar struct {
	X, W  int
	Class string // of the style sheet
	Title string
	Text  string // in the bar
}

type tick struct {
	X    int
	Text string
}

type legend struct {
	X     int
	Class string
	Text  string
}

// The sizes of a figure. A hang of a whole grid is the same in every CTA, so
// that what does not fit says nothing new.
const (
	plotWidth  = 1000
	nameWidth  = 150
	rowHeight  = 18
	cellCount  = 250
	maxRows    = 64
	maxLanes   = 32
	lanePhases = 200
)

func newFigure(ctx context.Context, tl replay.Timeline, s *replay.State, from, to int64, f *replay.Finding) (*figure, error) {
	g := &figure{Width: nameWidth + plotWidth, Plot: nameWidth}
	end := to + 1
	if end < to { // the last time there is
		end = to
	}
	x := func(t int64) int {
		if end <= from {
			return 0
		}
		return int(float64(max(min(t, end), from)-from) / float64(end-from) * plotWidth)
	}
	y := 20
	lanes := 0
	for _, lane := range tl.Lanes() {
		if !slices.ContainsFunc(s.Barriers, func(b replay.BarrierState) bool { return b.CTA == lane.CTA && b.Barrier == lane.Barrier }) {
			continue
		}
		if lanes++; lanes > maxLanes {
			g.Left++
			continue
		}
		phases, err := tl.Phases(ctx, lane, from, end, lanePhases)
		if err != nil {
			return nil, err
		}
		row := figureRow{Name: plain.Text(fmt.Sprintf("cta%d %s", lane.CTA, lane.Barrier)), Y: y}
		for _, p := range phases {
			b := bar{X: nameWidth + x(p.From), Class: "phase", Title: fmt.Sprintf("phase %d from %s", p.Phase, Time(p.From))}
			stop := end
			if p.To >= 0 {
				stop = p.To
				b.Title += " to " + Time(p.To)
			} else {
				b.Class = "open"
				b.Title += fmt.Sprintf(", not complete: %d of %d arrivals", p.Arrivals, p.Expected)
			}
			b.W = max(nameWidth+x(stop)-b.X, 2)
			if b.W > 24 {
				b.Text = fmt.Sprint(p.Phase)
			}
			row.Bars = append(row.Bars, b)
		}
		g.Rows = append(g.Rows, row)
		y += rowHeight
	}
	y += rowHeight / 2
	used := map[replay.Activity]bool{}
	for i, w := range s.Warps {
		if i >= maxRows {
			g.Left++
			continue
		}
		cells := make([]replay.Cell, cellCount)
		if err := tl.Cells(ctx, replay.Row{CTA: w.CTA, Warp: w.Warp}, from, end, cells); err != nil {
			return nil, err
		}
		row := figureRow{Name: fmt.Sprintf("cta%d w%d", w.CTA, w.Warp), Y: y}
		for k := 0; k < len(cells); {
			n := k + 1
			for n < len(cells) && cells[n].Activity == cells[k].Activity {
				n++
			}
			if a := cells[k].Activity; a != replay.Absent {
				used[a] = true
				row.Bars = append(row.Bars, bar{
					X: nameWidth + k*plotWidth/cellCount, W: (n - k) * plotWidth / cellCount, Class: a.String(),
					Title: fmt.Sprintf("%s from %s", a, Time(from+int64(float64(k)/cellCount*float64(end-from)))),
				})
			}
			k = n
		}
		g.Rows = append(g.Rows, row)
		y += rowHeight
	}
	g.LegendY = y + 14
	g.Height = y + 32
	for i := range 5 {
		t := from + int64(float64(to-from)*float64(i)/5)
		g.Ticks = append(g.Ticks, tick{nameWidth + x(t), Time(t)})
	}
	if f != nil {
		g.Mark = nameWidth + x(f.Time)
	}
	for a := range replay.Activity(replay.NumActivities) {
		if used[a] {
			g.Legend = append(g.Legend, legend{nameWidth + 120*len(g.Legend), a.String(), a.String()})
		}
	}
	return g, nil
}
