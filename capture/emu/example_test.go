package emu_test

import (
	"context"
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

// A producer warp and a consumer warp hand a buffer over with a named
// barrier.
func ExampleLaunch() {
	kernel := func(t *emu.Thread) {
		sums := emu.Global[int](t, "sums", 32)
		buf := emu.Shared[int](t, "buf", 32)
		if t.Warp() == 0 {
			buf[t.Lane()] = 10 * t.Lane()
			t.BarArrive(1, 64)
		} else {
			t.BarSync(1, 64)
			sums[t.Lane()] = buf[t.Lane()] + 1
		}
	}
	r, err := emu.Launch(context.Background(), emu.Config{Block: trace.Dim{64}}, kernel, nil)
	fmt.Println(r.Outcome, err)
	fmt.Println(emu.Output[int](r, "sums")[:4])
	// Output:
	// completed <nil>
	// [1 11 21 31]
}

// A launch that cannot go on ends as hung, and says who waits where.
func ExampleLaunch_hang() {
	kernel := func(t *emu.Thread) {
		if t.Warp() == 1 {
			return // its threads are still counted below
		}
		t.BarSync(1, 96)
	}
	r, _ := emu.Launch(context.Background(), emu.Config{Block: trace.Dim{96}}, kernel, nil)
	fmt.Println(r.Outcome)
	for _, s := range r.Stuck {
		fmt.Printf("warp %d waits at %s %s\n", s.Warp, s.Op, s.Barrier)
	}
	// Output:
	// hung
	// warp 0 waits at bar.sync bar:1
	// warp 2 waits at bar.sync bar:1
}

// An asynchronous copy fills a buffer and completes its bytes on an mbarrier,
// which the whole CTA waits for.
func ExampleBulkCopy() {
	kernel := func(t *emu.Thread) {
		sum := emu.Global[int32](t, "sum", 1)
		tile := emu.Shared[int32](t, "tile", 4)
		full := emu.SharedMbarrier(t, "full")
		if t.Thread() == 0 {
			full.Init(1)
			full.ArriveExpectTx(16)
			emu.BulkCopy(tile, []int32{1, 2, 3, 4}, full)
		}
		t.Syncthreads()
		full.WaitParity(0)
		if t.Thread() < 4 {
			sum[0] += tile[t.Thread()]
		}
	}
	r, _ := emu.Launch(context.Background(), emu.Config{Block: trace.Dim{32}}, kernel, nil)
	fmt.Println(r.Outcome, emu.Output[int32](r, "sum")[0])
	// Output: completed 10
}
