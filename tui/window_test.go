package tui

import (
	"testing"

	"pgregory.net/rapid"

	"btrace/replay/report"
)

// Every time of a window lies in the cell that begins at or before it and
// ends after it, at any size and anywhere in time.
func TestCellsPartitionTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "cells")
		from := rapid.Int64().Draw(t, "from")
		w := window{from, saturate(from, rapid.Uint64Min(1).Draw(t, "size"), false)}.atLeast(n)
		at := int64(uint64(w.from) + rapid.Uint64Max(w.size()-1).Draw(t, "offset"))
		i := w.cell(at, n)
		if i < 0 || i >= n {
			t.Fatalf("%d lies in cell %d of %d of %v", at, i, n, w)
		}
		if a, b := w.start(i, n), w.start(i+1, n); at < a || at >= b {
			t.Fatalf("%d lies in cell %d, which is [%d, %d)", at, i, a, b)
		}
	})
}

// Whatever is asked for, a window stays within reach of the launch, is never
// empty, and keeps the playhead's place where there is room.
func TestWindowsStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "cells")
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		bd := bounds{min(a, b), max(a, b)}
		w := bd.clamp(window{rapid.Int64().Draw(t, "from"), rapid.Int64().Draw(t, "to")}, n)
		if w.to <= w.from || w.size() > bd.fit(n).size() {
			t.Fatalf("%v of %v", w, bd)
		}
		if w.to < bd.first || w.from > bd.last {
			t.Fatalf("%v shows nothing of %v", w, bd)
		}
		at := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "t")
		size := rapid.Uint64Range(uint64(n), 1<<50).Draw(t, "size")
		k := rapid.IntRange(0, n-1).Draw(t, "cell")
		if got := around(at, size, k, n).cell(at, n); got != k && got != k-1 && got != k+1 {
			t.Fatalf("zoomed from cell %d to cell %d of %d", k, got, n)
		}
	})
}

// What the viewer writes for a time can be typed to go there.
func TestTimesCanBeTyped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Min(0).Draw(t, "ns")
		if got, err := parseTime(report.Time(ns), 5); err != nil || got != ns {
			t.Fatalf("%q is read as %d, %v", report.Time(ns), got, err)
		}
	})
	for s, want := range map[string]int64{
		"12us": 12000, "3ms": 3000000, "107552": 107552, "+2us": 3000, "-300ns": 700, " 1.5 µs": 1500, "2S": 2000000000,
	} {
		if got, err := parseTime(s, 1000); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "us", "12 parsecs", "1e9", "1/2", "99999999999999999999", "--1", "0x10", "1.2.3"} {
		if got, err := parseTime(s, 0); err == nil {
			t.Errorf("%q is taken for %d", s, got)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("12us")
	f.Add("+1.5 ms")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 1000 {
			_, _ = parseTime(s, 7)
		}
	})
}
