package emu_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// fails runs a kernel whose Go code fails in lane 3 of warp 1.
func fails(t *testing.T, kernel func(*emu.Thread)) *emu.LaneError {
	t.Helper()
	r, err := emu.Launch(context.Background(), threads(64), func(t *emu.Thread) {
		t.Syncthreads()
		if t.Thread() == 35 {
			kernel(t)
		}
		t.Syncthreads()
	}, nil)
	var lane *emu.LaneError
	if !errors.As(err, &lane) || r.Outcome != trace.OutcomeUnknown {
		t.Fatalf("%s, %v", r.Outcome, err)
	}
	if lane.CTA != 0 || lane.Warp != 1 || lane.Lane != 3 {
		t.Errorf("cta %d warp %d lane %d is blamed", lane.CTA, lane.Warp, lane.Lane)
	}
	return lane
}

func TestPanicNamesTheLane(t *testing.T) {
	err := fails(t, func(t *emu.Thread) { panic(io.ErrUnexpectedEOF) })
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "kernel panicked in cta 0 warp 1 lane 3: unexpected EOF" {
		t.Errorf("%v", err)
	}
	if !strings.Contains(string(err.Stack), "failure_test.go") {
		t.Errorf("the stack does not show the kernel:\n%s", err.Stack)
	}
}

func TestGoexitNamesTheLane(t *testing.T) {
	err := fails(t, func(t *emu.Thread) { runtime.Goexit() })
	if err.Panic != nil || err.Error() != "kernel called runtime.Goexit in cta 0 warp 1 lane 3" {
		t.Errorf("%v", err)
	}
}

