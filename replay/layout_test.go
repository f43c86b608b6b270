package replay

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"btrace/trace"
)

// CTAs of a cluster of more than one dimension do not follow each other in
// the grid: their block indices do, in each dimension (CUDA programming
// guide, "Thread Block Clusters").
func TestClusterOfTwoDimensions(t *testing.T) {
	y := newLayout(&trace.Launch{Grid: trace.Dim{4, 4, 1}, Cluster: trace.Dim{2, 2, 1}})
	for scope, want := range [][]uint32{{0, 1, 4, 5}, {2, 3, 6, 7}, {8, 9, 12, 13}, {10, 11, 14, 15}} {
		if got := y.members(uint32(scope)); !slices.Equal(got, want) {
			t.Errorf("cluster %d has CTAs %v, want %v", scope, got, want)
		}
	}
}

// Every CTA is in exactly the scope whose members name it.
func TestLayoutIsAPartition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dim := func(name string, most uint32) (d trace.Dim) {
			for i := range d {
				d[i] = rapid.Uint32Range(0, most).Draw(rt, name)
			}
			return d
		}
		l := trace.Launch{Grid: dim("grid", 6), Cluster: dim("cluster", 3)}
		y := newLayout(&l)
		seen := map[uint32]bool{}
		for scope := range uint32(y.scopes()) {
			for _, cta := range y.members(scope) {
				if y.scope(cta) != scope || seen[cta] || uint64(cta) >= y.ctas {
					rt.Fatalf("CTA %d is a member of scope %d, and says %d", cta, scope, y.scope(cta))
				}
				seen[cta] = true
			}
		}
		if uint64(len(seen)) != y.ctas {
			rt.Fatalf("%d of %d CTAs are in a scope", len(seen), y.ctas)
		}
	})
}
