package tui

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"btrace/replay"
	"btrace/trace"
)

func largeConfig(l *large) Config {
	return Config{Title: "large.zst", Launches: []trace.Launch{l.launch},
		Open: func(context.Context, uint32) (replay.Timeline, error) { return l, nil }}
}

// frames calls frame b.N times and reports the 99th percentile.
func frames(b *testing.B, frame func(i int)) {
	b.ReportAllocs()
	took := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		at := time.Now()
		frame(i)
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
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
				d := newDriver(context.Background(), largeConfig(size.l), 200, 60)
				d.m.tree.toggle(rowID{whole: true})
				d.m.arrange()
				switch zoom {
				case "near":
					d.m.setWindow(around(0, uint64(20000), 0, 1))
				case "events":
					d.m.zoomEvent()
				}
				d.run(d.m.next())
				b.ResetTimer()
				frames(b, func(i int) {
					d.m.focus.time = d.m.win.start(i%100, d.m.track())
					d.m.dirty = true
					_ = d.m.View()
				})
			})
		}
	}
}

// The same frame all the way to the bytes for the terminal, through the
// renderer that Bubble Tea uses.
func BenchmarkFrameToTerminal(b *testing.B) {
	d := newDriver(context.Background(), largeConfig(newLarge(10000, 10000, 1e8)), 200, 60)
	d.m.tree.toggle(rowID{whole: true})
	d.m.arrange()
	d.run(d.m.next())
	var out bytes.Buffer
	scr := uv.NewTerminalRenderer(&out, []string{"TERM=xterm-256color"})
	scr.SetColorProfile(colorprofile.TrueColor)
	scr.SetFullscreen(true)
	buf := uv.NewScreenBuffer(200, 60)
	b.ResetTimer()
	frames(b, func(i int) {
		d.m.focus.time = d.m.win.start(i%100, d.m.track())
		d.m.dirty = true
		v := d.m.View()
		buf.Clear()
		uv.NewStyledString(v.Content).Draw(buf, buf.Bounds())
		scr.Render(buf.RenderBuffer)
		_ = scr.Flush()
		out.Reset()
	})
}

// A key from press to frame, everything loaded on the way.
func BenchmarkScrub(b *testing.B) {
	d := newDriver(context.Background(), largeConfig(newLarge(10000, 10000, 1e8)), 200, 60)
	right, left := tea.KeyPressMsg{Code: tea.KeyRight}, tea.KeyPressMsg{Code: tea.KeyLeft}
	b.ResetTimer()
	frames(b, func(i int) {
		if i/100%2 == 0 {
			d.send(right)
		} else {
			d.send(left)
		}
		_ = d.m.View()
	})
}

// From nothing to the first frame with its rows, of 10,000 CTAs.
func BenchmarkFirstFrame(b *testing.B) {
	cfg := largeConfig(newLarge(10000, 10000, 1e8))
	frames(b, func(int) {
		d := newDriver(context.Background(), cfg, 200, 60)
		_ = d.m.View()
	})
}
