package tui

import (
	"cmp"
	"slices"
	"sort"
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

// compare orders rows as they are shown: a CTA stands before its warps.
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

// rows is the tree of rows of a launch: which there are, what is folded, and
// the flat list of those that can be seen. Everything is linear in the number
// of rows and happens only when something is folded.
type rows struct {
	all   []replay.Row // by CTA and warp
	ctas  []int        // where in all each CTA begins
	open  map[uint32]bool
	lanes map[replay.Row]bool // warps that show their lanes
	flat  []rowID
}

func newRows(all []replay.Row) *rows {
	r := &rows{all: slices.Clone(all), open: map[uint32]bool{}, lanes: map[replay.Row]bool{}}
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

func (r *rows) flatten() {
	r.flat = r.flat[:0]
	for i, row := range r.all {
		if i == 0 || row.CTA != r.all[i-1].CTA {
			r.flat = append(r.flat, rowID{cta: row.CTA, whole: true})
		}
		if r.open[row.CTA] {
			r.flat = append(r.flat, rowID{cta: row.CTA, warp: row.Warp})
		}
	}
}

// index is the place of a row in flat, or of the one that stands for it.
func (r *rows) index(id rowID) int {
	if !r.open[id.cta] {
		id = rowID{cta: id.cta, whole: true}
	}
	i := sort.Search(len(r.flat), func(i int) bool { return r.flat[i].compare(id) >= 0 })
	return max(min(i, len(r.flat)-1), 0)
}

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
	row := replay.Row{CTA: id.cta, Warp: id.warp}
	if r.lanes[row] {
		delete(r.lanes, row)
	} else {
		r.lanes[row] = true
	}
}

// unfold makes a row visible.
func (r *rows) unfold(id rowID) {
	if !id.whole && !r.open[id.cta] && r.has(id) {
		r.open[id.cta] = true
		r.flatten()
	}
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
