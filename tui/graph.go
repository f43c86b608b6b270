package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"btrace/replay"
	"btrace/replay/diagnose"
	"btrace/trace"
)

// blockedKey names a wait-for graph: that of a cluster at a time.
type blockedKey struct {
	cluster uint64
	time    int64
}

// blocked is who waits for whom at a time.
type blocked struct {
	key  blockedKey
	list []diagnose.Stuck
	err  error
}

func (m *model) blockedKey() blockedKey {
	return blockedKey{m.clusters.of(m.focus.row.cta), m.focus.time}
}

// graphJob asks who waits for whom, if the graph is on the screen.
func (m *model) graphJob() (job, bool) {
	key := m.blockedKey()
	if !m.shown(paneGraph) || m.blocked != nil && m.blocked.key == key {
		return job{}, false
	}
	tl, cta := m.tl, m.focus.row.cta
	return job{kind: jobGraph, epoch: m.epoch, graph: key, run: func(ctx context.Context) func(*model) {
		list, err := tl.Blocked(ctx, cta, key.time)
		return func(m *model) { m.blocked = &blocked{key, list, err} }
	}}, true
}

// graph draws the wait-for graph of a cluster as a tree: under a barrier those
// that have not come, under those the barrier that they are stuck at. A barrier
// that stands above itself closes a cycle.
type graph struct {
	m    *model
	p    *page
	list []diagnose.Stuck
	path []replay.BarrierRef // from the root to here
	seen map[replay.BarrierRef]bool
}

// mostGraphLines bounds the tree.
const mostGraphLines = 400

