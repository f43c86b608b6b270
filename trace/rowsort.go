package trace

import (
	"math/bits"
	"slices"
)

const (
	rowBits = 16                  // a row's index in a block: MaxBlockRows is 1<<16
	maxSpan = 1<<(64-rowBits) - 1 // of a block's times, so that both fit into a key
)

// keySorter sorts distinct numbers that are spread evenly, as times are: it
// counts them by their leading bits, and puts each where its bucket is.
type keySorter struct {
	counts [1 << maxBucketBits]uint32
	swap   []uint64
}

// maxBucketBits is how many of a number's leading bits choose its bucket, at
// most. So many buckets leave a few numbers of a block in each, and their
// counts in the cache.
const maxBucketBits = 14

// sort sorts keys below 1<<width, whose lowest bits, as many as index says,
// are their places. It returns them in a slice that is valid until the next
// call.
func (s *keySorter) sort(keys []uint64, width, index int) []uint64 {
	s.swap = resize(s.swap, len(keys))
	s.sortInto(s.swap, keys, 0, width, index)
	return s.swap
}

// sortInto sorts keys of which none is below least, whose place is 0, or
// 1<<width or more above it.
func (s *keySorter) sortInto(to, keys []uint64, least uint64, width, index int) {
	buckets := min(bits.Len(uint(len(keys))), maxBucketBits)
	shift := max(width-buckets, 0) & 63
	counts := s.counts[:1<<buckets]
	clear(counts)
	for _, v := range keys {
		counts[(v-least)>>shift&uint64(len(counts)-1)]++
	}
	at := uint32(0)
	for i, n := range counts {
		counts[i] = at
		at += n
	}
	to = to[:len(keys)]
	for _, v := range keys {
		c := &counts[(v-least)>>shift&uint64(len(counts)-1)]
		to[*c] = v
		*c++
	}
	if shift <= index {
		return // those of a bucket differ in their places only, and came in order
	}
	// What is left to do is within the buckets, unless they are crowded.
	moves := 16 * len(to)
	for i := 1; i < len(to); i++ {
		v := to[i]
		j := i
		for ; j > 0 && to[j-1] > v; j-- {
			to[j] = to[j-1]
		}
		to[j] = v
		if moves -= i - j; moves < 0 {
			slices.Sort(to)
			break
		}
	}
}

const windowBits = 17 // a row's index in a writer's window: two blocks

// rowSorter puts the rows that a writer has buffered into stored order.
type rowSorter struct {
	sorter keySorter
	keys   []uint64
	order  []uint32
	rows   rowTable
}

// sort orders the rows of a whole table by key; rows of one key stay as they
// are.
func (s *rowSorter) sort(t *rowTable) {
	rows := t.rows
	lo, hi := rows[0].time, rows[0].time
	for i := range rows {
		lo, hi = min(lo, rows[i].time), max(hi, rows[i].time)
	}
	s.order = resize(s.order, len(rows))
	byKey := func(a, b uint32) int { return rows[a].key().compare(rows[b].key()) }
	width := bits.Len64(uint64(hi) - uint64(lo))
	if width > 64-windowBits || len(rows) > 1<<windowBits {
		for i := range s.order {
			s.order[i] = uint32(i)
		}
		slices.SortStableFunc(s.order, byKey)
	} else {
		s.keys = resize(s.keys, len(rows))
		for i := range rows {
			s.keys[i] = (uint64(rows[i].time)-uint64(lo))<<windowBits | uint64(i)
		}
		for i, v := range s.sorter.sort(s.keys, width+windowBits, windowBits) {
			s.order[i] = uint32(v & (1<<windowBits - 1))
		}
		for i := 0; i < len(rows); {
			end := i + 1
			for end < len(rows) && rows[s.order[end]].time == rows[s.order[i]].time {
				end++
			}
			if end-i > 1 {
				slices.SortStableFunc(s.order[i:end], byKey)
			}
			i = end
		}
	}
	old := &s.rows
	old.rows = reorder(t.rows, old.rows, s.order)
	old.phase, old.clk, old.token = reorder(t.phase, old.phase, s.order), reorder(t.clk, old.clk, s.order), reorder(t.token, old.token, s.order)
	old.pred, old.value, old.extra = reorder(t.pred, old.pred, s.order), reorder(t.value, old.value, s.order), reorder(t.extra, old.extra, s.order)
}

// reorder puts the values of a column, if there are any, into that order. It
// returns the room that it used.
func reorder[T any](col, room []T, order []uint32) []T {
	if len(col) == 0 {
		return room
	}
	room = append(room[:0], col...)
	for i, k := range order {
		col[i] = room[k]
	}
	return room
}
