package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"btrace/replay/report"
	"btrace/trace"
)

// moveCells moves the playhead by cells of the window.
func (m *model) moveCells(by int) {
	n := m.track()
	m.leave("cells", true)
	at := m.win.cell(m.focus.time, n) + by
	switch {
	case at >= 0 && at < n:
		m.setTime(m.win.start(at, n))
	default: // beyond the window: as far again as a cell is long
		d := m.win.size() / uint64(n) * uint64(max(by, -by))
		m.setTime(saturate(m.focus.time, max(d, 1), by < 0))
	}
}

// jumpTime moves the playhead to a time.
func (m *model) jumpTime(command string, t int64) {
	m.leave(command, false)
	m.setTime(t)
}

// page is how many rows a page is.
func (m *model) page() int { return max(m.layout.rows.h-1, 1) }

// moveRow moves the focus by rows.
func (m *model) moveRow(by int) {
	at := m.tree.index(m.focus.row)
	to := min(max(at+by, 0), len(m.tree.flat)-1)
	if to == at {
		return
	}
	m.leave("row", true)
	m.setRow(m.tree.flat[to])
}

// moveLane focuses another barrier of this cluster.
func (m *model) moveLane(by int) {
	all := m.lanes.of(m.focus.row.cta)
	if len(all) == 0 {
		m.say("no barrier here")
		return
	}
	at := m.lanes.find(m.focus.lane)
	to := ((at+by)%len(all) + len(all)) % len(all)
	if at < 0 {
		to = 0
	}
	m.leave("barrier", true)
	m.focus.lane = laneID{all[to].CTA, all[to].Barrier}
	m.scroll[paneState] = 0
}

// followRow focuses the barrier that the focused row waits on, has arrived on
// or completes; without one that of its last event.
func (m *model) followRow() {
	x, exact := m.moments.get(m.momentKey())
	if !exact || x.state == nil {
		m.say("the state here is still being worked out")
		return
	}
	for _, w := range x.state.Warps {
		if w.CTA != m.focus.row.cta || !m.focus.row.whole && w.Warp != m.focus.row.warp {
			continue
		}
		for _, s := range w.Strands {
			if s.On.Barrier.Kind != trace.BarrierNone {
				m.leave("follow", false)
				if m.follow(laneID{s.On.CTA, s.On.Barrier}) {
					return
				}
			}
		}
	}
	if x.event.ok && m.follow(laneID{x.event.OwnerCTA(x.event.CTA), x.event.Barrier(x.event.Warp)}) {
		return
	}
	m.say("this row is at no barrier here")
}

// fold folds or unfolds the focused row.
func (m *model) fold() {
	m.tree.toggle(m.focus.row)
	if r := m.focus.row; !m.tree.open[r.cta] {
		m.focus.row = rowID{cta: r.cta, whole: true}
	}
}

func (m *model) foldAll() {
	m.tree.toggleAll()
	if r := m.focus.row; !m.tree.open[r.cta] {
		m.focus.row = rowID{cta: r.cta, whole: true}
	}
}

// zoom halves or doubles the window around the playhead.
func (m *model) zoom(in bool) {
	n := m.track()
	size := m.win.size() / 2
	if !in {
		size = m.win.size() * 2
		if size < m.win.size() {
			size = m.win.size()
		}
	}
	m.leave("zoom", true)
	m.setWindow(around(m.focus.time, max(size, uint64(n)), m.win.cell(m.focus.time, n), n))
}

// zoomFit shows the whole launch.
func (m *model) zoomFit() {
	m.leave("fit", false)
	m.fit()
}

// zoomEvent makes a cell a nanosecond.
func (m *model) zoomEvent() {
	n := m.track()
	m.leave("zoom-event", false)
	m.setWindow(around(m.focus.time, uint64(n), 1, 2))
}

// centre puts the playhead into the middle of the window.
func (m *model) centre() {
	m.leave("centre", false)
	m.setWindow(around(m.focus.time, m.win.size(), 1, 2))
}

// selectFinding selects another finding without going there.
func (m *model) selectFinding(by int) {
	n := len(m.findings())
	if n == 0 {
		m.say("nothing was found")
		return
	}
	m.finding = min(max(m.finding+by, 0), n-1)
	m.scroll[paneStory] = 0
}

// jumpFinding goes to a finding: the selected one, or the one after or before
// it, from the end on again at the beginning.
func (m *model) jumpFinding(by int) {
	n := len(m.findings())
	if n == 0 {
		m.say("nothing was found")
		return
	}
	to := m.finding + by
	switch {
	case m.finding < 0 && by < 0:
		to = n - 1
	case m.finding < 0:
		to = 0
	case to >= n:
		to = 0
		m.say("from the first finding again")
	case to < 0:
		to = n - 1
		m.say("from the last finding again")
	}
	m.leave("finding", false)
	m.showFinding(to)
}

