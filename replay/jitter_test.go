package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"btrace/trace"
)

// shuffled gives every warp a clock of its own that drifts by up to so many
// ns: the order inside a warp stays, that between warps does not.
func (r *recording) shuffled(rng *rand.Rand, drift int64) *recording {
	out := &recording{r.launch, slices.Clone(r.events)}
	offset, last := map[Row]int64{}, map[Row]int64{}
	slices.SortStableFunc(out.events, func(a, b trace.Event) int {
		return cmp.Or(cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.Warp, b.Warp), cmp.Compare(a.Seq, b.Seq))
	})
	for i := range out.events {
		e := &out.events[i]
		row := Row{e.CTA, e.Warp}
		if _, ok := offset[row]; !ok || rng.IntN(20) == 0 {
			offset[row] = rng.Int64N(drift)
		}
		e.Time = max(e.Time+offset[row], last[row])
		last[row] = e.Time
	}
	slices.SortStableFunc(out.events, func(a, b trace.Event) int { return a.Compare(&b) })
	return out
}

// Times are hints: a recording that some order explains stays clean whatever
// its times say, and a hang keeps its root.
func TestTimesAreHints(t *testing.T) {
	names := append(clean(), "pingpong", "reductions_part_warp")
	for _, name := range names {
		rec := sample(t, name)
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 1))
			drift := []int64{100, 10_000, 1_000_000, 100_000_000}[seed%4]
			if rep := rec.shuffled(rng, drift).check(t); rep.Verdict != Clean {
				t.Errorf("%s, seed %d, drift %d ns: %s", name, seed, drift, summary(rep))
			}
		}
	}
	for _, name := range []string{"hang_cross", "hang_mixed_cycle", "tma_pipeline_count", "tma_pipeline_bytes", "tma_pipeline_parity", "tma_pipeline_lost_arrive", "hang_trip_count", "hang_exit_without_drop", "hang_early_exit", "hang_cluster"} {
		rec := sample(t, name)
		want := rec.check(t).Findings[0]
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 1))
			drift := []int64{100, 10_000, 1_000_000, 100_000_000}[seed%4]
			rep := rec.shuffled(rng, drift).check(t)
			if len(rep.Findings) == 0 || !rep.Findings[0].Root || rep.Findings[0].Rule != want.Rule {
				t.Errorf("%s, seed %d, drift %d ns: %s", name, seed, drift, summary(rep))
			}
		}
	}
}
