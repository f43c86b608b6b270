package tui

import (
	"cmp"
	"slices"
	"strconv"

	"btrace/replay"
)

// rowID is a row of the timeline: a warp, or a CTA as a whole.
type rowID struct {
	cta, warp uint32
	whole     bool
}

func (r rowID) String() string {
	s := "cta" + strconv.FormatUint(uint64(r.cta), 10)
	if !r.whole {
		s += "/w" + strconv.FormatUint(uint64(r.warp), 10)
	}
	return s
}

func (r rowID) row() replay.Row { return replay.Row{CTA: r.cta, Warp: r.warp} }

// compare orders rows by number: a CTA stands before its warps.
func (r rowID) compare(o rowID) int {
	return cmp.Or(cmp.Compare(r.cta, o.cta), cmp.Compare(r.place(), o.place()))
}

func (r rowID) place() int64 {
	if r.whole {
		return -1
	}
	return int64(r.warp)
}

// unfoldAtMost is how many warps a launch may have for its CTAs to be shown
// unfolded at first.
const unfoldAtMost = 64

// rows is the tree of rows of a launch: which there are, what is folded,
// hidden, pinned, in which order, and the flat list of those that can be seen.
// Everything is linear in the number of rows and happens only when one of
// these changes.
type rows struct {
	all    []replay.Row // by CTA and warp
	ctas   []int        // where in all each CTA begins
	open   map[uint32]bool
	lanes  map[replay.Row]bool // warps that show their lanes
	pinned []rowID             // shown first, in the order in which they were pinned
	hidden map[rowID]bool
	match  func(replay.Row) bool          // nil: all
	weight func(replay.Row) (int64, bool) // rows of more weight come first; nil: by number
	flat   []rowID                        // pinned ones first
	at     map[rowID]int                  // where a row is in flat
	shown  int                            // warps that pass the filter and are not hidden
}

func newRows(all []replay.Row) *rows {
	r := &rows{all: slices.Clone(all), open: map[uint32]bool{}, lanes: map[replay.Row]bool{}, hidden: map[rowID]bool{}}
	slices.SortFunc(r.all, func(a, b replay.Row) int {
		return cmp.Or(cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.Warp, b.Warp))
	})
	r.all = slices.Compact(r.all)
	for i, row := range r.all {
		if i == 0 || row.CTA != r.all[i-1].CTA {
			r.ctas = append(r.ctas, i)
			r.open[row.CTA] = len(r.all) <= unfoldAtMost
		}
	}
	r.flatten()
	return r
}

// passes reports whether a warp is to be shown where its CTA is unfolded.
func (r *rows) passes(row replay.Row) bool {
	return !r.hidden[rowID{cta: row.CTA, warp: row.Warp}] && (r.match == nil || r.match(row))
}

func (r *rows) any(match func(replay.Row) bool) bool { return slices.ContainsFunc(r.all, match) }

// flatten lists the rows that can be seen.
func (r *rows) flatten() {
	r.flat = append(r.flat[:0], r.pinned...)
	r.at = make(map[rowID]int, len(r.flat))
	pinned := map[rowID]bool{}
	for i, id := range r.pinned {
		pinned[id], r.at[id] = true, i
	}
	type cta struct {
		warps  []replay.Row
		weight int64
		known  bool
	}
	var ctas []cta
	r.shown = 0
	for i, from := range r.ctas {
		to := len(r.all)
		if i+1 < len(r.ctas) {
			to = r.ctas[i+1]
		}
		if r.hidden[rowID{cta: r.all[from].CTA, whole: true}] {
			continue
		}
		c := cta{}
		for _, row := range r.all[from:to] {
			if !r.passes(row) {
				continue
			}
			c.warps = append(c.warps, row)
			if r.weight != nil {
				if w, ok := r.weight(row); ok && (!c.known || w > c.weight) {
					c.weight, c.known = w, true
				}
			}
		}
		if len(c.warps) == 0 {
			continue
		}
		r.shown += len(c.warps)
		if r.weight != nil {
			slices.SortStableFunc(c.warps, func(a, b replay.Row) int {
				x, okx := r.weight(a)
				y, oky := r.weight(b)
				return heavier(x, okx, y, oky)
			})
		}
		ctas = append(ctas, c)
	}
	if r.weight != nil {
		slices.SortStableFunc(ctas, func(a, b cta) int { return heavier(a.weight, a.known, b.weight, b.known) })
	}
	add := func(id rowID) {
		if !pinned[id] {
			r.at[id] = len(r.flat)
			r.flat = append(r.flat, id)
		}
	}
	for _, c := range ctas {
		add(rowID{cta: c.warps[0].CTA, whole: true})
		if r.open[c.warps[0].CTA] {
			for _, row := range c.warps {
				add(rowID{cta: row.CTA, warp: row.Warp})
			}
		}
	}
}

