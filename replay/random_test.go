package replay

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"btrace/trace"
)

// anyRecording draws events that need not make any sense: the replay must
// bear whatever a file says.
func anyRecording(t *rapid.T) *recording {
	rec := &recording{launch: trace.Launch{
		Kernel: "any", Arch: rapid.SampledFrom([]string{"", "sm_60", "sm_90"}).Draw(t, "arch"),
		Grid: trace.Dim{rapid.Uint32Range(1, 4).Draw(t, "ctas"), 1, 1}, Block: trace.Dim{rapid.Uint32Range(1, 100).Draw(t, "threads"), 1, 1},
		Cluster: trace.Dim{rapid.Uint32Range(1, 2).Draw(t, "cluster"), 1, 1},
		Ended:   true, Outcome: trace.Outcome(rapid.SampledFrom([]string{"completed", "hung", "unknown", "trap:x"}).Draw(t, "outcome")),
	}}
	n := rapid.IntRange(0, 120).Draw(t, "events")
	seq := map[Row]uint32{}
	masks := []uint32{^uint32(0), 1, 0xffff, 0xffff0000, 0, 0x80000000}
	for i := range n {
		e := trace.Event{Time: int64(i) * rapid.Int64Range(0, 2).Draw(t, "step"), CTA: rapid.Uint32Range(0, 4).Draw(t, "cta"), Warp: rapid.Uint32Range(0, 4).Draw(t, "warp")}
		row := Row{e.CTA, e.Warp}
		e.Seq = seq[row]
		seq[row] += rapid.SampledFrom([]uint32{1, 1, 1, 1, 0, 3}).Draw(t, "hop")
		e.Kind = trace.Kind(rapid.IntRange(1, trace.NumKinds-1).Draw(t, "kind"))
		e.Lanes = rapid.SampledFrom(masks).Draw(t, "lanes")
		spec := trace.Kinds()[e.Kind]
		e.Has = trace.Fields(rapid.Uint32().Draw(t, "has")) & fieldSet(append(spec.Optional, trace.FieldLine)...)
		e.Bar = rapid.Uint32Range(0, 17).Draw(t, "bar")
		e.Count = rapid.SampledFrom([]uint32{0, 1, 2, 32, 64, 48, 1 << 20, ^uint32(0)}).Draw(t, "count")
		e.Aligned = rapid.Bool().Draw(t, "aligned")
		e.Red = trace.Red(rapid.IntRange(1, 3).Draw(t, "red"))
		e.Addr = 1024 + 8*rapid.Uint64Range(0, 1).Draw(t, "addr")
		e.Bytes = rapid.SampledFrom([]int64{0, 64, 128, -64, 1 << 40, -1 << 63}).Draw(t, "bytes")
		e.Owner = rapid.Uint32Range(0, 5).Draw(t, "owner")
		e.CTAMask = rapid.Uint32Range(0, 7).Draw(t, "ctamask")
		e.Mask = rapid.SampledFrom(masks).Draw(t, "mask")
		e.Parity = rapid.Uint8Range(0, 1).Draw(t, "parity")
		e.Phase = rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 62, ^uint64(0)}).Draw(t, "phase")
		e.Token = rapid.SampledFrom([]uint64{0, 1 << 63, 0x7ffff80000000000}).Draw(t, "token")
		e.Result = rapid.Uint32Range(0, 2).Draw(t, "result")
		e.Group = rapid.SampledFrom([]string{"block", "cluster", "grid", "tile"}).Draw(t, "group")
		e.Line = rapid.Uint32Range(0, 3).Draw(t, "line")
		e.Lost, e.Sem = 1, trace.SemRelaxed
		e.Has = e.Has.With(spec.Required...)
		rec.events = append(rec.events, e)
	}
	slices.SortStableFunc(rec.events, func(a, b trace.Event) int { return a.Compare(&b) })
	return rec
}

// Whatever the events are, the replay ends, says the same with any number of
// workers, and its states are the same from checkpoints.
func TestAnyRecording(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rec := anyRecording(rt)
		src := rec.reader(t)
		ctx := context.Background()
		one, err := Check(ctx, src, Options{Workers: 1})
		if err != nil {
			rt.Fatal(err)
		}
		four, err := Check(ctx, src, Options{Workers: 4})
		if err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(one, four) {
			rt.Fatalf("one worker:\n%s\nfour:\n%s", summary(one), summary(four))
		}
		if rec.launch.Outcome == trace.OutcomeHung && one.Verdict == Clean && !allExit(rec) {
			rt.Fatalf("a hang is clean: %+v\n%+v", rec.launch, rec.events)
		}
		dense := densely(t, src, 5)
		tl, err := Open(ctx, dense, 0)
		if err != nil {
			rt.Fatal(err)
		}
		full := fromStart(t, src)
		from, to := tl.Span()
		cells := make([]Cell, 7)
		for range 3 {
			at := rapid.Int64Range(from-1, to+1).Draw(rt, "at")
			cta := rapid.Uint32Range(0, rec.launch.Grid[0]).Draw(rt, "of")
			got, err := tl.State(ctx, cta, at)
			if err != nil {
				rt.Fatal(err)
			}
			want, err := full.State(ctx, cta, at)
			if err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				rt.Fatalf("state of CTA %d at %d:\n%+v\nfull replay:\n%+v", cta, at, got, want)
			}
			for _, r := range tl.Rows() {
				if err := tl.Cells(ctx, r, at, at+9, cells); err != nil {
					rt.Fatal(err)
				}
			}
			for _, l := range tl.Lanes() {
				if _, err := tl.Phases(ctx, l, at, at+9, 3); err != nil {
					rt.Fatal(err)
				}
			}
		}
	})
}

// allExit reports whether every thread of the launch exits.
func allExit(rec *recording) bool {
	lanes := uint64(0)
	seen := map[Row]uint32{}
	for _, e := range rec.events {
		row := Row{e.CTA, e.Warp}
		if e.Kind == trace.KindExit && uint64(e.CTA) < rec.launch.CTAs() && uint64(e.Warp) < rec.launch.Warps() {
			fresh := e.Lanes & newWarpMask(rec.launch.Threads(), e.Warp) &^ seen[row]
			seen[row] |= fresh
			lanes += uint64(popcount(fresh))
		}
	}
	return lanes == rec.launch.CTAs()*rec.launch.Threads()
}
