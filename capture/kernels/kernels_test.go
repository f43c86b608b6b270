package kernels

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

func launch(t *testing.T, k Kernel, schedule string, seed uint64) emu.Result {
	t.Helper()
	cfg := emu.Config{Grid: k.Grid, Block: k.Block, Cluster: k.Cluster, Schedule: schedule, Seed: seed}
	r, err := emu.Launch(context.Background(), cfg, k.Run, nil)
	if err != nil {
		t.Fatalf("%s: %v", k.Name, err)
	}
	return r
}

func checkEnd(t *testing.T, k Kernel, r emu.Result) {
	t.Helper()
	if k.Expect.Verdict == deadlock {
		if r.Outcome != trace.OutcomeHung {
			t.Errorf("%s: %s, want hung", k.Name, r.Outcome)
		}
		return
	}
	if r.Outcome != trace.OutcomeCompleted {
		t.Errorf("%s: %s, want completed; stuck: %v", k.Name, r.Outcome, r.Stuck)
		return
	}
	if err := k.Check(r); err != nil {
		t.Errorf("%s: %v", k.Name, err)
	}
}

// TestGallery: every kernel ends as it says, with the right results.
func TestGallery(t *testing.T) {
	for _, k := range All() {
		checkEnd(t, k, launch(t, k, emu.RoundRobin, 0))
	}
}

// TestAnyInterleaving: the clean kernels come to the same results whatever
// the schedule, and the bugs hang under any.
func TestAnyInterleaving(t *testing.T) {
	for _, k := range All() {
		if k.Name == "run-ahead-arrive" {
			continue // see TestRunAheadDependsOnSchedule
		}
		for seed := range uint64(30) {
			checkEnd(t, k, launch(t, k, emu.Random, seed))
		}
	}
}

// TestRunAheadDependsOnSchedule: whether an arrive runs ahead is a race.
func TestRunAheadDependsOnSchedule(t *testing.T) {
	k, _ := Lookup("run-ahead-arrive")
	ends := make(map[trace.Outcome]bool)
	for seed := range uint64(100) {
		ends[launch(t, k, emu.Random, seed).Outcome] = true
	}
	if !ends[trace.OutcomeHung] || !ends[trace.OutcomeCompleted] {
		t.Errorf("ends seen: %v, want both hung and completed", ends)
	}
}

func TestLookup(t *testing.T) {
	if k, ok := Lookup("prefix-sum"); !ok || k.Name != "prefix-sum" {
		t.Errorf("prefix-sum is not found")
	}
	if _, ok := Lookup("prefix"); ok {
		t.Errorf("prefix is found")
	}
	for in, want := range map[string]string{
		"prefx-sum": "prefix-sum", "prefix": "prefix-sum", "tma_pipeline": "tma-pipeline", "tma-pipelin-bytes": "tma-pipeline-bytes",
		"producer": "producer-consumer", "circular": "circular-wait",
	} {
		if got := Nearest(in); !slices.Contains(got, want) {
			t.Errorf("Nearest(%q) = %v, without %s", in, got, want)
		}
	}
	if got := Nearest("zzzzzzzzzzzzzzzzzzzzzzzzzzzz"); len(got) > 0 {
		t.Errorf("Nearest of nonsense = %v", got)
	}
}

// TestGalleryIsComplete: names are unique and well formed, every kernel says
// what it is and what is to be found, and its source can be shown.
func TestGalleryIsComplete(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range All() {
		for _, r := range k.Name {
			if r != '-' && (r < 'a' || r > 'z') {
				t.Errorf("%q is not lower case with dashes", k.Name)
			}
		}
		if seen[k.Name] {
			t.Errorf("%s twice", k.Name)
		}
		seen[k.Name] = true
		if k.Doc == "" || (k.Expect.Verdict == clean) != (k.Expect.Rule == "") || (k.Expect.Verdict == clean) != (k.Check != nil) {
			t.Errorf("%s: doc %q, expected %+v, checks results: %v", k.Name, k.Doc, k.Expect, k.Check != nil)
		}
		if k.Expect.Barrier != "" {
			if b, err := trace.ParseBarrier(k.Expect.Barrier); err != nil || b.String() != k.Expect.Barrier {
				t.Errorf("%s: barrier %q: %v", k.Name, k.Expect.Barrier, err)
			}
		}
		file, line := emu.Source(k.Run)
		if text, ok := Source(filepath.Base(file)); !ok || text == "" || line == 0 {
			t.Errorf("%s: no source for %s:%d", k.Name, file, line)
		}
	}
}
