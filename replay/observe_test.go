package replay

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"btrace/trace"
)

// tallyObserver counts what it is told.
type tallyObserver struct {
	mu       *sync.Mutex
	phases   *uint64
	waits    *[]WaitSpan
	arrivals *map[BarrierRef]uint64
	over     *[]uint32
}

func newTally() tallyObserver {
	arrivals := map[BarrierRef]uint64{}
	return tallyObserver{new(sync.Mutex), new(uint64), &[]WaitSpan{}, &arrivals, &[]uint32{}}
}

func (o tallyObserver) Arrived(a Arrival) {
	o.mu.Lock()
	defer o.mu.Unlock()
	(*o.arrivals)[a.BarrierRef] += a.Count
}

func (o tallyObserver) Completed(PhaseEnd) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*o.phases++
}

func (o tallyObserver) Waited(w WaitSpan) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*o.waits = append(*o.waits, w)
}

func (o tallyObserver) Over(ctas []uint32, whole bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*o.over = append(*o.over, ctas...)
}

func recordedSample(t *testing.T, name string) *trace.Reader {
	t.Helper()
	r, err := trace.Open(filepath.Join("../sample-traces", name+".zst"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// What is observed agrees with what Check counts, on every sample that has
// nothing wrong in it.
func TestObserveAgreesWithCheck(t *testing.T) {
	for _, name := range []string{
		"tma_pipeline", "cluster_exchange", "psum_completion", "reductions", "split_arrive_wait", "ok_arrive_drop", "emu-prefix-sum",
	} {
		r := recordedSample(t, name)
		rep, err := Check(context.Background(), r, Options{NoHazards: true})
		if err != nil {
			t.Fatal(err)
		}
		o := newTally()
		if err := Observe(context.Background(), r, 0, Options{}, func() Observer { return o }); err != nil {
			t.Fatal(err)
		}
		if *o.phases != rep.Counts.Phases {
			t.Errorf("%s: observed %d phases, Check counts %d", name, *o.phases, rep.Counts.Phases)
		}
		came, waited := 0, 0 // lanes out of waits
		for b, err := range r.Blocks(context.Background(), trace.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Len() {
				switch b.Ops[b.Op[i]].Kind {
				case trace.KindBarDone, trace.KindMbarDone, trace.KindClusterDone, trace.KindGroupDone, trace.KindSyncwarpDone:
					came += popcount(b.Ops[b.Op[i]].Lanes)
				}
			}
		}
		for _, w := range *o.waits {
			waited += popcount(w.Who.Mask)
			if !w.Ended || !w.Completed || w.To < w.From {
				t.Errorf("%s: the wait %+v did not end", name, w)
			}
		}
		if waited != came {
			t.Errorf("%s: observed waits of %d lanes, %d are recorded", name, waited, came)
		}
		slices.Sort(*o.over)
		if n := uint64(len(slices.Compact(*o.over))); n != rep.Launches[0].Launch.CTAs() || n != uint64(len(*o.over)) {
			t.Errorf("%s: the CTAs %v are over", name, *o.over)
		}
	}
}

// The waits that a hang ends with have no end, and are as many as the warps
// that hang.
func TestObserveTellsOfWaitsWithoutEnd(t *testing.T) {
	o := newTally()
	if err := Observe(context.Background(), recordedSample(t, "hang_cross"), 0, Options{}, func() Observer { return o }); err != nil {
		t.Fatal(err)
	}
	if len(*o.waits) != 4 || *o.phases != 0 {
		t.Fatalf("waits %+v, %d phases", *o.waits, *o.phases)
	}
	for _, w := range *o.waits {
		if w.Ended || w.Completed {
			t.Errorf("the wait %+v has ended", w)
		}
	}
	bar := func(n uint64) uint64 {
		return (*o.arrivals)[BarrierRef{Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: n}}]
	}
	if bar(1) != 64 || bar(2) != 64 {
		t.Errorf("arrivals %v", *o.arrivals)
	}
}

// A phase that waits for bytes is ended by them, one of arrivals alone is not.
func TestObserveKnowsWhatEndedAPhase(t *testing.T) {
	var full, empty int
	src := recordedSample(t, "tma_pipeline")
	err := Observe(context.Background(), src, 0, Options{Workers: 1}, func() Observer {
		return endObserver{newTally(), func(e PhaseEnd) {
			if e.Bytes && e.Barrier.ID < 0x1420 {
				full++
			}
			if !e.Bytes && e.Barrier.ID >= 0x1420 {
				empty++
			}
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if full != 128 || empty != 128 {
		t.Errorf("%d phases of the full barriers end by bytes, %d of the empty ones by arrivals; want 128 of each", full, empty)
	}
}

type endObserver struct {
	tallyObserver
	end func(PhaseEnd)
}

func (o endObserver) Completed(e PhaseEnd) { o.end(e) }

func TestObserveRefuses(t *testing.T) {
	if err := Observe(context.Background(), recordedSample(t, "hang_cross"), 7, Options{}, func() Observer { return newTally() }); err == nil {
		t.Error("a launch that is not there was observed")
	}
}
