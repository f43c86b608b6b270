package capture

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"btrace/capture/emu"
	"btrace/capture/kernels"
	"btrace/trace"
)

// bytesOf is a recording, byte for byte, and how it ended.
func bytesOf(t *testing.T, k kernels.Kernel, o Options) ([]byte, emu.Result) {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{MaxAge: -1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), k.Name, o.Config(k), k.Run, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), r
}

// TestSameOnAllCores: a recording is the same, byte for byte, however many
// clusters run at the same time.
func TestSameOnAllCores(t *testing.T) {
	for name, ctas := range map[string]uint32{"split-arrive-wait": 30, "cluster-exchange": 64} {
		k, _ := kernels.Lookup(name)
		for i, schedule := range emu.Schedules() {
			o := Options{Grid: trace.Dim{ctas}, Schedule: schedule, Seed: uint64(i)}
			one, r := bytesOf(t, k, o)
			o.Workers = 4
			four, q := bytesOf(t, k, o)
			if fmt.Sprint(r) != fmt.Sprint(q) || !bytes.Equal(one, four) {
				t.Errorf("%s, %s: one worker: %s after %d steps, four: %s after %d", name, schedule, r.Outcome, r.Steps, q.Outcome, q.Steps)
			}
		}
	}
}

// TestSameChoicesSameTrace: the choices that a launch made lead to the same
// recording, byte for byte.
func TestSameChoicesSameTrace(t *testing.T) {
	for _, k := range kernels.All() {
		for i, schedule := range emu.Schedules() {
			first, r := bytesOf(t, k, Options{Schedule: schedule, Seed: uint64(i)})
			again, p := bytesOf(t, k, Options{Schedule: r.Schedule, Seed: 1000})
			if p.Missed != 0 || p.Schedule != r.Schedule || !bytes.Equal(first, again) {
				t.Errorf("%s: the choices made under %s do not lead the same way: %d missed", k.Name, schedule, p.Missed)
			}
		}
	}
}
