package report

import (
	"strconv"
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace/plain"
)

// Tally counts files by verdict, and their findings by severity.
type Tally struct {
	Files int

	// By verdict.
	Clean, Violation, Deadlock, Incomplete, Unreadable int

	// Findings that are not known, by severity, and those that are; those that
	// a report counts and does not list among them.
	Errors, Warnings, Notes, Known int
}

// Add counts a file.
func (t *Tally) Add(f File) {
	t.Files++
	if f.Report == nil {
		t.Unreadable++
		return
	}
	switch f.Report.Verdict {
	case replay.Clean:
		t.Clean++
	case replay.Violation:
		t.Violation++
	case replay.Deadlock:
		t.Deadlock++
	case replay.Incomplete:
		t.Incomplete++
	}
	for i := range f.Report.Findings {
		x := &f.Report.Findings[i]
		t.finding(x.Severity, f.known(i), 1+x.Elsewhere.CTAs+x.Unlisted)
	}
}

func (t *Tally) finding(s rules.Severity, known bool, n int) {
	switch {
	case known:
		t.Known += n
	case s == rules.Error:
		t.Errors += n
	case s == rules.Warning:
		t.Warnings += n
	default:
		t.Notes += n
	}
}

// String is the total in a line: "3 traces: 1 deadlock, 2 clean; 1 error".
func (t *Tally) String() string {
	s := count(t.Files, "trace")
	if verdicts := list([]counted{
		{t.Unreadable, "not checked"}, {t.Deadlock, "deadlock"}, {t.Violation, "violation"}, {t.Incomplete, "incomplete"}, {t.Clean, "clean"},
	}); verdicts != "" {
		s += ": " + verdicts
	}
	if found := t.findings(); found != "" {
		s += "; " + found
	}
	return s
}

// findings is the second half of the line; empty if nothing was found.
func (t *Tally) findings() string {
	return list([]counted{
		{t.Errors, plural(t.Errors, "error")}, {t.Warnings, plural(t.Warnings, "warning")}, {t.Notes, plural(t.Notes, "note")}, {t.Known, "known"},
	})
}

type counted struct {
	n    int
	what string
}

// list names what there is any of.
func list(all []counted) string {
	var parts []string
	for _, c := range all {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+" "+c.what)
		}
	}
	return strings.Join(parts, ", ")
}

// summaryWriter writes a line a file, and a total.
type summaryWriter struct {
	p     *plain.Printer
	tally Tally
}

func (w *summaryWriter) File(f File) error {
	w.tally.Add(f)
	if f.Report == nil {
		w.p.Printf("%s: not checked\n", f.Name)
	} else {
		writeVerdict(w.p, f)
	}
	return w.p.Flush()
}

func (w *summaryWriter) Close(end End) error {
	if line := GoneLine(end.Baseline, end.Gone); line != "" {
		w.p.Printf("%s\n", line)
	}
	w.p.Printf("%s\n", w.tally.String())
	return w.p.Flush()
}
