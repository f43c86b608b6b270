package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/trace"
	"btrace/trace/plain"
)

// most is how many kinds of findings of a file the text shows; JSON has every
// finding.
const most = 50

// WriteText prints the verdict of a file and its findings, for people.
func WriteText(p *plain.Printer, f File) {
	r := f.Report
	if r == nil {
		return
	}
	writeVerdict(p, f)
	if len(r.Launches) > 1 {
		for _, l := range r.Launches {
			p.Printf("  launch %d %s: %s (%s)\n", l.Launch.ID, l.Launch.Kernel, l.Verdict, l.Launch.Outcome)
		}
	}
	writeFindings(p, grouped(f, func(*replay.Finding) bool { return true }), len(r.Launches) > 1, false)
}

// writeVerdict prints the verdict of a file in a line.
func writeVerdict(p *plain.Printer, f File) {
	p.Printf("%s: %s (%s)\n", f.Name, f.Report.Verdict, summary(f))
}

func summary(f File) string {
	c := f.Report.Counts
	parts := []string{count(c.WarpEvents, "warp event"), count(c.ThreadEvents, "thread event"), count(c.Phases, "phase")}
	var t Tally
	t.Add(f)
	if found := t.findings(); found != "" {
		parts = append(parts, found)
	}
	return strings.Join(parts, ", ")
}

// writeFindings prints findings, what is known already last, and with the
// stories of the hangs if they are wanted.
func writeFindings(p *plain.Printer, groups []group, many, stories bool) {
	slices.SortStableFunc(groups, func(a, b group) int {
		switch {
		case a.known == b.known:
			return 0
		case b.known:
			return -1
		}
		return 1
	})
	for i, g := range groups {
		if i == most {
			p.Printf("  and %s more: --format json lists them all\n", count(len(groups)-most, "kind"))
			break
		}
		writeFinding(p, &g, many)
		if !stories {
			continue
		}
		for _, line := range g.first.Story {
			p.Printf("    %s\n", line)
		}
	}
}

func writeFinding(p *plain.Printer, g *group, many bool) {
	f := g.first
	known := ""
	if g.known {
		known = " (known)"
	}
	p.Printf("  %s %s%s: %s\n", f.Severity, f.Rule, known, f.Message)
	p.Printf("    at %s\n", strings.Join(where(f, many), ", "))
	if also := g.also(); also != "" {
		p.Printf("    %s\n", also)
	}
	if f.Hint != "" {
		p.Printf("    change: %s\n", f.Hint)
	}
}

// where is the place of a finding: source, barrier, phase, time.
func where(f *replay.Finding, many bool) []string {
	var parts []string
	if s := source(f.Location); s != "" {
		parts = append(parts, s)
	}
	if many {
		parts = append(parts, fmt.Sprintf("launch %d", f.Launch))
	}
	if f.Barrier.Kind != trace.BarrierNone {
		parts = append(parts, barrierName(f.BarrierRef))
	} else {
		parts = append(parts, fmt.Sprintf("CTA %d", f.CTA))
	}
	return append(parts, Time(f.Time))
}

// barrierName is a barrier in a sentence.
func barrierName(b replay.BarrierRef) string {
	return fmt.Sprintf("%s of CTA %d, phase %d", b.Barrier, b.CTA, b.Phase)
}

// source is a place in the source, or in the binary where that is all that is
// known; it may be empty.
func source(l replay.Location) string {
	switch {
	case l.Line > 0 && l.File != "":
		return l.File + ":" + strconv.FormatUint(uint64(l.Line), 10)
	case l.Line > 0:
		return "line " + strconv.FormatUint(uint64(l.Line), 10)
	case l.PC > 0:
		return "pc 0x" + strconv.FormatUint(l.PC, 16)
	}
	return ""
}

// Time writes nanoseconds exactly, in the unit that suits their size.
func Time(ns int64) string {
	abs := uint64(ns)
	if ns < 0 {
		abs = -abs
	}
	unit, digits := "ns", 0
	switch {
	case abs >= 1e9:
		unit, digits = "s", 9
	case abs >= 1e6:
		unit, digits = "ms", 6
	case abs >= 1e3:
		unit, digits = "µs", 3
	}
	s := strconv.FormatUint(abs, 10)
	if digits > 0 {
		whole, frac := s[:len(s)-digits], strings.TrimRight(s[len(s)-digits:], "0")
		s = whole
		if frac != "" {
			s += "." + frac
		}
	}
	if ns < 0 {
		s = "-" + s
	}
	return s + " " + unit
}

// count is a number with its noun: "1 phase", "2 phases".
func count[N int | uint64](n N, noun string) string {
	return fmt.Sprintf("%d %s", n, plural(n, noun))
}

func plural[N int | uint64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
