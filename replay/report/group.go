package report

import (
	"fmt"
	"strings"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/trace"
)

// group is the same finding in several CTAs: a kernel with a bug has it in
// every one of them, and people want to read it once. JSON has each.
type group struct {
	first *replay.Finding
	more  []uint32 // the CTAs of the others
	times int      // how often in all
	known bool
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
			place[k] = len(groups)
			groups = append(groups, group{first: f, times: 1 + f.More, known: file.known(i)})
			continue
		}
		groups[n].times += 1 + f.More
		groups[n].more = append(groups[n].more, f.CTA)
	}
	return groups
}

// also says where else a finding is.
func (g *group) also() string {
	if len(g.more) == 0 {
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
	if len(others) == 0 {
		return count(len(g.more), "time") + " more in this CTA"
	}
	n := len(others)
	if n > most {
		others = append(others[:most], fmt.Sprintf("and %d others", n-most))
	}
	also := "also in CTA " + strings.Join(others, " ")
	if len(g.more) > n {
		also += fmt.Sprintf(", %d times in all", len(g.more)+1)
	}
	return also
}
