package trace

import (
	"slices"
)

// filter is a Query made ready.
type filter struct {
	q         Query
	all       bool // no row is filtered out
	hasTo     bool
	hasFrom   bool
	ctas      []uint32 // sorted
	warps     []uint32 // sorted
	warpBits  uint64
	kinds     [NumKinds]bool
	names     [2][]uint64 // hashes: of a block, one of each non-empty list
	noBarrier bool        // rows on no barrier are asked for
	keep      []uint32    // rows that match
	ops       []opMatch
}

type opMatch uint8

const (
	matchNone opMatch = iota
	matchAll
	matchWarp // if the row's warp is a barrier that is asked for
)

func newFilter(q Query) *filter {
	f := &filter{q: q, hasTo: q.To != 0, hasFrom: q.From != 0}
	f.ctas, f.warps = slices.Sorted(slices.Values(q.CTAs)), slices.Sorted(slices.Values(q.Warps))
	for _, w := range q.Warps {
		f.warpBits |= warpBit(w)
	}
	for _, k := range q.Kinds {
		if int(k) < NumKinds {
			f.kinds[k] = true
			f.names[0] = append(f.names[0], nameHash(kinds[k].Name))
		}
	}
	for _, b := range q.Barriers {
		f.names[1] = append(f.names[1], b.hash())
		f.noBarrier = f.noBarrier || b.Kind == BarrierNone
	}
	f.all = !f.hasTo && !f.hasFrom && len(q.CTAs)+len(q.Warps)+len(q.Kinds)+len(q.Barriers) == 0
	return f
}

// mayMatch reports whether a block can have rows that match.
func (f *filter) mayMatch(h *head) bool {
	s := &h.Events
	if f.hasFrom && s.Last.Time < f.q.From || f.hasTo && s.First.Time >= f.q.To {
		return false
	}
	if len(f.q.CTAs) > 0 && !slices.ContainsFunc(f.ctas, s.mayHaveCTA) {
		return false
	}
	if len(f.q.Warps) > 0 && f.warpBits&s.Warps == 0 {
		return false
	}
	// An operation that is unknown here was perhaps not to the writer.
	return (len(f.q.Kinds) == 0 || f.kinds[KindUnknown] || slices.ContainsFunc(f.names[0], s.mayHaveName)) &&
		(len(f.q.Barriers) == 0 || f.noBarrier || slices.ContainsFunc(f.names[1], s.mayHaveName))
}

// apply removes the rows that do not match.
func (f *filter) apply(b *Block) {
	if f.all {
		return
	}
	f.matchOps(b)
	lo, hi := 0, b.Len()
	if f.hasFrom {
		lo, _ = slices.BinarySearch(b.Time, f.q.From)
	}
	if f.hasTo {
		hi, _ = slices.BinarySearch(b.Time, f.q.To)
	}
	f.keep = f.keep[:0]
	for i := lo; i < hi; i++ {
		if f.matches(b, i) {
			f.keep = append(f.keep, uint32(i))
		}
	}
	if len(f.keep) == b.Len() {
		return
	}
	if len(f.keep) > 0 {
		b.First += uint64(f.keep[0])
	}
	b.Time, b.CTA, b.Warp = pick(b.Time, f.keep), pick(b.CTA, f.keep), pick(b.Warp, f.keep)
	b.Seq, b.Op = pick(b.Seq, f.keep), pick(b.Op, f.keep)
	b.Pred, b.Result = pick(b.Pred, f.keep), pick(b.Result, f.keep)
	b.Token, b.Phase = pick(b.Token, f.keep), pick(b.Phase, f.keep)
	b.Clk, b.Extra = pick(b.Clk, f.keep), pick(b.Extra, f.keep)
}

func pick[T any](col []T, keep []uint32) []T {
	if col == nil {
		return nil
	}
	for i, k := range keep {
		col[i] = col[k]
	}
	return col[:len(keep)]
}

// matchOps decides for each operation what its rows are worth.
func (f *filter) matchOps(b *Block) {
	f.ops = resize(f.ops, len(b.Ops))
	for i := range b.Ops {
		f.ops[i] = f.matchOp(&b.Ops[i])
	}
}

func (f *filter) matchOp(o *Op) opMatch {
	if len(f.q.Kinds) > 0 && !f.kinds[o.Kind] {
		return matchNone
	}
	if len(f.q.Barriers) == 0 {
		return matchAll
	}
	is := o.Barrier(0)
	switch {
	case is.Kind == BarrierWarp:
		return matchWarp
	case slices.Contains(f.q.Barriers, is):
		return matchAll
	}
	return matchNone
}

func (f *filter) matches(b *Block, i int) bool {
	switch f.ops[b.Op[i]] {
	case matchNone:
		return false
	case matchWarp:
		if !slices.Contains(f.q.Barriers, Barrier{Kind: BarrierWarp, ID: uint64(b.Warp[i])}) {
			return false
		}
	}
	if len(f.q.CTAs) > 0 {
		if _, ok := slices.BinarySearch(f.ctas, b.CTA[i]); !ok {
			return false
		}
	}
	if len(f.q.Warps) > 0 {
		if _, ok := slices.BinarySearch(f.warps, b.Warp[i]); !ok {
			return false
		}
	}
	return true
}
