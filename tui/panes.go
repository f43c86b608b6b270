package tui

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
)

// span is text in one style; a line of a pane is a few of them.
type span struct {
	s    style
	text string
}

type line []span

// page is the content of a pane, made for a width.
type page struct {
	width   int
	lines   []line
	targets []target // lines that lead somewhere
}

func (p *page) add(spans ...span) { p.lines = append(p.lines, spans) }

// wrap adds text over as many lines as it needs, the first after a head.
func (p *page) wrap(s style, head, text string) {
	indent := len([]rune(head))
	for i, l := range wrap(text, p.width-indent) {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		p.add(span{styleDim, head}, span{s, l})
	}
}

// drawPane draws a details pane under its title.
func (m *model) drawPane(p placed) {
	c := m.grid.canvas(p.rect)
	if m.layout.side || m.maximal || p.y > 1 {
		drawRule(c, m.paneTitle(p.pane), m.active == p.pane)
		c = c.sub(rect{0, 1, c.w, c.h - 1})
	}
	if p.pane == paneFindings {
		m.drawFindings(c)
		return
	}
	if p.pane == paneSource {
		m.drawSource(c)
		return
	}
	m.drawPage(c, p.pane, m.pageOf(p.pane, c.w-2))
}

// pageOf is the content of a pane, made for a width.
func (m *model) pageOf(pane pane, width int) *page {
	body := &page{width: width}
	switch pane {
	case paneState:
		m.statePage(body)
	case paneEvent:
		m.eventPage(body)
	case paneStory:
		return m.storyPage(width)
	case paneGraph:
		m.graphPage(body)
	case paneStats:
		m.statsPage(body)
	case paneDiff:
		m.diffPage(body)
	}
	return body
}

// paneTitle names a pane and what it shows.
func (m *model) paneTitle(p pane) string {
	switch p {
	case paneState:
		if m.focus.lane.none() {
			return "barrier"
		}
		return fmt.Sprintf("barrier %s of CTA %d", m.focus.lane.barrier, m.focus.lane.cta)
	case paneEvent:
		return "event of " + m.focus.row.String()
	case paneFindings:
		return fmt.Sprintf("findings (%d)", len(m.findings()))
	case paneStory:
		if f := m.selected(); f != nil {
			return string(f.Rule)
		}
	case paneGraph:
		return "who waits for whom"
	case paneDiff:
		return "where they part"
	case paneStats:
		return "waits at " + m.focus.lane.barrier.String()
	case paneSource:
		if at := m.site(); at.File != "" {
			return m.siteText(replay.Location{File: at.File, Line: at.Line})
		}
	}
	return p.String()
}

// moment is what is loaded of the focus. What is of another time is said to
// be so, and drawn as what it is: old.
func (m *model) moment(p *page) (x *moment, fresh bool) {
	x, fresh = m.moments.get(m.momentKey())
	switch {
	case m.tl == nil || len(m.tree.all) == 0:
		return nil, true
	case x == nil:
		p.add(span{styleDim, "loading"})
	case fresh && errors.Is(x.err, replay.ErrSketch):
		p.add(span{styleDim, x.err.Error()})
		return nil, true
	case fresh && x.err != nil:
		p.wrap(styleError, "", "the state here cannot be worked out: "+x.err.Error())
		return nil, true
	}
	return x, fresh
}

// statePage tells how the focused barrier stands at the playhead.
func (m *model) statePage(p *page) {
	if m.focus.lane.none() {
		p.add(span{styleDim, "no barrier here"})
		return
	}
	x, fresh := m.moment(p)
	if x == nil || x.state == nil {
		return
	}
	text := styleText
	if !fresh {
		text = styleDim
		p.add(span{styleDim, "as of " + report.Time(x.key.time) + ", loading " + report.Time(m.focus.time)})
	}
	b := findBarrier(x.state, m.focus.lane)
	if b == nil {
		p.add(span{styleDim, "not used by " + report.Time(x.key.time)})
		return
	}
	if !b.Live {
		p.add(span{styleDim, "not initialised at this time"})
		return
	}
	kind := b.Barrier.Kind
	head := fmt.Sprintf("phase %d", b.Phase)
	if kind == trace.BarrierMbar {
		head += fmt.Sprintf("  parity %d", b.Phase&1)
	}
	p.add(span{text | modFocus, head})
	m.arrivals(p, b, text)
	if kind == trace.BarrierMbar && (b.Tx != 0 || b.InFlight != 0 || b.TxUnknown) {
		tx := fmt.Sprintf("%d B to come, %d B in flight", b.Tx, b.InFlight)
		if b.TxUnknown {
			tx += ", some unknown"
		}
		p.wrap(text, "tx      ", tx)
	}
	if len(b.Arrived) > 0 {
		p.wrap(text, "arrived ", m.lanesText(b.Arrived, b.CTA)+" ("+laneCount(b.Arrived)+")")
	}
	if len(b.Waiting) > 0 {
		p.wrap(text, "waiting ", m.lanesText(b.Waiting, b.CTA)+" ("+laneCount(b.Waiting)+")")
	}
	if kind == trace.BarrierMbar {
		p.wrap(styleDim, "parity  ", fmt.Sprintf("a wait for parity %d blocks, for parity %d passes", b.Phase&1, 1-b.Phase&1))
	}
	if at := m.siteText(b.Init); at != "" {
		p.wrap(text, "init    ", at)
	}
	m.laneGrid(p, b, text)
}

