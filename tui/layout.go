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
	paneGraph
	paneStats
	paneDiff
	numPanes
)

func (p pane) String() string {
	return [numPanes]string{"warps", "barriers", "state", "event", "source", "findings", "story", "graph", "waits", "diff"}[p]
}

// details reports whether the pane stands beside or below the timeline.
func (p pane) details() bool { return p >= paneState }

// layoutInput is what a layout depends on.
type layoutInput struct {
	cols, rows int
	lanes      int // barriers to show
	lines      int // rows to show, one screen line each
	findings   int
	state      int  // most lines that the state of a barrier has had
	story      int  // lines of the story at sideWidth; 0 if there is none
	source     bool // there is source to show
	graph      int  // lines of the wait-for graph; 0 if it is not known
	waits      int  // lines of the statistics
	diff       int  // and of the comparison of two recordings
	calm       bool // the verdict is known, and nothing was found: waits are what is left to look at
	hang       bool // the launch hangs: the graph is worth its room
	active     pane
	slots      [2]pane // details panes of a screen that has room for two
	clusters   bool    // barriers are named with their CTA
	both       bool    // another recording is shown below
	sizes
}

// sizes are what a user has made of the panes.
type sizes struct {
	wanted  [numPanes]int8 // 1: shown where there is room, -1: hidden, 0: as usual
	extra   [numPanes]int  // lines more than usual, of a pane beside the timeline
	wider   int            // columns more than usual, of all of them
	taller  int            // lines more than usual, of those below it
	maximal bool           // the active pane has all the room
}

// layout is where everything stands. A rect of no height is not shown.
type layout struct {
	header, status    rect
	overview, axis    rect
	lanesTitle, lanes rect
	rowsTitle, rows   rect
	legend            rect
	otherTitle        rect // the other recording, below
	otherAxis         rect
	otherLanes        rect
	otherRows         rect
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

// leastSide is the least width of the details beside the timeline, and of the
// timeline beside them.
const leastSide = 30

// sideWidth is the width of the details beside the timeline.
func sideWidth(cols, wider int) int {
	return min(max(min(max(cols*36/100, 40), 90)+wider, leastSide), cols-leastSide)
}

func newLayout(in layoutInput) layout {
	var l layout
	if in.cols < minCols || in.rows < minRows {
		l.tooSmall = true
		return l
	}
	l.header = rect{0, 0, in.cols, 1}
	l.status = rect{0, in.rows - 1, in.cols, 1}
	main := rect{0, 1, in.cols, in.rows - 2}
	switch {
	case in.maximal && in.active.details():
		l.panes = []placed{{in.active, main}}
		l.axis = rect{w: in.cols}
		l.gutter = gutterWidth(in.clusters)
		return l
	case in.maximal:
	case in.cols >= wideCols:
		l.side = true
		w := sideWidth(in.cols, in.wider)
		main.w -= w + 1
		l.divider = rect{main.w, 1, 1, main.h}
		l.panes = stack(in, rect{main.w + 1, 1, w, main.h})
	default:
		main.h -= l.below(in, main)
	}
	l.gutter = gutterWidth(in.clusters)
	l.timeline(main, in.lanes, in.lines, in.both)
	return l
}

// gutterWidth is the width of the labels left of the track.
func gutterWidth(clusters bool) int {
	if clusters {
		return 16
	}
	return 13
}

// below places the details under the timeline and returns their height.
func (l *layout) below(in layoutInput, main rect) int {
	h := min(max(min(main.h*2/5, 16)+in.taller, 3), main.h-5)
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
func (l *layout) timeline(r rect, lanes, lines int, both bool) {
	if r.h >= 14 {
		l.legend = rect{r.x, r.y + r.h - 1, r.w, 1}
		r.h--
	}
	if both && r.h >= 13 {
		r.h -= l.beside(r, lanes, lines)
	}
	y, h := r.y, r.h
	line := func(n int) rect {
		n = max(min(n, h), 0)
		x := rect{r.x, y, r.w, n}
		y, h = y+n, h-n
		return x
	}
	titles := 0
	if r.h >= 11 {
		titles = 1
	}
	l.axis = rect{w: r.w}
	if r.h >= 4 {
		l.overview = line(1)
	}
	l.axis = line(1)
	if lanes > 0 && r.h >= 5 {
		l.lanesTitle = line(titles)
		l.lanes = line(min(lanes, max(1, (r.h-3)/4, h-titles-lines)))
	}
	l.rowsTitle = line(titles)
	l.rows = line(h)
}

// beside places the other recording at the bottom of the timeline, and returns
// its height: half of it, or as much as it needs.
func (l *layout) beside(r rect, lanes, lines int) int {
	const titles, above = 2, 4 // lines that are neither barriers nor rows: its own, and those of the timeline above
	n := min(max((r.h-above-titles)/2, r.h-above-titles-lanes-lines), lanes+lines)
	if n < 2 {
		return 0
	}
	y := r.y + r.h - titles - n
	k := min(lanes, max(n/4, n-lines))
	l.otherTitle = rect{r.x, y, r.w, 1}
	l.otherAxis = rect{r.x, y + 1, r.w, 1}
	l.otherLanes = rect{r.x, y + 2, r.w, k}
	l.otherRows = rect{r.x, y + 2 + k, r.w, n - k}
	return titles + n
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
		{pane: paneStory, height: min(in.story+1, max(r.h/2, 8)), optional: in.findings == 0},
		{pane: paneState, height: min(max(in.state, 8), 20) + 1},
		{pane: paneGraph, height: min(max(in.graph, 3), 14) + 1, optional: !in.hang},
		{pane: paneEvent, height: 9},
		{pane: paneStats, height: min(max(in.waits, 3), 24) + 1, optional: !in.calm},
		{pane: paneDiff, height: min(max(in.diff, 4), 20) + 1, optional: true},
		{pane: paneSource, height: 9, grow: true, optional: !in.source},
	}
	wants = slices.DeleteFunc(wants, func(w want) bool { return in.wanted[w.pane] < 0 && w.pane != in.active })
	for i := range wants {
		w := &wants[i]
		w.optional = w.optional && in.wanted[w.pane] == 0
		w.height = max(w.height+in.extra[w.pane], 2)
	}
	// What gives way last comes first.
	order := []pane{in.active}
	for p := range numPanes {
		if in.wanted[p] > 0 {
			order = append(order, p)
		}
	}
	order = append(order, paneStory, paneState)
	if in.hang {
		order = append(order, paneGraph)
	}
	order = append(order, paneFindings, paneEvent, paneSource, paneGraph, paneStats, paneDiff)
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
