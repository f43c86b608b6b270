package kernels

import (
	"fmt"
	"hash/maphash"
	"path/filepath"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// end checks that a kernel ended as it says, with the right results.
func end(k *Kernel, r emu.Result) error {
	_, trapped := r.Outcome.Trap()
	switch {
	case k.Racy && r.Outcome == trace.OutcomeCompleted:
	case k.Expect.Verdict == deadlock && r.Outcome != trace.OutcomeHung:
		return fmt.Errorf("it ends as %s, want hung", r.Outcome)
	case k.Expect.Verdict == violation && !trapped:
		return fmt.Errorf("it ends as %s, want a trap", r.Outcome)
	case k.Expect.Verdict == clean && r.Outcome != trace.OutcomeCompleted:
		return fmt.Errorf("it ends as %s, want completed; stuck: %v", r.Outcome, r.Stuck)
	case k.Expect.Verdict == clean:
		return k.Check(r)
	}
	return nil
}

// verdict checks that a replay finds what the kernel says: of a hang one
// root, in all CTAs the same.
func verdict(k *Kernel, rep *replay.Report) error {
	var errors []string
	named := 0
	for _, f := range rep.Findings {
		if f.Severity != rules.Error {
			continue
		}
		errors = append(errors, fmt.Sprintf("%s on %s (root: %t): %s", f.Rule, f.Barrier, f.Root, f.Message))
		match := f.Rule == k.Expect.Rule && (k.Expect.Barrier == "" || f.Barrier.String() == k.Expect.Barrier)
		switch {
		case match && f.Root == (k.Expect.Verdict == deadlock):
			named++
		case f.Root:
			return fmt.Errorf("another root is found: %s", errors[len(errors)-1])
		}
	}
	if string(rep.Verdict) != k.Expect.Verdict || (named > 0) != (k.Expect.Rule != "") {
		return fmt.Errorf("verdict %s, want %+v\n%s", rep.Verdict, k.Expect, strings.Join(errors, "\n"))
	}
	return nil
}

// TestGallery: every kernel ends as it says, with the right results, and a
// replay finds in it what it says.
func TestGallery(t *testing.T) {
	for _, k := range All() {
		rec, r := record(t, &k, emu.RoundRobin, 0)
		if k.Racy && r.Outcome == trace.OutcomeCompleted {
			t.Errorf("%s: completed", k.Name)
		}
		if err := end(&k, r); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		if err := verdict(&k, check(t, rec)); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
}

// TestAnyInterleaving: a clean kernel comes to the same results whatever the
// schedule, and nothing is found in it.
func TestAnyInterleaving(t *testing.T) {
	for _, k := range All() {
		if k.Expect.Verdict != clean {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			seen := make(map[uint64]bool)
			hash := maphash.MakeSeed()
			for seed := range uint64(500) {
				rec, r := record(t, &k, emu.Random, seed)
				rec.seed = hash
				if err := end(&k, r); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if seen[rec.order()] {
					continue
				}
				seen[rec.order()] = true
				if err := verdict(&k, check(t, rec)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			t.Logf("%d different recordings", len(seen))
		})
	}
}

// otherwise is what is found under schedules in which the rule that was broken
// cannot be proved: somebody may have waited in time.
var otherwise = map[string]barrier.Rule{"tma-pipeline-count-too-low": "deadlock-parity"}

// TestBugsInAnyInterleaving: a bug does its harm under any schedule, or, if
// it is a race, under some; where it does, its root is found.
func TestBugsInAnyInterleaving(t *testing.T) {
	for _, k := range All() {
		if k.Expect.Verdict == clean {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			k.Expect.Barrier = "" // on which barrier is a matter of the schedule
			ends := make(map[trace.Outcome]bool)
			for seed := range uint64(40) {
				rec, r := record(t, &k, emu.Random, seed)
				if err := end(&k, r); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				ends[r.Outcome] = true
				if r.Outcome == trace.OutcomeCompleted {
					continue
				}
				rep := check(t, rec)
				err := verdict(&k, rep)
				if or, ok := otherwise[k.Name]; ok && err != nil {
					k := k
					k.Expect.Rule = or
					err = verdict(&k, rep)
				}
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			if k.Racy != ends[trace.OutcomeCompleted] || len(ends) != 1 && !k.Racy {
				t.Errorf("racy: %t, but its ends are %v", k.Racy, ends)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	if k, ok := Lookup("prefix-sum"); !ok || k.Name != "prefix-sum" {
		t.Errorf("prefix-sum is not found")
	}
	if _, ok := Lookup("prefix"); ok {
		t.Errorf("prefix is found")
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

// TestWith: a kernel that takes a number does as much work as it says, with the
// right results.
func TestWith(t *testing.T) {
	takes := 0
	for _, own := range All() {
		if own.Param == nil {
			if _, err := own.With(1); err == nil {
				t.Errorf("%s: takes a number", own.Name)
			}
			continue
		}
		takes++
		last := 0
		for _, n := range []int{1, own.Param.Value, 10 * own.Param.Value} {
			k, err := own.With(n)
			if err != nil {
				t.Fatal(err)
			}
			rec, r := record(t, &k, emu.RoundRobin, 0)
			if err := end(&k, r); err != nil {
				t.Errorf("%s, %d %s: %v", k.Name, n, k.Param.Name, err)
			}
			if err := verdict(&k, check(t, rec)); err != nil {
				t.Errorf("%s, %d %s: %v", k.Name, n, k.Param.Name, err)
			}
			if events := len(rec.events); events <= last {
				t.Errorf("%s, %d %s: %d events, not more than before", k.Name, n, k.Param.Name, events)
			} else {
				last = events
			}
		}
		for _, n := range []int{0, -1, maxParam + 1} {
			if _, err := own.With(n); err == nil {
				t.Errorf("%s: takes %d", own.Name, n)
			}
		}
	}
	if takes == 0 {
		t.Error("no kernel takes a number")
	}
}
