package tui

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
)

// drawTimeline draws the window: overview, axis, barriers, rows, legend.
func (m *model) drawTimeline() {
	l := &m.layout
	m.drawOverview(m.grid.canvas(l.overview))
	own := scene{win: m.win, last: m.bounds.last, drawn: m.drawn, playhead: m.win.cell(m.focus.time, m.track()), over: m.current().Outcome == trace.OutcomeCompleted}
	m.drawAxis(m.grid.canvas(l.axis), own)
	if l.lanesTitle.h > 0 {
		title := fmt.Sprintf("barriers of CTA %d", m.focus.row.cta)
		if m.clusters.several() {
			title += "'s cluster"
		}
		title += fmt.Sprintf(" (%d)", len(m.lanes.of(m.focus.row.cta)))
		drawRule(m.grid.canvas(l.lanesTitle), title, m.active == paneBarriers)
	}
	lanes := m.grid.canvas(l.lanes)
	for i, lane := range m.visibleLanes() {
		m.drawLane(lanes, i, lane)
	}
	if l.rowsTitle.h > 0 {
		drawRule(m.grid.canvas(l.rowsTitle), m.rowsTitle(), m.active == paneRows)
	}
	c := m.grid.canvas(l.rows)
	for _, v := range m.visibleRows() {
		m.drawRow(c, v, own)
	}
	if len(m.tree.all) == 0 {
		c.text(1, 0, styleText, "this launch has no events")
	}
	m.drawBeside()
	m.drawParting()
	m.drawCursor()
	m.drawLegend(m.grid.canvas(l.legend))
}

// scene is what a timeline is drawn with.
type scene struct {
	win      window
	last     int64 // time of the last event
	drawn    int64 // the time up to which there is something to draw
	playhead int   // its cell
	over     bool  // the launch completed: whoever was there has exited
}

// tracks are the parts of the screen along which time runs.
func (m *model) tracks() []rect {
	l := &m.layout
	return []rect{l.axis, l.lanes, l.rows, l.otherAxis, l.otherLanes, l.otherRows}
}

// rowsTitle says which warps are shown, and in which order.
func (m *model) rowsTitle() string {
	n := len(m.tree.all)
	s := fmt.Sprintf("warps (%d)", n)
	if m.tree.shown < n {
		s = fmt.Sprintf("warps (%d of %d)", m.tree.shown, n)
	}
	if m.filter != nil && m.tree.match != nil {
		s += " " + m.filter.text
	}
	if m.orderedBy != orderIndex {
		s += ", " + m.orderedBy.String()
	}
	return s
}

// drawRule draws a title line; that of the active pane is heavier.
func drawRule(c canvas, title string, active bool) {
	s, r := styleTitle, rune(glyphRule)
	if active {
		s, r = styleTitleActive, glyphRuleActive
	}
	c.fill(0, 0, c.w, s, r)
	c.set(1, 0, s, ' ')
	x := c.text(2, 0, s, title)
	c.set(x, 0, s, ' ')
}

// drawCursor draws the playhead and the marks over the track.
func (m *model) drawCursor() {
	l := &m.layout
	n := m.track()
	for _, t := range m.marks {
		if x := m.win.cell(t, n); x >= 0 && x < n {
			for _, r := range m.tracks() {
				c := m.grid.canvas(r)
				for y := range c.h {
					if row := c.row(y); row[min(l.gutter+x, len(row)-1)].r == ' ' {
						c.set(l.gutter+x, y, styleMark, glyphMark)
					}
				}
			}
		}
	}
	if d := m.drag; d != nil {
		from, to := min(d.from, d.to), max(d.from, d.to)
		for _, r := range m.tracks() {
			c := m.grid.canvas(r)
			for y := range c.h {
				c.mark(l.gutter+from, y, to-from+1, modPlayhead)
			}
		}
	}
	x := m.win.cell(m.focus.time, n)
	if x < 0 || x >= n || len(m.tree.all) == 0 {
		return
	}
	for _, r := range m.tracks() {
		c := m.grid.canvas(r)
		for y := range c.h {
			c.mark(l.gutter+x, y, 1, modPlayhead)
		}
	}
	for _, r := range []rect{l.axis, l.otherAxis} {
		m.grid.canvas(r).set(l.gutter+x, 0, styleKey|modFocus, glyphPlayhead)
	}
}

// drawAxis draws the times.
func (m *model) drawAxis(c canvas, s scene) {
	n := m.track()
	c.text(1, 0, styleDim, "time")
	track := c.sub(rect{m.layout.gutter, 0, n, 1})
	size := s.win.size()
	playhead := s.playhead // hides the label that it stands in
	// The distance between labels is that of the longest label, which depends
	// on the distance: two rounds are enough.
	chars := 8
	var step uint64
	for range 2 {
		hi, lo := bits.Mul64(size, uint64(min(chars+3, n)))
		gap, _ := bits.Div64(hi, lo, uint64(n))
		step = tick(max(gap, 1))
		chars = utf8.RuneCountInString(report.Time(roundUp(s.win.from, step)+int64(step))) + 1
	}
	if int64(step) <= 0 {
		return
	}
	for t := roundUp(s.win.from, step); t >= s.win.from && t < s.win.to; {
		x := s.win.cell(t, n)
		track.set(x, 0, styleDim, glyphVertical)
		label := report.Time(t)
		end := x + 1 + utf8.RuneCountInString(label)
		if end <= n && (playhead <= x || playhead >= end) {
			track.text(x+1, 0, styleDim, label)
		}
		next := saturate(t, step, false)
		if next == t {
			break
		}
		t = next
	}
}

