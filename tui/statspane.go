package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/replay/stats"
	"btrace/trace"

	tea "charm.land/bubbletea/v2"
)

// counted is the statistics of a launch, as far as they are known.
type counted struct {
	launch  *stats.Launch
	err     error
	loading bool
}

// loadStats asks for the statistics, once they are to be shown.
func (m *model) loadStats() tea.Cmd {
	c := &m.counted
	if !m.shown(paneStats) || m.cfg.LoadStats == nil || c.loading || c.launch != nil || c.err != nil || m.tl == nil {
		return nil
	}
	c.loading = true
	load, ctx, id, epoch := m.cfg.LoadStats, m.ctx, m.current().ID, m.epoch
	return func() tea.Msg {
		x, err := load(ctx, id)
		return loaded{apply: func(m *model) {
			if m.epoch == epoch {
				m.counted = counted{launch: x, err: err}
			}
		}}
	}
}

// statsPage tells how long is waited at the focused barrier, and for whom.
// Barriers of one name are counted together over all CTAs.
func (m *model) statsPage(p *page) {
	c := &m.counted
	switch {
	case c.err != nil:
		p.wrap(styleError, "", "the waits cannot be counted: "+c.err.Error())
		return
	case c.launch == nil && c.loading:
		p.add(span{styleDim, "counting"})
		return
	case c.launch == nil:
		p.add(span{styleDim, "no statistics here"})
		return
	}
	l := c.launch
	if l.Active > 0 {
		p.add(span{styleText, fmt.Sprintf("warps wait %s of their time", share(l.Waiting, l.Active))})
	}
	if len(l.Barriers) > 1 {
		most := int64(0)
		for i := range l.Barriers {
			most = max(most, l.Barriers[i].Waits.Total)
		}
		for i := range min(len(l.Barriers), 4) {
			x := &l.Barriers[i]
			text := fmt.Sprintf(" %10s in %d waits", roughly(x.Waits.Total), x.Waits.Count)
			if x.Waits.Open > 0 {
				text += fmt.Sprintf(", %d without end", x.Waits.Open)
			}
			name := x.Barrier.String()
			if x.Barrier.Kind == trace.BarrierWarp {
				name = "syncwarp" // of all warps together
			}
			p.lead(func(m *model) { m.follow(laneID{m.focus.row.cta, x.Barrier}) },
				span{styleText, fmt.Sprintf("%-12s", name)}, span{styleWaiting, bar10(x.Waits.Total, most)}, span{styleText, text})
		}
		if n := len(l.Barriers) - 4; n > 0 {
			p.add(span{styleDim, "and " + plural(uint64(n), "more barrier") + " with less"})
		}
	}
	var b *stats.Barrier
	for i := range l.Barriers {
		if l.Barriers[i].Barrier == m.focus.lane.barrier {
			b = &l.Barriers[i]
		}
	}
	if b == nil {
		p.add(span{styleDim, "no waits at this barrier"})
		return
	}
	p.add(span{styleBold, b.Barrier.String()}, span{styleDim, "  " + plural(b.Phases, "phase") + " in " + plural(b.CTAs, "CTA")})
	w := &b.Waits
	if w.Count > 0 {
		p.wrap(styleText, "waits   ", fmt.Sprintf("%d, %s in all", w.Count, roughly(w.Total)))
		p.wrap(styleText, "each    ", fmt.Sprintf("half above %s, 1 %% above %s, longest %s", roughly(w.Quantile(0.5)), roughly(w.Quantile(0.99)), report.Time(w.Max)))
	}
	if w.Open > 0 {
		p.wrap(styleHung, "hung    ", plural(w.Open, "wait")+" without end, the first since "+report.Time(w.Since))
	}
	if b.Spread.Count > 0 {
		p.wrap(styleText, "spread  ", "first to last arrival: half above "+roughly(b.Spread.Quantile(0.5))+", longest "+report.Time(b.Spread.Max))
	}
	if len(b.Late) > 0 {
		p.add(span{styleTitleActive, "late"}, span{styleDim, "  who comes last, and how long only that is waited for"})
		most := b.Late[0].Total
		for i := range min(len(b.Late), 8) {
			x := &b.Late[i]
			who := fmt.Sprintf("w%d", x.Warp)
			if m.clusters.several() {
				who = fmt.Sprintf("rank %d w%d", x.Rank, x.Warp)
			}
			if x.Bytes {
				who = "bytes"
			}
			p.add(span{styleText, fmt.Sprintf("%-10s", who)}, span{styleWaiting, bar10(x.Total, most)},
				span{styleText, fmt.Sprintf(" %4d times %10s", x.Times, roughly(x.Total))})
		}
	}
	if len(b.Costly) > 0 {
		p.add(span{styleTitleActive, "costliest phases"}, span{styleDim, "  enter goes there"})
		most := b.Costly[0].Total
		for i := range b.Costly {
			x := &b.Costly[i]
			most = max(most, x.Total)
			text := fmt.Sprintf(" %10s", roughly(x.Total))
			if x.Open > 0 {
				text = fmt.Sprintf(" %d for ever", x.Open)
			}
			p.lead(func(m *model) { m.goPhase(b.Barrier, x) },
				span{styleText, fmt.Sprintf("%-10s", fmt.Sprintf("#%d", x.Phase))}, span{styleWaiting, bar10(x.Total, most)}, span{styleText, text},
				span{styleDim, fmt.Sprintf("  cta%d at %s", x.CTA, report.Time(x.First))})
		}
	}
}

