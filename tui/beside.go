package tui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"btrace/replay"
	"btrace/trace"
)

// beside is the other of two recordings, drawn below the one on the screen:
// the same rows and barriers, its times moved so that both part in the same
// cell. It has no focus of its own.
type beside struct {
	launch  trace.Launch
	tl      replay.Timeline // nil until it is open
	tree    *rows
	lanes   *lanes
	bounds  bounds
	opening bool
	err     error
	cells   *store[rowID, replay.Cell]
	phases  *store[laneID, replay.Phase]
}

// both reports whether the other recording is to be seen, too.
func (m *model) both() bool {
	return m.cfg.Other != nil && !m.alone && (m.compared == nil || m.otherLaunch() != nil)
}

// otherLaunch is the launch of the other recording that the one on the screen
// is compared with; nil if there is none.
func (m *model) otherLaunch() *trace.Launch {
	l := m.differs()
	switch {
	case l == nil:
		return nil
	case m.otherSide:
		return l.B
	}
	return l.A
}

// openBeside opens the launch of the other recording, once that on the screen
// is open and it is known how they differ.
func (m *model) openBeside() tea.Cmd {
	b := &m.beside
	if !m.settled || !m.both() || b.opening || b.tl != nil || b.err != nil || m.cfg.Other.Open == nil {
		return nil
	}
	launch := m.otherLaunch()
	if launch == nil {
		return nil
	}
	b.opening = true
	open, ctx, id, visit := m.cfg.Other.Open, m.ctx, launch.ID, m.visit
	return func() tea.Msg {
		tl, err := open(ctx, id)
		if err == nil && tl == nil {
			err = errors.New("nothing to show")
		}
		var tree *rows
		var lanes *lanes
		if err == nil {
			tree, lanes = newRows(tl.Rows()), newLanes(tl.Launch(), tl.Lanes())
		}
		return loaded{apply: func(m *model) {
			if m.visit != visit {
				return
			}
			m.beside = newBeside(tl, tree, lanes)
			m.beside.err = err
			if !m.moved {
				m.fit()
			}
		}}
	}
}

func newBeside(tl replay.Timeline, tree *rows, lanes *lanes) beside {
	b := beside{tl: tl, tree: tree, lanes: lanes,
		cells: newStore[rowID, replay.Cell](cellLimit / 2), phases: newStore[laneID, replay.Phase](phaseLimit / 2)}
	if tl != nil {
		b.launch = tl.Launch()
		first, last := tl.Span()
		b.bounds = bounds{first, max(first, last)}
	}
	return b
}

// partTimes is when they part, in each of them: the last operation that is the same in both recordings,
// else the first that is not; false if they do not part, or are not of one
// time there.
func (m *model) partTimes() (here, there int64, ok bool) {
	d := m.parting
	if l := m.differs(); d == nil && l != nil {
		d = l.First()
	}
	if d == nil {
		return 0, 0, false
	}
	for _, pair := range [][2]*trace.Event{{d.LastA, d.LastB}, {d.A, d.B}} {
		a, b := pair[0], pair[1]
		switch {
		case a == nil || b == nil:
			continue
		case m.otherSide:
			return a.Time, b.Time, true
		}
		return b.Time, a.Time, true
	}
	return 0, 0, false
}

// shift is how much later what happens at a time on the screen happens in the
// other recording: they are laid over one another where they part, or where
// they begin.
func (m *model) shift() (by uint64, back bool) {
	here, there, ok := m.partTimes()
	if !ok {
		here, there = m.bounds.first, m.beside.bounds.first
	}
	if there < here {
		return uint64(here) - uint64(there), true
	}
	return uint64(there) - uint64(here), false
}

// there is a window of the screen in the times of the other recording.
func (m *model) there(w window) window {
	by, back := m.shift()
	return window{saturate(w.from, by, back), saturate(w.to, by, back)}
}

// extent is the time that there is something to see in, of both recordings.
func (m *model) extent() bounds {
	e := m.bounds
	if m.beside.tl != nil && m.both() {
		by, back := m.shift()
		e.first = min(e.first, saturate(m.beside.bounds.first, by, !back))
		e.last = max(e.last, saturate(m.beside.bounds.last, by, !back))
	}
	return e
}

// besideRows are the rows of the other recording: those on the screen, around
// the focus where there is less room.
func (m *model) besideRows() []rowID {
	var all []rowID
	at := 0
	for _, v := range m.visibleRows() {
		if v.strand >= 0 {
			continue
		}
		if v.id == m.focus.row {
			at = len(all)
		}
		all = append(all, v.id)
	}
	return nearTo(all, at, m.layout.otherRows.h)
}