// heavier orders by weight, the heaviest first, and what has none last.
func heavier(x int64, okx bool, y int64, oky bool) int {
	switch {
	case okx && oky:
		return cmp.Compare(y, x)
	case okx:
		return -1
	case oky:
		return 1
	}
	return 0
}

// index is the place of a row in flat, or of the one that stands for it.
func (r *rows) index(id rowID) int {
	if i, ok := r.at[id]; ok {
		return i
	}
	if i, ok := r.at[rowID{cta: id.cta, whole: true}]; ok {
		return i
	}
	return 0
}

// visible reports whether a row itself is in the list.
func (r *rows) visible(id rowID) bool {
	_, ok := r.at[id]
	return ok
}

// first is the place of the first row that is not pinned, if there is one.
func (r *rows) first() int { return min(len(r.pinned), len(r.flat)-1) }

// warps are the warps of a row: one, or all of a CTA.
func (r *rows) warps(id rowID) []replay.Row {
	i, found := slices.BinarySearchFunc(r.all, id, func(row replay.Row, id rowID) int {
		if id.whole {
			return cmp.Or(cmp.Compare(row.CTA, id.cta), cmp.Compare(row.Warp, 0))
		}
		return cmp.Or(cmp.Compare(row.CTA, id.cta), cmp.Compare(row.Warp, id.warp))
	})
	if !id.whole {
		if !found {
			return nil
		}
		return r.all[i : i+1]
	}
	j := i
	for j < len(r.all) && r.all[j].CTA == id.cta {
		j++
	}
	return r.all[i:j]
}

// has reports whether the launch has the row.
func (r *rows) has(id rowID) bool { return len(r.warps(id)) > 0 }

// toggle folds or unfolds a row: a CTA its warps, a warp its lanes.
func (r *rows) toggle(id rowID) {
	if id.whole {
		r.open[id.cta] = !r.open[id.cta]
		r.flatten()
		return
	}
	if row := id.row(); r.lanes[row] {
		delete(r.lanes, row)
	} else {
		r.lanes[row] = true
	}
}

// unfold makes a row visible, even one that is hidden or filtered out: who
// goes there wants to see it.
func (r *rows) unfold(id rowID) {
	if !r.has(id) || r.visible(id) {
		return
	}
	cta := rowID{cta: id.cta, whole: true}
	delete(r.hidden, id)
	delete(r.hidden, cta)
	if r.match != nil && !slices.ContainsFunc(r.warps(id), r.match) {
		r.match = nil
	}
	if !id.whole {
		r.open[id.cta] = true
	}
	r.flatten()
}

// toggleAll folds every CTA, or unfolds all if none is open.
func (r *rows) toggleAll() {
	open := false
	for _, o := range r.open {
		open = open || o
	}
	for _, i := range r.ctas {
		r.open[r.all[i].CTA] = !open
	}
	if open {
		clear(r.lanes)
	}
	r.flatten()
}

// keep shows only the warps that match, unfolded where they are few; nil shows
// all.
func (r *rows) keep(match func(replay.Row) bool) {
	r.match = match
	n := 0
	for _, row := range r.all {
		if r.passes(row) {
			n++
		}
	}
	if n <= unfoldAtMost {
		for _, row := range r.all {
			if r.passes(row) {
				r.open[row.CTA] = true
			}
		}
	}
	r.flatten()
}

// order puts rows of more weight first; nil orders them by number.
func (r *rows) order(weight func(replay.Row) (int64, bool)) {
	r.weight = weight
	r.flatten()
}

// pin keeps a row above the others, or lets go of it.
func (r *rows) pin(id rowID) (pinned bool) {
	if i := slices.Index(r.pinned, id); i >= 0 {
		r.pinned = slices.Delete(r.pinned, i, i+1)
	} else {
		r.pinned = append(r.pinned, id)
		pinned = true
	}
	r.flatten()
	return pinned
}

// hide takes a row out of the list.
func (r *rows) hide(id rowID) {
	r.hidden[id] = true
	r.pinned = slices.DeleteFunc(r.pinned, func(p rowID) bool { return p == id })
	r.flatten()
}

// showAll brings back what is hidden or filtered out.
func (r *rows) showAll() {
	clear(r.hidden)
	r.match = nil
	r.flatten()
}

// inherit takes over what a user has made of an earlier tree of the launch.
func (r *rows) inherit(old *rows) {
	r.pinned, r.hidden, r.lanes, r.match, r.weight = old.pinned, old.hidden, old.lanes, old.match, old.weight
	for cta, open := range old.open {
		if _, ok := r.open[cta]; ok {
			r.open[cta] = open
		}
	}
	r.flatten()
}
