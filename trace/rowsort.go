package trace

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	rowBits   = 16 // a row's index in a block: MaxBlockRows is 1<<16
	digitBits = 11 // of the radix sort: the counts of one digit stay in L1
)

// sort fills perm with the rows by time. Rows of one time stay in warp order,
// which makes that the stored order. span is the latest of the times in keys.
func (d *blockDecoder) sort(sorted bool, span uint64) {
	n := len(d.keys)
	d.perm = resize(d.perm, n)
	if sorted || bits.Len64(span) > 64-rowBits {
		for i := range d.perm {
			d.perm[i] = uint32(i)
		}
		if !sorted {
			slices.SortStableFunc(d.perm, func(a, b uint32) int { return cmp.Compare(d.keys[a], d.keys[b]) })
		}
		return
	}
	d.values, d.swap = resize(d.values, n), resize(d.swap, n)
	for i, t := range d.keys {
		d.values[i] = t<<rowBits | uint64(i)
	}
	for i, v := range radixSort(d.values, d.swap, rowBits, bits.Len64(span)) {
		d.perm[i] = uint32(v & (1<<rowBits - 1))
	}
}

// radixSort sorts numbers by the width bits from bit low on, stably, and
// returns the one of the two slices that they are in.
func radixSort(from, to []uint64, low, width int) []uint64 {
	if width == 0 {
		return from
	}
	passes := (width + digitBits - 1) / digitBits
	digit := (width + passes - 1) / passes
	var counts [1 << digitBits]uint32
	for p := range passes {
		mask := uint64(1)<<digit - 1
		radixPass(from, to, counts[:mask+1], uint(low+p*digit), mask)
		from, to = to, from
	}
	return from
}

// radixPass moves from to to, sorted by one digit and otherwise unchanged.
func radixPass(from, to []uint64, counts []uint32, shift uint, mask uint64) {
	clear(counts)
	for _, v := range from {
		counts[v>>(shift&63)&mask]++
	}
	at := uint32(0)
	for i, n := range counts {
		counts[i] = at
		at += n
	}
	for _, v := range from {
		c := &counts[v>>(shift&63)&mask]
		to[*c] = v
		*c++
	}
}

const windowBits = 17 // a row's index in a writer's window: two blocks

// rowSorter puts the rows that a writer has buffered into stored order.
type rowSorter struct {
	keys, swap []uint64
	rows       []row
}

// sort orders rows by key; rows of one key stay as they are.
func (s *rowSorter) sort(rows []row) {
	lo, hi := rows[0].time, rows[0].time
	for i := range rows {
		lo, hi = min(lo, rows[i].time), max(hi, rows[i].time)
	}
	width := bits.Len64(uint64(hi) - uint64(lo))
	if width > 64-windowBits || len(rows) > 1<<windowBits {
		slices.SortStableFunc(rows, func(a, b row) int { return a.key().compare(b.key()) })
		return
	}
	s.keys, s.swap = resize(s.keys, len(rows)), resize(s.swap, len(rows))
	for i := range rows {
		s.keys[i] = (uint64(rows[i].time)-uint64(lo))<<windowBits | uint64(i)
	}
	s.rows = append(s.rows[:0], rows...)
	for i, v := range radixSort(s.keys, s.swap, windowBits, width) {
		rows[i] = s.rows[v&(1<<windowBits-1)]
	}
	for i := 0; i < len(rows); {
		end := i + 1
		for end < len(rows) && rows[end].time == rows[i].time {
			end++
		}
		slices.SortStableFunc(rows[i:end], func(a, b row) int { return a.key().compare(b.key()) })
		i = end
	}
}
