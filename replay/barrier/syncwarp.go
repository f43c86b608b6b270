package barrier

// Meeting is one syncwarp under way: the lanes of Mask that have come.
type Meeting struct {
	Mask, Lanes uint32
}

// Warp is the syncwarp state of one warp (bar.warp.sync). Meetings with
// different masks are apart.
type Warp struct {
	Live     uint32
	Phase    uint64 // meetings completed
	Meetings []Meeting
}

// NewWarp returns the state of a warp with these lanes.
func NewWarp(lanes uint32) Warp { return Warp{Live: lanes} }

// Sync makes lanes meet the non-exited lanes of mask.
func (w *Warp) Sync(lanes, mask uint32, eff *Effect) {
	if lanes&^mask != 0 {
		eff.violate(SyncwarpExcludesCaller, w.Phase, int64(lanes), int64(mask))
		eff.MayTrap = true
	}
	i := 0
	for i < len(w.Meetings) && w.Meetings[i].Mask != mask {
		i++
	}
	if i == len(w.Meetings) {
		w.Meetings = append(w.Meetings, Meeting{Mask: mask})
	}
	w.Meetings[i].Lanes |= lanes
	w.settle(i, eff)
}

// Exit takes lanes out: exited lanes are not waited for.
func (w *Warp) Exit(lanes uint32, eff *Effect) {
	w.Live &^= lanes
	for i := len(w.Meetings) - 1; i >= 0; i-- {
		w.settle(i, eff)
	}
}

func (w *Warp) settle(i int, eff *Effect) {
	if m := w.Meetings[i]; m.Mask&w.Live&^m.Lanes == 0 {
		w.end(i, eff)
	}
}

// End ends the meetings that lanes are in although they are not complete,
// for a recording that says they were.
func (w *Warp) End(lanes uint32, eff *Effect) {
	for i := len(w.Meetings) - 1; i >= 0; i-- {
		if w.Meetings[i].Lanes&lanes != 0 {
			w.end(i, eff)
		}
	}
}

func (w *Warp) end(i int, eff *Effect) {
	m := w.Meetings[i]
	w.Meetings = append(w.Meetings[:i], w.Meetings[i+1:]...)
	eff.Released = append(eff.Released, Release{Lanes: m.Lanes, Phase: w.Phase})
	eff.Completed++
	w.Phase++
}
