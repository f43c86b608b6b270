package litmus

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"btrace/capture"
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// TestReplay: of the recording of every row, as measured and varied, a replay
// reports the rule that the row demands, and no other error than the row allows.
func TestReplay(t *testing.T) {
	for _, r := range Rows() {
		t.Run(fmt.Sprint(r.ID), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, uint64(r.ID)))
			for i := range 6 {
				p := r.Base()
				if i > 0 {
					p = vary(&r, rng)
				}
				end, rep := record(t, &r, p)
				checkReport(t, &r, p, end, rep)
			}
		})
	}
}

// record runs a variation of a row and replays its recording.
func record(t *testing.T, r *Row, p Params) (trace.Outcome, *replay.Report) {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end, err := capture.RecordFunc(context.Background(), fmt.Sprint("litmus-", r.ID), r.Config(p), r.Kernel(p), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := replay.Check(context.Background(), file, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return end, rep
}

func checkReport(t *testing.T, r *Row, p Params, end trace.Outcome, rep *replay.Report) {
	t.Helper()
	if !slices.Contains(r.Ends, end) {
		return // a loose row that came to its other end
	}
	var all []string
	found := make(map[string]bool)
	for _, f := range rep.Findings {
		found[string(f.Rule)] = true
		all = append(all, fmt.Sprintf("%s %s %s", f.Severity, f.Rule, f.Message))
		if f.Severity == rules.Error && !slices.Contains(r.Rules, f.Rule) && !slices.Contains(r.Also, f.Rule) {
			t.Errorf("row %d (%s), %+v: %s is reported: %s", r.ID, r.Program, p, f.Rule, f.Message)
		}
	}
	for _, want := range r.Rules {
		if !found[string(want)] {
			t.Errorf("row %d (%s), %+v: %s is not reported, but\n%s", r.ID, r.Program, p, want, strings.Join(all, "\n"))
		}
	}
	want := replay.Clean
	switch {
	case end == hung:
		want = replay.Deadlock
	case len(r.Rules) > 0 && !r.Warning:
		want = replay.Violation
	}
	if rep.Verdict != want {
		t.Errorf("row %d (%s), %+v: verdict %s, want %s", r.ID, r.Program, p, rep.Verdict, want)
	}
}
