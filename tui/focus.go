package tui

import "slices"

// focus is the one thing that every pane shows: a time, a row and a barrier.
type focus struct {
	time int64
	row  rowID
	lane laneID
}

// place is where a user is: what undo returns to.
type place struct {
	launch  int // index in Config.Launches
	focus   focus
	view    window
	finding int  // selected finding, -1 for none
	other   bool // in the other of two recordings
}

// historySize bounds how many places are remembered.
const historySize = 1000

// history is the way a user came, and the way back.
type history struct {
	back, forward []place
	last          string // the command that made the last entry
}

// remember notes the place that a command is about to leave. Steps of one
// command in a row make one entry, so that undo goes back to where the walk
// began.
func (h *history) remember(p place, command string, step bool) {
	if step && command == h.last && len(h.back) > 0 {
		h.forward = h.forward[:0]
		return
	}
	h.last = command
	if n := len(h.back); n > 0 && h.back[n-1] == p {
		return
	}
	h.back = append(h.back, p)
	if len(h.back) > historySize {
		h.back = append(h.back[:0], h.back[1:]...)
	}
	h.forward = h.forward[:0]
}

// undo returns the place before now.
func (h *history) undo(now place) (place, bool) {
	h.last = ""
	for n := len(h.back); n > 0; n = len(h.back) {
		p := h.back[n-1]
		h.back = h.back[:n-1]
		if p != now {
			h.forward = append(h.forward, now)
			return p, true
		}
	}
	return place{}, false
}

// redo returns the place that undo left.
func (h *history) redo(now place) (place, bool) {
	h.last = ""
	n := len(h.forward)
	if n == 0 {
		return place{}, false
	}
	p := h.forward[n-1]
	h.forward = h.forward[:n-1]
	h.back = append(h.back, now)
	return p, true
}

// marks are times that a user noted, in the order in which they were set.
type marks []int64

// toggle sets a mark, or takes away the one that is there.
func (m *marks) toggle(t int64) (set bool) {
	for i, x := range *m {
		if x == t {
			*m = append((*m)[:i:i], (*m)[i+1:]...)
			return false
		}
	}
	*m = append(*m, t)
	return true
}

// last is the mark that distances are measured from.
func (m marks) last() (int64, bool) {
	if len(m) == 0 {
		return 0, false
	}
	return m[len(m)-1], true
}

// beside is the next mark to the right of t, or to the left of it; from the
// end on again at the beginning.
func (m marks) beside(t int64, dir int) (int64, bool) {
	if len(m) == 0 {
		return 0, false
	}
	all := slices.Sorted(slices.Values(m))
	if dir > 0 {
		for _, x := range all {
			if x > t {
				return x, true
			}
		}
		return all[0], true
	}
	for _, x := range slices.Backward(all) {
		if x < t {
			return x, true
		}
	}
	return all[len(all)-1], true
}
