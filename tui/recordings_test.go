package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"
	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/replay/diff"
	"btrace/replay/report"
	"btrace/replay/stats"
	"btrace/trace"
)

// recording is the configuration of a file of sample-traces.
func recording(t *testing.T, name string) Config {
	t.Helper()
	r, err := trace.Open(filepath.Join("..", "sample-traces", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return Config{
		Title: name, Launches: r.Launches(), SourceRoot: filepath.Join("..", "sample-traces"),
		Open:       func(ctx context.Context, launch uint32) (replay.Timeline, error) { return replay.Open(ctx, r, launch) },
		LoadReport: func(ctx context.Context) (*replay.Report, error) { return replay.Check(ctx, r, replay.Options{}) },
		LoadStats: func(ctx context.Context, launch uint32) (*stats.Launch, error) {
			rep, err := stats.Collect(ctx, r, stats.Options{Launch: &launch})
			if err != nil {
				return nil, err
			}
			return &rep.Launches[0], nil
		},
	}
}

// twoRecordings is a run that hung, compared with one that did not.
func twoRecordings(t *testing.T) Config {
	t.Helper()
	open := func(name string) *trace.Reader {
		r, err := trace.Open(filepath.Join("..", "sample-traces", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	const good, hung = "tma_pipeline.zst", "tma_pipeline_lost_arrive.zst"
	a, b := open(good), open(hung)
	cfg, other := recording(t, hung), recording(t, good)
	cfg.Other = &other
	cfg.Diff = func(ctx context.Context) (*diff.Report, error) { return diff.Compare(ctx, a, b, diff.Options{}) }
	return cfg
}

// Two recordings are on the screen together, laid over one another where they
// part: that is in the same cell of both, whatever the window. They are opened
// once, and the focus is in both.
func TestTwoRecordings(t *testing.T) {
	cfg := twoRecordings(t)
	opened := 0
	for _, c := range []*Config{&cfg, cfg.Other} {
		open := c.Open
		c.Open = func(ctx context.Context, id uint32) (replay.Timeline, error) {
			opened++
			return open(ctx, id)
		}
	}
	for _, size := range [][2]int{{80, 24}, {120, 44}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			golden.RequireEqual(t, show(t, cfg, size[0], size[1]))
		})
	}
	opened = 0
	s := open(t, cfg, 120, 44)
	for _, keys := range [][]string{{}, {"+", "+"}, {"right", "right", "-"}, {"f"}, {"D"}, {"+", "+", "+"}, {"D", "u"}, {"home"}} {
		s.press(keys...)
		here, there, ok := s.m.partTimes()
		n := s.m.track()
		if a, b := s.m.win.cell(here, n), s.m.there(s.m.win).cell(there, n); !ok || a != b {
			t.Fatalf("after %v the recordings part in cells %d and %d", keys, a, b)
		}
	}
	if opened != 2 {
		t.Errorf("%d launches were opened, want 2", opened)
	}
	// It does not matter what is known first.
	cfg.LoadReport = nil
	open(t, cfg, 120, 44).at("491.232 µs  cta0/w3  mbar:0x1428")
	// A click into the recording below puts the focus there, in both.
	s = open(t, cfg, 120, 44)
	r := s.m.layout.otherRows
	row := s.m.besideRows()[2]
	s.click(tea.MouseLeft, s.m.layout.gutter+9, r.y+2)
	if s.m.focus.row != row || s.m.win.cell(s.m.focus.time, s.m.track()) != 9 {
		t.Errorf("a click leads to %+v", s.m.focus)
	}
	s.click(tea.MouseLeft, s.m.layout.gutter, s.m.layout.otherLanes.y)
	if want := s.m.besideLanes()[0]; s.m.focus.lane != (laneID{want.CTA, want.Barrier}) {
		t.Errorf("a click leads to %+v", s.m.focus)
	}
	// What cannot be opened is said to be so where it would stand.
	cfg.Other.Open = func(context.Context, uint32) (replay.Timeline, error) { return nil, errors.New("block 3 is corrupt") }
	open(t, cfg, 120, 44).shows("cannot be opened: block 3 is corrupt", "✗ deadlock")
}

// Two recordings that do not differ are said to be the same, and open on what
// is wrong with the second.
func TestEqualRecordings(t *testing.T) {
	cfg := twoRecordings(t)
	*cfg.Other = recording(t, "tma_pipeline_lost_arrive.zst")
	cfg.Diff = func(context.Context) (*diff.Report, error) {
		return &diff.Report{Launches: []diff.Launch{{A: &cfg.Launches[0], B: &cfg.Launches[0], Warps: 5}}}, nil
	}
	s := open(t, cfg, 120, 40).shows("▶✗ root").press("t").types("diff").press("enter").shows("every warp did the same")
	s.press("D").shows("✗ deadlock")
	cfg.Diff = func(context.Context) (*diff.Report, error) { return nil, errors.New("block 3 is corrupt") }
	open(t, cfg, 120, 40).shows("compare the recordings: block 3 is corrupt", "✗ deadlock")
}

// A hang that a real H100 recorded opens on its root, with the story beside it
// and the line that it waits at.
func TestRecordedHangs(t *testing.T) {
	for _, x := range []struct{ file, rule, barrier string }{
		{"tma_pipeline_count.zst", "deadlock-count", "mbar:0x1420"},
		{"tma_pipeline_bytes.zst", "deadlock-tx", "mbar:0x1410"},
		{"hang_run_ahead.zst", "bar-overrun", "bar:1"},
		{"hang_cross.zst", "deadlock-cycle", "bar:1"},
		{"hang_mixed_cycle.zst", "deadlock-cycle", ""},
	} {
		t.Run(x.file, func(t *testing.T) {
			s := open(t, recording(t, x.file), 120, 40)
			s.shows("✗ deadlock", "hung", "▶✗ root "+x.rule+" "+x.barrier, "─ "+x.rule+" ─", "NVIDIA H100", "█", "▶")
			f := s.m.selected()
			if f == nil || !f.Root || s.m.focus.time < f.Time || s.m.focus.lane.barrier != f.Barrier {
				t.Fatalf("the focus is %+v, the finding %+v", s.m.focus, f)
			}
			// The state at the playhead is what the story tells: all of them wait.
			now, _ := s.m.moments.get(s.m.momentKey())
			b := findBarrier(now.state, s.m.focus.lane)
			if x.rule != "bar-overrun" && (b == nil || countLanes(b.Waiting) < countLanes(f.Threads)) {
				t.Errorf("of %v, %+v wait at the playhead", f.Threads, b)
			}
			if x.barrier != "" {
				s.at(x.barrier)
			}
			// Every key leaves a screen, whatever the recording.
			for _, c := range Commands() {
				if c.Context == Everywhere && c.Name != "quit" {
					s.press(c.Keys[0])
					checkScreen(t, s.screen(), 120, 40)
					if s.m.mode != modeNormal {
						s.press("esc")
					}
				}
			}
		})
	}
	t.Run("screen", func(t *testing.T) {
		golden.RequireEqual(t, show(t, recording(t, "tma_pipeline_count.zst"), 120, 50))
	})
}

// The picture in the README is the viewer's own export of a recorded hang. To
// change it, run the test with UPDATE_PICTURE=1.
func TestPicture(t *testing.T) {
	want := exported(t, recording(t, "tma_pipeline_count.zst"), "hang.svg", 132, 44)
	if os.Getenv("UPDATE_PICTURE") != "" {
		if err := os.WriteFile("hang.svg", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("hang.svg"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("hang.svg is not what the viewer shows (UPDATE_PICTURE=1 mends it): %v", err)
	}
}

// The whole program on a terminal, its verdict coming while the picture is
// being drawn, ends on the screen that Script draws.
func TestRecordedHangOnATerminal(t *testing.T) {
	x := start(t, recording(t, "hang_cross.zst"), 120, 40)
	want := show(t, recording(t, "hang_cross.zst"), 120, 40)
	x.shows("what Script draws:\n"+want, func(s string) bool { return s == want })
	x.press("q")
	if err := x.end(); err != nil {
		t.Error(err)
	}
}

func TestRecordedCleanRuns(t *testing.T) {
	for _, file := range []string{"tma_pipeline.zst", "cluster_exchange.zst", "producer_consumer.zst", "psum_completion.zst", "emu-prefix-sum.zst"} {
		s := open(t, recording(t, file), 160, 50).shows("✓ clean", "nothing was found").hides("✗ d", "root")
		for range 5 {
			s.press("]", ".", "+")
		}
		s.hides("cannot be", "no earlier")
	}
}

// The five stages of a split arrive and wait (CUDA programming guide,
// "Asynchronous Barriers") are told apart: before the arrival, the arrival, what
// is done between it and the wait, the wait, and what comes after.
func TestFiveStages(t *testing.T) {
	s := open(t, recording(t, "cuda-split-arrive-wait.zst"), 160, 24)
	screen := s.press(":").types("go-to-time 1500ns").press("enter", "+", "+", "+", "+").screen()
	stages := regexp.MustCompile("warp 0 .*─▲▸+▒?░+▒?◂+─")
	if !stages.MatchString(screen) {
		t.Errorf("no row shows %v:\n%s", stages, screen)
	}
}

// The phase at the playhead fills up with its arrivals as the playhead moves,
// and says which bytes are to come; a finding shows in its barrier, too.
func TestPhaseFillsUp(t *testing.T) {
	s := open(t, hangConfig(), 200, 60)
	for at, want := range map[string]string{"6.2us": "#0 □□□□ 32/160", "7us": "#0 □□□□ 32/160", "8.2us": "#0 ■■□□ 96/160", "9.5us": "#0 ■■■□ 128/160"} {
		s.press(":").types("go-to-time " + at).press("enter").shows("├" + want)
	}
	open(t, recording(t, "tma_pipeline_bytes.zst"), 160, 40).shows("✗#1 ■■■■ 1/1 2048 B░")
}

// The walk through the events of a row meets all its times, in order, forth
// and back.
func TestWalkThroughARow(t *testing.T) {
	cfg := recording(t, "psum_completion.zst")
	s := open(t, cfg, 120, 40)
	tl := s.m.tl
	row := replay.Row{CTA: 0, Warp: 2}
	var times []int64
	_, to := tl.Span()
	for at := int64(-1); ; {
		ev, ok, err := tl.Event(context.Background(), row, at, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || ev.Time > to {
			break
		}
		at = ev.Time
		times = append(times, at)
	}
	if len(times) < 20 {
		t.Fatalf("only %d events to walk through", len(times))
	}
	s.press("s", "w", "2", "enter", "g", "0", "enter")
	for _, at := range times {
		if s.m.focus.time != at {
			s.press(".")
		}
		s.at(report.Time(at))
	}
	s.press(".").shows("no later event in this row")
	for i := len(times) - 2; i >= 0; i-- {
		s.press(",").at(report.Time(times[i]))
	}
}

// What the screen says of a barrier and a warp at any time is what replay says.
func TestScreenShowsTheState(t *testing.T) {
	for _, file := range []string{"tma_pipeline_count.zst", "tma_pipeline.zst", "producer_consumer.zst", "cluster_exchange.zst"} {
		cfg := recording(t, file)
		s := open(t, cfg, 200, 60)
		// Another timeline, so that nothing is shared with the screen.
		other, err := cfg.Open(context.Background(), cfg.Launches[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		first, last := other.Span()
		rapid.Check(t, func(rt *rapid.T) {
			at := rapid.Int64Range(first, last).Draw(rt, "time")
			row := rapid.SampledFrom(other.Rows()).Draw(rt, "row")
			keys := []string{"f", "s"}
			for _, r := range fmt.Sprintf("%d/%d", row.CTA, row.Warp) {
				keys = append(keys, string(r))
			}
			keys = append(keys, "enter", "g")
			for _, r := range fmt.Sprint(at) {
				keys = append(keys, string(r))
			}
			s.press(append(keys, "enter")...)
			state, err := other.State(context.Background(), row.CTA, at)
			if err != nil {
				rt.Fatal(err)
			}
			flat := strings.Join(strings.Fields(s.screen()), " ")
			want := func(text string) {
				if !strings.Contains(flat, text) {
					rt.Fatalf("%s at %d, %v: the screen does not show %q:\n%s", file, at, row, text, s.screen())
				}
			}
			want(report.Time(at) + " " + rowID{cta: row.CTA, warp: row.Warp}.String())
			if b := findBarrier(state, s.m.focus.lane); b != nil && b.Live {
				want(fmt.Sprintf("phase %d", b.Phase))
				if b.Expected > 0 {
					want(fmt.Sprintf("%d/%d, %d pending", b.Expected-b.Pending, b.Expected, b.Pending))
				}
			}
			for _, w := range state.Warps {
				if w.CTA == row.CTA && w.Warp == row.Warp {
					for _, st := range w.Strands {
						want(st.Activity.String())
					}
				}
			}
		})
	}
}
