package replay

import (
	"context"
	"fmt"
	"path/filepath"
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
