package table

import (
	"context"
	"io"
	"testing"

	"btrace/trace"
)

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// BenchmarkExport writes a recording of an H100 as a table.
func BenchmarkExport(b *testing.B) {
	r, err := trace.Open("../../sample-traces/tma_pipeline.zst")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	rows := float64(r.Info().Rows)
	for name, write := range map[string]func(context.Context, io.Writer, *trace.Reader) error{"csv": WriteCSV, "parquet": WriteParquet} {
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
