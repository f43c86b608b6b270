package tui

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// painted is a painter on a terminal that the test holds.
func painted(t *testing.T, cfg Config, cols, rows int) (*painter, *driver, *bytes.Buffer) {
	t.Helper()
	d := driverOf(t, cfg, cols, rows)
	var out bytes.Buffer
	p := &painter{m: d.m, out: &terminal{out: &out}, auto: cfg.Theme == ""}
	p.Init()
	p.paint()
	return p, d, &out
}

// Whatever is pressed, what was written over time makes a terminal show what is
// drawn: the differences leave nothing behind.
func TestDifferencesAddUp(t *testing.T) {
	var keys []string
	for _, c := range Commands() {
		if c.Name != "suspend" {
			keys = append(keys, c.Keys...)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		const cols, rows = 100, 30
		emu := vt.NewEmulator(cols, rows)
		d := driverOf(t, hangConfig(), cols, rows)
		p := &painter{m: d.m, out: &terminal{out: emu, on: true}}
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(keys), 1, 12).Draw(t, "keys") {
			key, err := parseKey(k)
			if err != nil {
				t.Fatal(err)
			}
			d.send(key)
			p.paint()
		}
		for y := range rows {
			for x := range cols {
				want, got := p.m.grid.cells[y*cols+x].r, " "
				if c := emu.CellAt(x, y); c != nil && c.Content != "" {
					got = c.Content
				}
				if got != string(want) {
					t.Fatalf("cell %d,%d shows %q, drawn is %q", x, y, got, want)
				}
			}
		}
	})
}

// Nothing ticks and nothing is written while nothing happens, and a key costs
// what it changes.
func TestIdleCostsNothing(t *testing.T) {
	p, d, out := painted(t, hangConfig(), 200, 60)
	whole := out.Len()
	out.Reset()
	if cmd := p.frame(); cmd != nil || out.Len() > 0 {
		t.Errorf("an idle viewer writes %d bytes, or waits for a clock: %t", out.Len(), cmd != nil)
	}
	for _, msg := range []tea.Msg{tea.FocusMsg{}, tea.EnvMsg{}, tea.KeyReleaseMsg{Code: 'x'}, frameDue{}} {
		if _, cmd := p.Update(msg); cmd != nil || out.Len() > 0 {
			t.Errorf("%T writes %d bytes, or asks for something: %t", msg, out.Len(), cmd != nil)
		}
	}
	d.send(tea.KeyPressMsg{Code: 'm', Text: "m"})
	p.paint()
	if out.Len() == 0 || out.Len() > whole/10 {
		t.Errorf("a mark costs %d bytes, the whole screen %d", out.Len(), whole)
	}
}

// A flood of changes is painted once a frame, and the last of them is shown.
func TestFloodIsPaintedOnce(t *testing.T) {
	p, _, out := painted(t, hangConfig(), 120, 40)
	p.last = time.Now()
	out.Reset()
	later := 0
	for i := range 1000 {
		if _, cmd := p.Update(tea.MouseMotionMsg{X: 20 + i%50, Y: 12, Button: tea.MouseLeft}); cmd != nil {
			later++
		}
	}
	if out.Len() > 20000 {
		t.Errorf("a flood writes %d bytes", out.Len())
	}
	p.later, p.last = false, time.Time{}
	out.Reset()
	if p.frame(); out.Len() == 0 || p.m.dirty {
		t.Error("the last movement is not shown")
	}
}

// Job control gets the terminal as it was; afterwards everything is painted
// again.
func TestSuspendAndResume(t *testing.T) {
	p, _, out := painted(t, hangConfig(), 80, 24)
	out.Reset()
	_, cmd := p.Update(suspending{})
	if s := out.String(); !strings.Contains(s, ansi.ResetModeAltScreenSaveCursor) || !strings.Contains(s, ansi.ResetModeMouseExtSgr) {
		t.Errorf("the terminal is left with %q", s)
	}
	if _, ok := cmd().(tea.SuspendMsg); !ok {
		t.Error("nothing is suspended")
	}
	out.Reset()
	p.last = time.Time{}
	p.Update(tea.ResumeMsg{})
	if s := out.String(); !strings.Contains(s, ansi.SetModeAltScreenSaveCursor) || !strings.Contains(s, ansi.SetModeMouseExtSgr) || !strings.Contains(s, "deadlock") {
		t.Errorf("the terminal is taken over with %q", s)
	}
}

// The colours follow the terminal's background, unless the user has chosen.
func TestThemeFollowsTheBackground(t *testing.T) {
	for _, x := range []struct {
		theme string
		bg    color.Color
		want  string
	}{{"", color.White, "light"}, {"", color.Black, "okabe-ito"}, {"high-contrast", color.White, "high-contrast"}} {
		cfg := hangConfig()
		cfg.Theme = x.theme
		p, _, out := painted(t, cfg, 80, 24)
		if asked := strings.Contains(out.String(), ansi.RequestBackgroundColor); asked != (x.theme == "") {
			t.Errorf("theme %q: the terminal is asked for its background: %t", x.theme, asked)
		}
		p.Update(tea.BackgroundColorMsg{Color: x.bg})
		if p.m.colours.name != x.want {
			t.Errorf("theme %q on %v is %s", x.theme, x.bg, p.m.colours.name)
		}
	}
}

// A panic leaves the alternate screen before anybody reports it.
func TestPanicLeavesTheScreen(t *testing.T) {
	p, _, out := painted(t, hangConfig(), 80, 24)
	out.Reset()
	func() {
		defer func() {
			if r := recover(); r == nil || !strings.Contains(out.String(), ansi.ResetModeAltScreenSaveCursor) {
				t.Errorf("after the panic %v the terminal has got %q", r, out)
			}
		}()
		p.guard(func() tea.Msg { panic("a fault") })()
	}()
	p.out.leave()
	if n := strings.Count(out.String(), ansi.ResetModeAltScreenSaveCursor); n != 1 {
		t.Errorf("the screen is left %d times", n)
	}
}

type brokenTerminal struct{ after int }

func (b *brokenTerminal) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, errors.New("input/output error")
	}
	return len(p), nil
}

// A viewer whose terminal has gone ends.
func TestTerminalHasGone(t *testing.T) {
	d := driverOf(t, hangConfig(), 80, 24)
	p := &painter{m: d.m, out: &terminal{out: &brokenTerminal{after: 1}}}
	p.Init()
	_, cmd := p.Update(tea.KeyPressMsg{Code: 'm', Text: "m"})
	if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("the viewer goes on")
	}
}

// A playhead that plays moves by the clock, on a terminal, to the end.
func TestPlayOnATerminal(t *testing.T) {
	x := start(t, hangConfig(), 120, 40)
	x.waitFor("4/5, 1 pending")
	x.press("\x1b[H") // home
	x.waitFor("  0 ns  cta0/w0")
	for i := range 6 {
		x.press(")")
		x.waitFor(fmt.Sprintf("plays %s a second", []string{"3.536 µs", "7.072 µs", "14.144 µs", "28.288 µs", "56.576 µs", "113.152 µs"}[i]))
	}
	x.press("p")
	x.waitFor("the end", "16.64 µs  cta0/w0")
	x.press("q")
	if err := x.end(); err != nil {
		t.Error(err)
	}
}
