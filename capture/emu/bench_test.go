package emu_test

import (
	"fmt"
	"runtime"
	"testing"

	"btrace/capture/emu"
	"btrace/trace"
)

// discard is a Sink that looks at the memory in use now and then.
type discard struct {
	batches int
	peak    uint64
}

func (d *discard) Write([]trace.Event) error {
	if d.batches++; d.batches%64 == 1 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		d.peak = max(d.peak, m.HeapInuse+m.StackInuse)
	}
	return nil
}

func bench(b *testing.B, cfg emu.Config, kernel func(*emu.Thread)) {
	var d discard
	events := uint64(0)
	for b.Loop() {
		r, err := emu.Launch(b.Context(), cfg, kernel, &d)
		if err != nil || r.Outcome != trace.OutcomeCompleted {
			b.Fatal(r.Outcome, err)
		}
		events += r.ThreadEvents
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mthreadevents/s")
	b.ReportMetric(float64(d.peak)/(1<<20), "peakMB")
}

// BenchmarkSyncthreads: one CTA, converged warps, one operation.
func BenchmarkSyncthreads(b *testing.B) {
	bench(b, threads(256), func(t *emu.Thread) {
		for range 100 {
			t.Syncthreads()
		}
	})
}

// BenchmarkPhases: one CTA that arrives on and waits for an mbarrier.
func BenchmarkPhases(b *testing.B) {
	bench(b, threads(256), func(t *emu.Thread) {
		bar := emu.SharedBarrier(t, "bar")
		if t.Thread() == 0 {
			bar.Init(256)
		}
		t.Syncthreads()
		for range 100 {
			bar.ArriveAndWait()
		}
	})
}

// BenchmarkGrid: a launch of 1,000 CTAs of 256 threads, ten operations each.
func BenchmarkGrid(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			bench(b, emu.Config{Grid: trace.Dim{1000}, Block: trace.Dim{256}, Workers: workers}, func(t *emu.Thread) {
				for range 5 {
					t.Work(int64(t.CTA() % 100))
					t.Syncthreads()
				}
			})
		})
	}
}

// BenchmarkSchedules: what another schedule costs.
func BenchmarkSchedules(b *testing.B) {
	for _, schedule := range emu.Schedules() {
		b.Run(schedule, func(b *testing.B) {
			cfg := emu.Config{Block: trace.Dim{256}, Schedule: schedule}
			bench(b, cfg, func(t *emu.Thread) {
				for range 100 {
					t.Syncthreads()
				}
			})
		})
	}
}