// roundUp is the first multiple of step at or after t.
func roundUp(t int64, step uint64) int64 {
	if int64(step) <= 0 {
		return t
	}
	rest := t % int64(step)
	switch {
	case rest == 0:
		return t
	case rest < 0:
		return t - rest
	}
	return saturate(t, step-uint64(rest), false)
}

// overview is the findings of a launch along the whole of it: the worst of
// each cell.
type overview struct {
	epoch    int
	view     window
	cells    int
	findings int
	worst    []uint8
}

func (m *model) drawOverview(c canvas) {
	n := m.track()
	all := m.extent().fit(n)
	f := m.findings()
	if o := &m.overview; o.epoch != m.epoch || o.view != all || o.cells != n || o.findings != len(f) {
		*o = overview{m.epoch, all, n, len(f), make([]uint8, n)}
		id := m.current().ID
		for i := range f {
			if f[i].Launch != id {
				continue
			}
			times := []int64{f[i].Time}
			if f[i].Elsewhere.CTAs > 0 {
				times = append(times, f[i].Elsewhere.Last)
			}
			for _, t := range times {
				if x := all.cell(t, n); x >= 0 && x < n {
					o.worst[x] = max(o.worst[x], severity(f[i].Severity))
				}
			}
		}
	}
	c.text(1, 0, styleDim, "whole")
	track := c.sub(rect{m.layout.gutter, 0, n, 1})
	from, to := all.cell(m.win.from, n), all.cell(saturate(m.win.to, 1, true), n)
	for x := range n {
		switch {
		case m.overview.worst[x] > 0:
			track.set(x, 0, severityStyle(m.overview.worst[x]), severityGlyph(m.overview.worst[x]))
		case x >= from && x <= to:
			track.set(x, 0, styleText, glyphWindow)
		default:
			track.set(x, 0, styleDim, glyphRule)
		}
	}
	for _, t := range m.marks {
		if x := all.cell(t, n); x >= 0 && x < n && m.overview.worst[x] == 0 {
			track.set(x, 0, styleMark, glyphMark)
		}
	}
	if x := all.cell(m.focus.time, n); x >= 0 && x < n {
		if m.overview.worst[x] == 0 {
			track.set(x, 0, styleKey, glyphPlayhead)
		}
		track.mark(x, 0, 1, modPlayhead)
	}
}

// visibleRow is a line of the rows: a row, or a strand under an unfolded warp.
type visibleRow struct {
	y      int
	id     rowID
	strand int // -1 for the row itself
}

// visibleRows are the lines on the screen.
func (m *model) visibleRows() []visibleRow {
	var out []visibleRow
	y := 0
	add := func(id rowID, h int) {
		for s := -1; s < len(m.strands(id)) && y < h; s++ {
			out = append(out, visibleRow{y, id, s})
			y++
		}
	}
	for _, id := range m.tree.pinned {
		add(id, m.pinnedLines())
	}
	for i := max(m.top, len(m.tree.pinned)); i < len(m.tree.flat) && y < m.layout.rows.h; i++ {
		add(m.tree.flat[i], m.layout.rows.h)
	}
	return out
}

// strands are the groups of lanes of an unfolded warp, at the playhead or as
// they were known last. Nil for every other row.
func (m *model) strands(id rowID) []replay.Strand {
	if id.whole || !m.tree.lanes[replay.Row{CTA: id.cta, Warp: id.warp}] {
		return nil
	}
	if x, _ := m.moments.get(m.momentKey()); x != nil && x.state != nil {
		for i := range x.state.Warps {
			if w := &x.state.Warps[i]; w.CTA == id.cta && w.Warp == id.warp {
				return w.Strands
			}
		}
	}
	return nil
}

// blank reports whether a row shows nothing of its own: a CTA whose warps are
// below it.
func (m *model) blank(id rowID) bool {
	return id.whole && m.tree.open[id.cta] && !slices.Contains(m.tree.pinned, id)
}

func (m *model) drawRow(c canvas, v visibleRow, own scene) {
	gutter := c.sub(rect{0, v.y, m.layout.gutter - 1, 1})
	n := m.track()
	track := c.sub(rect{m.layout.gutter, v.y, n, 1})
	if v.strand >= 0 {
		m.drawStrand(gutter, track, m.strands(v.id)[v.strand])
		return
	}
	m.rowLabel(gutter, v.id)
	if m.blank(v.id) {
		return
	}
	p, exact := m.cells.get(v.id, m.win, n)
	drawRowPicture(track, p, exact, own)
}