// arrivals draws how many of the expected arrivals of a phase are there.
func (m *model) arrivals(p *page, b *replay.BarrierState, s style) {
	if b.Expected == 0 {
		p.add(span{styleDim, "at rest: no arrival in this phase"})
		return
	}
	pending := min(b.Pending, b.Expected)
	here := b.Expected - pending
	cells := max(min(p.width-24, 20), 0)
	full := int(float64(here) / float64(b.Expected) * float64(cells))
	if pending > 0 && full == cells && cells > 0 {
		full--
	}
	p.add(
		span{styleWaiting, strings.Repeat(string(glyphGaugeFull), full)},
		span{styleDim, strings.Repeat(string(glyphGaugeEmpty), cells-full)},
		span{s, fmt.Sprintf(" %d/%d, %d pending", here, b.Expected, b.Pending)},
	)
}

// findBarrier finds a barrier in a state.
func findBarrier(s *replay.State, id laneID) *replay.BarrierState {
	for i := range s.Barriers {
		if b := &s.Barriers[i]; b.CTA == id.cta && b.Barrier == id.barrier {
			return b
		}
	}
	return nil
}

// eventPage tells what the focused row did last, and what it is doing.
func (m *model) eventPage(p *page) {
	x, fresh := m.moment(p)
	if x == nil {
		return
	}
	text := styleText
	if !fresh {
		text = styleDim
	}
	if ev := &x.event.Event; !x.event.ok {
		p.add(span{styleDim, "no event yet"})
	} else {
		head := opName(ev)
		if b := ev.Barrier(ev.Warp); b.Kind != trace.BarrierNone {
			head += " " + b.String()
		}
		p.add(span{text | modFocus, head}, span{styleDim, fmt.Sprintf("  w%d, number %d", ev.Warp, ev.Seq)})
		p.wrap(text, "at      ", report.Time(ev.Time)+" by "+m.lanesText([]replay.Lanes{{CTA: ev.CTA, Warp: ev.Warp, Mask: ev.Lanes}}, ev.CTA))
		if at := m.siteText(m.eventSite(ev)); at != "" {
			p.wrap(text, "source  ", at)
		}
		if s := operandsText(ev); s != "" {
			p.wrap(text, "with    ", s)
		}
	}
	if x.state == nil {
		return
	}
	for i := range x.state.Warps {
		w := &x.state.Warps[i]
		if w.CTA != m.focus.row.cta || !m.focus.row.whole && w.Warp != m.focus.row.warp {
			continue
		}
		if m.focus.row.whole && len(p.lines) > 40 {
			p.add(span{styleDim, "and more warps"})
			return
		}
		for _, s := range w.Strands {
			who := m.lanesText([]replay.Lanes{{CTA: w.CTA, Warp: w.Warp, Mask: s.Lanes}}, w.CTA)
			st := activityStyle(s.Activity)
			if !fresh {
				st = styleDim
			}
			for i, l := range wrap(who+" "+m.strandText(s), p.width-2) {
				glyph := "  "
				if i == 0 {
					glyph = string(activityGlyph(replay.Cell{Activity: s.Activity})) + " "
				}
				p.add(span{st, glyph}, span{text, l})
			}
		}
	}
}

// drawFindings draws the list of findings around the selected one.
func (m *model) drawFindings(c canvas) {
	all := m.findings()
	if len(all) == 0 {
		text := "nothing was found"
		if m.checking() {
			text = "checking"
		}
		c.text(1, 0, styleDim, text)
		return
	}
	top := m.scroll[paneFindings]
	if m.finding >= 0 {
		top = max(min(top, m.finding), m.finding-c.h+1)
	}
	top = max(min(top, len(all)-c.h), 0)
	m.scroll[paneFindings] = top
	for y := range c.h {
		i := top + y
		if i >= len(all) {
			return
		}
		f := &all[i]
		s := styleText
		if i == m.finding {
			c.set(0, y, styleKey, glyphPointer)
			s = styleBold
		}
		c.set(1, y, severityStyle(severity(f.Severity)), severityGlyph(severity(f.Severity)))
		text := string(f.Rule)
		if f.Root {
			text = "root " + text
		}
		if f.Barrier.Kind != trace.BarrierNone {
			text += " " + barrierText(f.BarrierRef, f.BarrierRef.CTA)
		}
		if len(m.cfg.Launches) > 1 {
			text = fmt.Sprintf("launch %d ", f.Launch) + text
		}
		x := c.text(3, y, s, text) + 2
		in := fmt.Sprintf("cta%d ", f.BarrierRef.CTA)
		if n := f.Elsewhere.CTAs; n > 0 {
			in += fmt.Sprintf("and %d others ", n)
		}
		for _, tail := range []string{in + report.Time(f.Time), report.Time(f.Time)} {
			if x+utf8.RuneCountInString(tail) <= c.w {
				c.text(x, y, styleDim, tail)
				break
			}
		}
	}
}
