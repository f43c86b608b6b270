package emu_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/capture/emu"
	"btrace/trace"
)

// program is a kernel made of drawn steps, which may well be wrong.
type program []step

type step struct {
	what       int
	warp, lane int // who does it; -1 is all
	n          int
}

func drawProgram(t *rapid.T) program {
	n := rapid.IntRange(1, 12).Draw(t, "steps")
	p := make(program, n)
	for i := range p {
		p[i] = step{
			what: rapid.IntRange(0, 11).Draw(t, "what"),
			warp: rapid.IntRange(-1, 2).Draw(t, "warp"),
			lane: rapid.SampledFrom([]int{-1, -1, -1, 0, 5, 31}).Draw(t, "lane"),
			n:    rapid.IntRange(0, 3).Draw(t, "n"),
		}
	}
	return p
}

func (p program) kernel(t *emu.Thread) {
	b := emu.SharedMbarrier(t, "b")
	flags := emu.GlobalAtomics[int32](t, "flags", 4)
	local := emu.SharedAtomics[int32](t, "local", 4)
	tile := emu.Shared[int32](t, "tile", 8)
	if t.Thread() == 0 {
		b.Init(t.Threads())
	}
	t.Syncthreads()
	for _, s := range p {
		if s.warp >= 0 && t.Warp() != s.warp || s.lane >= 0 && t.Lane() != s.lane {
			continue
		}
		switch s.what {
		case 0:
			t.Work(int64(100*s.n + 7*t.CTA()%5))
		case 1:
			t.BarrierSync(1+s.n, 64)
		case 2:
			t.BarrierArrive(1+s.n, 64)
		case 3:
			b.ArriveExpectTx(8 * s.n)
		case 4:
			emu.BulkCopy(tile[:2*s.n], []int32{1, 2, 3, 4, 5, 6}, b)
		case 5:
			b.WaitParity(s.n & 1)
		case 6:
			t.Syncwarp()
		case 7:
			t.ClusterSync()
		case 8:
			flags[s.n].Add(1)
		case 9:
			for range 5 {
				if flags[s.n].Load() != 0 {
					break
				}
				t.Spin()
			}
			t.Mark(fmt.Sprint("flag is ", flags[s.n].Load()))
		case 10:
			local[s.n].CompareAndSwap(0, int32(t.Warp()))
		case 11:
			if s.n == 3 {
				t.Trap(fmt.Sprint("at ", t.CTA()))
			}
		}
	}
}

// outcome is everything that a launch gives back.
func outcome(t testing.TB, cfg emu.Config, kernel func(*emu.Thread)) string {
	t.Helper()
	var rec recording
	r, err := emu.Launch(context.Background(), cfg, kernel, &rec)
	if !slices.IsSortedFunc(rec, func(a, b trace.Event) int { return a.Compare(&b) }) {
		t.Error("the events are not in stored order")
	}
	stuck := make([]string, len(r.Stuck))
	for i, s := range r.Stuck {
		stuck[i] = s.String()
	}
	return fmt.Sprintln(r.Schedule, r.Outcome, err, r.WarpEvents, r.ThreadEvents, r.Steps, r.Time, r.GivenUp, strings.Join(stuck, "\n")) + rec.text()
}

// TestWorkers: a launch is the same however many clusters run at the same
// time, and when the choices that it made are made again.
func TestWorkers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawProgram(rt)
		shape := rapid.SampledFrom([]emu.Config{
			{Grid: trace.Dim{2}, Block: trace.Dim{64}},
			{Grid: trace.Dim{3, 2}, Block: trace.Dim{96}, Cluster: trace.Dim{1, 2}},
			{Grid: trace.Dim{12}, Block: trace.Dim{64}},
		}).Draw(rt, "shape")
		cfg := emu.Config{
			Grid: shape.Grid, Cluster: shape.Cluster, Block: shape.Block,
			Schedule:   rapid.SampledFrom(emu.Schedules()).Draw(rt, "schedule"),
			Seed:       rapid.Uint64Range(0, 5).Draw(rt, "seed"),
			SpinBudget: 50,
			StepBudget: rapid.SampledFrom([]uint64{300, 1 << 20}).Draw(rt, "budget"),
		}
		want := outcome(t, cfg, p.kernel)
		cfg.Workers = 3
		if got := outcome(t, cfg, p.kernel); got != want {
			rt.Fatalf("three workers:\n%s\none:\n%s", got, want)
		}
		cfg.Schedule, cfg.Seed = strings.Fields(want)[0], 99
		if got := outcome(t, cfg, p.kernel); got != want {
			rt.Fatalf("replayed:\n%s\nfirst:\n%s", got, want)
		}
	})
}

