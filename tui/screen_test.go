package tui

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
)

// show runs a script and returns the screen.
func show(t *testing.T, cfg Config, cols, rows int, keys ...string) string {
	t.Helper()
	s, err := Script(context.Background(), cfg, strings.NewReader(strings.Join(keys, "\n")), cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	checkScreen(t, s, cols, rows)
	return s
}

// checkScreen holds what is true of every screen: its size.
func checkScreen(t *testing.T, s string, cols, rows int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) != rows {
		t.Errorf("%d lines on a screen of %d", len(lines), rows)
	}
	for i, l := range lines {
		if n := len([]rune(l)); n > cols {
			t.Errorf("line %d has %d characters on a screen of %d: %q", i, n, cols, l)
		}
	}
}

// The screens that people see, at the widths that they have. To change them,
// run the test with -update and read the difference.
func TestScreens(t *testing.T) {
	for _, size := range []struct{ cols, rows int }{{40, 12}, {40, 24}, {80, 24}, {120, 40}, {200, 60}} {
		for name, cfg := range map[string]Config{"hang": hangConfig(), "clean": cleanConfig()} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size.cols, size.rows), func(t *testing.T) {
				golden.RequireEqual(t, show(t, cfg, size.cols, size.rows))
			})
		}
	}
	t.Run("ascii-80x24", func(t *testing.T) {
		cfg := hangConfig()
		cfg.ASCII = true
		golden.RequireEqual(t, show(t, cfg, 80, 24))
	})
	t.Run("lanes-80x40", func(t *testing.T) {
		golden.RequireEqual(t, show(t, hangConfig(), 80, 40, "enter", "j", "enter"))
	})
	t.Run("help-40x20", func(t *testing.T) {
		golden.RequireEqual(t, show(t, hangConfig(), 40, 20, "?"))
	})
}

// failer is a test of any kind.
type failer interface {
	Helper()
	Fatal(...any)
}

func modelOf(t failer, cfg Config) *model {
	t.Helper()
	m, err := newModel(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func driverOf(t failer, cfg Config, cols, rows int) *driver {
	t.Helper()
	d, err := newDriver(context.Background(), cfg, cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// paintTo paints the whole screen.
func paintTo(d *driver, out io.Writer) {
	p := &painter{m: d.m, out: &terminal{out: out, on: true}}
	p.paint()
}

// content is what a terminal that shows nothing would be sent for the screen.
func (d *driver) content() string {
	var b strings.Builder
	paintTo(d, &b)
	_, after, _ := strings.Cut(b.String(), ansi.EraseEntireScreen)
	return after
}
