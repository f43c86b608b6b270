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

// A ring of two stages: a producer fills tiles by asynchronous copies, a
// consumer adds them up. The kernel gets its arguments as a struct.
func Example_pipeline() {
	type args struct {
		in  []int32 // tiles of 32
		sum []int32 // of every lane
	}
	kernel := func(t *emu.Thread, a args) {
		const stages = 2
		tile := emu.Shared[int32](t, "tile", 32*stages)
		full, empty := emu.SharedMbarriers(t, "full", stages), emu.SharedMbarriers(t, "empty", stages)
		if t.Thread() == 0 {
			for s := range stages {
				full[s].Init(1)
				empty[s].Init(32)
			}
		}
		t.Syncthreads()
		for i := range len(a.in) / 32 {
			s, parity := i%stages, i/stages&1
			buf := tile[32*s : 32*s+32]
			switch {
			case t.Thread() == 0:
				empty[s].WaitParity(parity ^ 1) // the first time it is empty already
				full[s].ArriveExpectTx(4 * 32)
				emu.BulkCopy(buf, a.in[32*i:32*i+32], full[s])
			case t.Warp() == 1:
				full[s].WaitParity(parity)
				a.sum[t.Lane()] += buf[t.Lane()]
				empty[s].Arrive()
			}
		}
	}
	a := args{make([]int32, 32*5), make([]int32, 32)}
	for i := range a.in {
		a.in[i] = int32(i)
	}
	r, err := emu.LaunchWith(context.Background(), emu.Config{Block: trace.Dim{64}}, kernel, a, nil)
	fmt.Println(r.Outcome, err)
	fmt.Println(a.sum[0], a.sum[31])
	// Output:
	// completed <nil>
	// 320 475
}

// The producer hands two items over, but does not wait until the first has
// been taken. Round robin does not show it; priorities soon do, and the
// schedule that was taken repeats it.
func Example_findABug() {
	kernel := func(t *emu.Thread) {
		item := emu.Shared[int](t, "item", 1)
		for i := range 2 {
			if t.Warp() == 0 {
				item[0] = i
				t.BarArrive(1, 64) // item is full
				t.Work(1000)       // the consumer will be through by then
			} else {
				t.BarSync(1, 64)
				if item[0] != i {
					t.Trap("an item was lost")
				}
			}
		}
	}
	ctx, cfg := context.Background(), emu.Config{Block: trace.Dim{64}}
	r, _ := emu.Launch(ctx, cfg, kernel, nil)
	fmt.Println("rr", r.Outcome)
	for cfg.Schedule = emu.PCT; r.Outcome == trace.OutcomeCompleted && cfg.Seed < 100; cfg.Seed++ {
		r, _ = emu.Launch(ctx, cfg, kernel, nil)
	}
	fmt.Println("pct", r.Outcome)
	r, _ = emu.Launch(ctx, emu.Config{Block: trace.Dim{64}, Schedule: r.Schedule}, kernel, nil)
	fmt.Println("again", r.Outcome)
	// Output:
	// rr completed
	// pct hung
	// again hung
}

// CTAs of different clusters share memory through Atomic: here each adds up
// its part, and the last to come publishes the sum.
func ExampleAtomic() {
	kernel := func(t *emu.Thread) {
		sum := emu.GlobalAtomics[int64](t, "sum", 1)
		done := emu.GlobalAtomics[int](t, "done", 1)
		total := emu.Global[int64](t, "total", 1)
		sum[0].Add(int64(t.CTA()*t.Threads() + t.Thread()))
		t.Syncthreads()
		if t.Thread() == 0 && done[0].Add(1) == t.CTAs()-1 {
			total[0] = sum[0].Load()
		}
	}
	cfg := emu.Config{Grid: trace.Dim{20}, Block: trace.Dim{50}, Workers: 2}
	r, err := emu.Launch(context.Background(), cfg, kernel, nil)
	fmt.Println(r.Outcome, err, emu.Output[int64](r, "total"))
	// Output: completed <nil> [499500]
}
