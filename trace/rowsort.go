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
	buckets := min(max(bits.Len(uint(len(keys)))-2, 1), maxBucketBits)
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
	rows   []row
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
	s.keys = resize(s.keys, len(rows))
	for i := range rows {
		s.keys[i] = (uint64(rows[i].time)-uint64(lo))<<windowBits | uint64(i)
	}
	s.rows = append(s.rows[:0], rows...)
	for i, v := range s.sorter.sort(s.keys, width+windowBits, windowBits) {
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
