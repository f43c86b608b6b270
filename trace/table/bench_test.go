package table

import (
	"bytes"
	"context"
	"io"
	"testing"

	"btrace/trace"
)

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// manyLaunches is a recording of an H100, a hundred times over.
func manyLaunches(b *testing.B) *trace.Reader {
	r, err := trace.Open("../../sample-traces/tma_pipeline.zst")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var events []trace.Event
	for blk, err := range r.Blocks(context.Background(), trace.Query{}) {
		if err != nil {
			b.Fatal(err)
		}
		for i := range blk.Len() {
			var e trace.Event
			blk.Event(i, &e)
			events = append(events, e)
		}
	}
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Options{MaxAge: -1})
	if err != nil {
		b.Fatal(err)
	}
	for id := range uint32(100) {
		l := r.Launches()[0]
		l.ID = id
		if err := w.Begin(l); err != nil {
			b.Fatal(err)
		}
		for i := range events {
			events[i].Launch = id
		}
		if err := w.Write(events); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	many, err := trace.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		b.Fatal(err)
	}
	return many
}

// BenchmarkExport writes a recording of an H100 as a table, and beside that in the
// interchange form.
func BenchmarkExport(b *testing.B) {
	r := manyLaunches(b)
	rows := float64(r.Info().Rows)
	for name, write := range map[string]func(context.Context, io.Writer, *trace.Reader) error{
		"csv": WriteCSV, "parquet": WriteParquet,
		"ndjson": func(ctx context.Context, w io.Writer, r *trace.Reader) error {
			return trace.ExportNDJSON(ctx, w, r, trace.Query{})
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var c counter
			for b.Loop() {
				if err := write(context.Background(), &c, r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(c.n)/float64(b.N)/rows, "B/event")
		})
	}
}
