package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"btrace/replay"
	"btrace/replay/diff"
	"btrace/replay/report"
	"btrace/trace"
)

// compared is the comparison with the other recording, as far as it is known.
type compared struct {
	report *diff.Report
	err    error
}

// loadDiff asks how the two recordings differ, where there are two.
func (m *model) loadDiff() tea.Cmd {
	if m.cfg.Diff == nil {
		return nil
	}
	load, ctx := m.cfg.Diff, m.ctx
	return func() tea.Msg {
		r, err := load(ctx)
		return loaded{apply: func(m *model) {
			m.compared = &compared{r, err}
			if err != nil {
				m.complain(fmt.Errorf("compare the recordings: %w", err))
			}
			if !m.moved && m.tl != nil {
				m.openOnDivergence()
			}
		}}
	}
}

// differs is the comparison of the launch on the screen; nil if there is none.
func (m *model) differs() *diff.Launch {
	if m.compared == nil || m.compared.report == nil {
		return nil
	}
	for i := range m.compared.report.Launches {
		l := &m.compared.report.Launches[i]
		mine := l.B
		if m.otherSide {
			mine = l.A
		}
		if mine != nil && mine.ID == m.current().ID {
			return l
		}
	}
	return nil
}

// openOnDivergence goes to where the recordings part first; false if they do
// not, or if that is not known.
func (m *model) openOnDivergence() bool {
	l := m.differs()
	if l == nil || l.First() == nil {
		return false
	}
	m.parting = nil
	m.activate(paneDiff)
	m.wanted[paneDiff] = 1
	m.goDivergence(l.First())
	return true
}

// goDivergence goes to where a warp of this recording did something else, or
// to the last thing that it did as in the other one.
// The recordings are laid over one another there.
func (m *model) goDivergence(d *diff.Divergence) {
	m.parting = d
	row := rowID{cta: d.CTA, warp: d.Warp}
	if m.tree.has(row) {
		m.tree.unfold(row)
		m.setRow(row)
	}
	next, last, other := d.B, d.LastB, d.A
	if m.otherSide {
		next, last, other = d.A, d.LastA, d.B
	}
	switch {
	case next != nil:
		m.setTime(next.Time)
	case last != nil:
		m.setTime(last.Time)
	}
	// The barrier is that of what is done here, or was done in its place there.
	for _, ev := range []*trace.Event{next, other, last} {
		if ev != nil && m.follow(laneID{ev.OwnerCTA(ev.CTA), ev.Barrier(ev.Warp)}) {
			return
		}
	}
}

// mostDivergences bounds what is listed.
const mostDivergences = 100

// diffPage lists where the recordings part.
func (m *model) diffPage(p *page) {
	switch {
	case m.cfg.Other == nil:
		p.add(span{styleDim, "one recording: btrace view A B compares two"})
		return
	case m.compared == nil:
		p.add(span{styleDim, "comparing"})
		return
	case m.compared.err != nil:
		p.wrap(styleError, "", m.compared.err.Error())
		return
	}
	a, b := m.cfg.Other.Title, m.cfg.Title
	if m.otherSide {
		a, b = b, a
	}
	here := func(other bool) span {
		if other == m.otherSide {
			return span{styleKey, "  on the screen"}
		}
		if m.layout.otherRows.h > 0 {
			return span{styleDim, "  below; D goes there"}
		}
		return span{styleDim, "  D shows it"}
	}
	p.add(span{styleArrived, "A "}, span{styleText, a}, here(true))
	p.add(span{styleWaiting, "B "}, span{styleText, b}, here(false))
	l := m.differs()
	if l == nil {
		p.add(span{styleDim, "only one has this launch"})
		return
	}
	if len(l.Differs) > 0 {
		p.wrap(styleText, "", "the launches differ in "+strings.Join(l.Differs, ", "))
	}
	if l.First() == nil {
		p.add(span{styleClean, "every warp did the same"})
		return
	}
	p.add(span{styleBold, fmt.Sprintf("%d of %d warps differ", l.Divergent, l.Warps)})
	for i := range l.Divergences {
		if i == mostDivergences {
			p.add(span{styleDim, fmt.Sprintf("and %d more", len(l.Divergences)-i)})
			return
		}
		d := &l.Divergences[i]
		title := "then  "
		if i == 0 {
			title = "first "
		}
		who := m.lanesText([]replay.Lanes{{CTA: d.CTA, Warp: d.Warp, Mask: d.Lanes}}, m.focus.row.cta)
		p.lead(func(m *model) { m.goDivergence(d) }, span{styleTitleActive, title}, span{styleBold, who},
			span{styleDim, "  " + plural(d.Index, "operation") + " in"})
		if i == 0 && d.LastA != nil {
			p.wrap(styleDim, "  both  ", m.opText(d.LastA))
		}
		p.wrap(styleArrived, "  A     ", m.opText(d.A))
		p.wrap(styleWaiting, "  B     ", m.opText(d.B))
	}
}

// opText is an operation in a line; nil is its absence.
func (m *model) opText(ev *trace.Event) string {
	if ev == nil {
		return "nothing more"
	}
	s := opName(ev)
	if b := ev.Barrier(ev.Warp); b.Kind != trace.BarrierNone {
		s += " " + b.String()
	}
	if at := m.siteText(m.eventSite(ev)); at != "" {
		s += ", " + at
	}
	return s + ", " + report.Time(ev.Time)
}

// swapRecordings shows the other of two recordings, at the same place of the
// same warp as far as there is one.
func (m *model) swapRecordings() {
	if m.cfg.Other == nil {
		m.say("one recording: btrace view A B compares two")
		return
	}
	row, view, aligned := m.focus.row, m.there(m.win), m.beside.tl != nil
	m.leave("swap", false)
	m.swap(func(m *model) {
		m.say(m.cfg.Title)
		if aligned {
			defer func() { m.setWindow(view); m.setTime(m.focus.time) }()
		}
		if m.tree.has(row) {
			m.tree.unfold(row)
			m.setRow(row)
		}
		if l := m.differs(); l != nil {
			for i := range l.Divergences {
				if d := &l.Divergences[i]; d.CTA == row.cta && (d.Warp == row.warp || row.whole) {
					m.goDivergence(d)
					return
				}
			}
		}
	})
}

// swap changes the recording on the screen, and then does what arrive says.
func (m *model) swap(arrive func(*model)) {
	here, there := m.cfg, *m.cfg.Other
	here.Report, there.Other = m.report, nil
	cfg := here
	cfg.Title, cfg.Launches, cfg.Open, cfg.Sketch, cfg.Progress, cfg.Report, cfg.LoadReport, cfg.LoadStats =
		there.Title, there.Launches, there.Open, there.Sketch, there.Progress, there.Report, there.LoadReport, there.LoadStats
	here.Other = nil
	cfg.Other = &here
	m.cfg, m.report, m.reportErr = cfg, cfg.Report, nil
	m.otherSide = !m.otherSide
	m.finding = -1
	m.reporting = false
	old, tl, tree, lanes, launch := m.beside, m.tl, m.tree, m.lanes, m.launchIndex(m.beside.launch.ID)
	if old.tl == nil || !m.settled {
		m.switchLaunch(min(m.launch, max(len(cfg.Launches)-1, 0)), arrive)
		return
	}
	// It is open: the two change places.
	m.switchLaunch(launch, arrive)
	m.beside = newBeside(tl, tree, lanes)
	old.tree.inherit(tree)
	old.tree.weight, old.tree.match = nil, nil // they are made of the other's facts
	old.tree.flatten()
	m.settle(old.tl, old.tree, old.lanes)
}
