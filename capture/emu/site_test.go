package emu_test

import (
	"context"
	"runtime"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// line is the line of the caller's caller, minus n.
func line(n int) uint32 {
	_, _, l, _ := runtime.Caller(1)
	return uint32(l - n)
}

// syncer is what some threads look like.
type syncer interface{ Syncwarp(mask ...uint32) }

// inlined is small enough for that.
func inlined(t *emu.Thread) { t.Syncwarp() }

//go:noinline
func called(s syncer) { s.Syncwarp() }

// TestLines: an operation is recorded at the line of the kernel that calls
// it, however it is called.
func TestLines(t *testing.T) {
	var want []uint32
	_, rec := launch(t, threads(1), func(t *emu.Thread) {
		t.Syncwarp()
		want = append(want, line(1))
		for range 2 {
			func() {
				defer t.Syncwarp()
				want = append(want, line(-1))
			}()
		}
		f := t.Syncwarp
		for range 2 {
			f()
			want = append(want, line(1))
		}
		inlined(t)
		called(t)
		b := emu.SharedBarrier(t, "b")
		b.Init(1)
		want = append(want, line(1))
		b.ArriveAndWait()
		want = append(want, line(1), line(1), line(1))
	})
	var got []uint32
	for i := range rec {
		switch e := &rec[i]; e.Kind {
		case trace.KindEnter, trace.KindExit, trace.KindSyncwarpDone:
		default:
			got = append(got, e.Line)
		}
	}
	// The helpers' lines are their own.
	inl, call := got[5], got[6]
	got = append(got[:5], got[7:]...)
	if len(got) != len(want) {
		t.Fatalf("lines %d, want %d", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("lines %d, want %d", got, want)
			break
		}
	}
	if call != inl+3 || inl > want[0] {
		t.Errorf("in helpers: %d and %d", inl, call)
	}
}

// TestLaunchWith: a kernel's arguments reach it, and what it writes to them
// is there afterwards; the recording names the kernel, not what passes the
// arguments.
func TestLaunchWith(t *testing.T) {
	type args struct {
		n       int
		in, out []float32
	}
	a := args{3, []float32{1, 2, 3, 4}, make([]float32, 4)}
	var rec recording
	r, err := emu.LaunchWith(context.Background(), threads(32), func(t *emu.Thread, a args) {
		if i := t.Thread(); i < a.n {
			a.out[i] = 2 * a.in[i]
		}
	}, a, &rec)
	if err != nil || r.Outcome != trace.OutcomeCompleted || a.out[2] != 6 || a.out[3] != 0 {
		t.Errorf("%s, %v, %v", r.Outcome, err, a.out)
	}
	if rec[0].Line < line(12) || rec[0].Line > line(6) || rec[0].Has.Has(trace.FieldFile) {
		t.Errorf("the kernel is at line %d of %s", rec[0].Line, rec[0].File)
	}
}
