package tui

import (
	"fmt"
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
)

// firstLaunch is the launch to open on: that of the first finding that counts,
// else the first.
func (m *model) firstLaunch() int {
	if i := m.worst(); i >= 0 {
		return m.launchIndex(m.findings()[i].Launch)
	}
	return 0
}

// launchIndex is the place of a launch in the configuration.
func (m *model) launchIndex(id uint32) int {
	for i, l := range m.cfg.Launches {
		if l.ID == id {
			return i
		}
	}
	return 0
}

// worst is the finding that a trace opens on: the first error, roots coming
// first in a report. -1 if there is none.
func (m *model) worst() int {
	for i, f := range m.findings() {
		if f.Severity == rules.Error {
			return i
		}
	}
	return -1
}

// opened takes in a launch that has just been opened: the user goes where he
// was heading, else to what is wrong, else sees the whole of it.
func (m *model) opened() {
	m.fit()
	m.focus = focus{time: m.bounds.first}
	m.lanes.add(m.findings(), m.current().ID)
	if len(m.tree.flat) > 0 {
		first := m.tree.flat[0] // a CTA; its first warp if that shows
		if m.tree.open[first.cta] && len(m.tree.flat) > 1 {
			first = m.tree.flat[1]
		}
		m.setRow(first)
	}
	switch arrive := m.arrive; {
	case arrive != nil:
		m.arrive = nil
		arrive(m)
	case !m.moved && !m.openOnDivergence():
		m.openOnFinding()
	}
}

// openOnFinding goes to the worst finding of this launch.
func (m *model) openOnFinding() {
	i := m.worst()
	if m.cfg.Other != nil && m.openOnDivergence() {
		m.finding = i
		return
	}
	if i < 0 || m.tl == nil || m.report != nil && m.findings()[i].Launch != m.current().ID {
		return
	}
	m.showFinding(i)
	m.slots = [2]pane{paneStory, paneState}
}

// reported takes in a report that came after the first frame.
func (m *model) reported(r *replay.Report, err error) {
	m.reporting = false
	if err != nil {
		m.reportErr = err
		m.complain(fmt.Errorf("verdict: %w", err))
		return
	}
	m.report = r
	m.finding = -1
	if m.tl != nil {
		m.lanes.add(m.findings(), m.current().ID)
	}
	if m.moved {
		return
	}
	if i := m.firstLaunch(); i != m.launch {
		m.switchLaunch(i, nil)
		return
	}
	m.openOnFinding()
}

// switchLaunch opens another launch and then does what arrive says.
func (m *model) switchLaunch(i int, arrive func(*model)) {
	m.launch, m.arrive = i, arrive
	m.clearLaunch()
	m.bounds, m.focus, m.win = bounds{}, focus{}, window{}
	if m.report == nil {
		m.finding = -1 // the findings were the old launch's
	}
}

// goTo goes to a place, which may be in another launch.
func (m *model) goTo(p place) {
	if p.other != m.otherSide {
		m.swap(func(m *model) { m.goTo(p) })
		return
	}
	if p.launch != m.launch {
		m.switchLaunch(p.launch, func(m *model) { m.goTo(p) })
		return
	}
	m.focus, m.finding = p.focus, p.finding
	m.setWindow(p.view)
	m.tree.unfold(p.focus.row)
}

// showFinding selects a finding and goes to it: its time, the warp that did
// it or waits, its barrier, and a window that shows how it came about.
func (m *model) showFinding(i int) {
	all := m.findings()
	if i < 0 || i >= len(all) {
		return
	}
	f := all[i]
	if at := m.launchIndex(f.Launch); m.report != nil && at != m.launch {
		m.switchLaunch(at, func(m *model) { m.showFinding(i) })
		return
	}
	m.finding = i
	m.scroll[paneStory] = 0
	if m.tl == nil {
		return
	}
	if row, ok := m.rowOf(f); ok {
		m.tree.unfold(row)
		m.setRow(row)
	}
	if lane := (laneID{f.BarrierRef.CTA, f.Barrier}); !lane.none() && m.lanes.find(lane) >= 0 {
		m.focus.lane = lane
	}
	m.frameFinding(f)
	m.setTime(f.Time)
	// The root of a hang is a wait, or a misuse: that has its own time.
	if wait := strings.HasPrefix(string(f.Rule), "deadlock-"); f.Root && wait && len(f.Threads)+len(f.Cycle) > 1 {
		m.seekHang(i, f)
	}
}

// rowOf is the row that a finding is about.
func (m *model) rowOf(f replay.Finding) (rowID, bool) {
	for _, l := range [][]replay.Lanes{f.Threads, f.Missing} {
		for _, x := range l {
			if r := (rowID{cta: x.CTA, warp: x.Warp}); m.tree.has(r) {
				return r, true
			}
		}
	}
	r := rowID{cta: f.BarrierRef.CTA, whole: true}
	return r, m.tree.has(r)
}

// frameFinding chooses the window that a trace opens on: wide enough for the
// waits that belong to the finding, and everything where that is not much more.
// Later the window stays as the user has made it.
func (m *model) frameFinding(f replay.Finding) {
	if m.moved {
		return
	}
	from, to := f.Time, f.Time
	for _, w := range f.Behind {
		from, to = min(from, w.Since), max(to, w.Since)
	}
	from, to = max(from, m.bounds.first), min(to, m.bounds.last)
	all := m.extent().fit(m.track())
	size := max(uint64(max(to, from))-uint64(from), all.size()/64)
	if size < all.size()/8 && all.size() > 1<<20 {
		m.setWindow(window{saturate(from, size, true), saturate(to, size, false)})
	}
}

// severity is the weight of a finding, as in replay.Cell.
func severity(s rules.Severity) uint8 {
	switch s {
	case rules.Error:
		return 3
	case rules.Warning:
		return 2
	case rules.Note:
		return 1
	}
	return 0
}

// checking reports whether findings may still come.
func (m *model) checking() bool {
	if m.cfg.LoadReport != nil {
		return m.report == nil && m.reportErr == nil
	}
	return m.report == nil && !m.ownKnown && m.openErr == nil && len(m.cfg.Launches) > 0
}

// verdict is what the header says of the launch on the screen.
func (m *model) verdict() (glyph rune, s style, text string) {
	if m.report != nil {
		v := m.report.Verdict
		for _, l := range m.report.Launches {
			if l.Launch.ID == m.current().ID {
				v = l.Verdict
			}
		}
		switch v {
		case replay.Clean:
			return glyphClean, styleClean, string(v)
		case replay.Incomplete:
			return glyphIncomplete, styleWarning, string(v)
		}
		return glyphError, styleError, string(v)
	}
	switch i := m.worst(); {
	case len(m.cfg.Launches) == 0:
		return glyphIncomplete, styleWarning, "no launch"
	case m.reportErr != nil || m.openErr != nil:
		return glyphIncomplete, styleWarning, "unknown"
	case m.checking():
		text = "checking"
		if !m.settled {
			text = "opening"
		}
		if part, ok := m.progress(); ok {
			text += fmt.Sprintf(" %.0f %%", 100*part)
		}
		return glyphLoading, styleDim, text
	case i < 0 && len(m.findings()) == 0:
		return glyphIncomplete, styleDim, "no findings"
	case i < 0:
		return glyphWarning, styleWarning, "warnings only"
	case m.findings()[i].Root:
		return glyphError, styleError, string(replay.Deadlock)
	}
	return glyphError, styleError, string(replay.Violation)
}