// scrollPane scrolls the active pane; how far there is to scroll is known when
// it is drawn.
func (m *model) scrollPane(by int) { m.scroll[m.active] = max(m.scroll[m.active]+by, 0) }

// cyclePane makes the next pane active.
func (m *model) cyclePane(by int) {
	for range numPanes {
		m.active = pane((int(m.active) + by + int(numPanes)) % int(numPanes))
		if m.offered(m.active) && m.wanted[m.active] >= 0 {
			break
		}
	}
	m.activate(m.active)
	m.say(m.active.String())
}

// offered reports whether there is anything to see in a pane.
func (m *model) offered(p pane) bool {
	switch p {
	case paneBarriers:
		return len(m.lanes.of(m.focus.row.cta)) > 0
	case paneSource:
		return m.cfg.SourceRoot != "" || m.cfg.ReadSource != nil
	case paneStory:
		return m.hasFindings()
	case paneStats:
		return m.cfg.LoadStats != nil
	case paneDiff:
		return m.cfg.Diff != nil
	}
	return true
}

// nextLaunch switches to another launch.
func (m *model) nextLaunch(by int) {
	n := len(m.cfg.Launches)
	if n < 2 {
		m.say("the trace has one launch")
		return
	}
	m.leave("launch", false)
	m.switchLaunch(((m.launch+by)%n+n)%n, nil)
}

// launchByNumber switches to the launch that a user has typed.
func (m *model) launchByNumber(s string) error {
	for i, l := range m.cfg.Launches {
		if strconv.FormatUint(uint64(l.ID), 10) == strings.TrimSpace(s) {
			if i != m.launch {
				m.leave("launch", false)
				m.switchLaunch(i, nil)
			}
			return nil
		}
	}
	return fmt.Errorf("no launch %q in this trace", clean(s, 20))
}

func (m *model) toggleMouse() {
	m.mouse = !m.mouse
	if m.mouse {
		m.say("mouse on: click, drag and wheel move; M lets the terminal select text")
	} else {
		m.say("mouse off: the terminal selects text")
	}
}

func (m *model) undo() {
	if p, ok := m.hist.undo(m.place()); ok {
		m.goTo(p)
	} else {
		m.say("nothing to undo")
	}
}

func (m *model) redo() {
	if p, ok := m.hist.redo(m.place()); ok {
		m.goTo(p)
	} else {
		m.say("nothing to redo")
	}
}

func (m *model) toggleMark() {
	if m.marks.toggle(m.focus.time) {
		m.say("mark at " + report.Time(m.focus.time))
	} else {
		m.say("mark cleared")
	}
}

// nextMark goes to the next mark, or to the one before.
func (m *model) nextMark(dir int) {
	t, ok := m.marks.beside(m.focus.time, dir)
	if !ok {
		m.say("no mark: m sets one")
		return
	}
	m.jumpTime("mark", t)
}

// clearMarks takes all marks away.
func (m *model) clearMarks() {
	m.say(fmt.Sprintf("%d marks cleared", len(m.marks)))
	m.marks = nil
}

// cancelSeeks gives up what the worker looks for.
func (m *model) cancelSeeks() {
	m.seeks, m.playing = nil, false
	if m.work.busy && m.work.job.kind == jobSeek {
		m.work.cancel()
		m.say("given up")
	}
}

func (m *model) closeModal() { m.mode = modeNormal }

// copyFocus hands what is in focus to the terminal's clipboard.
func (m *model) copyFocus() tea.Cmd {
	text := m.focusText()
	m.say(fmt.Sprintf("copied %d lines", strings.Count(text, "\n")))
	return func() tea.Msg { return clipboard(text) }
}

// goToTime goes to a time that a user has typed.
func (m *model) goToTime(s string) error {
	t, err := parseTime(s, m.focus.time)
	if err != nil || !m.ready() {
		return err
	}
	m.jumpTime("go-to-time", t)
	return nil
}

// find goes to a row or barrier by its name; without one to the next that was
// looked for last.
func (m *model) find(s string) error {
	if s = strings.TrimSpace(s); s == "" {
		s = m.found
	}
	if s == "" || !m.ready() {
		return nil
	}
	m.found = s
	return m.search(s)
}

// useTheme changes the colours.
func (m *model) useTheme(name string) {
	if p, err := paletteOf(name); err == nil {
		m.colours = p
		m.makeTheme()
	}
}

// copyFinding hands the selected finding to the terminal's clipboard.
func (m *model) copyFinding() tea.Cmd {
	f := m.selected()
	if f == nil {
		m.say("no finding is selected: n goes to the next")
		return nil
	}
	p := page{width: 100}
	m.tell(&p, f)
	text := string(f.Rule) + "\n" + p.text()
	m.say(fmt.Sprintf("copied the finding, %d lines", strings.Count(text, "\n")))
	return func() tea.Msg { return clipboard(text) }
}
