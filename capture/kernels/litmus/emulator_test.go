package litmus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"btrace/capture/emu"
)

// TestMeasured: every row ends on the emulator as it did on the hardware, and
// its threads see the same values.
func TestMeasured(t *testing.T) {
	for _, r := range Rows() {
		t.Run(fmt.Sprint(r.ID), func(t *testing.T) {
			p := r.Base()
			res, err := emu.Launch(context.Background(), r.Config(p), r.Kernel(p), nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, &r, p, res, false)
		})
	}
}

func check(t *testing.T, r *Row, p Params, res emu.Result, overruled bool) {
	t.Helper()
	if !r.Allows(p, res.Outcome, overruled) {
		t.Errorf("row %d (%s), %+v: ends as %s, the hardware: %s", r.ID, r.Program, p, res.Outcome, r.Silicon)
	}
	if res.Outcome == completed && r.Values != nil && !(overruled && r.Paused) {
		if err := r.Values(p, emu.Output[int32](res, "out")); err != nil {
			t.Errorf("row %d (%s), %+v: %v; the hardware: %s", r.ID, r.Program, p, err, r.Silicon)
		}
	}
}

// vary makes a variation of a row that may not change its end.
func vary(r *Row, rng *rand.Rand) Params {
	p := r.Base()
	p.Scale = 1 + rng.IntN(3)
	if r.MaxScale > 0 {
		p.Scale = min(p.Scale, r.MaxScale)
	}
	cfg := r.Config(p)
	p.Warps = rng.Perm(int(cfg.Block.Size()+31) / 32)
	bars := rng.Perm(15)
	p.Bars = [2]int{1 + bars[0], 1 + bars[1]}
	p.Addr = 0x400 + 8*rng.Uint64N(4096)
	p.Solo = rng.IntN(int(cfg.Block.Size()))
	p.Flip = rng.IntN(2) == 1
	return p
}

// TestVaried: other barriers, counts, addresses and warps do not change a
// row's end.
func TestVaried(t *testing.T) {
	for _, r := range Rows() {
		rng := rand.New(rand.NewPCG(1, uint64(r.ID)))
		for range 20 {
			p := vary(&r, rng)
			res, err := emu.Launch(context.Background(), r.Config(p), r.Kernel(p), nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, &r, p, res, false)
		}
	}
}

// TestSchedules: under schedules that overrule its pauses a row, varied, ends
// in a way that it allows; and where it allows another end, a schedule leads
// there.
func TestSchedules(t *testing.T) {
	for _, r := range Rows() {
		rng := rand.New(rand.NewPCG(2, uint64(r.ID)))
		other := len(r.Other)
		for i := range 200 {
			p := vary(&r, rng)
			cfg := r.Config(p)
			cfg.Schedule, cfg.Seed, cfg.SpinBudget = emu.Random, uint64(i), 100
			res, err := emu.Launch(context.Background(), cfg, r.Kernel(p), nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, &r, p, res, true)
			if !r.Allows(p, res.Outcome, false) {
				other = 0
			}
		}
		if other > 0 {
			t.Errorf("row %d (%s): no schedule ended as %s, though %s", r.ID, r.Program, r.Other, r.OtherWhy)
		}
	}
}
