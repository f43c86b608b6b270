package replay

// tally counts something for lanes of several warps.
type tally struct {
	list []tallied
	next int // where the next is looked for first: warps come in turns
}

type tallied struct {
	Lanes
	n int64
}

// emptied is an empty tally in the memory of one.
func (t *tally) emptied() tally { return tally{list: t.list[:0]} }

// find is the entry of just these lanes; nil if there is none.
func (t *tally) find(who *Lanes) *tallied {
	if t.next >= len(t.list) {
		t.next = 0
	}
	for i := t.next; i < len(t.list); i++ {
		if e := &t.list[i]; e.Lanes == *who {
			t.next = i + 1
			return e
		}
	}
	for i := range t.list[:t.next] {
		if e := &t.list[i]; e.Lanes == *who {
			t.next = i + 1
			return e
		}
	}
	return nil
}

// add adds n for each of the lanes.
func (t *tally) add(who Lanes, n int64) {
	if e := t.find(&who); e != nil { // as a rule it is there
		e.n += n
		return
	}
	t.each(who, n, func(e *tallied) { e.n += n })
}

// set sets the value of each of the lanes.
func (t *tally) set(who Lanes, n int64) {
	if e := t.find(&who); e != nil { // as a rule it is there
		e.n = n
		return
	}
	t.each(who, n, func(e *tallied) { e.n = n })
}

// each changes the entries of the lanes, and makes one of n for those that
// have none.
func (t *tally) each(who Lanes, n int64, change func(e *tallied)) {
	left := who.Mask
	for i := 0; i < len(t.list) && left != 0; i++ {
		if e := &t.list[i]; e.Warp == who.Warp && e.CTA == who.CTA && e.Mask&left != 0 {
			t.split(i, left)
			left &^= t.list[i].Mask
			change(&t.list[i])
		}
	}
	if left != 0 {
		t.list = append(t.list, tallied{Lanes{CTA: who.CTA, Warp: who.Warp, Mask: left}, n})
	}
}

// split gives the lanes of an entry that are not among these one of their own.
func (t *tally) split(i int, lanes uint32) {
	if e := t.list[i]; e.Mask&^lanes != 0 {
		t.list[i].Mask &= lanes
		e.Mask &^= lanes
		t.list = append(t.list, e)
	}
}

// of is the value of a lane, and whether it has one.
func (t *tally) of(cta, warp, lane uint32) (int64, bool) {
	for i := range t.list {
		if e := &t.list[i]; e.CTA == cta && e.Warp == warp && e.Mask&lane != 0 {
			return e.n, true
		}
	}
	return 0, false
}

// laneSet collects lanes of several warps.
type laneSet []Lanes

func (l *laneSet) add(who Lanes) {
	for i := range *l {
		if e := &(*l)[i]; e.CTA == who.CTA && e.Warp == who.Warp {
			e.Mask |= who.Mask
			return
		}
	}
	*l = append(*l, who)
}

func (l laneSet) mask(cta, warp uint32) uint32 {
	for _, e := range l {
		if e.CTA == cta && e.Warp == warp {
			return e.Mask
		}
	}
	return 0
}