// TestWorkersInWaves: that also holds for a grid of which only a part runs at
// a time, and for one in which some fail: the failure is that of the first in
// time.
func TestWorkersInWaves(t *testing.T) {
	for _, fail := range []func(){func() {}, func() { panic("enough") }, runtime.Goexit} {
		cfg := emu.Config{Grid: trace.Dim{300}, Block: trace.Dim{128}}
		kernel := func(t *emu.Thread) {
			t.Work(int64(1000 - t.CTA()))
			t.Syncthreads()
			if t.CTA()%50 == 49 && t.Thread() == 70 {
				fail()
			}
			t.Syncthreads()
		}
		want := outcome(t, cfg, kernel)
		if !strings.Contains(want, "in cta 49 warp 2 lane 6") && !strings.HasPrefix(want, "rr completed <nil>") {
			t.Errorf("%.200s", want)
		}
		cfg.Workers = 4
		if got := outcome(t, cfg, kernel); got != want {
			t.Errorf("four workers: %.200s\none: %.200s", got, want)
		}
	}
}

// TestAcrossClusters: CTAs that wait for each other through Atomics do so in
// the order of time, and one that only polls is not given up while another
// works.
func TestAcrossClusters(t *testing.T) {
	for _, schedule := range emu.Schedules() {
		for _, workers := range []int{1, 2} {
			cfg := emu.Config{Grid: trace.Dim{8}, Block: trace.Dim{32}, Workers: workers, Schedule: schedule, SpinBudget: 20}
			kernel := func(t *emu.Thread) {
				turn := emu.GlobalAtomics[int](t, "turn", 1)
				order := emu.Global[int](t, "order", 8)
				if t.Thread() == 0 {
					for turn[0].Load() != 7-t.CTA() {
						t.Spin()
					}
					t.Work(500_000)
					order[7-t.CTA()] = t.CTA()
					turn[0].Add(1)
				}
				t.Syncthreads()
			}
			r := ends(t, trace.OutcomeCompleted, cfg, kernel)
			if got := emu.Output[int](r, "order"); !slices.Equal(got, []int{7, 6, 5, 4, 3, 2, 1, 0}) {
				t.Errorf("%s, %d workers: %v", schedule, workers, got)
			}
			if got := emu.Output[int](r, "turn"); got[0] != 8 {
				t.Errorf("turn %d", got[0])
			}
			cfg.Grid = trace.Dim{9} // the turn of one comes never
			cfg.Block = trace.Dim{1}
			r = ends(t, trace.OutcomeHung, cfg, func(t *emu.Thread) {
				turn := emu.GlobalAtomics[int](t, "turn", 1)
				for turn[0].Load() != t.CTA()/2 {
				}
				turn[0].Add(1)
			})
			if len(r.Stuck) == 0 || r.Stuck[0].Op != "atomic" {
				t.Errorf("stuck: %v", r.Stuck)
			}
		}
	}
}

// TestAtomics: what the operations return and leave.
func TestAtomics(t *testing.T) {
	cfg := emu.Config{Grid: trace.Dim{3}, Block: trace.Dim{64}, Workers: 2}
	r := ends(t, trace.OutcomeCompleted, cfg, func(t *emu.Thread) {
		sum := emu.GlobalAtomics[int64](t, "sum", 2)
		lock := emu.SharedAtomics[uint32](t, "lock", 1)
		count := emu.Shared[int](t, "count", 1)
		sum[0].Add(int64(t.Thread()))
		if t.Lane() < 6 {
			for !lock[0].CompareAndSwap(0, 1) {
				t.Spin()
			}
			n := count[0]
			t.Work(10)
			count[0] = n + 1
			if lock[0].Exchange(0) != 1 {
				t.Trap("the lock was not held")
			}
		}
		t.Syncthreads()
		if t.Thread() == 0 {
			sum[1].Add(int64(count[0]))
		}
		if t.CTA() == 2 && t.Thread() == 63 {
			lock[0].Store(7)
			if lock[0].Load() != 7 {
				t.Trap("not stored")
			}
		}
	})
	if got := emu.Output[int64](r, "sum"); !slices.Equal(got, []int64{3 * 64 * 63 / 2, 3 * 12}) {
		t.Errorf("%v", got)
	}
}

