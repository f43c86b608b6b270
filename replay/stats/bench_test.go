package stats

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"btrace/trace"
)

// pipeline is a launch of so many CTAs in which a producer feeds four
// consumers through a ring of four stages, with jitter.
func pipeline(t testing.TB, ctas, rounds uint32) *trace.Reader {
	const stages, consumers = 4, 4
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := trace.Launch{
		Kernel: "pipeline", Program: "pipeline.cu", Arch: "sm_90",
		Grid: trace.Dim{ctas, 1, 1}, Block: trace.Dim{32 * (consumers + 1), 1, 1}, Cluster: trace.Dim{1, 1, 1},
	}
	if err := w.Begin(l); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seq := make([][consumers + 1]uint32, ctas)
	var batch []trace.Event
	now := int64(0)
	add := func(cta, warp uint32, lanes uint32, op trace.Op) {
		op.Lanes = lanes
		op.Has = op.Has.With(trace.FieldLine)
		now += rng.Int64N(3)
		batch = append(batch, trace.Event{Time: now, CTA: cta, Warp: warp, Seq: seq[cta][warp], Op: op})
		seq[cta][warp]++
	}
	each := func(f func(cta uint32)) {
		for c := range ctas {
			f(c)
		}
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
		batch = batch[:0]
	}
	addr := trace.Fields(0).With(trace.FieldAddr)
	wait := addr.With(trace.FieldParity)
	each(func(c uint32) {
		for s := range uint64(stages) {
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: 1024 + 8*s, Count: 1, Line: 2, Has: addr.With(trace.FieldCount)})
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: 1056 + 8*s, Count: consumers, Line: 3, Has: addr.With(trace.FieldCount)})
		}
	})
	for i := range rounds {
		s, p := uint64(i%stages), uint8(i/stages&1)
		each(func(c uint32) {
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarWait, Addr: 1056 + 8*s, Parity: p ^ 1, Line: 10, Has: wait})
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarDone, Addr: 1056 + 8*s, Parity: p ^ 1, Line: 10, Has: wait})
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarArriveExpectTx, Addr: 1024 + 8*s, Bytes: 1024, Line: 11, Has: addr.With(trace.FieldBytes)})
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarCopy, Addr: 1024 + 8*s, Bytes: 1024, Line: 12, Has: addr.With(trace.FieldBytes)})
			for wp := range uint32(consumers) {
				add(c, wp+1, ^uint32(0), trace.Op{Kind: trace.KindMbarWait, Addr: 1024 + 8*s, Parity: p, Line: 20, Has: wait})
			}
			for wp := range uint32(consumers) {
				add(c, wp+1, ^uint32(0), trace.Op{Kind: trace.KindMbarDone, Addr: 1024 + 8*s, Parity: p, Line: 20, Has: wait})
			}
			for wp := range uint32(consumers) {
				add(c, wp+1, 1, trace.Op{Kind: trace.KindMbarArrive, Addr: 1056 + 8*s, Count: 1, Line: 21, Has: addr.With(trace.FieldCount)})
			}
		})
	}
	if err := w.End(0, trace.OutcomeCompleted, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// BenchmarkCollect counts pipelines of a quarter of a million, and of a million
// warp events, on one core and on two.
func BenchmarkCollect(b *testing.B) {
	for _, rounds := range []uint32{125, 500} {
		src := pipeline(b, 132, rounds)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("rounds=%d/workers=%d", rounds, workers), func(b *testing.B) {
				b.ReportAllocs()
				var events uint64
				for b.Loop() {
					rep, err := Collect(context.Background(), src, Options{Workers: workers})
					if err != nil || rep.Launches[0].Waits.Open != 0 {
						b.Fatalf("%v, %v", rep, err)
					}
					events += src.Info().Rows
				}
				b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			})
		}
	}
}
