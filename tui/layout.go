package tui

import "slices"

// The smallest screen that the viewer draws itself on; on a smaller one it
// says so.
const (
	minCols = 24
	minRows = 6
)

// pane is a part of the screen that can be active: the one that up, down and
// enter are about.
type pane uint8

const (
	paneRows pane = iota
	paneBarriers
	paneState
	paneEvent
	paneSource
	paneFindings
	paneStory
	numPanes
)

func (p pane) String() string {
	return [numPanes]string{"warps", "barriers", "state", "event", "source", "findings", "story"}[p]
}

// details reports whether the pane stands beside or below the timeline.
func (p pane) details() bool { return p >= paneState }

// layoutInput is what a layout depends on.
type layoutInput struct {
	cols, rows int
	lanes      int // barriers to show
	lines      int // rows to show, one screen line each
	findings   int
	story      int  // lines of the story at sideWidth; 0 if there is none
	source     bool // there is source to show
	active     pane
	slots      [2]pane // details panes of a screen that has room for two
	clusters   bool    // barriers are named with their CTA
}

// layout is where everything stands. A rect of no height is not shown.
type layout struct {
	header, status    rect
	overview, axis    rect
	lanesTitle, lanes rect
	rowsTitle, rows   rect
	legend            rect
	gutter            int // width of the labels left of the track
	divider           rect
	panes             []placed
	side              bool // panes beside the timeline, not below
	tooSmall          bool
}

// placed is a details pane and its place, its title line included.
type placed struct {
	pane pane
	rect
}

// track is the number of cells that the window is drawn in.
func (l *layout) track() int { return max(l.axis.w-l.gutter, 1) }

// slotCount is how many details panes a screen of that width shows below the
// timeline.
func slotCount(cols int) int {
	if cols >= 64 {
		return 2
	}
	return 1
}

// wideCols is the width from which the details stand beside the timeline.
const wideCols = 110

// sideWidth is the width of the details beside the timeline.
func sideWidth(cols int) int { return min(max(cols*36/100, 40), 90) }

func newLayout(in layoutInput) layout {
	var l layout
	if in.cols < minCols || in.rows < minRows {
		l.tooSmall = true
		return l
	}
	l.header = rect{0, 0, in.cols, 1}
	l.status = rect{0, in.rows - 1, in.cols, 1}
	main := rect{0, 1, in.cols, in.rows - 2}
	if in.cols >= wideCols {
		l.side = true
		w := sideWidth(in.cols)
		main.w -= w + 1
		l.divider = rect{main.w, 1, 1, main.h}
		l.panes = stack(in, rect{main.w + 1, 1, w, main.h})
	} else {
		main.h -= l.below(in, main)
	}
	l.gutter = 13
	if in.clusters {
		l.gutter = 16
	}
	l.timeline(main, in.lanes, in.lines)
	return l
}

// below places the details under the timeline and returns their height.
func (l *layout) below(in layoutInput, main rect) int {
	h := min(main.h*2/5, 16)
	if main.h < 14 {
		h = 0
		if in.active.details() {
			h = max(main.h-3, 1)
		}
	}
	if h == 0 {
		return 0
	}
	n := slotCount(in.cols)
	y := main.y + main.h - h
	x := 0
	for i := range n {
		w := (in.cols - x - (n - 1 - i)) / (n - i)
		l.panes = append(l.panes, placed{in.slots[i], rect{x, y, w, h}})
		x += w
		if i < n-1 {
			l.divider = rect{x, y, 1, h}
			x++
		}
	}
	return h
}

// timeline places the parts of the timeline in a rect. The barriers get a
// quarter of it, and what the rows leave over.
func (l *layout) timeline(r rect, lanes, lines int) {
	y, h := r.y, r.h
	line := func(n int) rect {
		n = max(min(n, h), 0)
		x := rect{r.x, y, r.w, n}
		y, h = y+n, h-n
		return x
	}
	titles := 0
	if r.h >= 12 {
		titles = 1
	}
	l.axis = rect{w: r.w}
	if r.h >= 4 {
		l.overview = line(1)
	}
	l.axis = line(1)
	legend := 0
	if r.h >= 14 {
		legend = 1
	}
	if lanes > 0 && r.h >= 5 {
		l.lanesTitle = line(titles)
		l.lanes = line(min(lanes, max(1, (r.h-3)/4, h-titles-legend-lines)))
	}
	l.rowsTitle = line(titles)
	l.rows = line(h - legend)
	l.legend = line(legend)
}

// stack places the details one above the other. What there is no room for is
// left out, the active pane never.
func stack(in layoutInput, r rect) []placed {
	type want struct {
		pane     pane
		height   int
		grow     bool
		optional bool
	}
	wants := []want{
		{pane: paneFindings, height: min(max(in.findings, 1), 6) + 1, grow: in.findings > 6},
		{pane: paneStory, height: in.story + 2, optional: in.findings == 0},
		{pane: paneState, height: 9},
		{pane: paneEvent, height: 9},
		{pane: paneSource, height: 9, grow: true, optional: !in.source},
	}
	// What gives way last comes first.
	order := []pane{in.active, paneState, paneStory, paneEvent, paneFindings, paneSource}
	const least = 4
	height := map[pane]int{}
	room := r.h
	for _, p := range order {
		i := slices.IndexFunc(wants, func(w want) bool { return w.pane == p })
		if i < 0 || height[p] > 0 || wants[i].optional && p != in.active {
			continue
		}
		if n := min(least, wants[i].height); n <= room {
			height[p], room = n, room-n
		}
	}
	for _, p := range order {
		for _, w := range wants {
			if w.pane == p && height[p] > 0 && height[p] < w.height {
				n := min(w.height-height[p], room)
				height[p], room = height[p]+n, room-n
			}
		}
	}
	for room > 0 {
		before := room
		for _, w := range wants {
			if room > 0 && height[w.pane] > 0 && w.grow {
				height[w.pane], room = height[w.pane]+1, room-1
			}
		}
		if room == before {
			break
		}
	}
	var out []placed
	y := r.y
	for _, w := range wants {
		if n := height[w.pane]; n > 0 {
			out = append(out, placed{w.pane, rect{r.x, y, r.w, n}})
			y += n
		}
	}
	if n := len(out); n > 0 {
		out[n-1].h += room
	}
	return out
}
