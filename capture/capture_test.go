package capture

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/kernels"
	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// record runs a kernel and opens its recording.
func record(t *testing.T, k kernels.Kernel, o Options) (trace.Outcome, *trace.Reader, []byte) {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end, err := Record(context.Background(), k, o, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return end, r, buf.Bytes()
}

// TestGalleryVerdicts: a replay finds in the recording of every kernel what
// the gallery says.
func TestGalleryVerdicts(t *testing.T) {
	for _, k := range kernels.All() {
		t.Run(k.Name, func(t *testing.T) {
			end, r, _ := record(t, k, Options{})
			rep, err := replay.Check(context.Background(), r, replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if string(rep.Verdict) != k.Expect.Verdict {
				t.Errorf("verdict %s, want %s", rep.Verdict, k.Expect.Verdict)
			}
			if (end == trace.OutcomeHung) != (rep.Verdict == replay.Deadlock) {
				t.Errorf("ended as %s, verdict %s", end, rep.Verdict)
			}
			hangs := rep.Verdict == replay.Deadlock
			root := slices.IndexFunc(rep.Findings, func(f replay.Finding) bool { return f.Severity == rules.Error && f.Root == hangs })
			switch {
			case k.Expect.Rule == "" && len(rep.Findings) > 0:
				t.Errorf("findings: %+v", rep.Findings)
			case k.Expect.Rule != "" && root < 0:
				t.Errorf("no root in %+v", rep.Findings)
			case k.Expect.Rule != "":
				f := rep.Findings[root]
				if f.Rule != k.Expect.Rule || k.Expect.Barrier != "" && f.Barrier.String() != k.Expect.Barrier {
					t.Errorf("root %s on %s, want %s on %s: %s", f.Rule, f.Barrier, k.Expect.Rule, k.Expect.Barrier, f.Message)
				}
			}
		})
	}
}

// TestCleanUnderAnySchedule: the recordings of a clean kernel under random
// schedules have no finding of severity error.
func TestCleanUnderAnySchedule(t *testing.T) {
	for _, k := range kernels.All() {
		if k.Expect.Verdict != string(replay.Clean) {
			continue
		}
		for seed := range uint64(10) {
			_, r, _ := record(t, k, Options{Schedule: emu.Random, Seed: seed})
			rep, err := replay.Check(context.Background(), r, replay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range rep.Findings {
				if f.Severity == rules.Error {
					t.Errorf("%s, seed %d: %s on %s line %d: %s", k.Name, seed, f.Rule, f.Barrier, f.Location.Line, f.Message)
				}
			}
			if rep.Verdict != replay.Clean {
				t.Errorf("%s, seed %d: %s", k.Name, seed, rep.Verdict)
			}
		}
	}
}

// TestHeader: a recording says what it is of, and what it was made by.
func TestHeader(t *testing.T) {
	k, _ := kernels.Lookup("cluster-exchange")
	_, r, _ := record(t, k, Options{})
	l := r.Launches()[0]
	if l.Kernel != k.Name || l.Program != "cluster.go" || l.Recorder != "emulator" || l.Device != "btrace emulator" || l.Arch != "sm_90" {
		t.Errorf("launch of %s in %s by %s on %s, %s", l.Kernel, l.Program, l.Recorder, l.Device, l.Arch)
	}
	if l.Grid != (trace.Dim{8, 1, 1}) || l.Block != (trace.Dim{64, 1, 1}) || l.Cluster != (trace.Dim{4, 1, 1}) || l.Outcome != trace.OutcomeCompleted {
		t.Errorf("grid %v, block %v, cluster %v, outcome %s", l.Grid, l.Block, l.Cluster, l.Outcome)
	}
	for _, s := range trace.Kinds() {
		if !l.Sees(s.Family) {
			t.Errorf("%s is not observed", s.Name)
		}
	}
}

// TestLaunchOptions: the launch may be another than the kernel's own.
func TestLaunchOptions(t *testing.T) {
	k, _ := kernels.Lookup("split-arrive-wait")
	end, r, _ := record(t, k, Options{Grid: trace.Dim{3, 2}, Block: trace.Dim{32}})
	l := r.Launches()[0]
	if end != trace.OutcomeCompleted || l.Grid != (trace.Dim{3, 2, 1}) || l.Block != (trace.Dim{32, 1, 1}) {
		t.Errorf("%s with grid %v, block %v", end, l.Grid, l.Block)
	}
}

// TestSameSeedSameTrace: a recording can be made again, byte for byte.
func TestSameSeedSameTrace(t *testing.T) {
	k, _ := kernels.Lookup("tma-pipeline")
	for _, o := range []Options{{}, {Schedule: emu.Random, Seed: 7}} {
		_, _, a := record(t, k, o)
		_, _, b := record(t, k, o)
		if !bytes.Equal(a, b) {
			t.Errorf("%+v: two recordings differ", o)
		}
	}
	_, _, a := record(t, k, Options{Schedule: emu.Random, Seed: 1})
	_, _, b := record(t, k, Options{Schedule: emu.Random, Seed: 2})
	if bytes.Equal(a, b) {
		t.Error("two seeds make one recording")
	}
}

// TestRefused: what cannot be launched leaves no launch in the trace.
func TestRefused(t *testing.T) {
	k, _ := kernels.Lookup("tma-pipeline")
	w, err := trace.NewWriter(new(bytes.Buffer), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Block: trace.Dim{2000}}, {Cluster: trace.Dim{3}}, {Schedule: "fair"}} {
		if _, err := Record(context.Background(), k, o, w); !errors.Is(err, emu.ErrConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestPanicLeavesTrace: what a kernel did before it panicked is in the trace.
func TestPanicLeavesTrace(t *testing.T) {
	k := kernels.Kernel{Name: "panics", Run: func(t *emu.Thread) {
		t.Mark("so far")
		panic("enough")
	}}
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end, err := Record(context.Background(), k, Options{}, w)
	var lane *emu.LaneError
	if !errors.As(err, &lane) || end != trace.OutcomeUnknown {
		t.Errorf("%s, %v", end, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if i := r.Info(); i.Rows != 2 {
		t.Errorf("%d rows, want enter and mark", i.Rows)
	}
}
