package interp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// compile decodes the entry of a file in testdata.
func compile(tb testing.TB, file, entry string) *interp.Kernel {
	tb.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		tb.Fatal(err)
	}
	m, err := ptx.Parse(file, src)
	if err != nil {
		tb.Fatal(err)
	}
	if err := ptx.Resolve(m); err != nil {
		tb.Fatal(err)
	}
	k, err := interp.Compile(m, m.Lookup(entry))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// arguments reads arguments.
func arguments(tb testing.TB, texts ...string) (args []interp.Arg) {
	tb.Helper()
	for _, text := range texts {
		a, err := interp.ParseArg(text)
		if err != nil {
			tb.Fatal(err)
		}
		args = append(args, a)
	}
	return args
}

// BenchmarkThreadInstructions measures how many instructions of threads the
// interpreter runs a second.
func BenchmarkThreadInstructions(b *testing.B) {
	for _, c := range []struct {
		entry  string
		rounds int
	}{{"arithmetic", 10000}, {"reduction", 500}, {"pingpong", 1000}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", c.entry, workers), func(b *testing.B) {
				k := compile(b, "bench.ptx", c.entry)
				cfg := emu.Config{Grid: trace.Dim{2}, Block: trace.Dim{128}, Workers: workers}
				instructions := 0.0
				for b.Loop() {
					res, err := k.Launch(context.Background(), cfg, arguments(b, fmt.Sprintf("i32:%d", c.rounds), "buf:4096"), nil)
					if err != nil || res.Outcome != trace.OutcomeCompleted {
						b.Fatal(res.Outcome, err)
					}
					instructions += float64(res.ThreadInstructions)
				}
				b.ReportMetric(instructions/b.Elapsed().Seconds()/1e6, "M/s")
			})
		}
	}
}
