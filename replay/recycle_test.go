package replay

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"btrace/trace"
)

// TestReusedStateIsLikeNew: of many CTAs that run one after the other, each in
// one of a few ways, the last are found to do what the first did, although
// their state is kept where that of others was.
func TestReusedStateIsLikeNew(t *testing.T) {
	const ways, ctas = 6, 7 * 132
	way := func(cta uint32) uint32 { return (cta + cta/132) % ways } // each comes after each
	src := record(t, ctas, 96, 1, func(k *kernel) {
		k.each(func() { someWay(k, way(k.cta)) })
	})
	for _, hazards := range []bool{false, true} {
		rep, err := Check(context.Background(), src, Options{NoHazards: !hazards, Workers: 2, listed: ctas})
		if err != nil {
			t.Fatal(err)
		}
		found := make([][]string, ctas)
		for _, f := range rep.Findings {
			found[f.CTA] = append(found[f.CTA], fmt.Sprint(f.Rule, f.Barrier, f.Phase, f.Location.Line, f.More, len(f.Threads), len(f.Missing)))
		}
		some := 0
		for cta := range found {
			slices.Sort(found[cta])
			some += len(found[cta])
			first := way(uint32(cta))
			if !slices.Equal(found[cta], found[first]) {
				t.Fatalf("hazards %t: CTA %d has %v, CTA %d %v", hazards, cta, found[cta], first, found[first])
			}
		}
		if some == 0 {
			t.Errorf("hazards %t: nothing is found", hazards)
		}
	}
}

// someWay is what a CTA does: some of it breaks rules, and leaves barriers in
// the middle of a phase.
func someWay(k *kernel, way uint32) {
	count := fieldSet(trace.FieldCount)
	k.sync(5)
	switch way {
	case 0:
		k.all(trace.Op{Kind: trace.KindBarSync, Bar: 3, Aligned: true, Line: 7, Has: fieldSet(trace.FieldAligned)})
		k.all(trace.Op{Kind: trace.KindBarDone, Bar: 3, Line: 7})
	case 1: // an overrun: warp 0 arrives twice
		for range 2 {
			k.do(0, whole, trace.Op{Kind: trace.KindBarArrive, Bar: 3, Count: 96, Line: 10, Has: count})
		}
	case 2: // a wait in which a phase can be lapped
		k.do(0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: 64, Count: 1, Line: 20, Has: count})
		k.sync(21)
		for i := range 4 {
			k.do(1, 1, trace.Op{Kind: trace.KindMbarArrive, Addr: 64, Line: 22})
			k.wait(2, whole, 64, uint8(i&1), 23)
			k.now++ // or the next arrive might be recorded before the way out
		}
	case 3: // an arrive without an initialisation, after which nobody waits
		k.do(1, 3, trace.Op{Kind: trace.KindMbarArrive, Addr: 64, Line: 30})
	case 4: // parts of a warp wait for each other, and one leaves too early
		k.do(2, 0xff, trace.Op{Kind: trace.KindSyncwarp, Mask: whole, Line: 40})
		k.do(2, 0xff, trace.Op{Kind: trace.KindSyncwarpDone, Mask: whole, Line: 41})
	case 5: // a copy whose bytes nobody announces
		k.do(0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: 64, Count: 1, Line: 50, Has: count})
		k.sync(51)
		k.do(1, 1, trace.Op{Kind: trace.KindMbarCopy, Addr: 64, Bytes: 64, Line: 52, Has: fieldSet(trace.FieldBytes)})
		k.do(1, 1, trace.Op{Kind: trace.KindMbarArrive, Addr: 64, Line: 53})
		k.wait(0, 1, 64, 0, 54)
	}
}

// TestFinishedScopes: a scope is over once it was said to be.
func TestFinishedScopes(t *testing.T) {
	f := make(finished)
	for _, n := range []uint32{0, 63, 64, 1 << 31} {
		if f.has(n) {
			t.Errorf("scope %d is over", n)
		}
		if f.add(n); !f.has(n) || f.has(n+1) {
			t.Errorf("scope %d: over %t, the next %t", n, f.has(n), f.has(n+1))
		}
	}
}
