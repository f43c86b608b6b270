package replay

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"btrace/trace"
)

// kernel writes the events of a launch as a recorder sees them: CTA by CTA in
// steps, with jitter.
type kernel struct {
	t      testing.TB
	w      *trace.Writer
	launch trace.Launch
	kinds  []trace.KindSpec
	rng    *rand.Rand
	now    int64
	seq    [][]uint32 // by CTA and warp
	first  uint32     // CTA of those that run together
	last   uint32     // and the one after them
	cta    uint32     // whose turn it is
	batch  []trace.Event
}

// record has run write the events of CTAs that run together, between the enter
// and the exit of their warps, until all CTAs of the launch have run.
func record(t testing.TB, ctas, threads, cluster uint32, run func(k *kernel)) *trace.Reader {
	var buf bytes.Buffer
	recordTo(t, &buf, ctas, threads, cluster, run)
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recordTo(t testing.TB, to io.Writer, ctas, threads, cluster uint32, run func(k *kernel)) {
	w, err := trace.NewWriter(to, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{t: t, w: w, kinds: trace.Kinds(), rng: rand.New(rand.NewPCG(1, 2)), launch: trace.Launch{
		Kernel: "kernel", Program: "kernel.cu", Arch: "sm_90",
		Grid: trace.Dim{ctas, 1, 1}, Block: trace.Dim{threads, 1, 1}, Cluster: trace.Dim{cluster, 1, 1},
	}}
	if err := w.Begin(k.launch); err != nil {
		t.Fatal(err)
	}
	for range ctas {
		k.seq = append(k.seq, make([]uint32, threads/32))
	}
	const together = 132
	for k.last < ctas {
		k.first, k.last = k.last, min(k.last+together/cluster*cluster, ctas)
		k.each(func() { k.all(trace.Op{Kind: trace.KindEnter, Line: 1}) })
		run(k)
		k.each(func() { k.all(trace.Op{Kind: trace.KindExit, Line: 90}) })
	}
	if err := w.End(0, trace.OutcomeCompleted, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// each has every CTA that runs do a step.
func (k *kernel) each(step func()) {
	for k.cta = k.first; k.cta < k.last; k.cta++ {
		step()
	}
	if err := k.w.Write(k.batch); err != nil {
		k.t.Fatal(err)
	}
	k.batch = k.batch[:0]
}

// do is an operation by lanes of a warp of the CTA whose turn it is.
func (k *kernel) do(warp, lanes uint32, op trace.Op) {
	op.Lanes = lanes
	op.Has = op.Has.With(trace.FieldLine).With(k.kinds[op.Kind].Required...)
	k.now += k.rng.Int64N(3)
	k.batch = append(k.batch, trace.Event{Time: k.now, CTA: k.cta, Warp: warp, Seq: k.seq[k.cta][warp], Op: op})
	k.seq[k.cta][warp]++
}

// all is an operation by all warps.
func (k *kernel) all(op trace.Op) {
	for w := range k.launch.Block[0] / 32 {
		k.do(w, whole, op)
	}
}

// sync is a __syncthreads.
func (k *kernel) sync(line uint32) {
	k.all(trace.Op{Kind: trace.KindBarSync, Aligned: true, Line: line, Has: fieldSet(trace.FieldAligned)})
	k.all(trace.Op{Kind: trace.KindBarDone, Line: line})
}

// wait is a wait for the parity of a phase.
func (k *kernel) wait(warp, lanes uint32, addr uint64, parity uint8, line uint32) {
	k.do(warp, lanes, trace.Op{Kind: trace.KindMbarWait, Addr: addr, Parity: parity, Line: line, Has: fieldSet(trace.FieldParity)})
	k.do(warp, lanes, trace.Op{Kind: trace.KindMbarDone, Addr: addr, Parity: parity, Line: line, Has: fieldSet(trace.FieldParity)})
}

// whole is all lanes of a warp.
const whole = ^uint32(0)

// pipeline is a launch of so many CTAs in which an elected lane of a producer
// warp feeds four consumer warps through a ring of four stages. A consumer's
// first lane frees the stage, after it has met the others or, unless they
// meet, on its own.
func pipeline(t testing.TB, ctas, rounds uint32, meet bool) *trace.Reader {
	return record(t, ctas, pipelineThreads, 1, pipelineRun(rounds, meet))
}

const pipelineThreads = 5 * 32

func pipelineRun(rounds uint32, meet bool) func(k *kernel) {
	const stages, consumers = 4, 4
	full := func(i uint32) uint64 { return 1024 + 8*uint64(i%stages) }
	empty := func(i uint32) uint64 { return 1056 + 8*uint64(i%stages) }
	count := fieldSet(trace.FieldCount)
	return func(k *kernel) {
		k.each(func() {
			for i := range uint32(stages) {
				k.do(0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: full(i), Count: 1, Line: 2, Has: count})
				k.do(0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: empty(i), Count: consumers, Line: 3, Has: count})
			}
			k.sync(4)
		})
		for i := range rounds {
			parity := uint8(i / stages & 1)
			k.each(func() {
				k.wait(0, 1, empty(i), parity^1, 10)
				k.do(0, 1, trace.Op{Kind: trace.KindMbarArriveExpectTx, Addr: full(i), Bytes: 1024, Line: 11, Has: fieldSet(trace.FieldBytes)})
				k.do(0, 1, trace.Op{Kind: trace.KindMbarCopy, Addr: full(i), Bytes: 1024, Line: 12, Has: fieldSet(trace.FieldBytes)})
				for wp := range uint32(consumers) {
					k.do(wp+1, whole, trace.Op{Kind: trace.KindMbarWait, Addr: full(i), Parity: parity, Line: 20, Has: fieldSet(trace.FieldParity)})
				}
				for wp := range uint32(consumers) {
					k.do(wp+1, whole, trace.Op{Kind: trace.KindMbarDone, Addr: full(i), Parity: parity, Line: 20, Has: fieldSet(trace.FieldParity)})
				}
				for wp := range uint32(consumers) {
					if meet {
						k.do(wp+1, whole, trace.Op{Kind: trace.KindSyncwarp, Mask: whole, Line: 21})
						k.do(wp+1, whole, trace.Op{Kind: trace.KindSyncwarpDone, Mask: whole, Line: 21})
					}
					k.do(wp+1, 1, trace.Op{Kind: trace.KindMbarArrive, Addr: empty(i), Count: 1, Line: 22, Has: count})
				}
			})
		}
	}
}

// pingPong is two groups of four warps that take turns, each woken by the
// other through a named barrier.
func pingPong(t testing.TB, ctas, rounds uint32) *trace.Reader {
	return record(t, ctas, pingPongThreads, 1, pingPongRun(rounds))
}

const pingPongThreads = 256

func pingPongRun(rounds uint32) func(k *kernel) {
	bar := func(k *kernel, group uint32, kind trace.Kind, id, line uint32) {
		for w := range uint32(4) {
			k.do(4*group+w, whole, trace.Op{Kind: kind, Bar: id, Count: 256, Aligned: true, Line: line, Has: fieldSet(trace.FieldCount, trace.FieldAligned)})
		}
	}
	done := func(k *kernel, group, id, line uint32) {
		for w := range uint32(4) {
			k.do(4*group+w, whole, trace.Op{Kind: trace.KindBarDone, Bar: id, Line: line})
		}
	}
	return func(k *kernel) {
		k.each(func() { bar(k, 1, trace.KindBarArrive, 1, 10) })
		for range rounds {
			for group := range uint32(2) {
				k.each(func() {
					bar(k, group, trace.KindBarSync, 1+group, 20+group)
					done(k, group, 1+group, 20+group)
					bar(k, group, trace.KindBarArrive, 2-group, 30+group)
				})
			}
		}
		k.each(func() {
			bar(k, 0, trace.KindBarSync, 1, 40)
			done(k, 0, 1, 40)
		})
	}
}

// syncs is CTAs of so many threads that go from one __syncthreads to the next.
func syncs(t testing.TB, ctas, threads, rounds uint32) *trace.Reader {
	return record(t, ctas, threads, 1, func(k *kernel) {
		for range rounds {
			k.each(func() { k.sync(10) })
		}
	})
}

// reductions is CTAs of 256 threads that reduce within the warp, and then with
// those of the other warps.
func reductions(t testing.TB, ctas, rounds uint32) *trace.Reader {
	return record(t, ctas, 256, 1, func(k *kernel) {
		for range rounds {
			k.each(func() {
				for range 3 {
					k.all(trace.Op{Kind: trace.KindSyncwarp, Mask: whole, Line: 10})
					k.all(trace.Op{Kind: trace.KindSyncwarpDone, Mask: whole, Line: 10})
				}
				k.sync(11)
				k.do(0, whole, trace.Op{Kind: trace.KindSyncwarp, Mask: whole, Line: 12})
				k.do(0, whole, trace.Op{Kind: trace.KindSyncwarpDone, Mask: whole, Line: 12})
				k.all(trace.Op{Kind: trace.KindBarRed, Red: trace.RedPopc, Aligned: true, Line: 13, Has: fieldSet(trace.FieldAligned)})
				k.all(trace.Op{Kind: trace.KindBarDone, Line: 13, Has: fieldSet(trace.FieldResult)})
			})
		}
	})
}

// exchange is clusters of so many CTAs of 256 threads that write to each
// other's shared memory: between two cluster barriers, an elected lane of each
// CTA announces what the CTA before it sends.
func exchange(t testing.TB, ctas, cluster, rounds uint32) *trace.Reader {
	meet := func(k *kernel, line uint32) {
		k.each(func() {
			k.all(trace.Op{Kind: trace.KindClusterArrive, Aligned: true, Line: line, Has: fieldSet(trace.FieldAligned)})
		})
		k.each(func() { k.all(trace.Op{Kind: trace.KindClusterWait, Line: line}) })
		k.each(func() { k.all(trace.Op{Kind: trace.KindClusterDone, Line: line}) })
	}
	return record(t, ctas, 256, cluster, func(k *kernel) {
		k.each(func() {
			k.do(0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: 1024, Count: 1, Line: 2, Has: fieldSet(trace.FieldCount)})
		})
		meet(k, 3)
		for i := range rounds {
			k.each(func() {
				k.do(0, 1, trace.Op{Kind: trace.KindMbarArriveExpectTx, Addr: 1024, Bytes: 64, Line: 10, Has: fieldSet(trace.FieldBytes)})
			})
			k.each(func() {
				next := k.cta/cluster*cluster + (k.cta+1)%cluster
				k.do(1, 1, trace.Op{Kind: trace.KindMbarCopy, Addr: 1024, Owner: next, Bytes: 64, Line: 11, Has: fieldSet(trace.FieldBytes, trace.FieldOwnerCTA)})
				for w := range uint32(8) {
					k.wait(w, whole, 1024, uint8(i&1), 12)
				}
			})
			meet(k, 13)
		}
	})
}

func fieldSet(fs ...trace.Field) trace.Fields { return trace.Fields(0).With(fs...) }

// benchEvents is about how many warp events the traces of BenchmarkCheck have.
var benchEvents = flag.Int("replay.events", 5_000_000, "warp events of a trace of BenchmarkCheck")

// BenchmarkCheck validates recordings of kernels of the usual kinds on one
// core, and says what the look at other schedules costs: the time with it over
// that without. The best of several turns is what a core does that nothing
// disturbs.
func BenchmarkCheck(b *testing.B) {
	const ctas = 132
	rounds := func(events int) uint32 { return uint32(max(*benchEvents/ctas/events, 1)) }
	for _, shape := range []struct {
		name string
		src  func() *trace.Reader
	}{
		{"pipeline", func() *trace.Reader { return pipeline(b, ctas, rounds(16), false) }},
		{"pipeline-syncwarp", func() *trace.Reader { return pipeline(b, ctas, rounds(24), true) }},
		{"ping-pong", func() *trace.Reader { return pingPong(b, ctas, rounds(24)) }},
		{"syncthreads-1024", func() *trace.Reader { return syncs(b, ctas, 1024, rounds(64)) }},
		{"syncthreads-short", func() *trace.Reader { return syncs(b, uint32(*benchEvents)/40, 256, 1) }},
		{"reductions", func() *trace.Reader { return reductions(b, ctas, rounds(82)) }},
		{"cluster-2", func() *trace.Reader { return exchange(b, ctas, 2, rounds(42)) }},
		{"cluster-16", func() *trace.Reader { return exchange(b, 128, 16, rounds(42)) }},
	} {
		b.Run(shape.name, func(b *testing.B) {
			src := shape.src()
			var spent, least [2]time.Duration
			var events uint64
			for b.Loop() {
				for i, none := range []bool{true, false} {
					began := cpuTime()
					rep, err := Check(context.Background(), src, Options{Workers: 1, NoHazards: none})
					if err != nil || rep.Verdict != Clean {
						b.Fatalf("%s, %v", summary(rep), err)
					}
					took := cpuTime() - began
					spent[i] += took
					if least[i] == 0 || took < least[i] {
						least[i] = took
					}
					events = rep.Counts.WarpEvents
				}
			}
			for i, what := range []string{"", "with-hazards-"} {
				b.ReportMetric(float64(events)*float64(b.N)/spent[i].Seconds()/1e6, what+"Mevents/cpu-s")
				b.ReportMetric(float64(events)/least[i].Seconds()/1e6, what+"best")
			}
			b.ReportMetric(spent[1].Seconds()/spent[0].Seconds(), "ratio")
		})
	}
}

// BenchmarkSections prepares the same trace for the viewer.
func BenchmarkSections(b *testing.B) {
	src := pipeline(b, 132, 500, false)
	bytes := 0
	for b.Loop() {
		secs, err := Sections(context.Background(), src)
		if err != nil {
			b.Fatal(err)
		}
		bytes = 0
		for _, s := range secs {
			bytes += len(s.Data)
		}
	}
	b.ReportMetric(float64(bytes)/float64(src.Info().Rows), "B/event")
}

// BenchmarkState asks for the state of a CTA at a random time.
func BenchmarkState(b *testing.B) {
	src := pipeline(b, 132, 500, false)
	tl, err := Open(context.Background(), src, 0)
	if err != nil {
		b.Fatal(err)
	}
	_, last := tl.Span()
	rng := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		if _, err := tl.State(context.Background(), rng.Uint32N(132), rng.Int64N(last)); err != nil {
			b.Fatal(err)
		}
	}
}
