package diff

import (
	"fmt"
	"strings"

	"btrace/replay/report"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

// WriteText prints a comparison for people: of every launch at most top
// divergences.
func WriteText(p *plain.Printer, a, b string, rep *Report, top int) {
	for i := range rep.Launches {
		writeLaunch(p, a, b, &rep.Launches[i], top)
	}
	if len(rep.Launches) == 0 {
		p.Printf("neither %s nor %s has a launch\n", a, b)
	}
}

func writeLaunch(p *plain.Printer, a, b string, l *Launch, top int) {
	p.Printf("A %s: %s\n", a, launchName(l.A))
	p.Printf("B %s: %s\n", b, launchName(l.B))
	if l.A == nil || l.B == nil {
		p.Printf("only one has the launch\n")
		return
	}
	if len(l.Differs) > 0 {
		p.Printf("the launches differ in: %s\n", strings.Join(l.Differs, ", "))
	}
	if l.Divergent == 0 {
		p.Printf("every warp of %d did the same: %s compared\n", l.Warps, count(l.Operations, "operation"))
		return
	}
	p.Printf("%d of %s differ: %s compared\n", l.Divergent, count(uint64(l.Warps), "warp"), count(l.Operations, "operation"))
	for i := range l.Divergences[:min(len(l.Divergences), top)] {
		d := &l.Divergences[i]
		title := "then"
		if i == 0 {
			title = "first"
		}
		p.Printf("%s: CTA %d, %s, after %s that are the same: %s\n", title, d.CTA, d.who(l), count(d.Index, "operation"), d.what())
		d.events(p, l, i == 0)
	}
	if n := len(l.Divergences); n > top {
		p.Printf("and %d more: --top %d\n", n-top, n)
	}
}

// count is a number with its noun: "1 warp", "2 warps".
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func launchName(l *trace.Launch) string {
	if l == nil {
		return "no such launch"
	}
	return fmt.Sprintf("launch %d, %s, %s", l.ID, l.Kernel, l.Outcome)
}

func (d *Divergence) who(l *Launch) string {
	return strings.Join(rules.Threads([]rules.Lanes{{CTA: d.CTA, Warp: d.Warp, Mask: d.Lanes}}, d.CTA, l.A), " ")
}

// what tells in a few words how the recordings part.
func (d *Divergence) what() string {
	ended := "B"
	if d.A == nil {
		ended = "A"
	}
	switch d.Kind {
	case Operation:
		if d.A.Kind != d.B.Kind || d.A.Name != d.B.Name {
			return "another operation"
		}
		return "another " + strings.Join(names(d.Fields), ", ")
	case Outcome:
		return "another " + strings.Join(names(d.Fields), ", ") + ", the operation is the same"
	case Wait:
		return ended + " does not come out of its wait"
	case Absent:
		return "they are not in " + ended
	case Lost:
		return "they differ, but events were lost before"
	}
	return ended + " ends here"
}

// names are the operands' as they stand in a recording.
func names(fields []trace.Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.String())
	}
	return out
}

// events prints the operations at the divergence: the ones that part, and the
// last that is the same where it says more.
func (d *Divergence) events(p *plain.Printer, l *Launch, context bool) {
	if last := d.LastB; last != nil && (context || d.Kind == Wait) {
		at := "at " + report.Time(last.Time)
		if d.LastA != nil {
			at = fmt.Sprintf("at %s in A, %s in B", report.Time(d.LastA.Time), report.Time(last.Time))
		}
		p.Printf("  both %s %s\n", describe(last, l.B), at)
	}
	if d.A != nil {
		p.Printf("  A    %s at %s\n", describe(d.A, l.A), report.Time(d.A.Time))
	}
	if d.B != nil {
		p.Printf("  B    %s at %s\n", describe(d.B, l.B), report.Time(d.B.Time))
	}
}

// describe names an operation: what, on which barrier, with which operands,
// where.
func describe(e *trace.Event, l *trace.Launch) string {
	op := e.Kind.String()
	if e.Kind == trace.KindUnknown {
		op = e.Name
	}
	parts := []string{op}
	if b := e.Barrier(e.Warp); b.Kind != trace.BarrierNone && b.Kind != trace.BarrierWarp {
		parts = append(parts, b.String())
	}
	add := func(f trace.Field, format string, v any) {
		if e.Has.Has(f) {
			parts = append(parts, f.String()+"="+fmt.Sprintf(format, v))
		}
	}
	add(trace.FieldOwnerCTA, "%d", e.Owner)
	add(trace.FieldCount, "%d", e.Count)
	add(trace.FieldBytes, "%d", e.Bytes)
	add(trace.FieldParity, "%d", e.Parity)
	add(trace.FieldPhase, "%d", e.Phase)
	add(trace.FieldMask, "%08x", e.Mask)
	add(trace.FieldPred, "%08x", e.Pred)
	add(trace.FieldResult, "%d", e.Result)
	add(trace.FieldReason, "%q", e.Text)
	if at := site(e, l); at != "" {
		parts = append(parts, at)
	}
	return strings.Join(parts, " ")
}

// site is where an operation stands.
func site(e *trace.Event, l *trace.Launch) string {
	switch {
	case e.Line > 0 && e.File != "":
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	case e.Line > 0 && l != nil && l.Program != "":
		return fmt.Sprintf("%s:%d", l.Program, e.Line)
	case e.Line > 0:
		return fmt.Sprintf("line %d", e.Line)
	case e.Has.Has(trace.FieldPC):
		return fmt.Sprintf("pc %#x", e.PC)
	}
	return ""
}