// TestReplayedSchedule: a schedule that was written down leads to the same
// bug; in a kernel without the bug it is followed as far as it goes.
func TestReplayedSchedule(t *testing.T) {
	kernel := func(parity func(i int) int) func(*emu.Thread) {
		return func(t *emu.Thread) {
			full, empty := emu.SharedMbarrier(t, "full"), emu.SharedMbarrier(t, "empty")
			if t.Thread() == 0 {
				full.Init(32)
				empty.Init(32)
			}
			t.Syncthreads()
			for i := range 4 {
				if t.Warp() == 0 {
					empty.WaitParity(parity(i))
					full.Arrive()
				} else {
					full.WaitParity(i & 1)
					empty.Arrive()
				}
			}
		}
	}
	bug := kernel(func(i int) int { return 1 }) // never flips
	good := kernel(func(i int) int { return i&1 ^ 1 })
	for seed := range uint64(100) {
		cfg := threads(64)
		cfg.Schedule, cfg.Seed = emu.PCT, seed
		r, _ := launch(t, cfg, bug)
		if r.Outcome != trace.OutcomeHung {
			continue
		}
		again := threads(64)
		again.Schedule = r.Schedule
		q := ends(t, trace.OutcomeHung, again, bug)
		if q.Schedule != r.Schedule || q.Missed != 0 || len(q.Schedule) > 400 || strings.ContainsFunc(q.Schedule, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%d missed, schedules\n%q\n%q", q.Missed, r.Schedule, q.Schedule)
		}
		ends(t, trace.OutcomeCompleted, again, good)
		return
	}
	t.Error("no schedule finds the bug")
}

// TestPCTFindsWhatIsRare: a bug that needs one warp to be held up between two
// particular operations for longer than all others take is found.
func TestPCTFindsWhatIsRare(t *testing.T) {
	kernel := func(t *emu.Thread) {
		ready := emu.SharedAtomics[int](t, "ready", 1)
		if t.Warp() == 0 {
			for range 10 {
				t.Syncwarp()
			}
			if t.Lane() == 0 {
				ready[0].Store(1)
			}
			return
		}
		for range 20 {
			t.Syncwarp()
		}
		if t.Warp() == 1 && t.Lane() == 0 && ready[0].Load() == 0 {
			t.Trap("too early")
		}
	}
	found := map[string]int{}
	for _, schedule := range emu.Schedules() {
		for seed := range uint64(100) {
			cfg := threads(128)
			cfg.Schedule, cfg.Seed = schedule, seed
			if r, _ := launch(t, cfg, kernel); r.Outcome != trace.OutcomeCompleted {
				found[schedule]++
			}
		}
	}
	if found[emu.PCT] < 10 || found[emu.Random] > found[emu.PCT] || found[emu.RoundRobin] > 0 {
		t.Errorf("found in 100 runs: %v", found)
	}
}

// TestFairUnderPCT: priorities starve nobody who is polled for.
func TestFairUnderPCT(t *testing.T) {
	for seed := range uint64(50) {
		cfg := threads(96)
		cfg.Schedule, cfg.Seed = emu.PCT, seed
		ends(t, trace.OutcomeCompleted, cfg, func(t *emu.Thread) {
			flag := emu.Shared[int](t, "flag", 1)
			for flag[0] != t.Warp() {
				if t.Warp() == 2 {
					t.Work(5) // not said to be polling
				} else {
					t.Spin()
				}
			}
			t.Syncwarp()
			if t.Lane() == 7 {
				flag[0]++
			}
		})
	}
}

// FuzzSchedule: any text is refused, or followed to the end of the launch.
func FuzzSchedule(f *testing.F) {
	kernel := func(t *emu.Thread) {
		t.Syncthreads()
		if t.Lane() < 8 {
			t.Syncwarp(0xff)
		}
		t.Syncthreads()
	}
	for seed := range uint64(3) {
		r, err := emu.Launch(context.Background(), emu.Config{Grid: trace.Dim{2}, Block: trace.Dim{64}, Schedule: emu.Random, Seed: seed}, kernel, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(r.Schedule)
	}
	for _, s := range []string{"replay:", "replay:!", "replay:AAAA", "replay:AQAA__8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, schedule string) {
		r, err := emu.Launch(context.Background(), emu.Config{Grid: trace.Dim{2}, Block: trace.Dim{64}, Schedule: schedule}, kernel, nil)
		if err != nil && !errors.Is(err, emu.ErrConfig) || err == nil && r.Outcome != trace.OutcomeCompleted {
			t.Errorf("%s, %v", r.Outcome, err)
		}
	})
}
