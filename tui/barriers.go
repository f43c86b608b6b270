package tui

import (
	"strconv"

	"btrace/replay"
)

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
	m.laneLabel(c, y, lane)
	n := m.track()
	track := c.sub(rect{m.layout.gutter, y, n, 1})
	p, _ := m.phases.get(id, m.win, n)
	if open := m.drawPhases(track, p, m.win); p == nil || p.err != nil || open {
		return
	}
	if held, ok := m.heldPhase(id); ok {
		drawPhase(track, &held, m.win)
	}
}

// laneLabel names a barrier.
func (m *model) laneLabel(c canvas, y int, lane replay.Lane) {
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
}

// drawPhases draws the phases of a barrier; open says that one of them is not
// complete.
func (m *model) drawPhases(track canvas, p *picture[replay.Phase], win window) (open bool) {
	if p == nil {
		track.fill(0, 0, track.w, styleDim, glyphLoading)
		return false
	}
	if p.err != nil {
		track.text(0, 0, styleError, "cannot be shown: "+p.err.Error())
		return false
	}
	for i := range p.data {
		drawPhase(track, &p.data[i], win)
		open = open || p.data[i].To < 0
	}
	return open
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

// drawPhase draws a phase of a barrier.
func drawPhase(c canvas, p *replay.Phase, win window) {
	row := c.row(0)
	n := len(row)
	x0, x1 := win.cell(p.From, n), n
	fill, s := glyphPhaseEven, stylePhaseEven
	if p.Phase%2 == 1 {
		fill, s = glyphPhaseOdd, stylePhaseOdd
	}
	if p.To < 0 {
		fill, s = glyphWaiting, styleWaiting
	} else {
		x1 = win.cell(p.To, n)
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