// besideLanes are the barriers of the other recording: those on the screen.
func (m *model) besideLanes() []replay.Lane {
	var all []replay.Lane
	at := 0
	for i, l := range m.visibleLanes() {
		if (laneID{l.CTA, l.Barrier}) == m.focus.lane {
			at = i
		}
		all = append(all, l)
	}
	return nearTo(all, at, m.layout.otherLanes.h)
}

// nearTo is at most n of a list, the one at a place among them.
func nearTo[T any](all []T, at, n int) []T {
	if n <= 0 {
		return nil
	}
	from := max(min(at-n/2, len(all)-n), 0)
	return all[from:min(from+n, len(all))]
}

// besideJob loads what the window shows of the other recording.
func (m *model) besideJob() (job, bool) {
	b := &m.beside
	if b.tl == nil || m.layout.otherRows.h == 0 {
		return job{}, false
	}
	var rows []rowID
	for _, id := range m.besideRows() {
		if !m.blank(id) && b.tree.has(id) {
			rows = append(rows, id)
		}
	}
	j, ok := loadPictures(b.tl, b.tree, m.there(m.win), m.track(), rows, m.besideLanes(), b.cells, b.phases)
	j.kind, j.epoch, j.view, j.cells = jobBeside, m.epoch, m.win, m.track()
	j.by, j.back = m.shift()
	return j, ok
}

// besideTitle says which recording is below, and how it stands to that above.
func (m *model) besideTitle() string {
	name := "A "
	if m.otherSide {
		name = "B "
	}
	s := name + m.cfg.Other.Title
	if o := m.beside.launch.Outcome; o != "" {
		s += ", " + string(o)
	}
	if _, _, ok := m.partTimes(); ok {
		return s + "  (" + string(glyphPinned) + " where they part)"
	}
	return s + "  (both from their beginning)"
}

// drawBeside draws the other recording.
func (m *model) drawBeside() {
	l, b := &m.layout, &m.beside
	if l.otherAxis.h == 0 {
		return
	}
	drawRule(m.grid.canvas(l.otherTitle), m.besideTitle(), false)
	if b.tl == nil {
		c := m.grid.canvas(l.otherRows)
		switch {
		case m.compared == nil:
			c.text(1, 0, styleDim, "comparing")
		case b.err != nil:
			c.text(1, 0, styleError, "cannot be opened: "+b.err.Error())
		default:
			c.text(1, 0, styleDim, "opening")
		}
		return
	}
	s := scene{win: m.there(m.win), last: b.bounds.last, drawn: b.bounds.last, over: b.launch.Outcome == trace.OutcomeCompleted}
	s.playhead = s.win.cell(m.there(window{m.focus.time, m.focus.time}).from, m.track())
	m.drawAxis(m.grid.canvas(l.otherAxis), s)
	c := m.grid.canvas(l.otherLanes)
	for y, lane := range m.besideLanes() {
		id := laneID{lane.CTA, lane.Barrier}
		m.laneLabel(c, y, lane)
		if b.lanes.find(id) >= 0 {
			p, _ := b.phases.get(id, s.win, m.track())
			drawPhases(c.sub(rect{l.gutter, y, m.track(), 1}), p, phaseLook{win: s.win})
		}
	}
	c = m.grid.canvas(l.otherRows)
	for y, id := range m.besideRows() {
		m.rowLabel(c.sub(rect{0, y, l.gutter - 1, 1}), id)
		track := c.sub(rect{l.gutter, y, m.track(), 1})
		switch {
		case m.blank(id):
		case !b.tree.has(id):
			track.text(0, 0, styleDim, "not in this recording")
		default:
			p, exact := b.cells.get(id, s.win, m.track())
			drawRowPicture(track, p, exact, s)
		}
	}
}

// drawParting marks where the recordings part.
func (m *model) drawParting() {
	l := &m.layout
	if l.otherAxis.h == 0 || m.beside.tl == nil {
		return
	}
	here, _, ok := m.partTimes()
	n := m.track()
	x := m.win.cell(here, n)
	if !ok || x < 0 || x >= n {
		return
	}
	for _, r := range m.tracks() {
		c := m.grid.canvas(r)
		for y := range c.h {
			if row := c.row(y); row[min(l.gutter+x, len(row)-1)].r == ' ' {
				c.set(l.gutter+x, y, styleMark, glyphMark)
			}
		}
	}
	for _, r := range []rect{l.axis, l.otherAxis} {
		m.grid.canvas(r).set(l.gutter+x, 0, styleMark|modFocus, glyphPinned)
	}
}

// toggleOther shows or hides the other of two recordings.
func (m *model) toggleOther() {
	switch {
	case m.cfg.Other == nil:
		m.say("one recording: btrace view A B compares two")
		return
	case m.alone:
		m.say("both recordings")
	default:
		m.say(m.cfg.Title + " alone")
	}
	m.alone = !m.alone
	m.arrange()
	m.setWindow(m.win)
}
