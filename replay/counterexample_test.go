package replay

import (
	"bytes"
	"context"
	"testing"

	"pgregory.net/rapid"

	"btrace/replay/rules"
	"btrace/trace"
)

// TestAnyExploration: whatever the recording, a search for a bad schedule
// ends, and what it finds is a recording that a replay finds fault with.
func TestAnyExploration(t *testing.T) {
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		src := anyRecording(rt).reader(t)
		rep, err := Check(context.Background(), src, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		x, err := Explore(context.Background(), src, rep, src.Launches()[0].ID, ExploreOptions{Tries: 4})
		if err != nil {
			rt.Fatal(err)
		}
		for i := range x.Trials {
			if tr := &x.Trials[i]; tr.Bad != "" {
				found++
				confirm(t, rt, tr)
			}
		}
	})
	if found == 0 {
		t.Error("no schedule was found for any recording")
	}
}

// confirm replays the schedule of a trial.
func confirm(t *testing.T, rt *rapid.T, tr *Trial) {
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Write(w); err != nil {
		rt.Fatal(err)
	}
	if err := w.Close(); err != nil {
		rt.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		rt.Fatal(err)
	}
	rep, err := Check(context.Background(), r, Options{})
	if err != nil {
		rt.Fatal(err)
	}
	for _, f := range rep.Findings {
		if f.Severity == rules.Error {
			return
		}
	}
	rt.Fatalf("%s, but the replay finds nothing: %s", tr.Bad, summary(rep))
}
