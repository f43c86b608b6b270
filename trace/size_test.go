package trace_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"btrace/trace"
	"btrace/trace/table"
)

// BenchmarkSize says what a warp event costs in the file of a trace, in
// Parquet with zstd, and as NDJSON through zstd: five million events of a
// pipeline, made up, and the recordings of an H100 among the samples. Each is
// the whole file, without the sections that commands attach to a trace.
//
//	go test ./trace/... -run '^$' -bench Size -benchtime 1x
func BenchmarkSize(b *testing.B) {
	for _, v := range trace.SyntheticTraces() {
		b.Run("synthetic/"+v.Name, func(b *testing.B) { compareSizes(b, v.Make(b)) })
	}
	recordings := h100Recordings(b)
	b.Run("h100/largest", func(b *testing.B) {
		largest := recordings[0]
		for _, r := range recordings {
			if r.Info().Rows > largest.Info().Rows {
				largest = r
			}
		}
		compareSizes(b, largest)
	})
	b.Run("h100/all", func(b *testing.B) { compareSizes(b, recordings...) })
}

// h100Recordings opens the samples that an H100 made.
func h100Recordings(b *testing.B) (all []*trace.Reader) {
	files, err := filepath.Glob("../sample-traces/*.zst")
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		r, err := trace.Open(f)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { r.Close() })
		if l := r.Launches(); len(l) > 0 && strings.Contains(l[0].Device, "H100") {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		b.Fatal("no sample is a recording of an H100")
	}
	return all
}

// compareSizes writes the traces in each of the forms.
func compareSizes(b *testing.B, all ...*trace.Reader) {
	forms := []struct {
		name  string
		write func(io.Writer, *trace.Reader) error
	}{
		{"btrace", copyTrace},
		{"parquet+zstd", func(w io.Writer, r *trace.Reader) error { return table.WriteParquet(context.Background(), w, r) }},
		{"ndjson+zstd", compressLines},
	}
	for _, f := range forms {
		b.Run(f.name, func(b *testing.B) {
			events, size := uint64(0), countBytes(0)
			began := trace.CPUTime()
			for range b.N {
				events, size = 0, 0
				for _, r := range all {
					if err := f.write(&size, r); err != nil {
						b.Fatal(err)
					}
					events += r.Info().Rows
				}
			}
			b.ReportMetric(float64(events)*float64(b.N)/(trace.CPUTime()-began).Seconds()/1e6, "Mevents/cpu-s")
			b.ReportMetric(float64(size)/float64(events), "bytes/event")
		})
	}
}

type countBytes int64

func (c *countBytes) Write(b []byte) (int, error) { *c += countBytes(len(b)); return len(b), nil }

// copyTrace writes a trace's launches and events as a recorder does.
func copyTrace(to io.Writer, r *trace.Reader) error {
	w, err := trace.NewWriter(to, trace.Options{MaxAge: -1})
	if err != nil {
		return err
	}
	for _, l := range r.Launches() {
		if err := w.Begin(l); err != nil {
			return err
		}
		events := make([]trace.Event, 0, trace.MaxBlockRows)
		for blk, err := range r.Blocks(context.Background(), trace.Query{Launch: &l.ID}) {
			if err != nil {
				return err
			}
			events = events[:0]
			for i := range blk.Len() {
				var e trace.Event
				blk.Event(i, &e)
				events = append(events, e)
			}
			if err := w.Write(events); err != nil {
				return err
			}
		}
		if l.Ended {
			if err := w.End(l.ID, l.Outcome, l.EndExtra); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// compressLines writes the interchange form through zstd, as a shell would.
func compressLines(to io.Writer, r *trace.Reader) error {
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := trace.ExportNDJSON(context.Background(), z, r, trace.Query{}); err != nil {
		return err
	}
	return z.Close()
}

// A trace is smaller than what else one might keep it in, and of the size
// that is promised. Fewer events than the benchmark has show it, too.
func TestSize(t *testing.T) {
	r := trace.SmallSynthetic(t)
	sizes := map[string]float64{}
	for name, write := range map[string]func(io.Writer, *trace.Reader) error{
		"btrace": copyTrace, "ndjson+zstd": compressLines,
		"parquet+zstd": func(w io.Writer, r *trace.Reader) error { return table.WriteParquet(context.Background(), w, r) },
	} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		sizes[name] = float64(b.Len()) / float64(r.Info().Rows)
	}
	if s := sizes["btrace"]; s > 1.5 {
		t.Errorf("a warp event takes %.2f bytes, want at most 1.5", s)
	}
	for peer, s := range sizes {
		if peer != "btrace" && s < 2*sizes["btrace"] {
			t.Errorf("a warp event takes %.2f bytes in %s, %.2f in a trace: less than half is expected", s, peer, sizes["btrace"])
		}
	}
}