// rowLabel names a row.
func (m *model) rowLabel(gutter canvas, id rowID) {
	s := styleText
	if id == m.focus.row {
		gutter.set(0, 0, styleKey, glyphPointer)
		s = styleBold
	}
	switch {
	case slices.Contains(m.tree.pinned, id):
		gutter.set(1, 0, styleKey, glyphPinned)
		gutter.text(3, 0, s, id.String())
	case id.whole:
		fold := glyphFolded
		if m.tree.open[id.cta] {
			fold = glyphUnfolded
		}
		gutter.set(1, 0, styleDim, fold)
		gutter.text(3, 0, s, "CTA "+strconv.FormatUint(uint64(id.cta), 10))
	default:
		fold := glyphFolded
		if m.tree.lanes[replay.Row{CTA: id.cta, Warp: id.warp}] {
			fold = glyphUnfolded
		}
		gutter.set(2, 0, styleDim, fold)
		gutter.text(4, 0, s, "warp "+strconv.FormatUint(uint64(id.warp), 10))
	}
}

// drawRowPicture draws a row's picture, or says why there is none.
func drawRowPicture(track canvas, p *picture[replay.Cell], exact bool, s scene) {
	switch {
	case p == nil:
		track.fill(0, 0, track.w, styleDim, glyphLoading)
	case p.err != nil:
		track.text(0, 0, styleError, "cannot be shown: "+p.err.Error())
	default:
		drawCells(track, p, exact, s)
	}
}

// drawCells draws a row's picture. One of another window is stretched until
// the right one arrives. What lasts for ever is drawn on after the last event.
func drawCells(track canvas, p *picture[replay.Cell], exact bool, s scene) {
	row := track.row(0)
	end := s.win.cell(s.last, len(row)) // of the last event
	var last replay.Activity
	for x := range row {
		if x <= end && s.win.start(x, len(row)) > s.drawn {
			row[x] = cell{track.g.glyph(glyphLoading), styleDim}
			continue
		}
		i := x
		if !exact {
			i = p.view.cell(s.win.start(x, len(row)), p.n)
			if i < 0 || i >= len(p.data) {
				row[x] = cell{track.g.glyph(glyphLoading), styleDim}
				continue
			}
		}
		c := p.data[i]
		if c.Activity != replay.Absent {
			last = c.Activity
		} else if x > end {
			switch {
			case last == replay.Hung || last == replay.Exited || last == replay.Trapped:
				c.Activity = last
			case s.over && last != replay.Absent:
				c.Activity = replay.Exited
			}
		}
		if c.Severity > 0 {
			row[x] = cell{track.g.glyph(severityGlyph(c.Severity)), severityStyle(c.Severity)}
			continue
		}
		row[x] = cell{track.g.glyph(activityGlyph(c)), activityStyle(c.Activity)}
	}
}

// drawStrand draws some lanes of a warp: what they are doing at the playhead,
// and since when.
func (m *model) drawStrand(gutter, track canvas, s replay.Strand) {
	gutter.text(4, 0, styleDim, "l"+laneRanges(s.Lanes))
	n := track.w
	at := m.win.cell(m.focus.time, n)
	from := max(m.win.cell(s.Since, n), 0)
	st := activityStyle(s.Activity)
	for x := from; x <= min(at, n-1); x++ {
		track.set(x, 0, st, activityGlyph(replay.Cell{Activity: s.Activity}))
	}
	text := m.strandText(s)
	w := utf8.RuneCountInString(text)
	switch {
	case at+2+w <= n:
		track.text(at+2, 0, st, text)
	case w+1 <= from:
		track.text(from-w-1, 0, st, text)
	default:
		track.text(0, 0, st, text)
	}
}

// drawLegend says what the glyphs mean, as far as there is room.
func (m *model) drawLegend(c canvas) {
	x := 1
	for _, e := range legend() {
		if x+2+len(e.text) > c.w {
			return
		}
		c.set(x, 0, e.s, e.glyph)
		x = c.text(x+2, 0, styleDim, e.text) + 2
	}
}

// legendEntry explains a glyph.
type legendEntry struct {
	glyph rune
	s     style
	text  string
}

// legend lists the glyphs of the rows.
func legend() []legendEntry {
	return []legendEntry{
		{glyphRunning, styleRunning, "running"},
		{glyphArrives, styleArrived, "arrives"},
		{glyphArrived, styleArrived, "arrived"},
		{glyphWaiting, styleWaiting, "waiting"},
		{glyphWaitingPart, styleWaiting, "in part"},
		{glyphReleased, styleReleased, "released"},
		{glyphHung, styleHung, "hung"},
		{glyphError, styleError, "error"},
		{glyphWarning, styleWarning, "warning"},
		{glyphCompleting, styleCompleting, "completion"},
		{glyphTrapped, styleTrapped, "trapped"},
		{glyphExited, styleExited, "exited"},
		{glyphRunningEvent, styleRunning, "event"},
		{glyphLoading, styleDim, "loading"},
	}
}
