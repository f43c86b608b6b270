package tui

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"btrace/replay"
	"btrace/replay/report"
)

// drawTimeline draws the window: overview, axis, barriers, rows, legend.
func (m *model) drawTimeline() {
	l := &m.layout
	m.drawOverview(m.grid.canvas(l.overview))
	m.drawAxis(m.grid.canvas(l.axis))
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
		m.drawRow(c, v)
	}
	if len(m.tree.all) == 0 {
		c.text(1, 0, styleText, "this launch has no events")
	}
	m.drawCursor()
	m.drawLegend(m.grid.canvas(l.legend))
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
			for _, r := range []rect{l.axis, l.lanes, l.rows} {
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
		for _, r := range []rect{l.axis, l.lanes, l.rows} {
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
	for _, r := range []rect{l.axis, l.lanes, l.rows} {
		c := m.grid.canvas(r)
		for y := range c.h {
			c.mark(l.gutter+x, y, 1, modPlayhead)
		}
	}
	m.grid.canvas(l.axis).set(l.gutter+x, 0, styleKey|modFocus, glyphPlayhead)
}

// drawAxis draws the times.
func (m *model) drawAxis(c canvas) {
	n := m.track()
	c.text(1, 0, styleDim, "time")
	track := c.sub(rect{m.layout.gutter, 0, n, 1})
	size := m.win.size()
	playhead := m.win.cell(m.focus.time, n) // hides the label that it stands in
	// The distance between labels is that of the longest label, which depends
	// on the distance: two rounds are enough.
	chars := 8
	var step uint64
	for range 2 {
		hi, lo := bits.Mul64(size, uint64(min(chars+3, n)))
		gap, _ := bits.Div64(hi, lo, uint64(n))
		step = tick(max(gap, 1))
		chars = utf8.RuneCountInString(report.Time(roundUp(m.win.from, step)+int64(step))) + 1
	}
	if int64(step) <= 0 {
		return
	}
	for t := roundUp(m.win.from, step); t >= m.win.from && t < m.win.to; {
		x := m.win.cell(t, n)
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
	epoch, cells int
	findings     int
	worst        []uint8
}

func (m *model) drawOverview(c canvas) {
	n := m.track()
	all := m.bounds.fit(n)
	f := m.findings()
	if o := &m.overview; o.epoch != m.epoch || o.cells != n || o.findings != len(f) {
		*o = overview{m.epoch, n, len(f), make([]uint8, n)}
		id := m.current().ID
		for i := range f {
			if x := all.cell(f[i].Time, n); f[i].Launch == id && x >= 0 && x < n {
				o.worst[x] = max(o.worst[x], severity(f[i].Severity))
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

// visibleLanes are the barriers on the screen.
func (m *model) visibleLanes() []replay.Lane {
	all := m.lanes.of(m.focus.row.cta)
	from := min(m.laneTop, len(all))
	return all[from:min(from+max(m.layout.lanes.h, 0), len(all))]
}

// drawLane draws a barrier: a segment for each of its phases, with its number
// and arrivals where there is room. Even and odd phases are drawn differently,
// as parity tells them apart.
func (m *model) drawLane(c canvas, y int, lane replay.Lane) {
	id := laneID{lane.CTA, lane.Barrier}
	s := styleText
	if id == m.focus.lane {
		c.set(0, y, styleKey, glyphPointer)
		s = styleBold
	}
	label := lane.Barrier.String()
	if m.clusters.several() {
		label = strconv.FormatUint(uint64(lane.CTA), 10) + " " + label
	}
	c.sub(rect{1, y, m.layout.gutter - 2, 1}).text(0, 0, s, label)
	n := m.track()
	track := c.sub(rect{m.layout.gutter, y, n, 1})
	p, _ := m.phases.get(id, m.win, n)
	if p == nil {
		track.fill(0, 0, n, styleDim, glyphLoading)
		return
	}
	if p.err != nil {
		track.text(0, 0, styleError, "cannot be shown: "+p.err.Error())
		return
	}
	row := track.row(0)
	open := false
	for i := range p.data {
		m.drawPhase(track, row, &p.data[i])
		open = open || p.data[i].To < 0
	}
	if held, ok := m.heldPhase(id); ok && !open {
		m.drawPhase(track, row, &held)
	}
}

// heldPhase is the phase that the selected finding says lanes wait for, of a
// barrier that nobody has arrived on in it: a timeline's phases begin with
// arrivals.
func (m *model) heldPhase(id laneID) (replay.Phase, bool) {
	f := m.selected()
	if f == nil || !f.Root || f.Launch != m.current().ID {
		return replay.Phase{}, false
	}
	if f.Barrier == id.barrier && f.BarrierRef.CTA == id.cta {
		return replay.Phase{Phase: f.Phase, From: f.Time, To: -1}, true
	}
	for _, w := range f.Behind {
		if w.Barrier == id.barrier && w.CTA == id.cta {
			return replay.Phase{Phase: w.Phase, From: w.Since, To: -1}, true
		}
	}
	return replay.Phase{}, false
}

func (m *model) drawPhase(c canvas, row []cell, p *replay.Phase) {
	n := len(row)
	x0, x1 := m.win.cell(p.From, n), n
	fill, s := glyphPhaseEven, stylePhaseEven
	if p.Phase%2 == 1 {
		fill, s = glyphPhaseOdd, stylePhaseOdd
	}
	if p.To < 0 {
		fill, s = glyphWaiting, styleWaiting
	} else {
		x1 = m.win.cell(p.To, n)
	}
	if x0 >= n || x1 < 0 {
		return
	}
	begins := x0 >= 0
	x0, x1 = max(x0, 0), min(x1, n-1)
	taken := row[x0].r != ' '
	for x := x0; x <= x1; x++ {
		row[x] = cell{c.g.glyph(fill), s}
	}
	switch {
	case p.Violations > 0:
		c.set(x0, 0, severityStyle(p.Violations), severityGlyph(p.Violations))
	case begins && taken && x0 == x1:
		c.set(x0, 0, s, glyphPhaseDense)
	case begins:
		c.set(x0, 0, s, glyphPhaseStart)
	}
	if x0 > 0 || begins {
		x0++
	}
	if x1-x0 < 2 {
		return
	}
	short := strconv.FormatUint(p.Phase, 10)
	long := "#" + short
	if p.Expected > 0 {
		long += " " + strconv.FormatUint(p.Arrivals, 10) + "/" + strconv.FormatUint(p.Expected, 10)
	}
	for _, label := range []string{long, short} {
		if x1-x0 > len(label) {
			c.text(x0, 0, s|modFocus, label)
			return
		}
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

func (m *model) drawRow(c canvas, v visibleRow) {
	gutter := c.sub(rect{0, v.y, m.layout.gutter - 1, 1})
	n := m.track()
	track := c.sub(rect{m.layout.gutter, v.y, n, 1})
	if v.strand >= 0 {
		m.drawStrand(gutter, track, m.strands(v.id)[v.strand])
		return
	}
	s := styleText
	if v.id == m.focus.row {
		gutter.set(0, 0, styleKey, glyphPointer)
		s = styleBold
	}
	switch {
	case slices.Contains(m.tree.pinned, v.id):
		gutter.set(1, 0, styleKey, glyphPinned)
		gutter.text(3, 0, s, v.id.String())
	case v.id.whole:
		fold := glyphFolded
		if m.tree.open[v.id.cta] {
			fold = glyphUnfolded
		}
		gutter.set(1, 0, styleDim, fold)
		gutter.text(3, 0, s, "CTA "+strconv.FormatUint(uint64(v.id.cta), 10))
	default:
		fold := glyphFolded
		if m.tree.lanes[replay.Row{CTA: v.id.cta, Warp: v.id.warp}] {
			fold = glyphUnfolded
		}
		gutter.set(2, 0, styleDim, fold)
		gutter.text(4, 0, s, "warp "+strconv.FormatUint(uint64(v.id.warp), 10))
	}
	if m.blank(v.id) {
		return
	}
	p, exact := m.cells.get(v.id, m.win, n)
	switch {
	case p == nil:
		track.fill(0, 0, n, styleDim, glyphLoading)
	case p.err != nil:
		track.text(0, 0, styleError, "cannot be shown: "+p.err.Error())
	default:
		m.drawCells(track, p, exact)
	}
}

// drawCells draws a row's picture. One of another window is stretched until
// the right one arrives. What lasts for ever is drawn on after the last event.
func (m *model) drawCells(track canvas, p *picture[replay.Cell], exact bool) {
	row := track.row(0)
	end := m.win.cell(m.bounds.last, len(row)) // of the last event
	var last replay.Activity
	for x := range row {
		if !m.settled && m.win.start(x, len(row)) > m.drawn && x <= end {
			row[x] = cell{track.g.glyph(glyphLoading), styleDim}
			continue
		}
		i := x
		if !exact {
			i = p.view.cell(m.win.start(x, len(row)), p.n)
			if i < 0 || i >= len(p.data) {
				row[x] = cell{track.g.glyph(glyphLoading), styleDim}
				continue
			}
		}
		c := p.data[i]
		if c.Activity != replay.Absent {
			last = c.Activity
		} else if x > end && (last == replay.Hung || last == replay.Exited || last == replay.Trapped) {
			c.Activity = last
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
