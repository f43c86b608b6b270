package replay

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"
	"time"

	"btrace/trace"
)

// The traces of BenchmarkScale, which can be kept for the commands.
var (
	scaleEvents = flag.Uint64("replay.thread-events", 10_000_000, "thread events of the largest trace of BenchmarkScale")
	scaleFolder = flag.String("replay.keep", "", "keep the traces of BenchmarkScale in this folder")
)

// large is a kind of launch that is written at any size, in waves of 132 CTAs.
type large struct {
	name    string
	threads uint32 // of a CTA
	events  uint64 // thread events of a round of a CTA
	run     func(rounds uint32) func(*kernel)
}

func larges() []large {
	return []large{
		{"pipeline", pipelineThreads, 3 + 4*(4*32+1), func(n uint32) func(*kernel) { return pipelineRun(n, true) }},
		{"ping-pong", pingPongThreads, 2 * 3 * 128, pingPongRun},
	}
}

// write makes a trace of about so many thread events: larger ones have more
// CTAs, and each as many rounds.
func (l *large) write(t testing.TB, to io.Writer, events uint64) {
	const rounds = 100
	ctas := uint32(max(events/l.events/rounds, 1))
	recordTo(t, to, ctas, l.threads, 1, l.run(rounds))
}

// measured is a source that looks at the memory in use with every block.
type measured struct {
	*trace.Reader
	peak uint64 // bytes
}

func (m *measured) Blocks(ctx context.Context, q trace.Query) iter.Seq2[*trace.Block, error] {
	use := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	return func(yield func(*trace.Block, error) bool) {
		for b, err := range m.Reader.Blocks(ctx, q) {
			metrics.Read(use)
			m.peak = max(m.peak, use[0].Value.Uint64())
			if !yield(b, err) {
				return
			}
		}
	}
}

// BenchmarkScale writes traces of pipelines and ping-pongs to files, each ten
// times as large as the one before, and validates them on all cores, hazards
// and all: the time is to grow with the events, the memory not at all.
func BenchmarkScale(b *testing.B) {
	for _, l := range larges() {
		for _, events := range []uint64{*scaleEvents / 100, *scaleEvents / 10, *scaleEvents} {
			b.Run(fmt.Sprintf("%s/%d", l.name, events), func(b *testing.B) {
				folder := *scaleFolder
				if folder == "" {
					folder = b.TempDir()
				}
				path := filepath.Join(folder, fmt.Sprintf("%s-%d.zst", l.name, events))
				began := time.Now()
				l.create(b, path, events)
				wrote := time.Since(began)
				r, err := trace.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				src := &measured{Reader: r}
				rows, size := float64(r.Info().Rows), float64(r.Info().Size)
				var cpu time.Duration
				for b.Loop() {
					began := cpuTime()
					rep, err := Check(context.Background(), src, Options{})
					if err != nil || rep.Verdict != Clean {
						b.Fatalf("%s, %v", summary(rep), err)
					}
					cpu += cpuTime() - began
				}
				runs := float64(b.N)
				b.ReportMetric(rows/wrote.Seconds()/1e6, "written-Mevents/s")
				b.ReportMetric(rows*runs/b.Elapsed().Seconds()/1e6, "Mevents/s")
				b.ReportMetric(rows*runs/cpu.Seconds()/1e6, "Mevents/cpu-s")
				b.ReportMetric(size*runs/b.Elapsed().Seconds()/1e6, "MB/s")
				b.ReportMetric(size/rows, "B/event")
				b.ReportMetric(float64(src.peak)/1e6, "heap-MB")
			})
		}
	}
}

// create writes a trace to a file.
func (l *large) create(t testing.TB, path string, events uint64) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	l.write(t, f, events)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
