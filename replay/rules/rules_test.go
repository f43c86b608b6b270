package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"btrace/replay/barrier"
)

// published reads the list of ids that users may rely on.
func published(t *testing.T) []barrier.Rule {
	t.Helper()
	text, err := os.ReadFile("testdata/ids.txt")
	if err != nil {
		t.Fatal(err)
	}
	var ids []barrier.Rule
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			ids = append(ids, barrier.Rule(line))
		}
	}
	return ids
}

func TestEveryRuleIsInTheCatalogue(t *testing.T) {
	for _, id := range append(published(t), barrier.Rules()...) {
		r, ok := Lookup(id)
		if !ok {
			t.Errorf("%s has no entry", id)
		} else if r.ID != id {
			t.Errorf("Lookup(%s) is the entry of %s", id, r.ID)
		}
	}
}

func TestEveryEntryIsPublished(t *testing.T) {
	ids := published(t)
	seen := map[barrier.Rule]bool{}
	for _, r := range All() {
		if !slices.Contains(ids, r.ID) {
			t.Errorf("%s is not in testdata/ids.txt", r.ID)
		}
		if seen[r.ID] {
			t.Errorf("%s has two entries", r.ID)
		}
		seen[r.ID] = true
	}
}

func TestEntriesAreComplete(t *testing.T) {
	slug := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	sentence := regexp.MustCompile(`\.(\s|$)`)
	for _, r := range All() {
		if !slug.MatchString(string(r.ID)) {
			t.Errorf("%s is not a slug", r.ID)
		}
		if !slices.Contains([]Severity{Error, Warning, Note}, r.Severity) {
			t.Errorf("%s: severity %q", r.ID, r.Severity)
		}
		if n := len(r.Title); n == 0 || n > 72 || strings.HasSuffix(r.Title, ".") {
			t.Errorf("%s: the title has to be a short phrase: %q", r.ID, r.Title)
		}
		if n := len(sentence.FindAllString(r.Meaning, -1)); n < 2 || n > 4 {
			t.Errorf("%s: the meaning has %d sentences, want 2 to 4", r.ID, n)
		}
		if r.Hint == "" || strings.HasSuffix(r.Hint, ".") {
			t.Errorf("%s: the hint has to be a phrase that says what to do: %q", r.ID, r.Hint)
		}
		if len(r.Source) == 0 {
			t.Errorf("%s has no source", r.ID)
		}
		for _, s := range r.Source {
			if s.Document == "" || s.Title == "" {
				t.Errorf("%s: source %v lacks its document or section", r.ID, s)
			}
		}
		bad, good := strings.Index(r.Example, " bad"), strings.Index(r.Example, " good")
		if bad < 0 || good < bad {
			t.Errorf("%s: the example has to show the bad form, then the good one", r.ID)
		}
		for text := range strings.Lines(r.Meaning + "\n" + r.Hint + "\n" + r.Example) {
			if strings.Contains(text, "  ") && !strings.Contains(r.Example, strings.TrimSpace(text)) {
				t.Errorf("%s: two spaces in %q", r.ID, text)
			}
		}
	}
}

// Notes and warnings do not make a verdict: what is one is part of the
// contract with a CI.
func TestSeverities(t *testing.T) {
	soft := map[barrier.Rule]Severity{
		barrier.MbarDropToZero:     Warning,
		barrier.ClusterMissingWait: Warning,
		MbarExitWithoutArrive:      Note,
		HazardRecycle:              Warning,
		HazardLap:                  Warning,
		HazardInit:                 Warning,
		HazardTx:                   Warning,
		HazardDeadlock:             Warning,
		TraceTruncated:             Note,
		TraceGap:                   Note,
	}
	for _, r := range All() {
		want, ok := soft[r.ID]
		if !ok {
			want = Error
		}
		if r.Severity != want {
			t.Errorf("%s is of severity %s, want %s", r.ID, r.Severity, want)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	if r, ok := Lookup("bar-nonsense"); ok {
		t.Errorf("Lookup found %v", r)
	}
}

func TestNearest(t *testing.T) {
	for in, want := range map[string]barrier.Rule{
		"bar-overun":        barrier.BarOverrun,
		"deadlock_cycle":    DeadlockCycle,
		"mbar-stale":        barrier.MbarStaleToken,
		"TRACE-GAP":         TraceGap,
		"syncwarp-mask":     barrier.SyncwarpExcludesCaller,
		"cluster-exit-erly": ClusterExitEarly,
	} {
		if got := Nearest(in); len(got) == 0 || got[0] != want {
			t.Errorf("Nearest(%q) = %v, want %s first", in, got, want)
		}
	}
	if got := Nearest("qqqqqqqqqqqq"); len(got) != 0 {
		t.Errorf("Nearest of nonsense = %v", got)
	}
}
