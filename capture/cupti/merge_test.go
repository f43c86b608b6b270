//go:build linux

package cupti

import (
	"math"
	"testing"
	"time"

	"btrace/capture/cupti/ring"
)

// Nothing is handed on that is younger than a record may be which a lane holds
// while it waits for a chunk.
func TestBound(t *testing.T) {
	start := time.Now()
	m := newMerger(2_000_000, start)
	const newest = 1 << 40
	look := func(after time.Duration, b ring.Batch) uint64 {
		b.Runs = []ring.Run{{Clock: 2 * newest, Time: newest + uint64(after)}}
		d := drained{b: &b, begin: start.Add(after), end: start.Add(after)}
		m.see(&d)
		return m.bound(&d)
	}
	all := ring.Batch{Bound: math.MaxUint64}
	waits := ring.Batch{Bound: math.MaxUint64, Waits: true, Asked: newest - 1e9}
	for _, c := range []struct {
		name  string
		after time.Duration
		b     ring.Batch
		want  uint64
	}{
		{"all is read", time.Second, all, newest + 1e9 - uint64(wallSlack)},
		{"lanes wait", 2 * time.Second, waits, waits.Asked - uint64(takeSlack)},
		{"they waited just now", 2*time.Second + wallSlack/2, ring.Batch{Bound: math.MaxUint64, Asked: waits.Asked}, waits.Asked - uint64(takeSlack)},
		{"they waited a while ago", 3 * time.Second, ring.Batch{Bound: math.MaxUint64, Asked: waits.Asked}, newest + 3e9 - uint64(wallSlack)},
		{"chunks are not read", 4 * time.Second, ring.Batch{Bound: newest}, newest - uint64(takeSlack)},
	} {
		if got := look(c.after, c.b); got != c.want {
			t.Errorf("%s: all up to %d is handed on, want %d", c.name, got, c.want)
		}
	}
}
