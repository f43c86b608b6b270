package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

func readJUnit(t fataler, text string) junitSuites {
	t.Helper()
	var all junitSuites
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err, text)
	}
	return all
}

func TestJUnitCounts(t *testing.T) {
	all := readJUnit(t, written(t, JUnit, Options{}, append(job(t), hang()), End{}))
	if want := (junitCounts{Tests: 8, Failures: 5, Errors: 1}); all.junitCounts != want {
		t.Errorf("totals %+v, want %+v", all.junitCounts, want)
	}
	var sum junitCounts
	for _, s := range all.Suites {
		var own junitCounts
		for _, c := range s.Cases {
			own.count(c)
			sum.count(c)
		}
		if own != s.junitCounts || s.Tests != len(s.Cases) {
			t.Errorf("%s says %+v, its cases are %+v", s.Name, s.junitCounts, own)
		}
	}
	if sum != all.junitCounts {
		t.Errorf("the totals are %+v, the cases %+v", all.junitCounts, sum)
	}
}

// launches is a file with launches of these verdicts, all of one kernel.
func launches(verdicts ...replay.Verdict) File {
	f := File{Name: "x.zst", Report: &replay.Report{Verdict: replay.Clean}}
	for i, v := range verdicts {
		l := trace.Launch{ID: uint32(i), Kernel: "gemm", Outcome: trace.OutcomeCompleted}
		f.Report.Launches = append(f.Report.Launches, replay.LaunchReport{Launch: l, Verdict: v})
		x := replay.Finding{Launch: l.ID, Message: "what " + string(v) + " is"}
		switch v {
		case replay.Clean:
			x.Rule, x.Severity = "cluster-missing-wait", rules.Warning
		case replay.Incomplete:
			x.Rule, x.Severity = rules.TraceGap, rules.Note
		case replay.Violation:
			x.Rule, x.Severity = rules.BarTarget, rules.Error
		case replay.Deadlock:
			x.Rule, x.Severity, x.Root = rules.DeadlockTx, rules.Error, true
		}
		f.Report.Findings = append(f.Report.Findings, x)
		f.Report.Verdict = worse(f.Report.Verdict, v)
	}
	return f
}

// What CI servers make of each verdict. GitLab keeps one of the cases of the
// same class and name, so that no two may have them.
func TestJUnitVerdicts(t *testing.T) {
	f := launches(replay.Clean, replay.Incomplete, replay.Violation, replay.Deadlock)
	for _, tt := range []struct {
		strict bool
		want   string
	}{
		{false, "gemm:pass gemm (2):skipped gemm (3):bar-target gemm (4):deadlock-tx"},
		{true, "gemm:cluster-missing-wait gemm (2):skipped gemm (3):bar-target gemm (4):deadlock-tx"},
	} {
		all := readJUnit(t, written(t, JUnit, Options{Strict: tt.strict}, []File{f}, End{}))
		var got []string
		for i, c := range all.Suites[0].Cases {
			state, text := "pass", c.Out
			switch {
			case c.Failure != nil:
				state, text = c.Failure.Type, &c.Failure.junitText
			case c.Error != nil:
				state, text = "error", &c.Error.junitText
			case c.Skipped != nil:
				state, text = "skipped", &c.Skipped.junitText
			}
			got = append(got, c.Name+":"+state)
			if want := f.Report.Findings[i].Message; text == nil || !strings.Contains(text.Text, want) {
				t.Errorf("%s does not say %q: %+v", c.Name, want, c)
			}
			if c.Class != "x.zst" {
				t.Errorf("class %q", c.Class)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("strict %v: %s, want %s", tt.strict, s, tt.want)
		}
	}
}

func TestJUnitWithoutLaunches(t *testing.T) {
	cut := File{Name: "cut.zst", Report: &replay.Report{Verdict: replay.Incomplete}}
	empty := File{Name: "empty.zst", Report: &replay.Report{Verdict: replay.Clean}}
	all := readJUnit(t, written(t, JUnit, Options{}, []File{cut, empty}, End{}))
	if want := (junitCounts{Tests: 1, Skipped: 1}); all.junitCounts != want || len(all.Suites) != 2 {
		t.Errorf("got %+v", all)
	}
}

// Whatever the strings are, the document is well-formed and comes back as it
// was written.
func TestJUnitRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string) string {
			return rapid.OneOf(
				rapid.String(), rapid.Just("]]> &amp; <x a='\"'> \x00\x1b\ufffe\uffff"),
				rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			).Draw(t, name)
		}
		f := hang()
		f.Name = word("trace")
		f.Report.Launches[0].Launch.Kernel = word("kernel")
		f.Report.Findings[0].Message, f.Report.Findings[1].Message = word("message"), word("warning")
		w := &junitWriter{}
		var b strings.Builder
		w.w = &b
		for _, f := range []File{f, {Name: word("bad"), Err: errors.New(word("error"))}} {
			if err := w.File(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(b.String()) {
			t.Fatalf("not UTF-8: %q", b.String())
		}
		for dec := xml.NewDecoder(strings.NewReader(b.String())); ; {
			if _, err := dec.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v\n%s", err, b.String())
			}
		}
		all := readJUnit(t, b.String())
		for i, s := range w.suites {
			got := all.Suites[i]
			if got.Name != s.Name || len(got.Cases) != len(s.Cases) {
				t.Fatalf("%+v came back as %+v", s, got)
			}
			for j, c := range s.Cases {
				if g := got.Cases[j]; g.Name != c.Name || g.Class != c.Class || text(g) != text(c) {
					t.Fatalf("%+v came back as %+v", c, g)
				}
			}
		}
	})
}

// text is all that a case says.
func text(c junitCase) string {
	s := ""
	for _, p := range []*junitProblem{c.Failure, c.Error, c.Skipped} {
		if p != nil {
			s += p.Type + "|" + p.Message + "|" + p.Text
		}
	}
	if c.Out != nil {
		s += c.Out.Text
	}
	return s
}
