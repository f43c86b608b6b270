package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/trace"
)

// search goes to the next row or barrier that is called so, from the focus on.
// Rows are cta2, w3, 2/3 or cta2/w3; anything else is looked for in the
// barriers' names.
func (m *model) search(s string) error {
	s = strings.ToLower(strings.ReplaceAll(s, " ", ""))
	if r, ok := parseRow(s, m.focus.row.cta); ok {
		if !m.tree.has(r) {
			return fmt.Errorf("no row %s in this launch", r)
		}
		m.leave("search", false)
		m.tree.unfold(r)
		m.setRow(r)
		return nil
	}
	all := m.lanes.all
	at := 0
	for i, l := range all {
		if (laneID{l.CTA, l.Barrier}) == m.focus.lane {
			at = i + 1
		}
	}
	exact := slices.ContainsFunc(all, func(l replay.Lane) bool { return strings.ToLower(l.Barrier.String()) == s })
	for i := range all {
		l := all[(at+i)%len(all)]
		if name := strings.ToLower(l.Barrier.String()); name != s && (exact || !strings.Contains(name, s)) {
			continue
		}
		m.leave("search", false)
		if m.clusters.of(l.CTA) != m.clusters.of(m.focus.row.cta) {
			if r := (rowID{cta: l.CTA, whole: true}); m.tree.has(r) {
				m.setRow(r)
			}
		}
		m.focus.lane = laneID{l.CTA, l.Barrier}
		return nil
	}
	return fmt.Errorf("no row or barrier %q: type 2/3, w3, bar:1 or 0x1420", s)
}

// parseRow reads the name of a row: ctaC, C/W, ctaC/wW, or wW in the CTA at
// hand. The words warp, : and cta may be written out.
func parseRow(s string, here uint32) (rowID, bool) {
	num := func(s string, words ...string) (uint32, bool) {
		for _, w := range words {
			if rest, ok := strings.CutPrefix(s, w); ok {
				s = strings.TrimPrefix(rest, ":")
				break
			}
		}
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err == nil
	}
	if cta, warp, ok := strings.Cut(s, "/"); ok {
		c, ok1 := num(cta, "cta", "c")
		w, ok2 := num(warp, "warp", "w")
		return rowID{cta: c, warp: w}, ok1 && ok2
	}
	if _, err := trace.ParseBarrier(s); err == nil && !strings.HasPrefix(s, "warp") {
		return rowID{}, false
	}
	if strings.HasPrefix(s, "w") {
		w, ok := num(s, "warp", "w")
		return rowID{cta: here, warp: w}, ok
	}
	c, ok := num(s, "cta")
	return rowID{cta: c, whole: true}, ok && strings.HasPrefix(s, "cta")
}
