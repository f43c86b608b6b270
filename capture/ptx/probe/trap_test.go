package probe_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// TestTrapIsExplained: of an arrival that traps the ring has the record, and a
// replay of what the ring has says why it trapped.
func TestTrapIsExplained(t *testing.T) {
	traps := 0
	for _, row := range rowsOf(t, filepath.Join(data, "litmus/table.txt")) {
		if row[4] != "trap:unspecified-launch-failure" || row[7] == "-" {
			continue
		}
		traps++
		t.Run(row[1], func(t *testing.T) {
			p := program{
				file: row[1], entry: "row", src: read(t, filepath.Join(data, "litmus", row[1])), args: []string{"buf:64"},
				cfg: emu.Config{Grid: trace.Dim{1, 1, 1}, Block: trace.Dim{number(t, row[2]), 1, 1}},
			}
			m := rewritten(t, p.file, p.src)
			res, direct := p.launch(t, p.compile(t, m.probed), p.cfg)
			events := eventsOf(m.out, readRing(t, m.out, res.Variables["ring_chunks"], p.cfg.Grid, p.cfg.Cluster, res.Outcome))
			want := slices.DeleteFunc(direct, func(e trace.Event) bool {
				return e.Kind == trace.KindTrap || e.Kind == trace.KindSyncwarp || e.Kind == trace.KindSyncwarpDone
			})
			if len(events) != len(want) || events[len(events)-1].Kind != trace.KindMbarArrive {
				t.Errorf("%d events, want %d and an arrival as the last one", len(events), len(want))
			}
			if got := explained(t, events, p.cfg, res.Outcome); got != row[7] {
				t.Errorf("the replay reports %s, want %s", got, row[7])
			}
		})
	}
	if traps < 3 {
		t.Errorf("%d rows trap at an arrival, want 3", traps)
	}
}

// explained is the rules that a replay of a launch's events reports as errors.
func explained(t *testing.T, events []trace.Event, cfg emu.Config, outcome trace.Outcome) string {
	t.Helper()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	families := []string{string(trace.FamilyEnter), string(trace.FamilyExit), string(trace.FamilyMbar)}
	if err := w.Begin(trace.Launch{Kernel: "row", Grid: cfg.Grid, Block: cfg.Block, Observes: families}); err != nil {
		t.Fatal(err)
	}
	for i := range events {
		events[i].Seq, events[i].Time = uint32(i), events[i].Clk
	}
	if err := w.Write(events); err != nil {
		t.Fatal(err)
	}
	if err := w.End(0, outcome, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := replay.Check(t.Context(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range rep.Findings {
		if f.Severity == rules.Error {
			found = append(found, string(f.Rule))
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), ",")
}
