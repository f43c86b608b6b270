package report

import (
	"fmt"
	"strings"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/trace"
)

// group is the same finding in several CTAs: a kernel with a bug has it in
// every one of them, and people want to read it once. JSON has each that a
// report lists.
type group struct {
	first     *replay.Finding
	more      []uint32 // the CTAs of the others
	elsewhere int      // and how many have no finding of their own
	unlisted  int
	times     int // how often in all
	known     bool
}

// grouped puts findings together that differ in CTA, phase and time only, in
// the order in which the first of each comes.
func grouped(file File, want func(*replay.Finding) bool) []group {
	type key struct {
		rule     barrier.Rule
		root     bool
		launch   uint32
		barrier  trace.Barrier
		location replay.Location
	}
	var groups []group
	place := map[key]int{}
	for i := range file.Report.Findings {
		f := &file.Report.Findings[i]
		if !want(f) {
			continue
		}
		k := key{f.Rule, f.Root, f.Launch, f.Barrier, f.Location}
		n, ok := place[k]
		if !ok {
			n = len(groups)
			place[k] = n
			groups = append(groups, group{first: f, known: file.known(i)})
		} else {
			groups[n].more = append(groups[n].more, f.CTA)
		}
		g := &groups[n]
		g.elsewhere += f.Elsewhere.CTAs
		g.unlisted += f.Unlisted
		g.times += 1 + f.More + f.Elsewhere.Times
	}
	return groups
}

// also says where else a finding is.
func (g *group) also() string {
	var parts []string
	if also := g.inCTAs(); also != "" {
		parts = append(parts, also)
	}
	if g.unlisted > 0 {
		parts = append(parts, count(g.unlisted, "more finding")+" of this rule at places that are not listed")
	}
	return strings.Join(parts, ", ")
}

// inCTAs says in which other CTAs a finding is.
func (g *group) inCTAs() string {
	if len(g.more) == 0 && g.elsewhere == 0 {
		return ""
	}
	const most = 8
	others, seen := []string{}, map[uint32]bool{g.first.CTA: true}
	for _, c := range g.more {
		if !seen[c] {
			seen[c] = true
			others = append(others, fmt.Sprint(c))
		}
	}
	n := len(others)
	rest := max(n-most, 0) + g.elsewhere
	also := "also in CTA "
	switch {
	case n > 0 && rest > 0:
		others = append(others[:min(n, most)], "and "+count(rest, "other"))
	case rest > 0:
		also = "also in " + count(rest, "other CTA")
	case n == 0:
		return count(len(g.more), "time") + " more in this CTA"
	}
	also += strings.Join(others, " ")
	if len(g.more) > n {
		also += fmt.Sprintf(", %d times in all", len(g.more)+1+g.elsewhere)
	}
	return also
}
