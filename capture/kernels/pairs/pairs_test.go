package pairs

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// check records an example and replays it.
func check(t *testing.T, p *Pair, e *Example, cfg emu.Config) *replay.Report {
	t.Helper()
	cfg, err := cfg.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	events, outcome, err := e.Record(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	l := trace.Launch{
		Kernel: string(p.Rule), Program: "pairs.go", Recorder: capture.Emulator, Device: capture.EmulatorDevice,
		Arch: capture.EmulatorArch, Grid: cfg.Grid, Block: cfg.Block, Cluster: cfg.Cluster,
	}
	if e.Arch != "" {
		l.Arch = e.Arch
	}
	if err := w.Begin(l); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(events); err != nil {
		t.Fatal(err)
	}
	if e.Fault == nil || !e.Fault.Cut {
		if err := w.End(l.ID, outcome, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := replay.Check(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func found(rep *replay.Report) string {
	var b strings.Builder
	for _, f := range rep.Findings {
		b.WriteString("  " + string(f.Severity) + " " + string(f.Rule) + ": " + f.Message + "\n")
	}
	return b.String()
}

// hazard reports whether a rule is about other schedules than the recorded.
func hazard(id barrier.Rule) bool { return strings.HasPrefix(string(id), "hazard-") }

// TestEveryRuleBothWays: for every rule of the catalogue there is an example
// in which exactly that is found, and one in which nothing is, and no schedule
// of it can break any. The bad example of a hazard is clean but for the
// warning.
func TestEveryRuleBothWays(t *testing.T) {
	for _, r := range rules.All() {
		t.Run(string(r.ID), func(t *testing.T) {
			p, ok := Lookup(r.ID)
			if !ok {
				t.Fatal("there is no pair for this rule")
			}
			bad := check(t, &p, &p.Bad, p.Config())
			want := append([]barrier.Rule{r.ID}, p.Also...)
			var got []barrier.Rule
			for _, f := range bad.Findings {
				if !slices.Contains(want, f.Rule) {
					t.Errorf("the bad example is found to break another rule: %s: %s", f.Rule, f.Message)
				}
				if f.Rule == r.ID && f.Severity != r.Severity {
					t.Errorf("found as %s, in the catalogue it is %s", f.Severity, r.Severity)
				}
				got = append(got, f.Rule)
			}
			for _, id := range want {
				if !slices.Contains(got, id) {
					t.Errorf("%s is not found in the bad example, but\n%s", id, found(bad))
				}
			}
			if hazard(r.ID) && (bad.Verdict != replay.Clean || bad.Launches[0].Schedules.Proved) {
				t.Errorf("the bad example is %s, proved for all schedules: %t", bad.Verdict, bad.Launches[0].Schedules.Proved)
			}
			good := check(t, &p, &p.Good, p.Config())
			if s := good.Launches[0].Schedules; len(good.Findings) > 0 || good.Verdict != replay.Clean || !s.Proved {
				t.Errorf("the good example is %s, proved for all schedules: %t %q\n%s", good.Verdict, s.Proved, s.Why, found(good))
			}
		})
	}
}

// TestGoodInAnyOrder: no schedule makes a good example break a rule.
func TestGoodInAnyOrder(t *testing.T) {
	for _, p := range All() {
		for seed := range uint64(10) {
			cfg := p.Config()
			cfg.Schedule, cfg.Seed = emu.Random, seed
			if rep := check(t, &p, &p.Good, cfg); len(rep.Findings) > 0 {
				t.Errorf("%s: the good example with seed %d:\n%s", p.Rule, seed, found(rep))
			}
		}
	}
}

// TestHazardsAreReal: some schedule makes the bad example of a hazard break
// another rule. Bytes that are announced too late break none: who waits for
// their phase is only let go before they have come.
func TestHazardsAreReal(t *testing.T) {
	for _, p := range All() {
		if !hazard(p.Rule) || p.Rule == rules.HazardTx {
			continue
		}
		if !breaks(t, &p, emu.Random) && !breaks(t, &p, emu.PCT) {
			t.Errorf("%s: the bad example breaks no rule under 200 schedules", p.Rule)
		}
	}
}

// breaks reports whether a schedule makes the bad example break a rule.
func breaks(t *testing.T, p *Pair, schedule string) bool {
	for seed := range uint64(100) {
		cfg := p.Config()
		cfg.Schedule, cfg.Seed = schedule, seed
		if rep := check(t, p, &p.Bad, cfg); slices.ContainsFunc(rep.Findings, func(f replay.Finding) bool { return f.Severity == rules.Error }) {
			return true
		}
	}
	return false
}

// TestPairsAreComplete: every pair is of a rule, says why it breaks others,
// and has two examples that differ and whose source can be shown.
func TestPairsAreComplete(t *testing.T) {
	seen := make(map[barrier.Rule]bool)
	for _, p := range All() {
		if _, ok := rules.Lookup(p.Rule); !ok || seen[p.Rule] {
			t.Errorf("%s: no rule, or twice", p.Rule)
		}
		seen[p.Rule] = true
		if (len(p.Also) > 0) != (p.AlsoWhy != "") {
			t.Errorf("%s: also %v, because %q", p.Rule, p.Also, p.AlsoWhy)
		}
		bad, good := source(t, &p.Bad), source(t, &p.Good)
		if bad == good && p.Bad.Fault == p.Good.Fault && p.Bad.Arch == p.Good.Arch {
			t.Errorf("%s: both examples are the same", p.Rule)
		}
		for _, text := range []string{bad, good} {
			if !strings.HasPrefix(text, "func ") || !strings.HasSuffix(text, "\n}\n") || strings.Count(text, "\n") > 30 {
				t.Errorf("%s: this is no small function:\n%s", p.Rule, text)
			}
		}
	}
}

func source(t *testing.T, e *Example) string {
	t.Helper()
	text, err := e.Source()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
