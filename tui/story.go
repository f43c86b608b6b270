package tui

import (
	"fmt"
	"strings"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/replay/rules"
	"btrace/trace"
)

// story is the page of the selected finding. It is made once for a finding
// and a width: it can be long.
type story struct {
	of   *replay.Finding
	page page
}

// mostBehind bounds how many of the waits behind a root are told.
const mostBehind = 100

func (m *model) storyPage(width int) *page {
	f := m.selected()
	if m.story.of == f && m.story.page.width == width && f != nil {
		return &m.story.page
	}
	m.story = story{of: f, page: page{width: width}}
	p := &m.story.page
	if f == nil {
		p.add(span{styleDim, "no finding is selected: n goes to the next"})
		return p
	}
	m.tell(p, f)
	return p
}

// tell writes a finding's story: what happened, who is in it, what is behind
// it, what to change.
func (m *model) tell(p *page, f *replay.Finding) {
	cta := f.BarrierRef.CTA
	sev := severity(f.Severity)
	kind := string(f.Severity)
	if f.Root {
		kind += ", root of the hang"
	}
	p.wrap(severityStyle(sev), string(severityGlyph(sev))+" ", kind+" at "+report.Time(f.Time))
	p.wrap(styleBold, "", f.Message)
	if f.More > 0 {
		p.wrap(styleText, "", fmt.Sprintf("found %d more times at the same place", f.More))
	}
	if n := f.Elsewhere.CTAs; n > 0 {
		p.wrap(styleText, "", fmt.Sprintf("the same in %d more CTAs than are listed", n))
	}
	if n := f.Unlisted; n > 0 {
		p.wrap(styleText, "", fmt.Sprintf("the rule is broken at %d more places, which are not listed", n))
	}
	if at := m.siteText(f.Location); at != "" {
		p.wrap(styleText, "where   ", at)
	}
	if len(f.Threads) > 0 {
		p.wrap(styleText, "threads ", m.lanesText(f.Threads, cta))
	}
	if len(f.Missing) > 0 {
		p.wrap(styleText, "missing ", m.lanesText(f.Missing, cta))
	}
	if len(f.Cycle) > 0 {
		var names []string
		for _, b := range f.Cycle {
			names = append(names, barrierText(b, cta))
		}
		p.wrap(styleText, "cycle   ", strings.Join(append(names, names[0]), " → "))
	}
	for _, s := range f.Story {
		p.wrap(styleText, "• ", s)
	}
	if f.Hint != "" {
		p.wrap(styleClean, "change  ", f.Hint)
	}
	if r, ok := rules.Lookup(f.Rule); ok && len(r.Source) > 0 {
		p.wrap(styleDim, "rule    ", r.Source[0].String())
	}
	for i, w := range f.Behind {
		if i == mostBehind {
			p.add(span{styleDim, fmt.Sprintf("and %d more waits", len(f.Behind)-i)})
			break
		}
		text := m.lanesText(w.Threads, cta)
		if w.Barrier.Kind != trace.BarrierNone {
			text += " at " + barrierText(w.BarrierRef, cta)
		}
		if at := m.siteText(w.Location); at != "" {
			text += ", " + at
		}
		p.wrap(styleText, "behind  ", text+", since "+report.Time(w.Since))
	}
}

// text is the page as plain text.
func (p *page) text() string {
	var b strings.Builder
	for _, l := range p.lines {
		b.WriteString("  ")
		for _, s := range l {
			b.WriteString(clean(s.text, 2000))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// focusText is what is in focus as plain text, for the clipboard.
func (m *model) focusText() string {
	var b strings.Builder
	row := func(head, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-9s%s\n", head, clean(text, 2000))
		}
	}
	launch := m.current()
	_, _, verdict := m.verdict()
	row("trace", m.cfg.Title)
	row("launch", fmt.Sprintf("%d %s", launch.ID, launch.Kernel))
	row("verdict", verdict)
	if m.tl != nil && len(m.tree.all) > 0 {
		row("time", fmt.Sprintf("%s (%d ns)", report.Time(m.focus.time), m.focus.time))
		row("row", m.focus.row.String())
	}
	if !m.focus.lane.none() {
		row("barrier", fmt.Sprintf("%s of cta%d", m.focus.lane.barrier, m.focus.lane.cta))
	}
	copyPage := func(f func(*page)) {
		p := page{width: 200}
		f(&p)
		b.WriteString(p.text())
	}
	if m.tl != nil {
		copyPage(m.statePage)
		row("event", "")
		copyPage(m.eventPage)
	}
	if f := m.selected(); f != nil {
		row("finding", string(f.Rule))
		copyPage(func(p *page) { m.tell(p, f) })
	}
	return b.String()
}
