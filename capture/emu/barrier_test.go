package emu_test

import (
	"context"
	"slices"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// TestCompletionFunction: it runs once a phase, on the thread that arrives
// last, before anybody goes on, and may take its time.
func TestCompletionFunction(t *testing.T) {
	for seed := range uint64(20) {
		cfg := threads(96)
		cfg.Schedule, cfg.Seed = emu.Random, seed
		r, rec := launch(t, cfg, func(t *emu.Thread) {
			calls := emu.Global[int](t, "calls", 1)
			b := emu.SharedBarrierFunc(t, "b", func() {
				t.Work(500)
				calls[0]++
			})
			if t.Thread() == 0 {
				b.Init(96)
			}
			t.Syncthreads()
			for phase := range 3 {
				b.ArriveAndWait()
				if calls[0] != phase+1 {
					t.Trap("let go too early")
				}
			}
			if t.Warp() == 0 {
				b.ArriveAndDrop()
				return
			}
			b.Wait(b.Arrive())
		})
		if calls := emu.Output[int](r, "calls"); r.Outcome != trace.OutcomeCompleted || calls[0] != 4 {
			t.Fatalf("seed %d: %s, the function ran %d times in 4 phases", seed, r.Outcome, calls[0])
		}
		var last trace.Event
		runs := 0
		for _, e := range rec {
			switch e.Kind {
			case trace.KindMbarArrive, trace.KindMbarArriveDrop:
				last = e
			case trace.KindCompletionBegin:
				runs++
				if e.Warp != last.Warp || e.Lanes != 1<<31 {
					t.Errorf("seed %d: runs on warp %d lanes %08x, the last to arrive are warp %d lanes %08x", seed, e.Warp, e.Lanes, last.Warp, last.Lanes)
				}
			}
		}
		if runs != 4 || rec.count(trace.KindCompletionEnd) != 4 {
			t.Errorf("seed %d: begins and ends are not recorded", seed)
		}
	}
}

// TestCompletionFunctionWaits: a function that waits for its own barrier
// hangs.
func TestCompletionFunctionWaits(t *testing.T) {
	r := ends(t, trace.OutcomeHung, threads(32), func(t *emu.Thread) {
		var b emu.Barrier
		b = emu.SharedBarrierFunc(t, "b", func() { b.WaitParity(0) })
		if t.Thread() == 0 {
			b.Init(32)
		}
		t.Syncwarp()
		b.ArriveAndWait()
	})
	if len(r.Stuck) != 2 {
		t.Errorf("stuck: %v", r.Stuck)
	}
}

// TestBulkCopy: a copy moves its data and completes its bytes some time after
// it was issued, under any schedule.
func TestBulkCopy(t *testing.T) {
	kernel := func(t *emu.Thread) {
		src := emu.Global[int32](t, "src", 64)
		dst := emu.Shared[int32](t, "dst", 64)
		b := emu.SharedMbarrier(t, "b")
		if t.Thread() == 0 {
			for i := range src {
				src[i] = int32(i)
			}
			b.Init(1)
			b.ArriveExpectTx(4 * 64)
			emu.BulkCopy(dst, src, b)
			if dst[63] != 0 {
				t.Trap("there at once")
			}
		}
		t.Syncthreads()
		b.WaitParity(0)
		if dst[t.Thread()] != int32(t.Thread()) {
			t.Trap("not there")
		}
	}
	ends(t, trace.OutcomeCompleted, threads(64), kernel)
	for seed := range uint64(20) {
		cfg := threads(64)
		cfg.Schedule, cfg.Seed = emu.Random, seed
		ends(t, trace.OutcomeCompleted, cfg, kernel)
	}
	_, rec := launch(t, threads(64), kernel)
	i := slices.IndexFunc(rec, func(e trace.Event) bool { return e.Kind == trace.KindMbarCopy })
	if e := rec[i]; e.Bytes != 256 || e.Addr == 0 || e.Has.Has(trace.FieldOwnerCTA) || rec.count(trace.KindMbarCompleteTx) != 0 {
		t.Errorf("%+v", e)
	}
}

// TestMulticast: one copy fills the same place of several CTAs.
func TestMulticast(t *testing.T) {
	cfg := emu.Config{Grid: trace.Dim{4}, Cluster: trace.Dim{4}, Block: trace.Dim{32}}
	r, rec := launch(t, cfg, func(t *emu.Thread) {
		got := emu.Global[int32](t, "got", 4)
		src := []int32{7, 8, 9}
		tile := emu.Shared[int32](t, "tile", 3)
		b := emu.SharedMbarrier(t, "b")
		if t.Thread() == 0 {
			b.Init(1)
			if t.ClusterRank() != 2 {
				b.ArriveExpectTx(12)
			} else {
				b.Arrive()
			}
		}
		t.ClusterSync()
		if t.CTA() == 1 && t.Thread() == 0 {
			emu.BulkCopyMulticast(func(r int) []int32 { return emu.SharedOf[int32](t, r, "tile", 3) }, src, b, 0b1011)
		}
		b.WaitParity(0)
		if t.Thread() == 0 {
			got[t.CTA()] = tile[2]
		}
		t.ClusterSync()
	})
	if got := emu.Output[int32](r, "got"); r.Outcome != trace.OutcomeCompleted || !slices.Equal(got, []int32{9, 9, 0, 9}) {
		t.Errorf("%s, %v", r.Outcome, got)
	}
	i := slices.IndexFunc(rec, func(e trace.Event) bool { return e.Kind == trace.KindMbarCopy })
	if rec[i].CTAMask != 0b1011 || rec[i].Bytes != 12 {
		t.Errorf("%+v", rec[i])
	}
}

// TestCpAsync: cp.async copies arrive on an mbarrier once they have
// completed, those of one thread in order.
func TestCpAsync(t *testing.T) {
	for _, noInc := range []bool{false, true} {
		kernel := func(t *emu.Thread) {
			cells := emu.Shared[int](t, "cells", 2*t.Threads())
			b := emu.SharedMbarrier(t, "b")
			if t.Thread() == 0 {
				b.Init(32)
			}
			t.Syncwarp()
			one, two := cells[2*t.Lane():2*t.Lane()+1], cells[2*t.Lane()+1:2*t.Lane()+2]
			emu.CpAsync(t, one, []int{1})
			emu.CpAsync(t, two, []int{2})
			if noInc {
				b.CpAsyncArriveNoInc()
			} else {
				b.CpAsyncArrive()
				b.Arrive()
			}
			if b.TestWaitParity(0) {
				t.Trap("complete at once")
			}
			b.WaitParity(0)
			for i := range 32 {
				if cells[2*i] != 1 || cells[2*i+1] != 2 {
					t.Trap("not there")
				}
			}
		}
		ends(t, trace.OutcomeCompleted, threads(32), kernel)
		_, rec := launch(t, threads(32), kernel)
		i := slices.IndexFunc(rec, func(e trace.Event) bool { return e.Kind == trace.KindMbarCpAsyncArrive })
		if rec[i].NoInc != noInc || rec[i].Lanes != emu.FullMask {
			t.Errorf("%+v", rec[i])
		}
	}
}

// TestRemote: a CTA arrives, and completes bytes, on its neighbour's barrier.
func TestRemote(t *testing.T) {
	cfg := emu.Config{Grid: trace.Dim{4}, Cluster: trace.Dim{2}, Block: trace.Dim{32}}
	r, rec := launch(t, cfg, func(t *emu.Thread) {
		b := emu.SharedMbarrier(t, "b")
		if t.Lane() == 0 {
			b.Init(3)
		}
		t.ClusterSync()
		other := b.Remote(1 - t.ClusterRank())
		if t.Lane() == 0 {
			b.Arrive()
			other.Arrive()
			other.ArriveExpectTx(16)
			other.CompleteTx(16)
		}
		b.WaitParity(0)
		t.ClusterSync()
	})
	if r.Outcome != trace.OutcomeCompleted {
		t.Fatal(r.Outcome, r.Stuck)
	}
	for _, e := range rec {
		switch remote := e.Has.Has(trace.FieldOwnerCTA); {
		case e.Kind == trace.KindMbarArriveExpectTx || e.Kind == trace.KindMbarCompleteTx:
			if !remote || e.Owner != e.CTA^1 {
				t.Errorf("cta %d: %s on cta %d", e.CTA, e.Kind, e.Owner)
			}
		case e.Kind == trace.KindMbarArrive && remote == e.Has.Has(trace.FieldPhase):
			t.Errorf("an arrive is remote: %v, and has a token: %v", remote, !remote)
		}
	}
}

// TestGroups: the barriers of cooperative groups.
func TestGroups(t *testing.T) {
	cfg := emu.Config{Grid: trace.Dim{4}, Cluster: trace.Dim{2}, Block: trace.Dim{96}, Cooperative: true}
	r, rec := launch(t, cfg, func(t *emu.Thread) {
		late := emu.Global[int](t, "late", 5)
		check := func(i int, g emu.Group, size int) {
			if g.Size() != size {
				t.Trap("wrong size")
			}
			n := emu.Global[int](t, "arrived", 5)
			for phase := range 2 {
				n[i]++
				k := g.Arrive()
				t.Work(int64(10 * t.Thread()))
				g.Wait(k)
				if n[i] < size*(phase+1) {
					late[i]++
				}
				g.Sync()
			}
		}
		check(0, t.ThisGrid(), 4*96)
		check(1, t.ThisCluster(), 2*96)
		check(2, t.ThisBlock(), 96)
		size := 64
		if t.Thread() >= 64 {
			size = 32
		}
		check(3, t.Tile(64), size)
		if t.Lane() < 16 {
			check(4, t.Group("elected", 48), 48)
		}
	})
	if late := emu.Output[int](r, "late"); r.Outcome != trace.OutcomeCompleted || slices.Max(late) > 0 {
		t.Errorf("%s, left too early: %v", r.Outcome, late)
	}
	sizes := make(map[string]uint32)
	for _, e := range rec {
		if e.Kind == trace.KindGroupArrive {
			sizes[e.Group] = e.Count
		}
	}
	want := map[string]uint32{"grid": 384, "cluster": 192, "block": 96, "tile:64:0": 64, "tile:64:1": 32, "elected": 48}
	if len(sizes) != len(want) {
		t.Errorf("groups %v", sizes)
	}
	for name, n := range want {
		if sizes[name] != n {
			t.Errorf("group %s of %d threads, want %d", name, sizes[name], n)
		}
	}
}

// TestGroupMissesThread: the barriers of a block and of a cluster do not wait
// for a thread that exits, before it was missed or after; those of a tile,
// of other groups and of the grid do.
func TestGroupMissesThread(t *testing.T) {
	for _, c := range []struct {
		want  trace.Outcome
		group func(*emu.Thread) emu.Group
	}{
		{trace.OutcomeCompleted, (*emu.Thread).ThisBlock},
		{trace.OutcomeCompleted, (*emu.Thread).ThisCluster},
		{trace.OutcomeHung, (*emu.Thread).ThisGrid},
		{trace.OutcomeHung, func(t *emu.Thread) emu.Group { return t.Tile(32) }},
		{trace.OutcomeHung, func(t *emu.Thread) emu.Group { return t.Group("all", 64) }},
	} {
		for _, late := range []int64{0, 1000} {
			cfg := emu.Config{Grid: trace.Dim{2}, Block: trace.Dim{64}, Cluster: trace.Dim{2}, Cooperative: true}
			r := ends(t, c.want, cfg, func(t *emu.Thread) {
				if t.Thread() == 7 {
					t.Work(late)
					return
				}
				t.Work(1000 - late)
				g := c.group(t)
				g.Sync()
				g.Sync()
			})
			if c.want == trace.OutcomeCompleted && len(r.Stuck) > 0 {
				t.Errorf("stuck: %v", r.Stuck)
			}
		}
	}
}

// TestReductions: bar.red over whole warps and parts of the CTA.
func TestReductions(t *testing.T) {
	ends(t, trace.OutcomeCompleted, threads(80), func(t *emu.Thread) {
		odd, low := t.Thread()%2 == 1, t.Thread() < 50
		ok := t.SyncthreadsCount(odd) == 40 && !t.SyncthreadsAnd(odd) && t.SyncthreadsOr(odd) && !t.SyncthreadsOr(false) && t.SyncthreadsAnd(true) &&
			t.BarRedPopc(3, low) == 50 && !t.BarRedAnd(4, low) && t.BarRedOr(5, low)
		if t.Warp() < 2 {
			ok = ok && t.BarrierRedPopc(1, low, 64) == 50 && !t.BarrierRedAnd(1, low, 64) && t.BarrierRedOr(1, low, 64)
		}
		if !ok {
			t.Trap("wrong result")
		}
	})
}

// TestDynamicShared: dynamic shared memory comes before what the kernel
// declares, and is the CTA's own.
func TestDynamicShared(t *testing.T) {
	cfg := emu.Config{Grid: trace.Dim{2}, Block: trace.Dim{32}, Shared: 1000}
	ends(t, trace.OutcomeCompleted, cfg, func(t *emu.Thread) {
		mem, addr := t.DynamicShared()
		if len(mem) != 1000 || addr != 0x400 || emu.SharedMbarrier(t, "b").Addr() != 0x400+1000 {
			t.Trap("wrong layout")
		}
		mem[t.Lane()] = byte(t.CTA() + 1)
		t.Syncthreads()
		b := t.Mbarrier(addr + 8)
		if t.Lane() == 0 {
			b.Init(32)
		}
		t.Syncwarp()
		b.Wait(b.Arrive())
		for i := range 32 {
			if mem[i] != byte(t.CTA()+1) {
				t.Trap("not its own")
			}
		}
	})
}

// TestLaterWaves: the CTAs of a large grid do not all run at once; those of a
// wave that hangs keep their place, and the rest never runs.
func TestLaterWaves(t *testing.T) {
	var began, ended []int64
	cfg := emu.Config{Grid: trace.Dim{40}, Block: trace.Dim{1024}}
	kernel := func(hang func(cta int) bool) func(t *emu.Thread) {
		return func(t *emu.Thread) {
			begun := emu.Global[int](t, "begun", 1)
			if t.Thread() == 0 {
				began, begun[0] = append(began, t.Now()), begun[0]+1
			}
			t.Syncthreads()
			if t.Thread() == 0 {
				if hang(t.CTA()) {
					t.BarSync(1, 64)
				}
				ended = append(ended, t.Now())
			}
		}
	}
	ends(t, trace.OutcomeCompleted, cfg, kernel(func(int) bool { return false }))
	slices.Sort(began)
	slices.Sort(ended)
	for i := range 38 {
		if began[i+2] < ended[i] {
			t.Fatalf("the CTA that begins as number %d does so at %d ns, when only %d of 1,024 threads are through", i+2, began[i+2], i)
		}
	}
	if began[1] > ended[0] {
		t.Errorf("the second CTA begins at %d ns, when the first is through", began[1])
	}
	r := ends(t, trace.OutcomeHung, cfg, kernel(func(cta int) bool { return cta == 3 }))
	if n := emu.Output[int](r, "begun")[0]; n != 40 || len(r.Stuck) != 1 {
		t.Errorf("%d CTAs began though only one hangs: %v", n, r.Stuck)
	}
	r = ends(t, trace.OutcomeHung, cfg, kernel(func(cta int) bool { return cta >= 20 }))
	if n := emu.Output[int](r, "begun")[0]; n != 22 {
		t.Errorf("%d CTAs began, want 22: the first 20 and a wave that hangs", n)
	}
}

// TestLaunchesSideBySide: launches are independent of each other.
func TestLaunchesSideBySide(t *testing.T) {
	want := ends(t, trace.OutcomeCompleted, threads(64), func(t *emu.Thread) { t.Syncthreads() })
	results := make(chan emu.Result)
	for range 8 {
		go func() {
			r, _ := emu.Launch(context.Background(), threads(64), func(t *emu.Thread) { t.Syncthreads() }, nil)
			results <- r
		}()
	}
	for range 8 {
		if r := <-results; r.Outcome != want.Outcome || r.Time != want.Time || r.WarpEvents != want.WarpEvents {
			t.Errorf("%+v, alone %+v", r, want)
		}
	}
}
