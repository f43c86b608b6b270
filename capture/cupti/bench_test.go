//go:build linux

package cupti

import (
	"io"
	"testing"
	"time"

	"btrace/capture/cupti/ring"
	"btrace/capture/cupti/ring/ringtest"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// BenchmarkRecord is all that becomes of a record after it was read from the
// ring: it is decoded, put in order, and written to a trace. (What lanes wait
// for is only the reading: BenchmarkPoll of package ring.)
func BenchmarkRecord(b *testing.B) {
	const ctas, rounds = 64, 500
	mem, err := newMemory("bench", ring.Size(256))
	if err != nil {
		b.Fatal(err)
	}
	defer mem.close()
	if err := ring.Format(mem.bytes, 256, 0); err != nil {
		b.Fatal(err)
	}
	sites := newSiteTable(1)
	_, p, err := sites.add(func(base uint32, id uint64) (*probe.Module, error) {
		return probe.Rewrite(handoffPTX, probe.Options{File: "a.ptx", Base: base, Module: id})
	})
	if err != nil {
		b.Fatal(err)
	}
	a := &fakeApp{gpu: ringtest.New(mem.bytes), sites: make(map[trace.Kind]uint32)}
	for _, s := range p.Sites {
		if !s.Short {
			a.sites[s.Op.Kind] = s.Number
		}
	}
	l := &fakeLaunch{a, 1, Launch{Correlation: 1, Context: 1, Function: "handoff", Grid: [3]uint32{ctas, 1, 1}, Block: [3]uint32{64, 1, 1}}}
	l.handoff(rounds)
	reader, err := ring.NewReader(mem.bytes)
	if err != nil {
		b.Fatal(err)
	}
	var batches []*ring.Batch
	events := 0
	for more := true; more; {
		batch := new(ring.Batch)
		more = reader.Poll(sites.now.Load().sizes, batch, drainLimit)
		events += batch.Len()
		batches = append(batches, batch)
	}
	for b.Loop() {
		w, err := trace.NewWriter(io.Discard, trace.Options{Fast: true})
		if err != nil {
			b.Fatal(err)
		}
		r := &recorder{w: w, sites: sites, now: time.Now(), grids: make(map[gridKey]*grids), drain: newDrain(sites),
			res: Result{Ends: make(map[trace.Outcome]int), Uninstrumented: make(map[string]int)}}
		r.in = newInstrumenter(b.Context(), sites, &r.o)
		s := &source{Reader: reader, process: &process{role: RoleCUPTI}, context: Context{Context: 1}, state: newMerger(2_000_000, r.now)}
		s.process.rings = map[uint32]*source{1: s}
		r.launched(s.process, &l.m)
		r.join(r.runOf(r.gridsOf(s, 1), 0, s, 1), r.launches[0])
		for _, batch := range batches {
			<-r.drain.free
			if err := r.drained(drained{s: s, b: batch, begin: r.now, end: r.now}); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.emit(s.state, 1<<64-1); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		if r.res.Rows != uint64(events) {
			b.Fatalf("%d events of %d", r.res.Rows, events)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