// TestMisuse: mistakes in the use of the package are panics of the kernel
// that say what is wrong.
func TestMisuse(t *testing.T) {
	for want, kernel := range map[string]func(*emu.Thread){
		`shared variable "x" declared as [4]int32 and as [8]int32`: func(t *emu.Thread) {
			emu.Shared[int32](t, "x", 4)
			emu.Shared[int32](t, "x", 8)
		},
		`shared variable "x" declared as [4]int32 and as [4]float32`: func(t *emu.Thread) {
			emu.Shared[int32](t, "x", 4)
			emu.Shared[float32](t, "x", 4)
		},
		`shared variable "x" declared as [1]mbarrier and as [1]uint64`: func(t *emu.Thread) {
			emu.SharedMbarrier(t, "x")
			emu.Shared[uint64](t, "x", 1)
		},
		`shared variable "x" needs 400000 bytes: a CTA has 232448, of which 232448 are left`: func(t *emu.Thread) { emu.Shared[int32](t, "x", 100_000) },
		`shared variable "x" of -1 elements of 1 bytes: a CTA has 232448 bytes`:              func(t *emu.Thread) { emu.Shared[byte](t, "x", -1) },
		`global variable "x" declared as []int32 and as [4]int64`: func(t *emu.Thread) {
			emu.Global[int32](t, "x", 4)
			emu.Global[int64](t, "x", 4)
		},
		`rank 1 in a cluster of 1 CTAs`:      func(t *emu.Thread) { emu.SharedMbarrier(t, "x").Remote(1) },
		`this_grid needs a cooperative`:      func(t *emu.Thread) { t.ThisGrid() },
		`group "x" is of 8 threads and of 9`: func(t *emu.Thread) { t.Group("x", 8); t.Group("x", 9) },
		`group "block": the name is that`:    func(t *emu.Thread) { t.Group("block", 64) },
		`group "x" of 0 threads`:             func(t *emu.Thread) { t.Group("x", 0) },
		`a tile of 0 threads`:                func(t *emu.Thread) { t.Tile(0) },
	} {
		if err := fails(t, kernel); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestForeignThread: a thread's handles are of no use to another.
func TestForeignThread(t *testing.T) {
	for name, use := range map[string]func(foreign *emu.Thread, b emu.Mbarrier){
		"bar.sync":          func(u *emu.Thread, b emu.Mbarrier) { u.BarSync(1, 32) },
		"mbar.arrive":       func(u *emu.Thread, b emu.Mbarrier) { b.Arrive() },
		"a shared variable": func(u *emu.Thread, b emu.Mbarrier) { emu.Shared[int](u, "y", 1) },
	} {
		_, err := emu.Launch(context.Background(), threads(64), func(t *emu.Thread) {
			others := emu.Global[*emu.Thread](t, "threads", 64)
			bars := emu.Global[emu.Mbarrier](t, "bars", 64)
			others[t.Thread()], bars[t.Thread()] = t, emu.SharedMbarrier(t, "b")
			t.Syncthreads()
			if t.Thread() == 40 {
				use(others[7], bars[7])
			}
		}, nil)
		var lane *emu.LaneError
		if !errors.As(err, &lane) || lane.Warp != 1 || lane.Lane != 8 || !strings.Contains(err.Error(), name+" of cta 0 warp 0 lane 7 used from elsewhere") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestThreadOutlivesLaunch: a handle that got away panics where it is used.
func TestThreadOutlivesLaunch(t *testing.T) {
	var away *emu.Thread
	ends(t, trace.OutcomeCompleted, threads(1), func(t *emu.Thread) { away = t })
	defer func() {
		if p := recover(); p == nil {
			t.Error("no panic")
		}
	}()
	away.Syncthreads()
}

// TestAbandonedLanesUnwind: lanes that hang run their deferred functions,
// even such as use the thread, panic, or hold on by recovering; and no
// goroutine is left.
func TestAbandonedLanesUnwind(t *testing.T) {
	before := runtime.NumGoroutine()
	ends(t, trace.OutcomeHung, emu.Config{Grid: trace.Dim{3}, Block: trace.Dim{64}}, func(t *emu.Thread) {
		unwound := emu.Global[int](t, "unwound", 1)
		defer func() { unwound[0]++ }()
		switch t.Lane() % 3 {
		case 0:
			defer t.Syncthreads()
		case 1:
			defer func() { panic("on the way out") }()
		case 2:
			for {
				func() {
					defer func() { _ = recover() }()
					t.BarSync(1, 96)
				}()
			}
		}
		t.BarSync(1, 96)
	})
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestUnwoundLanesAreCounted(t *testing.T) {
	r := ends(t, trace.OutcomeHung, threads(64), func(t *emu.Thread) {
		unwound := emu.Global[int](t, "unwound", 1)
		defer func() { unwound[0]++ }()
		t.BarSync(1, 96)
	})
	if n := emu.Output[int](r, "unwound"); n[0] != 64 {
		t.Errorf("%d of 64 lanes were unwound", n[0])
	}
}

func TestCancel(t *testing.T) {
	cause := errors.New("had enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	var rec recording
	r, err := emu.Launch(ctx, threads(32), func(t *emu.Thread) {
		for {
			t.BarSync(1, 32)
			if t.Now() > 10_000 {
				cancel(cause)
			}
		}
	}, &rec)
	if !errors.Is(err, cause) || r.Outcome != trace.OutcomeUnknown {
		t.Errorf("%s, %v", r.Outcome, err)
	}
	if uint64(len(rec)) != r.WarpEvents {
		t.Errorf("%d of %d events arrived", len(rec), r.WarpEvents)
	}
	ran := false
	if _, err := emu.Launch(ctx, threads(1), func(t *emu.Thread) { ran = true }, nil); !errors.Is(err, cause) || ran {
		t.Errorf("launched with a context that is done: %v", err)
	}
}

// failing is a Sink that is full after a while.
type failing struct{ left int }

func (f *failing) Write(evs []trace.Event) error {
	if f.left -= len(evs); f.left < 0 {
		return io.ErrShortWrite
	}
	return nil
}

func TestSinkFails(t *testing.T) {
	for _, left := range []int{0, 3000} {
		_, err := emu.Launch(context.Background(), threads(32), func(t *emu.Thread) {
			for range 2000 {
				t.BarSync(1, 32)
			}
		}, &failing{left})
		if !errors.Is(err, io.ErrShortWrite) || !strings.Contains(err.Error(), "writing events of launch 0") {
			t.Errorf("after %d events: %v", left, err)
		}
	}
}

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]emu.Config{
		"a block of 2000x1x1 threads: a CTA has at most 1024, and 64 in z":           {Block: trace.Dim{2000}},
		"a block of 1x1x65 threads":                                                  {Block: trace.Dim{1, 1, 65}},
		"a block of 65536x65536x1 threads":                                           {Block: trace.Dim{65536, 65536}},
		"a grid of 4294967295x1x1 CTAs: at most 2147483647 in all":                   {Grid: trace.Dim{1<<32 - 1}},
		"a grid of 65536x65535x1 CTAs":                                               {Grid: trace.Dim{65536, 65535}},
		"a cluster of 17x1x1 CTAs: at most 16":                                       {Grid: trace.Dim{17}, Cluster: trace.Dim{17}},
		"a grid of 5x1x1 CTAs is not whole clusters of 2x1x1":                        {Grid: trace.Dim{5}, Cluster: trace.Dim{2}},
		"300000 bytes of shared memory: a CTA has at most 232448":                    {Shared: 300_000},
		"-1 bytes of shared memory":                                                  {Shared: -1},
		`unknown schedule "fair": want rr, random or pct`:                            {Schedule: "fair"},
		"1000000 CTAs of 32 threads: the emulator takes 16777216 threads in all":     {Grid: trace.Dim{1_000_000}, Block: trace.Dim{32}},
		"-1 change points":                                                           {ChangePoints: -1},
		"not base64":                                                                 {Schedule: "replay:!"},
		"a cooperative grid of 1024000 threads: at most 270336 fit on the device at": {Grid: trace.Dim{1000}, Block: trace.Dim{1024}, Cooperative: true},
	} {
		ran := false
		r, err := emu.Launch(context.Background(), cfg, func(t *emu.Thread) { ran = true }, nil)
		if !errors.Is(err, emu.ErrConfig) || !strings.Contains(err.Error(), want) || ran || r.Outcome != trace.OutcomeUnknown {
			t.Errorf("%+v: %v, ran: %v", cfg, err, ran)
		}
	}
}
