package tui

import (
	"strings"
	"testing"
)

// bytesOf is what a terminal sends for a key; escape as one that is told from
// the beginning of other keys sends it.
func bytesOf(t *testing.T, name string) string {
	t.Helper()
	fixed := map[string]string{
		"enter": "\r", "tab": "\t", "shift+tab": "\x1b[Z", "backspace": "\x7f", "esc": "\x1b[27u", "space": " ", "f1": "\x1bOP",
		"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
		"delete": "\x1b[3~", "pgup": "\x1b[5~", "pgdown": "\x1b[6~",
		"shift+left": "\x1b[1;2D", "shift+right": "\x1b[1;2C",
		"ctrl+up": "\x1b[1;5A", "ctrl+down": "\x1b[1;5B", "ctrl+right": "\x1b[1;5C", "ctrl+left": "\x1b[1;5D",
	}
	if s, ok := fixed[name]; ok {
		return s
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok && len(letter) == 1 {
		return string(rune(letter[0] & 0x1f))
	}
	if len(name) != 1 {
		t.Fatalf("what does a terminal send for %s?", name)
	}
	return name
}

// twins are a viewer on a terminal and one that a script drives: after each
// key both show the same.
type twins struct {
	*tty
	s *session
}

func (x *twins) press(keys ...string) {
	x.t.Helper()
	for _, k := range keys {
		x.tty.press(bytesOf(x.t, k))
		x.s.press(k)
		want := x.s.screen()
		x.shows("after "+k+" what a script draws:\n"+want, func(s string) bool { return s == want })
	}
}

// reach brings the viewer to where the keys of a context work.
func (x *twins) reach(c Context) {
	x.t.Helper()
	modes := map[Context]mode{InHelp: modeHelp, InPrompt: modePrompt, InPalette: modePalette}
	opens := map[Context]string{InHelp: "?", InPrompt: "g", InPalette: ":"}
	if x.s.m.mode != modes[c] {
		if x.s.m.mode != modeNormal {
			x.press("esc")
		}
		if opens[c] != "" {
			x.press(opens[c])
		}
	}
	for modes[c] == modeNormal && c != Everywhere && x.s.m.context() != c {
		x.press("tab")
	}
}

// Every key of every command does on a terminal what it does in a script. Left
// out are those that leave or stop the viewer, and the one that goes by the
// clock.
func TestEveryKeyOnATerminal(t *testing.T) {
	trace := func() Config {
		cfg := timelines(pipeline(2, true), pipeline(1, false))
		cfg.Save = func(string, []byte) error { return nil }
		return cfg
	}
	x := &twins{start(t, trace(), 120, 40), open(t, trace(), 120, 40)}
	want := x.s.screen()
	x.shows("what a script draws:\n"+want, func(s string) bool { return s == want })
	for _, c := range Commands() {
		switch c.Name {
		case "quit", "help-quit", "suspend", "play":
			continue
		}
		for _, k := range c.Keys {
			x.reach(c.Context)
			x.press(k)
		}
	}
	x.reach(Everywhere)
	x.press("home")
	x.tty.press("p")
	x.waitFor("playing")
	x.tty.press("q")
	if err := x.end(); err != nil {
		t.Error(err)
	}
}
