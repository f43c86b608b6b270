// Package samples holds no code: it checks that the recordings in this
// folder get the verdicts that README.md promises.
package samples

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// sample is a row of the table in README.md.
type sample struct {
	file, verdict, rule, barrier string
}

func table(t *testing.T) []sample {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []sample
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 || !strings.Contains(cells[1], ".zst") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, sample{cells[1], cells[3], cells[4], cells[5]})
	}
	return out
}

func TestEverySampleIsInTheTable(t *testing.T) {
	files, err := filepath.Glob("*.zst")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, s := range table(t) {
		named = append(named, s.file)
	}
	slices.Sort(named)
	if !slices.Equal(files, named) {
		t.Errorf("the folder has\n%v\nthe table\n%v", files, named)
	}
	if len(files) < 14 {
		t.Errorf("%d samples, want at least 14", len(files))
	}
}

func TestVerdicts(t *testing.T) {
	for _, s := range table(t) {
		t.Run(s.file, func(t *testing.T) {
			r, err := trace.Open(s.file)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if !r.Whole() {
				t.Fatal("the file is not whole")
			}
			rep, err := replay.Check(context.Background(), r, replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if string(rep.Verdict) != s.verdict {
				t.Errorf("verdict %s, want %s", rep.Verdict, s.verdict)
			}
			// Of a hang the table names the root, of a violation one of the
			// rules broken.
			errors, named := 0, 0
			for _, f := range rep.Findings {
				if f.Severity != rules.Error {
					continue
				}
				errors++
				match := string(f.Rule) == s.rule && (s.barrier == "" || f.Barrier.String() == s.barrier)
				if match {
					named++
				}
				if f.Root && !match || f.Root != (s.verdict == "deadlock") && match {
					t.Errorf("found %s on %s (root: %t), want %s on %s", f.Rule, f.Barrier, f.Root, s.rule, s.barrier)
				}
			}
			if (errors > 0) != (s.rule != "") || (named > 0) != (s.rule != "") {
				t.Errorf("%d errors found, %d of them the rule %q", errors, named, s.rule)
			}
		})
	}
}

// The viewer adds to a trace what it had to compute. The samples bring it, so
// that looking at them does not change them.
func TestSamplesBringTheirSections(t *testing.T) {
	for _, s := range table(t) {
		r, err := trace.Open(s.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Launches() {
			tl, err := replay.Open(context.Background(), r, l.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(replay.Prepared(tl)) > 0 {
				t.Errorf("%s has no sections of this version: `btrace view %s --dump -` adds them", s.file, s.file)
			}
		}
		r.Close()
	}
}
