package replay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"btrace/trace"
)

// What blocks whom at the end of a hang is what its diagnosis says, and before
// that who is still on the way.
func TestBlocked(t *testing.T) {
	for _, x := range []struct {
		file string
		at   int64
		want string
	}{
		{"hang_cross.zst", 1 << 40, "bar:1 #0 waited for by w0, w1, not come w2 at bar:2, w3 at bar:2; bar:2 #0 waited for by w2, w3, not come w0 at bar:1, w1 at bar:1; "},
		{"hang_cross.zst", 6000, "bar:1 #0 waited for by w0, not come w1, w2, w3; "},
		{"hang_cross.zst", 0, ""},
	} {
		r, err := trace.Open(filepath.Join("..", "sample-traces", x.file))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		tl, err := Open(context.Background(), r, 0)
		if err != nil {
			t.Fatal(err)
		}
		list, err := tl.Blocked(context.Background(), 0, x.at)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, n := range list {
			got += fmt.Sprintf("%s #%d waited for by ", n.Barrier, n.Phase)
			for i, w := range n.Waits {
				for j, l := range w.Threads {
					if i+j > 0 {
						got += ", "
					}
					got += fmt.Sprintf("w%d", l.Warp)
				}
			}
			got += ", not come "
			for i, m := range n.Missing {
				if i > 0 {
					got += ", "
				}
				got += fmt.Sprintf("w%d", m.Warp)
				if m.At.Barrier.Kind != trace.BarrierNone {
					got += " at " + m.At.Barrier.String()
				}
			}
			got += "; "
		}
		if got != x.want {
			t.Errorf("%s at %d:\n%s\nwant\n%s", x.file, x.at, got, x.want)
		}
	}
}

// The events of a query come in order, and no more once nobody wants them.
func TestTimelineEvents(t *testing.T) {
	r, err := trace.Open(filepath.Join("..", "sample-traces", "tma_pipeline_count.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tl, err := Open(context.Background(), r, 0)
	if err != nil {
		t.Fatal(err)
	}
	q := trace.Query{Barriers: []trace.Barrier{{Kind: trace.BarrierMbar, ID: 0x1420}}, From: 1}
	last, n := int64(0), 0
	if err := tl.Events(context.Background(), q, func(ev *trace.Event) bool {
		if ev.Time < last || ev.Barrier(ev.Warp).ID != 0x1420 {
			t.Errorf("event %+v after %d ns", ev, last)
		}
		last = ev.Time
		n++
		return n < 5
	}); err != nil || n != 5 {
		t.Errorf("%d events, %v", n, err)
	}
}

// A sketch has the rows, times and events of the launch, shows waits where they
// are, and answers nothing that it cannot know.
func TestSketch(t *testing.T) {
	src := pipeline(t, 3, 20, false)
	ctx := context.Background()
	var sketch Timeline
	err := Sketch(ctx, src, 0, func(drawn Timeline, upTo int64) {
		sketch = drawn
		if _, last := drawn.Span(); upTo > last {
			t.Errorf("drawn up to %d of %d", upTo, last)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	tl, err := Open(ctx, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sketch.Rows(), tl.Rows()) {
		t.Errorf("the sketch has the rows %v, want %v", sketch.Rows(), tl.Rows())
	}
	from, to := sketch.Span()
	if f, l := tl.Span(); f != from || l != to {
		t.Errorf("the sketch goes from %d to %d, want %d to %d", from, to, f, l)
	}
	a, b := make([]Cell, 60), make([]Cell, 60)
	for _, row := range tl.Rows() {
		if err := errors.Join(sketch.Cells(ctx, row, from, to, a), tl.Cells(ctx, row, from, to, b)); err != nil {
			t.Fatal(err)
		}
		waits := 0
		for i := range a {
			if a[i].Events && (a[i].Activity == Absent || b[i].Activity == Absent) {
				t.Errorf("%v: cell %d has events and nobody: %v, %v", row, i, a[i], b[i])
			}
			if a[i].Activity == Waiting {
				waits++
				if b[i].Activity != Waiting && b[i].Activity != Released {
					t.Errorf("%v: cell %d waits in the sketch, and in the replay is %v", row, i, b[i].Activity)
				}
			}
		}
		if waits < 5 {
			t.Errorf("%v waits in %d cells of the sketch", row, waits)
		}
	}
	_, err = sketch.State(ctx, 0, to)
	_, err2 := sketch.Blocked(ctx, 0, to)
	_, err3 := sketch.Phases(ctx, Lane{}, from, to, 10)
	if !errors.Is(err, ErrSketch) || !errors.Is(err2, ErrSketch) || !errors.Is(err3, ErrSketch) || len(sketch.Lanes())+len(sketch.Findings()) > 0 {
		t.Errorf("a sketch answers what only a replay knows: %v, %v, %v", err, err2, err3)
	}
	if _, ok, err := sketch.Event(ctx, Row{0, 1}, to, 0); !ok || err != nil {
		t.Errorf("no event: %v", err)
	}
	// What brings its sections needs no sketch.
	r, err := trace.Open(filepath.Join("..", "sample-traces", "tma_pipeline.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Sketch(ctx, r, 0, func(Timeline, int64) { t.Error("a prepared trace is sketched") }); err != nil {
		t.Error(err)
	}
}
