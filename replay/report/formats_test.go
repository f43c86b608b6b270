package report

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"btrace/replay"
	"btrace/trace"
)

// sample replays a recording of sample-traces.
func sample(t *testing.T, name string) File {
	t.Helper()
	r, err := trace.Open(filepath.Join("..", "..", "sample-traces", name))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	found, err := replay.Check(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return File{Name: "traces/" + name, Report: found}
}

// job is what a CI job could check: a clean trace, three hangs, a violation
// and a file that is not there.
func job(t *testing.T) []File {
	var files []File
	for _, name := range []string{
		"reductions.zst", "hang_cross.zst", "tma_pipeline_count.zst", "trap_count_mismatch.zst", "hang_early_exit.zst",
	} {
		files = append(files, sample(t, name))
	}
	return append(files, File{Name: "traces/gone.zst", Err: errors.New("traces/gone.zst: no such file")})
}

// accepted is the job with a baseline that knows one of its hangs, and
// something that is not found again.
func accepted(t *testing.T) ([]File, End) {
	const known = `{"version": 1, "findings": [
		{"fingerprint": "a3b13b8f9fc1f7e7deb4cfcd0b5d4b4c", "rule": "bar-overrun", "about": "old: bar:1 at old.cu:7"},
		{"fingerprint": "FINGERPRINT", "rule": "deadlock-cycle", "about": "hang_cross: bar:1 at corpus.cu:396"}]}`
	files := job(t)
	x := files[1].Report
	b, err := ReadBaseline(strings.NewReader(strings.Replace(known, "FINGERPRINT", SiteOf(&x.Findings[0], &x.Launches[0].Launch).Fingerprint, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = b.Accept(files[i])
	}
	return files, End{Baseline: "known.json", Gone: b.Gone()}
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
}

// written is the output of a format.
func written(t fataler, format Format, opt Options, files []File, end End) string {
	t.Helper()
	var b strings.Builder
	w, err := NewWriter(&b, format, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := w.File(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		format Format
		name   string
	}{
		{Text, "job.txt"}, {Summary, "job-summary.txt"}, {JSON, "job.json"}, {SARIF, "job.sarif"}, {JUnit, "job.xml"}, {GitHub, "job-github.txt"},
	} {
		opt := Options{Version: "v1.2.3"}
		golden(t, tt.name, written(t, tt.format, opt, job(t), End{}))
		files, end := accepted(t)
		golden(t, "known-"+tt.name, written(t, tt.format, opt, files, end))
	}
}

func TestUnknownFormat(t *testing.T) {
	if w, err := NewWriter(nil, "yaml", Options{}); err == nil || w != nil {
		t.Errorf("NewWriter of yaml: %v, %v", w, err)
	}
}

// full is a writer that takes nothing more.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputErrors(t *testing.T) {
	for _, format := range []Format{Text, Summary, JSON, SARIF, JUnit, GitHub} {
		w, err := NewWriter(full{}, format, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = w.File(hang())
		if err == nil {
			err = w.Close(End{})
		}
		if err == nil || err.Error() != "write output: no space left" {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

func TestTally(t *testing.T) {
	var all Tally
	if got := all.String(); got != "0 traces" {
		t.Errorf("got %q", got)
	}
	for _, f := range job(t) {
		all.Add(f)
	}
	if got, want := all.String(), "6 traces: 1 not checked, 3 deadlock, 1 violation, 1 clean; 5 errors"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var one Tally
	one.Add(File{Report: &replay.Report{Verdict: replay.Incomplete}})
	if got, want := one.String(), "1 trace: 1 incomplete"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