// goPhase goes to where a phase begins.
func (m *model) goPhase(b trace.Barrier, x *stats.Phase) {
	if m.clusters.of(x.CTA) != m.clusters.of(m.focus.row.cta) {
		if r := (rowID{cta: x.CTA, whole: true}); m.tree.has(r) {
			m.tree.unfold(r)
			m.setRow(r)
		}
	}
	m.follow(laneID{x.CTA, b})
	m.setTime(x.First)
}

// bar10 is a bar of at most ten cells.
func bar10(n, most int64) string {
	full := 0
	if most > 0 {
		full = int(float64(n) / float64(most) * 10)
	}
	if n > 0 {
		full = max(full, 1)
	}
	full = min(full, 10)
	return strings.Repeat(string(glyphGaugeFull), full) + strings.Repeat(" ", 10-full)
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// roughly is a duration to four digits: nobody reads more of a sum.
func roughly(ns int64) string {
	unit := int64(1)
	for n := ns; n >= 10000; n /= 10 {
		unit *= 10
	}
	return report.Time((ns + unit/2) / unit * unit)
}

func share(n, of int64) string { return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of)) }

// laneGrid draws which lanes of each warp have arrived and which wait, a line a
// warp.
func (m *model) laneGrid(p *page, b *replay.BarrierState, s style) {
	type masks struct{ arrived, waiting uint32 }
	warps := map[replay.Row]*masks{}
	var order []replay.Row
	at := func(l replay.Lanes) *masks {
		r := replay.Row{CTA: l.CTA, Warp: l.Warp}
		if warps[r] == nil {
			warps[r] = &masks{}
			order = append(order, r)
		}
		return warps[r]
	}
	for _, l := range b.Arrived {
		at(l).arrived |= l.Mask
	}
	for _, l := range b.Waiting {
		at(l).waiting |= l.Mask
	}
	if len(order) == 0 {
		return
	}
	slices.SortFunc(order, func(a, b replay.Row) int { return cmp.Or(cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.Warp, b.Warp)) })
	p.add(span{styleDim, "lanes   0       8       16      24    31"})
	for i, r := range order {
		if i == 32 {
			p.add(span{styleDim, fmt.Sprintf("and %d more warps", len(order)-i)})
			return
		}
		who := fmt.Sprintf("w%d", r.Warp)
		if r.CTA != b.CTA {
			who = fmt.Sprintf("%d/w%d", r.CTA, r.Warp)
		}
		l := line{{s, fmt.Sprintf("%-8s", who)}}
		for lane := range 32 {
			x := warps[r]
			arrived, waiting := x.arrived>>lane&1 == 1, x.waiting>>lane&1 == 1
			glyph, st := rune(glyphExited), styleDim
			switch {
			case arrived && waiting:
				glyph, st = glyphGaugeFull, styleWaiting
			case arrived:
				glyph, st = glyphArrived, styleArrived
			case waiting:
				glyph, st = glyphWaiting, styleWaiting
			}
			if n := len(l) - 1; n > 0 && l[n].s == st {
				l[n].text += string(glyph)
			} else {
				l = append(l, span{st, string(glyph)})
			}
		}
		p.lines = append(p.lines, l)
	}
	p.add(span{styleArrived, "        " + string(glyphArrived)}, span{styleDim, " arrived  "}, span{styleWaiting, string(glyphWaiting)},
		span{styleDim, " waits  "}, span{styleWaiting, string(glyphGaugeFull)}, span{styleDim, " both"})
}
