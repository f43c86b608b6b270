package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func (s *session) click(b tea.MouseButton, x, y int) *session {
	s.send(tea.MouseClickMsg{X: x, Y: y, Button: b})
	return s
}

func (s *session) drag(b tea.MouseButton, x, y, toX, toY int) *session {
	s.click(b, x, y)
	s.send(tea.MouseMotionMsg{X: toX, Y: toY, Button: b})
	s.send(tea.MouseReleaseMsg{X: toX, Y: toY, Button: b})
	return s
}

// A drag along the axis zooms to what it went over; a click there puts the
// playhead; undo brings back what was.
func TestDragZoom(t *testing.T) {
	s := open(t, hangConfig(), 120, 40)
	w := s.m.win
	from, to := w.start(20, s.m.track()), w.start(41, s.m.track())
	s.drag(tea.MouseLeft, 33, 2, 53, 30)
	if s.m.win.from != from || s.m.win.to != to {
		t.Errorf("the window is %v, want %d to %d", s.m.win, from, to)
	}
	s.press("u").at("16.384 µs")
	if s.m.win != w {
		t.Errorf("undo leads to %v, want %v", s.m.win, w)
	}
	// Backwards, over the rows, with the right button; beyond the track.
	s.drag(tea.MouseRight, 53, 12, 33, 12)
	if s.m.win.from != from || s.m.win.to != to {
		t.Errorf("the window is %v, want %d to %d", s.m.win, from, to)
	}
	s.press("f").drag(tea.MouseRight, 53, 12, 2, 12)
	if s.m.win.from != w.from {
		t.Errorf("the window begins at %d", s.m.win.from)
	}
	s.press("f").click(tea.MouseLeft, 33, 2)
	s.send(tea.MouseReleaseMsg{X: 33, Y: 2, Button: tea.MouseLeft})
	if s.m.focus.time != from || s.m.win != w {
		t.Errorf("a click on the axis leads to %d, %v", s.m.focus.time, s.m.win)
	}
	// While it is dragged, the range is to be seen; without the mouse nothing is.
	s.click(tea.MouseLeft, 33, 2)
	s.send(tea.MouseMotionMsg{X: 53, Y: 2, Button: tea.MouseLeft})
	s.m.draw()
	if c := s.m.grid.cells[12*s.m.grid.w+40]; c.s&modPlayhead == 0 {
		t.Error("the range is not marked")
	}
	s.send(tea.MouseReleaseMsg{X: 33, Y: 2, Button: tea.MouseLeft})
	s.press("M", "f").drag(tea.MouseLeft, 33, 2, 53, 2)
	if s.m.win != w {
		t.Error("the mouse is off, and zooms")
	}
}
