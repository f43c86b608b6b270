package replay

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/replay/rules"
	"btrace/trace"
)

// TestAnyExploration: whatever the recording, a search for a bad schedule
// ends, and what it finds is a recording that a replay finds fault with.
func TestAnyExploration(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { exploreAny(t, rt, anyRecording(rt)) })
}

// TestExplorationFinds: of some recordings that are the same each time, there
// is one that has a bad schedule, which is what TestAnyExploration relies on.
func TestExplorationFinds(t *testing.T) {
	any := rapid.Custom(anyRecording)
	for seed := range 1000 {
		if exploreAny(t, t, any.Example(seed)) {
			return
		}
	}
	t.Error("no schedule was found for any recording")
}

// exploreAny looks for bad schedules of a recording, and reports whether it
// found one.
func exploreAny(t *testing.T, rt rapid.TB, rec *recording) (found bool) {
	src := rec.reader(t)
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
			found = true
			confirm(t, rt, tr)
		}
	}
	return found
}

// TestUnknownBarrier: of a barrier of which only its completion function was
// recorded nobody knows who waits for it. Nothing is proved, and no schedule
// hangs at it.
func TestUnknownBarrier(t *testing.T) {
	b, err := os.ReadFile("testdata/rules/completion-told.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(b), "-- want\n")
	src := ndjson(t, lines(t, text))
	rep, err := Check(context.Background(), src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := rep.Launches[0].Schedules; s.Proved || len(s.Why) != 1 || !strings.Contains(s.Why[0], "completion function") {
		t.Errorf("proved: %t, %q", s.Proved, s.Why)
	}
	x, err := Explore(context.Background(), src, rep, 0, ExploreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Trials) != 1 || x.Trials[0].Bad != "" {
		t.Errorf("%+v", x.Trials)
	}
}

// confirm replays the schedule of a trial.
func confirm(t *testing.T, rt rapid.TB, tr *Trial) {
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
