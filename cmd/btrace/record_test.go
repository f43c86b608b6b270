package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/kernels"
	"btrace/trace"
)

// recorded runs `btrace record` on a kernel that is not in the gallery.
func recorded(t *testing.T, ctx context.Context, f recordFlags, run func(*emu.Thread)) (stderr string, err error) {
	t.Helper()
	cmd := newRecord()
	var buf bytes.Buffer
	cmd.SetContext(ctx)
	cmd.SetErr(&buf)
	f.seed = 1
	err = f.run(cmd, gallery{k: kernels.Kernel{Name: "k", Block: trace.Dim{64}, Run: run}})
	left, lerr := os.ReadDir(".")
	if lerr != nil {
		t.Fatal(lerr)
	}
	for _, e := range left {
		if e.Name() != "k.zst" {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	return buf.String(), err
}

// marks lists the marks in a trace, and how its launches ended.
func marks(t *testing.T) (texts []string, ends []trace.Outcome) {
	t.Helper()
	r, err := trace.Open("k.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Whole() || len(r.Damage()) > 0 {
		t.Errorf("the trace is not whole: %v", r.Damage())
	}
	for _, l := range r.Launches() {
		ends = append(ends, l.Outcome)
		for b, err := range r.Blocks(context.Background(), trace.Query{Launch: &l.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Len() {
				if op := b.Ops[b.Op[i]]; op.Kind == trace.KindMark {
					texts = append(texts, op.Text)
				}
			}
		}
	}
	return texts, ends
}

// A kernel that panics leaves what it did until then, and the lane to blame.
func TestRecordPanic(t *testing.T) {
	for _, untilFail := range []bool{false, true} {
		t.Chdir(t.TempDir())
		stderr, err := recorded(t, context.Background(), recordFlags{untilFail: untilFail}, func(t *emu.Thread) {
			if t.Thread() == 0 {
				t.Mark("so far")
			}
			t.Syncthreads()
			if t.Thread() == 35 {
				panic("enough")
			}
		})
		if err == nil {
			t.Fatal("no error")
		}
		if said := stderr + err.Error(); !strings.Contains(said, "kernel panicked in cta 0 warp 1 lane 3: enough") || !strings.Contains(said, "is in k.zst") {
			t.Errorf("said %q", said)
		}
		if untilFail && !strings.Contains(stderr, "with seed 1") {
			t.Errorf("said %q", stderr)
		}
		texts, ends := marks(t)
		if len(texts) != 1 || ends[0] != trace.OutcomeUnknown {
			t.Errorf("recorded: %q, ended as %q", texts, ends)
		}
	}
}

// A kernel that never ends is given up, and what it did is a trace.
func TestRecordNeverEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	endless := func(t *emu.Thread) {
		if t.Thread() == 0 {
			t.Mark("begun")
		}
		for {
			t.BarSync(1, 32)
		}
	}
	stderr, err := recorded(t, context.Background(), recordFlags{steps: 5000}, endless)
	if err != nil || !strings.Contains(stderr, "k: hung (given up after 5000 operations), recorded to k.zst\n") {
		t.Errorf("%v, said %q", err, stderr)
	}
	if texts, ends := marks(t); len(texts) != 1 || ends[0] != trace.OutcomeHung {
		t.Errorf("recorded: %q, ended as %q", texts, ends)
	}
}

// An interrupt ends a recording; what was recorded until then is a trace. Of
// several runs to find a bad one, the last that was whole is kept.
func TestRecordInterrupted(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags recordFlags
		after int // runs
		want  string
		marks int
		end   trace.Outcome
	}{
		{"one", recordFlags{}, 0, "btrace: interrupted: what kernel k did until then is in k.zst\n", 1, trace.OutcomeUnknown},
		{"the third of ten", recordFlags{runs: 10}, 2, "btrace: interrupted: what kernel k did until then is in k.zst\n", 3, trace.OutcomeUnknown},
		{"until it fails, in the first run", recordFlags{untilFail: true}, 0, "btrace: interrupted: what kernel k did until then is in k.zst\n", 1, trace.OutcomeUnknown},
		{"until it fails, in the third run", recordFlags{untilFail: true}, 2,
			"btrace: interrupted: no bad schedule in 2 runs, the last of them recorded to k.zst\n", 1, trace.OutcomeCompleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			runs := 0
			stderr, err := recorded(t, ctx, c.flags, func(t *emu.Thread) {
				if t.Thread() == 0 {
					t.Mark("begun")
					if runs++; runs > c.after {
						cancel()
						for {
							t.BarSync(1, 32)
						}
					}
				}
			})
			var code exit
			if !errors.As(err, &code) || code != exitFailed || stderr != c.want {
				t.Errorf("%v, said %q", err, stderr)
			}
			texts, ends := marks(t)
			if len(texts) != c.marks || ends[len(ends)-1] != c.end {
				t.Errorf("recorded: %q, ended as %q", texts, ends)
			}
		})
	}
}

// A run that traps, or hangs in what replay knows nothing of, is a bad one
// too.
func TestRecordUntilFailBySomethingElse(t *testing.T) {
	for want, kernel := range map[string]func(*emu.Thread){
		"k: violation with seed 3, in run 3, ": func(t *emu.Thread) { t.Trap("assertion failed") },
		"k: deadlock with seed 3, in run 3, ":  func(t *emu.Thread) { t.BarSync(1, 128) },
	} {
		t.Chdir(t.TempDir())
		runs := 0
		stderr, err := recorded(t, context.Background(), recordFlags{untilFail: true}, func(t *emu.Thread) {
			if t.Thread() == 0 {
				runs++
			}
			t.Syncthreads()
			if runs == 3 {
				kernel(t)
			}
		})
		if err != nil || !strings.HasPrefix(stderr, want) {
			t.Errorf("%v, said %q, want %q", err, stderr, want)
		}
	}
}
