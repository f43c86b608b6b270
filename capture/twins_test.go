package capture

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"btrace/capture/ptx"
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// corpusTwin is a line of twins.txt.
type corpusTwin struct {
	of       string
	none     string // why there is none; else:
	function string // that the line is in; "" is the kernel itself
	nth      int
	from, to string

	verdict, rule, barrier string
	goesWrong              bool
}

func corpusTwins(t *testing.T) []corpusTwin {
	t.Helper()
	var twins []corpusTwin
	for _, f := range rowsOf(t, filepath.Join(corpusDir, "twins.txt"), 3) {
		if f[1] == "none" {
			twins = append(twins, corpusTwin{of: f[0], none: strings.Join(f[2:], " ")})
			continue
		}
		arrow := slices.Index(f, "=>")
		if arrow < 8 {
			t.Fatalf("twins.txt: %s says not what is changed", f[0])
		}
		tw := corpusTwin{
			of: f[0], verdict: f[1], rule: f[2], barrier: f[3], goesWrong: f[4] == "wrong", function: f[5], nth: number(t, f[6]),
			from: strings.Join(f[7:arrow], " "), to: strings.Join(f[arrow+1:], " "),
		}
		if tw.function == "-" {
			tw.function = ""
		}
		twins = append(twins, tw)
	}
	return twins
}

// edit is the module's source with the one line changed.
func (tw *corpusTwin) edit(t *testing.T, m *ptx.Module, entry string) []byte {
	t.Helper()
	name := tw.function
	if name == "" {
		name = entry
	}
	f := m.Lookup(name)
	if f == nil || f.Body == nil {
		t.Fatalf("there is no function %s", name)
	}
	want := strings.ReplaceAll(tw.from, " ", "")
	first, last := f.Body.Span()
	n := 0
	for i := first; i <= last; i++ {
		end, ok := spells(m.Tokens[i:last+1], want)
		if !ok {
			continue
		}
		if n++; n < tw.nth {
			continue
		}
		e := ptx.NewEdits(m)
		e.Replace(i, i+end, tw.to)
		src, err := e.Source()
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	t.Fatalf("%s has %q only %d times", name, tw.from, n)
	return nil
}

// spells reports whether tokens of one line begin with a text that has no
// spaces, and which of them is the last of it.
func spells(tokens []ptx.Token, want string) (last int, ok bool) {
	for i := range tokens {
		rest, found := strings.CutPrefix(want, tokens[i].Text)
		if !found || i > 0 && strings.Contains(tokens[i].Lead, "\n") {
			return 0, false
		}
		if want = rest; want == "" {
			return i, true
		}
	}
	return 0, false
}

// synchronises reports whether lanes of a recording meet anywhere.
func synchronises(t *testing.T, r *trace.Reader) bool {
	t.Helper()
	for b, err := range r.Blocks(context.Background(), trace.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range b.Op {
			if k := b.Ops[op].Kind; k != trace.KindEnter && k != trace.KindExit {
				return true
			}
		}
	}
	return false
}

// meets reports whether a kernel has an instruction that lanes do together, and
// that is recorded only where they wait for each other, or one of a barrier.
func meets(m *ptx.Module, entry string) bool {
	first, last := m.Lookup(entry).Body.Span()
	return slices.ContainsFunc(m.Tokens[first:last+1], func(tok ptx.Token) bool {
		return slices.Contains([]string{"bar", "barrier", "mbarrier", "shfl", "vote", "match", "redux", "elect"}, tok.Text)
	})
}

// TestPTXCorpusTwins: each clean kernel of the corpus that synchronises has a
// twin with one line changed, of which a replay says what may go wrong, and
// does not say that of the original. With -short it is the kernels as nvcc -O3
// compiled them.
func TestPTXCorpusTwins(t *testing.T) {
	twins := make(map[string]corpusTwin)
	for _, tw := range corpusTwins(t) {
		if _, twice := twins[tw.of]; twice {
			t.Errorf("%s has two twins", tw.of)
		}
		twins[tw.of] = tw
	}
	reasons := unproved()
	for _, row := range rowsOf(t, filepath.Join(corpusDir, "table.txt"), 10) {
		if row[9] != string(replay.Clean) {
			continue
		}
		name := row[0]
		tw, ok := twins[name]
		delete(twins, name)
		if !ok {
			t.Errorf("%s has no twin", name)
			continue
		}
		if testing.Short() && strings.Contains(name, ".") {
			continue
		}
		_, unproved := reasons[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tw.check(t, row, unproved)
		})
	}
	for name := range twins {
		t.Errorf("%s is no clean kernel", name)
	}
}

// check compares the twin with its original.
func (tw *corpusTwin) check(t *testing.T, row []string, unproved bool) {
	file := filepath.Join(corpusDir, row[1])
	cfg, args := launchOf(t, row)
	m, k := compileFile(t, file, row[2])
	_, r := tracePTX(t, m, k, cfg, args)
	original := checked(t, r)
	if tw.none != "" {
		if synchronises(t, r) || meets(m, row[2]) {
			t.Errorf("it synchronises, but has no twin: %s", tw.none)
		}
		return
	}
	if original.Verdict != replay.Clean || tw.shown(original) {
		t.Errorf("the original: verdict %s, findings %v", original.Verdict, listed(original))
	}
	// The original of one that shows no finding has to be proved.
	if s := original.Launches[0].Schedules; !s.Proved && (tw.rule == "-" || !unproved && len(original.Findings) == 0) {
		t.Errorf("the original is not proved: %q", s.Why)
	}

	m, k = compileSource(t, file, row[2], tw.edit(t, m, row[2]))
	res, r := tracePTX(t, m, k, cfg, args)
	rep := checked(t, r)
	s := rep.Launches[0].Schedules
	if string(rep.Verdict) != tw.verdict || s.Proved || !tw.shown(rep) {
		t.Errorf("verdict %s, proved: %t %q, findings %v; want %s, not proved, with %s on %s",
			rep.Verdict, s.Proved, s.Why, listed(rep), tw.verdict, tw.rule, tw.barrier)
	}
	if rep.Verdict == replay.Clean && res.Outcome != trace.OutcomeCompleted {
		t.Errorf("outcome %s", res.Outcome)
	}
	if !tw.goesWrong {
		return
	}
	x, err := replay.Explore(context.Background(), r, rep, rep.Launches[0].Launch.ID, replay.ExploreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(x.Trials, func(tr replay.Trial) bool { return tr.Bad != "" }) {
		t.Errorf("no schedule goes wrong, of %d searches", len(x.Trials))
	}
}

func checked(t *testing.T, r *trace.Reader) *replay.Report {
	t.Helper()
	rep, err := replay.Check(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// shown reports whether a report has the twin's finding, or for a twin without
// one, whether it has a reason why nothing is proved, and no finding.
func (tw *corpusTwin) shown(rep *replay.Report) bool {
	if tw.rule == "-" {
		return len(rep.Findings) == 0 && len(rep.Launches[0].Schedules.Why) > 0
	}
	return slices.ContainsFunc(rep.Findings, func(f replay.Finding) bool {
		return string(f.Rule) == tw.rule && f.Barrier.String() == tw.barrier && f.Severity != rules.Note
	})
}

func listed(rep *replay.Report) (all []string) {
	for _, f := range rep.Findings {
		all = append(all, string(f.Rule)+" on "+f.Barrier.String())
	}
	return all
}
