package stats

import (
	"math"
	"math/bits"
)

// Distribution is how a number of durations are spread. Count, Total and Max
// are exact; a quantile is at most 1.6 % beside the exact one.
type Distribution struct {
	Count uint64
	Total int64 // ns; the largest int64 where the sum is larger
	Max   int64 // ns

	// buckets counts durations: those below 64 ns one by one, larger ones in
	// 32 buckets for each power of two.
	buckets []uint64
}

// subBits is the logarithm of the buckets in a power of two.
const subBits = 5

// bucket is the index of a duration's bucket.
func bucket(ns int64) int {
	v := uint64(ns)
	if v < 2<<subBits {
		return int(v)
	}
	shift := bits.Len64(v) - subBits - 1
	return shift<<subBits + int(v>>shift)
}

// bounds is the first and the last duration of a bucket.
func bounds(i int) (first, last int64) {
	if i < 2<<subBits {
		return int64(i), int64(i)
	}
	shift := i>>subBits - 1
	first = int64(i-shift<<subBits) << shift
	return first, first + (1<<shift - 1)
}

// add counts a duration. One below zero counts as zero.
func (d *Distribution) add(ns int64) {
	ns = max(ns, 0)
	d.Count++
	d.Total = sum(d.Total, ns)
	d.Max = max(d.Max, ns)
	i := bucket(ns)
	for len(d.buckets) <= i {
		d.buckets = append(d.buckets, 0)
	}
	d.buckets[i]++
}

// merge adds the durations of another distribution.
func (d *Distribution) merge(o *Distribution) {
	d.Count += o.Count
	d.Total = sum(d.Total, o.Total)
	d.Max = max(d.Max, o.Max)
	for len(d.buckets) < len(o.buckets) {
		d.buckets = append(d.buckets, 0)
	}
	for i, n := range o.buckets {
		d.buckets[i] += n
	}
}

// Quantile is the duration that a share q (0 to 1) of all are not above; 0
// where there are none.
func (d *Distribution) Quantile(q float64) int64 {
	if d.Count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(d.Count)))
	rank = min(max(rank, 1), d.Count)
	for i, n := range d.buckets {
		if n >= rank {
			first, last := bounds(i)
			return min(first+(last-first)/2, d.Max)
		}
		rank -= n
	}
	return d.Max
}

// sum adds durations that are not below zero.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
