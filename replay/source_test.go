package replay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"btrace/trace"
)

// recording is a trace taken apart: what a test changes and writes again.
type recording struct {
	launch trace.Launch
	events []trace.Event
}

// samples are recordings of a real H100, from sample-traces.
func sample(t testing.TB, name string) *recording {
	t.Helper()
	r, err := trace.Open(filepath.Join("..", "sample-traces", name+".zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec := &recording{launch: r.Launches()[0]}
	for b, err := range r.Blocks(context.Background(), trace.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			var e trace.Event
			b.Event(i, &e)
			rec.events = append(rec.events, e)
		}
	}
	return rec
}

// reader writes the recording to memory and opens it.
func (r *recording) reader(t testing.TB) *trace.Reader {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{BlockRows: 500})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(r.launch); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(r.events); err != nil {
		t.Fatal(err)
	}
	if r.launch.Ended {
		if err := w.End(r.launch.ID, r.launch.Outcome, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rd, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return rd
}

func (r *recording) check(t testing.TB) *Report {
	t.Helper()
	rep, err := Check(context.Background(), r.reader(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// ndjson makes a recording of interchange lines.
func ndjson(t testing.TB, text string) *trace.Reader {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.ImportNDJSON(strings.NewReader(text), w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rd, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return rd
}

// summary writes findings one a line, as the golden files hold them.
func summary(rep *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d phases\n", rep.Verdict, rep.Counts.Phases)
	for _, f := range rep.Findings {
		root := ""
		if f.Root {
			root = "root "
		}
		fmt.Fprintf(&b, "%s%s %s cta%d %s phase %d line %d: %s\n", root, f.Severity, f.Rule, f.CTA, f.Barrier, f.Phase, f.Location.Line, f.Message)
		for _, w := range f.Behind {
			fmt.Fprintf(&b, "    behind: cta%d %s phase %d line %d\n", w.CTA, w.Barrier, w.Phase, w.Location.Line)
		}
	}
	return b.String()
}

// goldenEqual compares with a file; UPDATE_GOLDEN=1 writes it.
func goldenEqual(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s:\n got:\n%s\nwant:\n%s", path, got, want)
	}
}