func (m *model) graphPage(p *page) {
	b := m.blocked
	switch {
	case m.tl == nil || len(m.tree.all) == 0:
		return
	case b == nil:
		p.add(span{styleDim, "loading"})
		return
	case errors.Is(b.err, replay.ErrSketch):
		p.add(span{styleDim, b.err.Error()})
		return
	case b.err != nil:
		p.wrap(styleError, "", "who waits for whom cannot be worked out: "+b.err.Error())
		return
	case len(b.list) == 0:
		p.add(span{styleDim, "nobody waits at this time"})
		return
	}
	g := &graph{m: m, p: p, list: b.list, seen: map[replay.BarrierRef]bool{}}
	// What the focused row waits for comes first, then the focused barrier.
	roots := slices.Clone(b.list)
	weight := func(n *diagnose.Stuck) int {
		switch {
		case slices.ContainsFunc(n.Waits, func(w replay.Wait) bool {
			return slices.ContainsFunc(w.Threads, func(l replay.Lanes) bool {
				return l.CTA == m.focus.row.cta && (l.Warp == m.focus.row.warp || m.focus.row.whole)
			})
		}):
			return 0
		case n.CTA == m.focus.lane.cta && n.Barrier == m.focus.lane.barrier:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(roots, func(a, b diagnose.Stuck) int { return cmp.Compare(weight(&a), weight(&b)) })
	for i := range roots {
		if !g.seen[roots[i].BarrierRef] {
			g.barrier(roots[i].BarrierRef, "", "")
		}
	}
}

func (g *graph) find(ref replay.BarrierRef) *diagnose.Stuck {
	for i := range g.list {
		if g.list[i].BarrierRef == ref {
			return &g.list[i]
		}
	}
	return nil
}

// barrier draws a barrier and what is under it. first is what stands before
// its line, rest before those under it.
func (g *graph) barrier(ref replay.BarrierRef, first, rest string) {
	m, cta := g.m, g.m.focus.row.cta
	goTo := func(m *model) { m.follow(laneID{ref.CTA, ref.Barrier}) }
	name := barrierText(ref, cta)
	n := g.find(ref)
	switch {
	case slices.Contains(g.path, ref):
		g.p.lead(goTo, span{styleDim, first}, span{styleHung, string(glyphCycle) + " " + name}, span{styleError, "  a cycle"})
		return
	case n == nil:
		g.p.lead(goTo, span{styleDim, first}, span{styleText, name})
		return
	case g.seen[ref] || len(g.p.lines) > mostGraphLines:
		g.p.lead(goTo, span{styleDim, first}, span{styleText, name}, span{styleDim, "  as above"})
		return
	}
	g.seen[ref] = true
	g.path = append(g.path, ref)
	defer func() { g.path = g.path[:len(g.path)-1] }()
	var waiters []replay.Lanes
	for _, w := range n.Waits {
		waiters = append(waiters, w.Threads...)
	}
	count := ""
	if n.Expected > 0 {
		count = fmt.Sprintf("  %d/%d", n.Expected-min(n.Pending, n.Expected), n.Expected)
	}
	g.p.lead(goTo, span{styleDim, first}, span{styleWaiting | modFocus, name}, span{styleText, count}, span{styleDim, "  holds "},
		span{styleText, m.lanesText(waiters, cta)})

	type child struct {
		draw func(first, rest string)
	}
	var children []child
	leaf := func(s style, text string) {
		children = append(children, child{func(first, _ string) { g.p.add(span{styleDim, first}, span{s, text}) }})
	}
	for _, group := range together(n.Missing) {
		children = append(children, child{func(first, rest string) { g.missing(group, n.Members, first, rest) }})
	}
	if n.Tx != 0 {
		leaf(styleWaiting, fmt.Sprintf("%d bytes have not come", n.Tx))
	}
	if n.TxUnknown {
		leaf(styleDim, "bytes of some copies are not known")
	}
	if len(children) == 0 && n.Pending > 0 {
		leaf(styleError, fmt.Sprintf("nobody is left who comes here: %d of %d arrivals missing", n.Pending, n.Expected))
	}
	if n.Pending == 0 && n.Tx == 0 && len(children) == 0 {
		leaf(styleDim, "complete: about to let go")
	}
	for i, c := range children {
		if i == len(children)-1 {
			c.draw(rest+"└ ", rest+"  ")
		} else {
			c.draw(rest+"├ ", rest+"│ ")
		}
	}
}

// absent is lanes of some warps that are missing in the same way.
type absent struct {
	diagnose.Absent
	lanes []replay.Lanes
}

// together joins those who are at the same place.
func together(missing []diagnose.Absent) []absent {
	var out []absent
	for _, a := range missing {
		i := slices.IndexFunc(out, func(o absent) bool {
			return o.Why == a.Why && o.At == a.At && (a.Why == diagnose.Elsewhere || o.Location == a.Location)
		})
		if i < 0 {
			out = append(out, absent{Absent: a})
			i = len(out) - 1
		}
		out[i].lanes = append(out[i].lanes, a.Lanes)
	}
	return out
}

// missing draws those who have not come, and the barrier that holds them.
func (g *graph) missing(a absent, members bool, first, rest string) {
	m := g.m
	text, s := "", styleText
	switch a.Why {
	case diagnose.Exited:
		text, s = "exited", styleExited
	case diagnose.Elsewhere:
		text, s = "held", styleWaiting
	case diagnose.Running:
		text, s = "still running", styleRunning
	case diagnose.Skipped:
		text, s = "went past it", styleError
	case diagnose.NotStarted:
		text, s = "never seen", styleDim
	}
	if !members && a.Why == diagnose.Running {
		text = "may come, " + text
	}
	spans := []span{{styleDim, first}, {s, m.lanesText(a.lanes, m.focus.row.cta) + " " + text}}
	if at := m.siteText(a.Location); at != "" {
		spans = append(spans, span{styleDim, " at " + at})
	}
	row := rowID{cta: a.CTA, warp: a.Warp}
	g.p.lead(func(m *model) {
		m.tree.unfold(row)
		m.setRow(row)
		if a.At.Barrier.Kind != trace.BarrierNone {
			m.follow(laneID{a.At.CTA, a.At.Barrier})
		}
	}, spans...)
	if a.At.Barrier.Kind != trace.BarrierNone {
		g.barrier(a.At, rest+"└ ", rest+"  ")
	}
}

// arriveAtMissing goes to the first of those that a barrier lacks.
func (m *model) arriveAtMissing(list []diagnose.Stuck, ref replay.BarrierRef) {
	i := slices.IndexFunc(list, func(n diagnose.Stuck) bool { return n.BarrierRef == ref })
	if i < 0 {
		m.say(ref.Barrier.String() + " holds nobody any more")
		return
	}
	n := &list[i]
	for _, a := range together(n.Missing) {
		row := rowID{cta: a.CTA, warp: a.Warp}
		if row == m.focus.row || !m.tree.has(row) {
			continue
		}
		m.leave("awaited", false)
		m.tree.unfold(row)
		m.setRow(row)
		text := " has not come to " + ref.Barrier.String()
		if a.At.Barrier.Kind != trace.BarrierNone {
			m.follow(laneID{a.At.CTA, a.At.Barrier})
			text += ": it waits at " + a.At.Barrier.String()
		} else if a.Why == diagnose.Exited {
			text += ": it has exited"
		}
		m.say(m.lanesText(a.lanes, row.cta) + text)
		return
	}
	m.follow(laneID{ref.CTA, ref.Barrier})
	if n.Tx > 0 {
		m.say(fmt.Sprintf("%s lacks %d bytes, and no warp", ref.Barrier, n.Tx))
		return
	}
	m.say(fmt.Sprintf("%s lacks %d arrivals, and nobody is left who makes them", ref.Barrier, n.Pending))
}
