package emu_test

import (
	"context"
	"slices"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// recording is a Sink that keeps everything.
type recording []trace.Event

func (r *recording) Write(evs []trace.Event) error {
	*r = append(*r, evs...)
	return nil
}

// text is the recording in the interchange form.
func (r recording) text() string {
	var b []byte
	for i := range r {
		b = append(trace.AppendNDJSON(b, &r[i]), '\n')
	}
	return string(b)
}

// ops lists the operations of a warp with their lanes.
func (r recording) count(k trace.Kind) (n int) {
	for i := range r {
		if r[i].Kind == k {
			n++
		}
	}
	return n
}

// launch runs a kernel that must not fail.
func launch(t testing.TB, cfg emu.Config, kernel func(*emu.Thread)) (emu.Result, recording) {
	t.Helper()
	var rec recording
	r, err := emu.Launch(context.Background(), cfg, kernel, &rec)
	if err != nil {
		t.Fatal(err)
	}
	return r, rec
}

// ends runs a kernel and demands its outcome.
func ends(t *testing.T, want trace.Outcome, cfg emu.Config, kernel func(*emu.Thread)) emu.Result {
	t.Helper()
	r, _ := launch(t, cfg, kernel)
	if r.Outcome != want {
		t.Errorf("%s, want %s; stuck: %v", r.Outcome, want, r.Stuck)
	}
	return r
}

func threads(n uint32) emu.Config { return emu.Config{Block: trace.Dim{n}} }

// TestEnds: how launches end.
func TestEnds(t *testing.T) {
	const completed, hung = trace.OutcomeCompleted, trace.OutcomeHung
	trap := func(reason string) trace.Outcome { return trace.Outcome("trap:" + reason) }
	for _, c := range []struct {
		name   string
		want   trace.Outcome
		n      uint32
		kernel func(*emu.Thread)
	}{
		{"nothing", completed, 1, func(t *emu.Thread) {}},
		{"a wait for nobody", hung, 32, func(t *emu.Thread) { t.BarSync(1, 64) }},
		{"polling memory that nobody writes", hung, 32, func(t *emu.Thread) {
			for {
				t.Spin()
			}
		}},
		{"polling an mbarrier, with a pause", hung, 32, func(t *emu.Thread) {
			b := emu.SharedMbarrier(t, "b")
			if t.Lane() == 0 {
				b.Init(1)
			}
			for !b.TestWaitParity(0) {
				t.Work(20)
			}
		}},
		{"one waits for one that polls", hung, 64, func(t *emu.Thread) {
			b := emu.SharedMbarrier(t, "b")
			if t.Warp() == 0 {
				t.BarSync(1, 64)
			}
			b.Init(1)
			for !b.TryWaitParity(0) {
			}
		}},
		{"polls for one that works for long", completed, 64, func(t *emu.Thread) {
			flag := emu.Shared[bool](t, "flag", 1)
			if t.Warp() == 0 {
				t.Work(50_000_000)
				flag[0] = true
			}
			for !flag[0] {
				t.Spin()
			}
		}},
		{"many turns of a loop that is no polling", completed, 1, func(t *emu.Thread) {
			for range 5000 {
				t.Work(1)
			}
		}},
		{"trap", trap("assertion failed"), 64, func(t *emu.Thread) {
			if t.Thread() == 40 {
				t.Trap("assertion failed")
			}
			t.Syncthreads()
		}},
		{"mbarrier not on 8 bytes", trap("misaligned address"), 1, func(t *emu.Thread) { t.Mbarrier(0x404).Init(1) }},
		{"mbarrier outside", trap("illegal memory access"), 1, func(t *emu.Thread) { t.Mbarrier(1 << 30).Init(1) }},
		{"mbarrier in the system's part", trap("illegal memory access"), 1, func(t *emu.Thread) { t.Mbarrier(0).Arrive() }},
		{"more arrivals than are pending", trap("unspecified launch failure"), 32, func(t *emu.Thread) {
			b := emu.SharedMbarrier(t, "b")
			if t.Lane() == 0 {
				b.Init(3)
			}
			t.Syncwarp()
			b.Arrive(2)
		}},
		{"more arrivals than are pending, by a copy", trap("unspecified launch failure"), 1, func(t *emu.Thread) {
			b := emu.SharedMbarrier(t, "b")
			b.Init(1)
			b.ExpectTx(8)
			b.CpAsyncArriveNoInc()
			b.Arrive()
			t.Work(10_000)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ends(t, c.want, threads(c.n), c.kernel)
			if cfg := threads(c.n); c.want != hung {
				cfg.Schedule, cfg.Seed = emu.Random, 3
				ends(t, c.want, cfg, c.kernel)
			}
		})
	}
}

// TestStepBudget: what is neither waiting nor polling is given up at last.
func TestStepBudget(t *testing.T) {
	cfg := threads(64)
	cfg.StepBudget = 10_000
	r := ends(t, trace.OutcomeHung, cfg, func(t *emu.Thread) {
		if t.Warp() == 1 {
			t.BarSync(1, 96)
		}
		for {
			t.BarSync(2, 32)
		}
	})
	if r.Steps != cfg.StepBudget || len(r.Stuck) != 2 {
		t.Errorf("%d steps, stuck: %v", r.Steps, r.Stuck)
	}
	cfg.Grid = trace.Dim{2000}
	ends(t, trace.OutcomeHung, cfg, func(t *emu.Thread) { t.Syncthreads() })
}

// TestStuck: a hang names who waits, for what, and where.
func TestStuck(t *testing.T) {
	r := ends(t, trace.OutcomeHung, threads(64), func(t *emu.Thread) {
		b := emu.SharedMbarrier(t, "b")
		if t.Thread() == 0 {
			b.Init(1)
		}
		t.Syncthreads()
		switch {
		case t.Warp() == 0:
			b.WaitParity(0)
		case t.Lane() < 4:
			t.Syncwarp(0xff)
		case t.Lane() < 8:
			for {
				t.Spin()
			}
		}
	})
	var got []string
	for _, s := range r.Stuck {
		if s.File != "emu_test.go" || s.Line == 0 {
			t.Errorf("at %s:%d", s.File, s.Line)
		}
		s.Line = 0
		got = append(got, s.String())
	}
	want := []string{
		"cta 0 warp 0 lanes ffffffff: mbar.wait mbar:0x400 at emu_test.go:0",
		"cta 0 warp 1 lanes 0000000f: syncwarp warp:1 at emu_test.go:0",
		"cta 0 warp 1 lanes 000000f0: spin  at emu_test.go:0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestSameSeedSameEvents: a launch is determined by its configuration.
func TestSameSeedSameEvents(t *testing.T) {
	kernel := func(t *emu.Thread) {
		b := emu.SharedBarrier(t, "b")
		if t.Thread() == 0 {
			b.Init(t.Threads())
		}
		t.Syncthreads()
		for i := range 5 {
			t.Work(int64(100 * (t.Warp() + i) % 7))
			b.ArriveAndWait()
			if t.Lane()%(i+1) == 0 {
				t.Syncwarp(0x1)
			}
		}
	}
	for _, schedule := range emu.Schedules() {
		cfg := emu.Config{Grid: trace.Dim{6}, Block: trace.Dim{80}, Cluster: trace.Dim{2}, Schedule: schedule, Seed: 5}
		_, a := launch(t, cfg, kernel)
		_, b := launch(t, cfg, kernel)
		cfg.Seed = 6
		_, c := launch(t, cfg, kernel)
		if a.text() != b.text() {
			t.Errorf("%s: two launches differ", schedule)
		}
		if same := a.text() == c.text(); same != (schedule == emu.RoundRobin) {
			t.Errorf("%s: another seed makes the same: %v", schedule, same)
		}
	}
}

// TestFairToLanes: lanes of one warp that poll for each other, wherever they
// stand in the source, come on.
func TestFairToLanes(t *testing.T) {
	for _, first := range []int{0, 31} {
		ends(t, trace.OutcomeCompleted, threads(32), func(t *emu.Thread) {
			flag := emu.Shared[bool](t, "flag", 1)
			if t.Lane() != first {
				for !flag[0] {
					t.Spin()
				}
			} else {
				t.Work(100)
				flag[0] = true
			}
		})
	}
}

// TestLanesComeTogether: after a branch the warp is whole again.
func TestLanesComeTogether(t *testing.T) {
	_, rec := launch(t, threads(32), func(t *emu.Thread) {
		b := emu.SharedMbarrier(t, "b")
		for i := range 3 {
			if t.Lane() == i {
				b.Init(1)
				b.Inval()
			}
			t.Syncthreads()
		}
	})
	for i := range rec {
		if e := &rec[i]; e.Kind == trace.KindBarSync && e.Lanes != emu.FullMask {
			t.Errorf("lanes %08x come alone", e.Lanes)
		}
	}
	if n := rec.count(trace.KindBarSync); n != 3 {
		t.Errorf("%d bar.sync, want 3", n)
	}
}

// TestArrivalsAcrossPhases: lanes that arrive together in two phases are two
// events, each with its phase.
func TestArrivalsAcrossPhases(t *testing.T) {
	_, rec := launch(t, threads(32), func(t *emu.Thread) {
		b := emu.SharedMbarrier(t, "b")
		if t.Lane() == 0 {
			b.Init(12)
		}
		t.Syncwarp()
		if k := b.Arrive(); k.Phase() != uint64(t.Lane()/12) || k.PendingCount() != 12-t.Lane()%12 {
			t.Trap("wrong token")
		}
	})
	var got []trace.Event
	for _, e := range rec {
		if e.Kind == trace.KindMbarArrive {
			got = append(got, e)
		}
		if e.Kind == trace.KindTrap {
			t.Error(e.Text)
		}
	}
	if len(got) != 3 || got[0].Lanes != 0xfff || got[1].Lanes != 0xfff000 || got[2].Lanes != 0xff000000 || got[2].Phase != 2 {
		t.Errorf("%+v", got)
	}
}

// TestPollsAreCollapsed: of a polling loop the first answer no and the yes
// are recorded.
func TestPollsAreCollapsed(t *testing.T) {
	_, rec := launch(t, threads(64), func(t *emu.Thread) {
		b := emu.SharedMbarrier(t, "b")
		if t.Thread() == 0 {
			b.Init(1)
		}
		t.Syncthreads()
		if t.Thread() == 0 {
			t.Work(100_000)
			b.Arrive()
		}
		if t.Warp() == 1 {
			for !b.TestWaitParity(0) {
				t.Work(20)
			}
		}
	})
	var answers []uint32
	for i := range rec {
		if rec[i].Kind == trace.KindMbarTest {
			answers = append(answers, rec[i].Result)
		}
	}
	if !slices.Equal(answers, []uint32{0, 1}) {
		t.Errorf("answers recorded: %v", answers)
	}
}

// TestThreadsKnowTheirPlace: the built-in variables.
func TestThreadsKnowTheirPlace(t *testing.T) {
	cfg := emu.Config{Grid: trace.Dim{4, 2, 2}, Block: trace.Dim{5, 4, 3}, Cluster: trace.Dim{2, 1, 2}}
	r, _ := launch(t, cfg, func(t *emu.Thread) {
		seen := emu.Global[int](t, "seen", t.CTAs()*t.Threads())
		ranks := emu.Global[int](t, "ranks", t.CTAs())
		b, bd, g, gd := t.BlockIdx(), t.BlockDim(), t.ThreadIdx(), t.GridDim()
		cta := (b[2]*gd[1]+b[1])*gd[0] + b[0]
		thread := (g[2]*bd[1]+g[1])*bd[0] + g[0]
		if int(cta) != t.CTA() || int(thread) != t.Thread() || t.Warp() != int(thread)/32 || t.Lane() != int(thread)%32 || t.ClusterSize() != 4 {
			t.Trap("wrong place")
		}
		seen[t.CTA()*t.Threads()+t.Thread()]++
		ranks[t.CTA()] = t.ClusterRank()
	})
	if r.Outcome != trace.OutcomeCompleted {
		t.Fatal(r.Outcome)
	}
	for i, n := range emu.Output[int](r, "seen") {
		if n != 1 {
			t.Fatalf("thread %d ran %d times", i, n)
		}
	}
	want := []int{0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3}
	if got := emu.Output[int](r, "ranks"); !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
}

// TestCounts: the result counts what the sink received.
func TestCounts(t *testing.T) {
	r, rec := launch(t, emu.Config{Grid: trace.Dim{3}, Block: trace.Dim{40}}, func(t *emu.Thread) { t.Syncthreads() })
	lanes := uint64(0)
	for i := range rec {
		for m := rec[i].Lanes; m != 0; m &= m - 1 {
			lanes++
		}
	}
	if r.WarpEvents != uint64(len(rec)) || r.ThreadEvents != lanes || lanes != 3*40*4 {
		t.Errorf("%d warp events of %d, %d thread events of %d", r.WarpEvents, len(rec), r.ThreadEvents, lanes)
	}
	if last := rec[len(rec)-1].Time; r.Time != last {
		t.Errorf("ends at %d, last event at %d", r.Time, last)
	}
	silent, err := emu.Launch(context.Background(), emu.Config{Grid: trace.Dim{3}, Block: trace.Dim{40}}, func(t *emu.Thread) { t.Syncthreads() }, nil)
	if err != nil || silent.WarpEvents != r.WarpEvents || silent.Time != r.Time {
		t.Errorf("without a sink: %+v, %v", silent, err)
	}
}

// TestOrder: the events of a CTA come in the order of their keys; of a warp,
// numbered without a gap.
func TestOrder(t *testing.T) {
	_, rec := launch(t, emu.Config{Grid: trace.Dim{200}, Block: trace.Dim{256}}, func(t *emu.Thread) {
		t.Work(int64(t.CTA() * 37 % 1000))
		t.Syncthreads()
	})
	type key struct{ cta, warp uint32 }
	seq, last := make(map[key]uint32), make(map[uint32]int64)
	disorder, prev := 0, int64(0)
	for _, e := range rec {
		if k := (key{e.CTA, e.Warp}); seq[k] != e.Seq {
			t.Fatalf("cta %d warp %d: event %d after %d", e.CTA, e.Warp, e.Seq, seq[k])
		}
		seq[key{e.CTA, e.Warp}]++
		if e.Time < last[e.CTA] {
			t.Fatalf("cta %d: %d after %d", e.CTA, e.Time, last[e.CTA])
		}
		last[e.CTA] = e.Time
		if e.Time < prev {
			disorder++
		}
		prev = e.Time
	}
	if disorder > 0 {
		t.Errorf("%d of %d events are behind in time", disorder, len(rec))
	}
}
