package capture

import (
	"path/filepath"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/replay"
	"btrace/replay/rules"
)

// unproved is the clean kernels of the corpus of which one run in turn does
// not prove all others, and why. All of them poll in vain: what a thread does
// after that is for the kernel to say, and the replay does not know that these
// ask again, or only note the answer. (Most loops that wait are recorded as
// waits, and are no polls.)
func unproved() map[string]string {
	const (
		asks  = "its one thread asks for phases that are not complete, to note the answer"
		loops = "it asks again, in a loop that the recorder does not take for a wait"
	)
	return map[string]string{
		"states": asks, "states.clang": asks, "states.G": asks,
		"tx_by_hand": asks, "tx_by_hand.clang": asks,
		"ring.G": loops, "cp_async_arrive.G": loops, "tma_two_copies.clang": loops,
	}
}

// TestPTXCorpusHazards: from one run of a clean kernel that a compiler wrote
// follows that all go as well, but for the table above; no run of it shows a
// hazard.
func TestPTXCorpusHazards(t *testing.T) {
	reasons := unproved()
	for _, row := range rowsOf(t, filepath.Join(corpusDir, "table.txt"), 10) {
		if row[9] != string(replay.Clean) {
			continue
		}
		m, k := compileFile(t, filepath.Join(corpusDir, row[1]), row[2])
		for seed := range uint64(3) {
			rep := recordRow(t, row, m, k, seed)
			// The destructor of cuda::pipeline finds its last user by an atomic,
			// which is not recorded.
			destroys := strings.Contains(row[0], "_pipeline")
			for _, f := range rep.Findings {
				if destroys && f.Rule == rules.HazardInit && strings.Contains(f.Message, "ends the life") {
					continue
				}
				t.Errorf("%s, seed %d: %s on %s line %d: %s", row[0], seed, f.Rule, f.Barrier, f.Location.Line, f.Message)
			}
			s := rep.Launches[0].Schedules
			polled := len(s.Why) == 1 && strings.Contains(s.Why[0], "a test of an mbarrier failed")
			why, expected := reasons[row[0]]
			switch {
			case destroys:
			case !s.Proved && !polled:
				t.Errorf("%s, seed %d: not proved: %q", row[0], seed, s.Why)
			case seed == 0 && s.Proved == expected:
				t.Errorf("%s: proved: %t, want %t %s", row[0], s.Proved, !expected, why)
			}
		}
		delete(reasons, row[0])
	}
	for name := range reasons {
		t.Errorf("%s: no such clean kernel", name)
	}
}

// recordRow runs a row of the corpus, in turn for seed 0, else at random.
func recordRow(t *testing.T, row []string, m *ptx.Module, k *interp.Kernel, seed uint64) *replay.Report {
	t.Helper()
	cfg, args := launchOf(t, row)
	if seed > 0 {
		cfg.Schedule, cfg.Seed = emu.Random, seed
	}
	_, rep := recordPTX(t, m, k, cfg, args)
	return rep
}

// launchOf is how a row of the corpus is launched.
func launchOf(t *testing.T, row []string) (emu.Config, []interp.Arg) {
	t.Helper()
	cfg := emu.Config{
		Grid: dimOf(t, row[3]), Block: dimOf(t, row[4]), Cluster: dimOf(t, row[5]), Shared: number(t, row[6]), Cooperative: row[7] == "1",
	}
	var args []interp.Arg
	for _, text := range row[11:] {
		if text == "=>" {
			break
		}
		a, err := interp.ParseArg(strings.Replace(text, "@", "@"+corpusDir+"/", 1))
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, a)
	}
	return cfg, args
}
