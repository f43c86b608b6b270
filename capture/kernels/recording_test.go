package kernels

import (
	"context"
	"hash/maphash"
	"iter"
	"slices"
	"testing"

	"btrace/capture/emu"
	"btrace/replay"
	"btrace/trace"
)

// recording is a launch in memory: a sink for the emulator, and a source for
// the replay.
type recording struct {
	launch trace.Launch
	events []trace.Event
	seed   maphash.Seed
}

func (r *recording) Write(events []trace.Event) error {
	r.events = append(r.events, events...)
	return nil
}

func (r *recording) Launches() []trace.Launch { return []trace.Launch{r.launch} }
func (r *recording) Damage() []trace.Damage   { return nil }
func (r *recording) Whole() bool              { return true }

func (r *recording) Blocks(_ context.Context, q trace.Query) iter.Seq2[*trace.Block, error] {
	b := new(trace.Block)
	for i := range r.events {
		e := &r.events[i]
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, e.Kind) || len(q.Barriers) > 0 && !slices.Contains(q.Barriers, e.Op.Barrier(e.Warp)) {
			continue
		}
		b.Time, b.CTA, b.Warp, b.Seq = append(b.Time, e.Time), append(b.CTA, e.CTA), append(b.Warp, e.Warp), append(b.Seq, e.Seq)
		b.Op, b.Ops = append(b.Op, uint32(len(b.Ops))), append(b.Ops, e.Op)
		b.Pred, b.Result = append(b.Pred, e.Pred), append(b.Result, e.Result)
		b.Token, b.Phase = append(b.Token, e.Token), append(b.Phase, e.Phase)
	}
	return func(yield func(*trace.Block, error) bool) { yield(b, nil) }
}

// order tells recordings apart that differ in more than their times.
func (r *recording) order() uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for i := range r.events {
		e := &r.events[i]
		maphash.WriteComparable(&h, [...]uint64{uint64(e.CTA), uint64(e.Warp), uint64(e.Seq), uint64(e.Kind), uint64(e.Lanes), e.Addr, e.Phase, uint64(e.Result)})
	}
	return h.Sum64()
}

// record runs a kernel on its smallest grid.
func record(t *testing.T, k *Kernel, schedule string, seed uint64) (*recording, emu.Result) {
	t.Helper()
	cfg := emu.Config{Grid: k.Grid, Block: k.Block, Cluster: k.Cluster, Schedule: schedule, Seed: seed, SpinBudget: 100}
	if schedule == emu.Random {
		cfg.Grid = k.Cluster
	}
	cfg, err := cfg.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording{launch: trace.Launch{Kernel: k.Name, Arch: "sm_90", Grid: cfg.Grid, Block: cfg.Block, Cluster: cfg.Cluster, Ended: true}}
	r, err := emu.Launch(context.Background(), cfg, k.Run, rec)
	if err != nil {
		t.Fatalf("%s: %v", k.Name, err)
	}
	rec.launch.Outcome = r.Outcome
	slices.SortStableFunc(rec.events, func(a, b trace.Event) int { return a.Compare(&b) })
	return rec, r
}

func check(t *testing.T, rec *recording) *replay.Report {
	t.Helper()
	rep, err := replay.Check(context.Background(), rec, replay.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}
