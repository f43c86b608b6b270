package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"btrace/replay"
	"btrace/trace"
)

// pipelineFile writes a recording of CTAs in which a producer feeds four
// consumers through a ring of four stages, with jitter: 264 thread events, or
// 16 warp events, a CTA and round. With prepared it has what btrace attaches
// when a trace is closed.
func pipelineFile(t testing.TB, ctas, rounds uint32, prepared bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipeline.zst")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := trace.NewWriter(file, trace.Options{})
	check(err)
	const stages, consumers = 4, 4
	check(w.Begin(trace.Launch{
		Kernel: "pipeline", Program: "pipeline.cu", Arch: "sm_90",
		Grid: trace.Dim{ctas, 1, 1}, Block: trace.Dim{32 * (consumers + 1), 1, 1}, Cluster: trace.Dim{1, 1, 1},
	}))
	rng := rand.New(rand.NewPCG(1, 2))
	seq := make([][consumers + 1]uint32, ctas)
	var batch []trace.Event
	now := int64(0)
	add := func(cta, warp, lanes uint32, op trace.Op, fields ...trace.Field) {
		op.Lanes = lanes
		op.Has = trace.Fields(0).With(append(fields, trace.FieldLine)...)
		now += rng.Int64N(3)
		batch = append(batch, trace.Event{Time: now, CTA: cta, Warp: warp, Seq: seq[cta][warp], Op: op})
		seq[cta][warp]++
	}
	each := func(f func(cta uint32)) {
		for c := range ctas {
			f(c)
		}
		check(w.Write(batch))
		batch = batch[:0]
	}
	const all, addr = ^uint32(0), trace.FieldAddr
	each(func(c uint32) {
		for s := range uint64(stages) {
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: 1024 + 8*s, Count: 1, Line: 2}, addr, trace.FieldCount)
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarInit, Addr: 1056 + 8*s, Count: consumers, Line: 3}, addr, trace.FieldCount)
		}
		for wp := range uint32(consumers + 1) {
			add(c, wp, all, trace.Op{Kind: trace.KindBarSync, Aligned: true, Line: 4}, trace.FieldBar, trace.FieldCount, trace.FieldAligned)
		}
		for wp := range uint32(consumers + 1) {
			add(c, wp, all, trace.Op{Kind: trace.KindBarDone, Line: 4}, trace.FieldBar)
		}
	})
	for i := range rounds {
		s, p := uint64(i%stages), uint8(i/stages&1)
		each(func(c uint32) {
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarWait, Addr: 1056 + 8*s, Parity: p ^ 1, Line: 10}, addr, trace.FieldParity)
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarDone, Addr: 1056 + 8*s, Parity: p ^ 1, Line: 10}, addr, trace.FieldParity)
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarArriveExpectTx, Addr: 1024 + 8*s, Bytes: 1024, Line: 11}, addr, trace.FieldBytes)
			add(c, 0, 1, trace.Op{Kind: trace.KindMbarCopy, Addr: 1024 + 8*s, Bytes: 1024, Line: 12}, addr, trace.FieldBytes)
			for _, kind := range []trace.Kind{trace.KindMbarWait, trace.KindMbarDone} {
				for wp := range uint32(consumers) {
					add(c, wp+1, all, trace.Op{Kind: kind, Addr: 1024 + 8*s, Parity: p, Line: 20}, addr, trace.FieldParity)
				}
			}
			for wp := range uint32(consumers) {
				add(c, wp+1, 1, trace.Op{Kind: trace.KindMbarArrive, Addr: 1056 + 8*s, Count: 1, Line: 21}, addr, trace.FieldCount)
			}
		})
	}
	check(w.End(0, trace.OutcomeCompleted, ""))
	check(w.Close())
	check(file.Close())
	if prepared {
		r, err := trace.Open(path)
		check(err)
		sections, err := replay.Sections(context.Background(), r)
		check(err)
		check(r.Close())
		check(trace.Attach(path, sections))
	}
	return path
}

// sizes of recordings, by their thread events.
func recordedSizes() []struct {
	name         string
	ctas, rounds uint32
} {
	return []struct {
		name         string
		ctas, rounds uint32
	}{{"1e4", 4, 10}, {"1e6", 132, 29}, {"1e8", 132, 2870}}
}

func fileConfig(t testing.TB, path string) (Config, *trace.Reader) {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Title: "pipeline.zst", Launches: r.Launches(), Report: &replay.Report{Verdict: replay.Clean},
		Open: func(ctx context.Context, launch uint32) (replay.Timeline, error) { return replay.Open(ctx, r, launch) },
		Sketch: func(ctx context.Context, launch uint32, show func(replay.Timeline, int64)) error {
			return replay.Sketch(ctx, r, launch, show)
		},
	}, r
}

