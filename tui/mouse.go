package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// mouseEvent does what a click, a drag or the wheel means where it is.
func (m *model) mouseEvent(msg tea.MouseMsg) {
	if !m.mouse || m.mode != modeNormal || m.layout.tooSmall {
		return
	}
	at := msg.Mouse()
	switch msg.(type) {
	case tea.MouseClickMsg:
		m.message = ""
		switch onAxis := m.layout.axis.contains(at.X, at.Y) || m.layout.otherAxis.contains(at.X, at.Y); {
		case at.Button == tea.MouseRight, at.Button == tea.MouseLeft && onAxis:
			m.beginDrag(at.X, at.Y, at.Button == tea.MouseLeft)
		case at.Button == tea.MouseLeft:
			m.click(at.X, at.Y)
		}
	case tea.MouseMotionMsg:
		switch {
		case m.drag != nil:
			m.drag.to = m.trackCell(at.X)
		case at.Button == tea.MouseLeft:
			m.scrub(at.X, at.Y)
		}
	case tea.MouseReleaseMsg:
		m.endDrag()
	case tea.MouseWheelMsg:
		m.wheel(at)
	}
}

// drag is a range of cells that is being chosen to zoom to.
type drag struct {
	from, to int
	click    bool // a drag of no length puts the playhead there
}

// trackCell is the cell of the track under a column, or the nearest.
func (m *model) trackCell(x int) int { return min(max(x-m.layout.gutter, 0), m.track()-1) }

func (m *model) beginDrag(x, y int, click bool) {
	l := &m.layout
	over := slices.ContainsFunc(m.tracks(), func(r rect) bool { return r.contains(x, y) })
	if !over || x < l.gutter || m.tl == nil || len(m.tree.all) == 0 {
		return
	}
	at := m.trackCell(x)
	m.drag = &drag{at, at, click}
}

// endDrag zooms to the range that was chosen.
func (m *model) endDrag() {
	d := m.drag
	if m.drag = nil; d == nil {
		return
	}
	n := m.track()
	switch from, to := min(d.from, d.to), max(d.from, d.to); {
	case to > from:
		m.leave("drag-zoom", false)
		w := window{m.win.start(from, n), m.win.start(to+1, n)}
		m.setWindow(w)
		if m.win.cell(m.focus.time, m.track()) < 0 || m.win.cell(m.focus.time, m.track()) >= m.track() {
			m.focus.time = min(max(w.from, m.bounds.first), m.bounds.last)
		}
	case d.click:
		m.leave("scrub", true)
		m.setTime(m.win.start(d.from, n))
	}
}

// scrub puts the playhead under the pointer, if that is over the timeline.
func (m *model) scrub(x, y int) bool {
	l := &m.layout
	n := m.track()
	x -= l.gutter
	if x < 0 || x >= n || m.tl == nil || len(m.tree.all) == 0 {
		return false
	}
	switch p := x + l.gutter; {
	case l.overview.contains(p, y):
		m.leave("scrub", true)
		m.setTime(m.extent().fit(n).start(x, n))
	case slices.ContainsFunc(m.tracks(), func(r rect) bool { return r.contains(p, y) }):
		m.leave("scrub", true)
		m.setTime(m.win.start(x, n))
	default:
		return false
	}
	return true
}

func (m *model) click(x, y int) {
	l := &m.layout
	for _, p := range l.panes {
		if p.contains(x, y) {
			m.activate(p.pane)
			if i := m.scroll[paneFindings] + y - p.y - 1; p.pane == paneFindings && i >= 0 && i < len(m.findings()) && y > p.y {
				m.leave("finding", false)
				m.showFinding(i)
			}
			return
		}
	}
	m.scrub(x, y)
	switch {
	case l.lanes.contains(x, y):
		m.active = paneBarriers
		if v := m.visibleLanes(); y-l.lanes.y < len(v) {
			m.leave("barrier", true)
			m.focus.lane = laneID{v[y-l.lanes.y].CTA, v[y-l.lanes.y].Barrier}
		}
	case l.otherLanes.contains(x, y):
		if v := m.besideLanes(); y-l.otherLanes.y < len(v) {
			m.leave("barrier", true)
			m.focus.lane = laneID{v[y-l.otherLanes.y].CTA, v[y-l.otherLanes.y].Barrier}
		}
	case l.otherRows.contains(x, y):
		if v := m.besideRows(); y-l.otherRows.y < len(v) {
			m.leave("row", true)
			m.setRow(v[y-l.otherRows.y])
		}
	case l.rows.contains(x, y):
		m.active = paneRows
		for _, v := range m.visibleRows() {
			if v.y != y-l.rows.y {
				continue
			}
			if m.focus.row == v.id && x < l.gutter && v.strand < 0 {
				m.fold()
				return
			}
			m.leave("row", true)
			m.setRow(v.id)
			return
		}
	}
}

// wheel moves through the rows or findings; with ctrl it zooms, with shift it
// moves the playhead.
func (m *model) wheel(at tea.Mouse) {
	by := 1
	if at.Button == tea.MouseWheelUp || at.Button == tea.MouseWheelLeft {
		by = -1
	}
	for _, p := range m.layout.panes {
		if p.contains(at.X, at.Y) {
			if p.pane != paneFindings {
				m.scroll[p.pane] = max(m.scroll[p.pane]+by, 0)
			} else if m.hasFindings() {
				m.selectFinding(by)
			}
			return
		}
	}
	if m.tl == nil || len(m.tree.all) == 0 {
		return
	}
	switch {
	case at.Mod.Contains(tea.ModCtrl):
		m.zoom(by < 0)
	case at.Mod.Contains(tea.ModShift), at.Button == tea.MouseWheelLeft, at.Button == tea.MouseWheelRight:
		m.moveCells(by)
	case m.layout.lanes.contains(at.X, at.Y):
		m.moveLane(by)
	default:
		m.moveRow(by)
	}
}

// calm drops mouse movements that stay in one cell: terminals send a flood of
// them.
func calm() func(tea.Model, tea.Msg) tea.Msg {
	var last tea.Mouse
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if move, ok := msg.(tea.MouseMotionMsg); ok {
			if at := move.Mouse(); at == last {
				return nil
			}
			last = move.Mouse()
		}
		return msg
	}
}
