package tui

import (
	"math"
	"math/bits"
)

// window is the part of a launch that the timeline shows: from <= t < to, in
// nanoseconds. Times are whatever a trace says, so nothing here may overflow.
type window struct{ from, to int64 }

// size is its length; windows are never empty.
func (w window) size() uint64 { return max(uint64(w.to)-uint64(w.from), 1) }

// start is the first time of cell i of n: ceil(size*i/n), so that every time
// lies in exactly the cell that cell names.
func (w window) start(i, n int) int64 {
	if i <= 0 {
		return w.from
	}
	if i >= n {
		return w.to
	}
	hi, lo := bits.Mul64(w.size(), uint64(i))
	q, r := bits.Div64(hi, lo, uint64(n))
	if r > 0 {
		q++
	}
	return int64(uint64(w.from) + q)
}

// cell is the cell of n in which t lies: -1 before the window, n after it.
func (w window) cell(t int64, n int) int {
	switch {
	case t < w.from:
		return -1
	case t >= w.to:
		return n
	}
	hi, lo := bits.Mul64(uint64(t)-uint64(w.from), uint64(n))
	q, _ := bits.Div64(hi, lo, w.size())
	return int(q)
}

// around returns a window of that size in which t keeps its place, num/den of
// the way from the left.
func around(t int64, size uint64, num, den int) window {
	hi, lo := bits.Mul64(size, uint64(min(max(num, 0), den)))
	before, _ := bits.Div64(hi, lo, uint64(den))
	from := saturate(t, before, true)
	return window{from, saturate(from, size, false)}
}

// saturate adds d to t, or takes it off, and stops at the ends of time.
func saturate(t int64, d uint64, back bool) int64 {
	if back {
		if room := uint64(t) + 1<<63; d > room {
			return math.MinInt64
		}
		return int64(uint64(t) - d)
	}
	if room := uint64(math.MaxInt64) - uint64(t); d > room {
		return math.MaxInt64
	}
	return int64(uint64(t) + d)
}

// bounds are the times between which a launch's window may lie.
type bounds struct{ first, last int64 }

// fit is the window of n cells that shows everything, and a little of what
// comes after the last event: how a launch ends is to be seen.
func (b bounds) fit(n int) window {
	w := window{b.first, saturate(b.last, 1, false)}
	w.to = saturate(w.to, w.size()/16, false)
	return w.atLeast(n)
}

// atLeast widens a window to at least one nanosecond a cell.
func (w window) atLeast(n int) window {
	n = max(n, 1)
	if uint64(w.to)-uint64(w.from) < uint64(n) || w.to <= w.from {
		w.to = saturate(w.from, uint64(n), false)
		w.from = saturate(w.to, uint64(n), true)
	}
	return w
}

// clamp moves a window so that at least half of it shows what is there, and
// narrows one that is wider than everything.
func (b bounds) clamp(w window, n int) window {
	w = w.atLeast(n)
	all := b.fit(n)
	if w.size() >= all.size() {
		return all
	}
	half := w.size() / 2
	if lo := saturate(b.first, half, true); w.from < lo {
		w = window{lo, saturate(lo, w.size(), false)}
	}
	if hi := saturate(b.last, half, false); w.to > hi {
		w = window{saturate(hi, w.size(), true), hi}
	}
	return w
}
