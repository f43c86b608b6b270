package report

import (
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

// Hangs counts the roots of the hangs of a file, those that are not listed
// among them.
func Hangs(f File) int {
	n := 0
	if f.Report != nil {
		for i := range f.Report.Findings {
			if x := &f.Report.Findings[i]; x.Root {
				n += 1 + x.Elsewhere.CTAs + x.Unlisted
			}
		}
	}
	return n
}

// WriteDiagnosis tells the story of every hang of a file, root by root.
// Without any it prints a line that says so, and the rules that were broken.
func WriteDiagnosis(p *plain.Printer, f File) {
	r := f.Report
	if r == nil {
		return
	}
	roots := grouped(f, func(f *replay.Finding) bool { return f.Root })
	for i, g := range roots {
		if i > 0 {
			p.Printf("\n")
		}
		writeStory(p, f.Name, &g, launch(r, g.first.Launch))
	}
	if len(roots) == 0 {
		writeNoHang(p, f)
	}
}

func writeNoHang(p *plain.Printer, f File) {
	r := f.Report
	p.Printf("%s: no hang, %s (%s)\n", f.Name, r.Verdict, summary(f))
	for _, l := range r.Launches {
		if _, trapped := l.Launch.Outcome.Trap(); trapped {
			p.Printf("  launch %d, %s: %s\n", l.Launch.ID, l.Launch.Kernel, l.Launch.Outcome)
		}
	}
	errors := grouped(f, func(f *replay.Finding) bool { return f.Severity == rules.Error })
	for _, g := range errors[:min(len(errors), fewErrors)] {
		writeFinding(p, &g, len(r.Launches) > 1)
	}
	if r.Verdict != replay.Clean && len(errors) != 1 {
		p.Printf("  next: btrace validate %s\n", f.Name)
	} else if len(errors) == 1 {
		p.Printf("  rule: btrace explain %s\n", errors[0].first.Rule)
	}
}

// fewErrors is how many kinds of errors are shown where nothing hangs:
// validate shows them all.
const fewErrors = 3

func writeStory(p *plain.Printer, file string, g *group, l *trace.Launch) {
	f := g.first
	p.Printf("%s: launch %d, %s: %s\n\n", file, l.ID, l.Kernel, l.Outcome)
	p.Printf("%s: %s\n", f.Rule, f.Message)
	p.Printf("  at %s\n", strings.Join(where(f, false), ", "))
	if also := g.also(); also != "" {
		p.Printf("  %s\n", also)
	}
	for _, line := range f.Story {
		p.Printf("  %s\n", line)
	}
	if len(f.Cycle) > 0 {
		p.Printf("  the circle:\n")
		for i, b := range f.Cycle {
			next := f.Cycle[(i+1)%len(f.Cycle)]
			p.Printf("    %s waits for %s\n", barrierName(b), barrierName(next))
		}
	}
	if len(f.Behind) > 0 {
		p.Printf("  behind it:\n")
		for i, b := range f.Behind {
			if i == most {
				p.Printf("    and %s more\n", count(len(f.Behind)-most, "wait"))
				break
			}
			at := ""
			if s := source(b.Location); s != "" {
				at = " at " + s
			}
			p.Printf("    %s on %s%s, since %s\n", names(b.Threads, b.CTA, l), barrierName(b.BarrierRef), at, Time(b.Since))
		}
	}
	if f.Hint != "" {
		p.Printf("  change: %s\n", f.Hint)
	}
	p.Printf("  look:   btrace state %s --at end --launch %d --cta %d\n", file, f.Launch, f.CTA)
	p.Printf("  rule:   btrace explain %s\n", f.Rule)
}

// names is a set of lanes in a sentence, at most a line of it.
func names(lanes []replay.Lanes, cta uint32, l *trace.Launch) string {
	const most = 12
	all := rules.Threads(lanes, cta, l)
	if len(all) > most {
		return strings.Join(all[:most], " ") + " and " + count(len(all)-most, "other")
	}
	return strings.Join(all, " ")
}
