package ring

import (
	"context"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestRing runs the protocol under many schedules.
func TestRing(t *testing.T) {
	for seed := range uint64(300) {
		a := Args{Slots: 2, Got: make([]int, Items)}
		cfg := emu.Config{Block: trace.Dim{64}, Schedule: emu.PCT, Seed: seed}
		r, err := emu.LaunchWith(context.Background(), cfg, Kernel, a, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != trace.OutcomeCompleted {
			t.Fatalf("%s under schedule %s: %v", r.Outcome, r.Schedule, r.Stuck)
		}
		for i, got := range a.Got {
			if got != 100+i {
				t.Fatalf("item %d arrives as %d under schedule %s", i, got, r.Schedule)
			}
		}
	}
}
