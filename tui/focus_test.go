package tui

import (
	"testing"

	"pgregory.net/rapid"

	"btrace/replay"
)

// Undo goes back the way that was come, redo forth again, and neither loses a
// place.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h history
		now := place{}
		way := []place{now}
		for i := range rapid.IntRange(1, 50).Draw(t, "moves") {
			h.remember(now, "jump", false)
			now = place{focus: focus{time: int64(i + 1)}}
			way = append(way, now)
		}
		n := rapid.IntRange(1, len(way)-1).Draw(t, "undone")
		for i := range n {
			p, ok := h.undo(now)
			if !ok || p != way[len(way)-2-i] {
				t.Fatalf("undo %d goes to %v", i, p)
			}
			now = p
		}
		for i := range n {
			p, ok := h.redo(now)
			if !ok || p != way[len(way)-n+i] {
				t.Fatalf("redo %d goes to %v", i, p)
			}
			now = p
		}
		if _, ok := h.redo(now); ok {
			t.Fatal("redo goes on beyond the end")
		}
	})
}

func TestHistoryIsBounded(t *testing.T) {
	var h history
	for i := range 5 * historySize {
		h.remember(place{focus: focus{time: int64(i)}}, "jump", false)
	}
	if len(h.back) > historySize {
		t.Errorf("%d places are kept", len(h.back))
	}
	if p, ok := h.undo(place{}); !ok || p.focus.time != 5*historySize-1 {
		t.Errorf("undo goes to %v", p)
	}
}

// A walk of one kind of step is undone as one.
func TestStepsAreUndoneTogether(t *testing.T) {
	s := open(t, hangConfig(), 120, 40)
	for range 20 {
		s.press("left")
	}
	s.press("down", "down", "down").at("cta0/w3")
	s.press("u").at("cta0/w0").press("u").at("16.384 µs  cta0/w0").press("U", "U").at("cta0/w3")
}

// What is kept of pictures is bounded, and what was used last is kept.
func TestStoreIsBounded(t *testing.T) {
	s := newStore[rowID, replay.Cell](10000)
	cells := make([]replay.Cell, 100)
	keep := rowID{cta: 7}
	view := window{0, 100}
	s.put(keep, view, 100, cells, nil)
	for i := range uint32(5000) {
		s.put(rowID{cta: 1000 + i}, view, 100, cells, nil)
		if _, ok := s.get(keep, view, 100); !ok {
			t.Fatalf("the picture that is on the screen is dropped after %d others", i)
		}
		if s.weight > s.limit || len(s.exact) > 100 || len(s.latest) > 100 {
			t.Fatalf("%d pictures of weight %d are kept", len(s.exact), s.weight)
		}
	}
}

func TestMarks(t *testing.T) {
	var m marks
	for _, x := range []int64{5, 1, 9} {
		if !m.toggle(x) {
			t.Errorf("no mark is set at %d", x)
		}
	}
	for at, want := range map[int64]int64{0: 1, 1: 5, 5: 9, 9: 1, 100: 1} {
		if got, ok := m.beside(at, 1); !ok || got != want {
			t.Errorf("the mark after %d is %d, want %d", at, got, want)
		}
	}
	if m.toggle(9) {
		t.Error("a mark is set twice at one place")
	}
	if got, ok := m.last(); !ok || got != 1 {
		t.Errorf("the last mark is %d", got)
	}
}
