package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace/plain"
)

// The JUnit form, as Jenkins and GitLab read it: a suite for a trace, a case
// for a launch. Both take one problem a case, and tell cases apart by class
// and name; the totals are for those who read them.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Out     *junitText    `xml:"system-out"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		junitText
	}
	junitText struct {
		Text string `xml:",cdata"`
	}
)

// junitWriter keeps the suites until the totals are known.
type junitWriter struct {
	w      io.Writer
	strict bool
	suites []junitSuite
}

func (w *junitWriter) File(f File) error {
	s := junitSuite{Name: plain.Text(f.Name)}
	switch {
	case f.Report == nil:
		s.Cases = []junitCase{{
			Name: "the trace can be read", Class: s.Name, Error: &junitProblem{Message: plain.Text(f.Err.Error()), Type: "unreadable"},
		}}
	case len(f.Report.Launches) == 0 && f.Report.Verdict == replay.Incomplete:
		s.Cases = []junitCase{{
			Name: "the trace is whole", Class: s.Name, Skipped: &junitProblem{Message: "incomplete: no launch is left of it"},
		}}
	default:
		s.Cases = w.launches(f)
	}
	for _, c := range s.Cases {
		s.count(c)
	}
	w.suites = append(w.suites, s)
	return nil
}

func (c *junitCounts) count(t junitCase) {
	c.Tests++
	switch {
	case t.Failure != nil:
		c.Failures++
	case t.Error != nil:
		c.Errors++
	case t.Skipped != nil:
		c.Skipped++
	}
}

func (w *junitWriter) Close(End) error {
	all := junitSuites{Name: "btrace", Suites: w.suites}
	for _, s := range w.suites {
		for _, c := range s.Cases {
			all.count(c)
		}
	}
	if _, err := io.WriteString(w.w, xml.Header); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	enc := xml.NewEncoder(w.w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if _, err := io.WriteString(w.w, "\n"); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// launches makes a case of every launch. A kernel that is launched more than
// once gets a number from the second time on.
func (w *junitWriter) launches(f File) []junitCase {
	times := map[string]int{}
	var cases []junitCase
	for _, l := range f.Report.Launches {
		name := plain.Text(l.Launch.Kernel)
		if name == "" {
			name = "launch"
		}
		if times[name]++; times[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, times[name])
		}
		c := junitCase{Name: name, Class: plain.Text(f.Name)}
		groups := grouped(f, func(x *replay.Finding) bool { return x.Launch == l.Launch.ID })
		text := findingsText(groups, len(f.Report.Launches) > 1)
		first := w.failure(groups)
		switch {
		case first != nil:
			what := string(l.Verdict)
			if first.Severity != rules.Error {
				what = string(first.Severity)
			}
			c.Failure = &junitProblem{plain.Text(what + ": " + first.Message), plain.Text(string(first.Rule)), junitText{text}}
		case l.Verdict == replay.Incomplete:
			c.Skipped = &junitProblem{Message: "incomplete: nothing was found, but not everything could be checked", junitText: junitText{text}}
		case text != "":
			c.Out = &junitText{text}
		}
		cases = append(cases, c)
	}
	return cases
}

// failure is the finding for which a case fails: the first error, and with
// strict also a warning. Known findings do not count.
func (w *junitWriter) failure(groups []group) *replay.Finding {
	for _, want := range []rules.Severity{rules.Error, rules.Warning} {
		if want == rules.Warning && !w.strict {
			break
		}
		for _, g := range groups {
			if g.first.Severity == want && !g.known {
				return g.first
			}
		}
	}
	return nil
}

// findingsText is the findings as the text form has them; empty for none.
func findingsText(groups []group, many bool) string {
	if len(groups) == 0 {
		return ""
	}
	var b strings.Builder
	p := plain.NewPrinter(&b)
	p.Printf("\n")
	writeFindings(p, groups, many, true)
	p.Flush() // a strings.Builder takes everything
	return b.String()
}
