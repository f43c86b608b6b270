package tui

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"btrace/replay"
	"btrace/trace"
)

func largeConfig(l *large) Config {
	return Config{Title: "large.zst", Launches: []trace.Launch{l.launch},
		Open: func(context.Context, uint32) (replay.Timeline, error) { return l, nil }}
}

// frames calls frame b.N times and reports the 99th percentile: by the clock,
// and of the processor's time, which other programs do not add to.
func frames(b *testing.B, frame func(i int)) {
	b.ReportAllocs()
	var took, spent []time.Duration
	for i := 0; b.Loop(); i++ {
		at, cpu := time.Now(), cpuTime()
		frame(i)
		took, spent = append(took, time.Since(at)), append(spent, cpuTime()-cpu)
	}
	slices.Sort(took)
	slices.Sort(spent)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(spent[len(spent)*99/100].Microseconds()), "p99-cpu-µs")
}

// A frame of 200x60 after the playhead has moved: the viewer's own part. It
// does not grow with the launch.
func BenchmarkFrame(b *testing.B) {
	for _, size := range []struct {
		name string
		l    *large
	}{
		{"1e4", newLarge(100, 10, 1e5)}, {"1e6", newLarge(1000, 100, 1e6)}, {"1e8", newLarge(10000, 10000, 1e8)},
	} {
		for _, zoom := range []string{"whole", "near", "events"} {
			b.Run(size.name+"/"+zoom, func(b *testing.B) {
				d := driverOf(b, largeConfig(size.l), 200, 60)
				d.m.tree.toggle(rowID{whole: true})
				d.m.arrange()
				switch zoom {
				case "near":
					d.m.setWindow(around(0, uint64(20000), 0, 1))
				case "events":
					d.m.zoomEvent()
				}
				d.run(d.m.next())
				p := &painter{m: d.m, out: &terminal{out: io.Discard, on: true}}
				b.ResetTimer()
				frames(b, func(i int) {
					d.m.focus.time = d.m.win.start(i%100, d.m.track())
					p.paint()
				})
			})
		}
	}
}

// The same frame as bytes for the terminal: only what has changed is written.
func BenchmarkFrameToTerminal(b *testing.B) {
	d := driverOf(b, largeConfig(newLarge(10000, 10000, 1e8)), 200, 60)
	d.m.tree.toggle(rowID{whole: true})
	d.m.arrange()
	d.run(d.m.next())
	var out bytes.Buffer
	p := &painter{m: d.m, out: &terminal{out: &out}}
	p.out.enter("", false)
	p.paint()
	b.ResetTimer()
	frames(b, func(i int) {
		d.m.focus.time = d.m.win.start(i%100, d.m.track())
		out.Reset()
		p.paint()
	})
	b.ReportMetric(float64(out.Len()), "B/frame")
}

// A key from press to frame, everything loaded on the way.
func BenchmarkScrub(b *testing.B) {
	d := driverOf(b, largeConfig(newLarge(10000, 10000, 1e8)), 200, 60)
	right, left := tea.KeyPressMsg{Code: tea.KeyRight}, tea.KeyPressMsg{Code: tea.KeyLeft}
	b.ResetTimer()
	frames(b, func(i int) {
		if i/100%2 == 0 {
			d.send(right)
		} else {
			d.send(left)
		}
		paintTo(d, io.Discard)
	})
}

// From nothing to the first frame with its rows, of 10,000 CTAs.
func BenchmarkFirstFrame(b *testing.B) {
	cfg := largeConfig(newLarge(10000, 10000, 1e8))
	frames(b, func(int) {
		d := driverOf(b, cfg, 200, 60)
		paintTo(d, io.Discard)
	})
}