// opening is how long after its start a viewer that opens a trace, everything
// beside the frame as in life, has painted its first frame, one with rows, and
// one with the exact state.
type opening struct{ frame, rows, exact time.Duration }

func openTrace(b *testing.B, path string) opening {
	start := time.Now()
	cfg, r := fileConfig(b, path)
	defer r.Close()
	m := modelOf(b, cfg)
	p := &painter{m: m, out: &terminal{out: io.Discard, on: true}}
	msgs := make(chan tea.Msg)
	var under sync.WaitGroup
	ended := make(chan struct{})
	var begin func(tea.Cmd)
	begin = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		under.Go(func() {
			switch msg := cmd().(type) {
			case tea.BatchMsg:
				for _, c := range msg {
					begin(c)
				}
			case nil:
			default:
				select {
				case msgs <- msg:
				case <-ended:
				}
			}
		})
	}
	begin(tea.Batch(m.update(tea.WindowSizeMsg{Width: 200, Height: 60}), m.init()))
	p.paint()
	t := opening{frame: time.Since(start)}
	for !m.settled || !m.moments.has(m.momentKey()) {
		begin(m.update(<-msgs))
		p.paint()
		if t.rows == 0 && len(m.tree.all) > 0 {
			t.rows = time.Since(start)
		}
	}
	t.exact = time.Since(start)
	close(ended)
	under.Wait()
	return t
}

// From the start to the first frame, to one with rows and to one with the
// exact state, as a person sees it. A raw trace is replayed before its state is
// known: a sketch of its events stands in for it.
func BenchmarkOpening(b *testing.B) {
	for _, size := range recordedSizes() {
		for _, prepared := range []bool{true, false} {
			path := pipelineFile(b, size.ctas, size.rounds, prepared)
			b.Run(fmt.Sprintf("%s/prepared=%t", size.name, prepared), func(b *testing.B) {
				var sum opening
				n := 0
				for b.Loop() {
					t := openTrace(b, path)
					sum.frame, sum.rows, sum.exact = sum.frame+t.frame, sum.rows+t.rows, sum.exact+t.exact
					n++
				}
				for _, x := range []struct {
					t    time.Duration
					unit string
				}{{sum.frame, "ms-first-frame"}, {sum.rows, "ms-rows"}, {sum.exact, "ms-exact"}} {
					b.ReportMetric(float64(x.t.Microseconds())/1000/float64(n), x.unit)
				}
			})
		}
	}
}

// Frames of 200x60 of recordings on disk: frame is the viewer's part alone,
// after the playhead has moved; scrub is from the key to the frame with the
// exact state loaded.
func BenchmarkRecorded(b *testing.B) {
	for _, size := range recordedSizes() {
		path := pipelineFile(b, size.ctas, size.rounds, true)
		for _, zoom := range []string{"whole", "near", "events"} {
			cfg, r := fileConfig(b, path)
			d := driverOf(b, cfg, 200, 60)
			d.m.tree.toggle(rowID{whole: true})
			d.m.jumpTime("middle", (d.m.bounds.first+d.m.bounds.last)/2)
			switch zoom {
			case "near":
				d.m.setWindow(around(d.m.focus.time, max(d.m.bounds.fit(1).size()/1000, 1), 1, 2))
			case "events":
				d.m.zoomEvent()
			}
			d.m.arrange()
			d.run(d.m.next())
			p := &painter{m: d.m, out: &terminal{out: io.Discard, on: true}}
			b.Run(fmt.Sprintf("%s/%s/frame", size.name, zoom), func(b *testing.B) {
				frames(b, func(i int) {
					d.m.focus.time = d.m.win.start(i%100, d.m.track())
					p.paint()
				})
			})
			b.Run(fmt.Sprintf("%s/%s/scrub", size.name, zoom), func(b *testing.B) {
				right, left := tea.KeyPressMsg{Code: tea.KeyRight}, tea.KeyPressMsg{Code: tea.KeyLeft}
				frames(b, func(i int) {
					if i/40%2 == 0 {
						d.send(right)
					} else {
						d.send(left)
					}
					p.paint()
				})
			})
			r.Close()
		}
	}
}

// From the file to a first frame with its rows drawn.
func BenchmarkRecordedFirstFrame(b *testing.B) {
	for _, size := range recordedSizes() {
		for _, prepared := range []bool{true, false} {
			path := pipelineFile(b, size.ctas, size.rounds, prepared)
			b.Run(fmt.Sprintf("%s/prepared=%t", size.name, prepared), func(b *testing.B) {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				frames(b, func(int) {
					cfg, r := fileConfig(b, path)
					d := driverOf(b, cfg, 200, 60)
					paintTo(d, io.Discard)
					runtime.ReadMemStats(&after)
					r.Close()
				})
				b.ReportMetric(float64(after.HeapInuse-min(before.HeapInuse, after.HeapInuse))/1e6, "MB")
			})
		}
	}
}
