package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"btrace/trace"
)

// session is a viewer that a story drives.
type session struct {
	*driver
	t *testing.T
}

func open(t *testing.T, cfg Config, cols, rows int) *session {
	t.Helper()
	return &session{driverOf(t, cfg, cols, rows), t}
}

// press presses keys by name.
func (s *session) press(keys ...string) *session {
	s.t.Helper()
	for _, k := range keys {
		key, err := parseKey(k)
		if err != nil {
			s.t.Fatal(err)
		}
		s.send(key)
	}
	return s
}

// types types a text, character by character.
func (s *session) types(text string) *session {
	s.t.Helper()
	for _, r := range text {
		if r == ' ' {
			s.press("space")
		} else {
			s.press(string(r))
		}
	}
	return s
}

// shows asserts that the screen holds all of the texts.
func (s *session) shows(texts ...string) *session {
	s.t.Helper()
	screen := s.screen()
	for _, x := range texts {
		if !strings.Contains(screen, x) {
			s.t.Errorf("the screen does not show %q:\n%s", x, screen)
		}
	}
	return s
}

// hides asserts that the screen holds none of the texts.
func (s *session) hides(texts ...string) *session {
	s.t.Helper()
	screen := s.screen()
	for _, x := range texts {
		if strings.Contains(screen, x) {
			s.t.Errorf("the screen shows %q:\n%s", x, screen)
		}
	}
	return s
}

// at asserts the focus as the status line writes it.
func (s *session) at(where string) *session {
	s.t.Helper()
	lines := strings.Split(strings.TrimRight(s.screen(), "\n"), "\n")
	if got := lines[len(lines)-1]; !strings.Contains(got, where+" ") {
		s.t.Errorf("the status line says %q, want %q in it", strings.TrimSpace(got), where)
	}
	return s
}

// A story for every command of the table: which keys, and what a user then
// sees. The screen is 120x40, the trace the hang of the fake pipeline unless
// the story opens another; it opens on warp 0 at 16.384 µs and mbar:0x1420.
func stories() map[string]func(*session) {
	two := func(s *session) *session { return open(s.t, timelines(pipeline(1, false), pipeline(1, true)), 120, 40) }
	story := func(s *session) *session {
		s = open(s.t, hangConfig(), 80, 24)
		for s.m.active != paneStory {
			s.press("tab")
		}
		return s
	}
	findings := func(s *session) *session {
		f := pipeline(3, true)
		cfg := timelines(f)
		cfg.Report = reportOf("deadlock", f)
		s = open(s.t, cfg, 120, 40)
		for s.m.active != paneFindings {
			s.press("tab")
		}
		return s
	}
	return map[string]func(*session){
		"row-up":         func(s *session) { s.press("down", "down", "up").at("cta0/w1") },
		"row-down":       func(s *session) { s.press("j").at("cta0/w1").shows("▶ ▷ warp 1", "event of cta0/w1") },
		"rows-page-up":   func(s *session) { s.press("pgdown", "pgup").at("cta0") },
		"rows-page-down": func(s *session) { s.press("pgdown").at("cta0/w4") },
		"fold": func(s *session) {
			s.press("enter").shows("▽ warp 0", "    l1-31", "exited since 10.496 µs").
				press("enter").hides("    l1-31").
				press("up", "enter").shows("▷ CTA 0").hides("warp 3").
				press("enter").shows("warp 3")
		},
		"barrier-up":   func(s *session) { s.press("tab").shows("━ barriers").press("up").at("mbar:0x1400") },
		"barrier-down": func(s *session) { s.press("tab", "down").at("bar:0").shows("▶bar:0", "barrier bar:0 of CTA 0") },
		"finding-up": func(s *session) {
			findings(s).press("down", "up").shows("▶✗ root deadlock-count mbar:0x1420 #0", "✗ error, root of the hang at 16.384 µs")
		},
		"finding-down": func(s *session) {
			findings(s).press("down").shows("✗ error, root of the hang at 16.896 µs").at("cta0/w0")
		},
		"findings-page-up": func(s *session) {
			findings(s).press("pgdown", "pgup").shows("✗ error, root of the hang at 16.384 µs")
		},
		"findings-page-down": func(s *session) { findings(s).press("pgdown").shows("✗ error, root of the hang at 17.408 µs") },
		"finding-show":       func(s *session) { findings(s).press("down", "enter").at("16.896 µs  cta1/w0") },
		"scroll-up": func(s *session) {
			story(s).press("down", "down", "up").hides("✗ error, root").shows("mbar:0x1420 expects")
		},
		"scroll-down":      func(s *session) { story(s).press("down").hides("✗ error, root").shows("mbar:0x1420 expects") },
		"scroll-page-up":   func(s *session) { story(s).press("pgdown", "pgup").shows("✗ error, root") },
		"scroll-page-down": func(s *session) { story(s).press("pgdown", "pgdown").shows("behind", "16.448 µs").hides(" more") },

		"left":       func(s *session) { s.press("left").at("15.998 µs") },
		"right":      func(s *session) { s.press("home", "right").at("281 ns") },
		"far-left":   func(s *session) { s.press("end", "shift+left").at("13.752 µs") },
		"far-right":  func(s *session) { s.press("home", "L").at("2.807 µs") },
		"next-event": func(s *session) { s.press("home", ".").at("5.12 µs").shows("mbar.init mbar:0x1420") },
		"previous-event": func(s *session) {
			s.press(",").at("12.928 µs").shows("mbar.arrive_expect_tx mbar:0x1400").at("mbar:0x1400")
		},
		"next-phase": func(s *session) {
			s.press("home", "B", "]").at("12.928 µs").shows("phase 0 of mbar:0x1400").press("]").at("16.448 µs")
		},
		"previous-phase": func(s *session) {
			s.press("end", "B", "[", "[").at("12.928 µs").press("[").shows("no earlier phase of mbar:0x1400")
		},
		"start":      func(s *session) { s.press("home").at("0 ns") },
		"end":        func(s *session) { s.press("home", "end").at("16.64 µs") },
		"go-to-time": func(s *session) { s.press("g", "1", "2", "u", "s", "enter").at("12 µs") },
		"next-finding": func(s *session) {
			findings(s).press("n").at("16.896 µs  cta1/w0").press("n", "n").shows("from the first finding again").at("cta0/w0")
		},
		"previous-finding": func(s *session) {
			findings(s).press("N").shows("from the last finding again").at("17.408 µs  cta2/w0")
		},
		"next-barrier":     func(s *session) { s.press("b").at("bar:0") },
		"previous-barrier": func(s *session) { s.press("B").at("mbar:0x1400") },
		"follow":           func(s *session) { s.press("down", "end", "o").at("mbar:0x1400") },
		"find": func(s *session) {
			s.press("s", "w", "3", "enter").at("cta0/w3").press("s", "b", "a", "r", ":", "0", "enter").at("bar:0")
		},
		"zoom-in":  func(s *session) { s.press("home", "+").shows("│2 µs", "│8 µs").hides("│10 µs").at("0 ns") },
		"zoom-out": func(s *session) { s.press("home", "+", "-").shows("│10 µs") },
		"fit":      func(s *session) { s.press("+", "+", "+", "f").shows("│5 µs", "│10 µs") },
		"zoom-phase": func(s *session) {
			s.press("B", "g", "1", "3", "u", "s", "enter", "z").shows("│13.2 µs", "├#0 1/1═")
		},
		"zoom-event":      func(s *session) { s.press("Z").shows("│16.36 µs", "│16.4 µs") },
		"centre":          func(s *session) { s.press("+", "+", "c").shows("│15 µs", "│18 µs") },
		"next-pane":       func(s *session) { s.press("tab").shows("━ barriers").press("tab").shows("━ barrier mbar:0x1420") },
		"previous-pane":   func(s *session) { s.press("shift+tab").shows("━ deadlock-count") },
		"fold-all":        func(s *session) { s.press("F").shows("▶▷ CTA 0").hides("warp 1").press("F").shows("warp 1") },
		"next-launch":     func(s *session) { two(s).shows("launch 1/2").press("}").shows("launch 2/2", "tma_pipeline_count") },
		"previous-launch": func(s *session) { two(s).press("{").shows("launch 2/2").press("{").shows("launch 1/2") },
		"toggle-mouse": func(s *session) {
			s.press("M").shows("mouse off")
			if s.m.mouse {
				s.t.Error("the mouse is still on")
			}
			s.press("M").shows("mouse on")
			if !s.m.mouse {
				s.t.Error("the mouse is not on again")
			}
		},
		"undo": func(s *session) {
			s.press("home", "right", "right", "u").at("0 ns").press("u").at("16.384 µs").press("u").shows("nothing to undo")
		},
		"redo": func(s *session) { s.press("home", "u", "U").at("0 ns").press("U").shows("nothing to redo") },
		"mark": func(s *session) {
			s.press("home", "m").shows("mark at 0 ns").press("end").at("Δ +16.64 µs").press("home", "m").shows("mark cleared").press("end").hides("Δ")
		},
		"next-mark": func(s *session) { s.press("home", "m", "end", "m", "'").at("0 ns").press("'").at("16.64 µs") },
		"copy": func(s *session) {
			s.press("y").shows("copied ")
			if len(s.sent) != 1 {
				s.t.Fatalf("%d messages to the terminal, want one", len(s.sent))
			}
			text := s.m.focusText()
			for _, want := range []string{"time     16.384 µs (16384 ns)", "row      cta0/w0", "barrier  mbar:0x1420 of cta0", "4/5, 1 pending",
				"mbar.wait mbar:0x1420", "finding  deadlock-count", "initialise it with 4"} {
				if !strings.Contains(text, want) {
					s.t.Errorf("the copied text lacks %q:\n%s", want, text)
				}
			}
		},
		"help":    func(s *session) { s.press("?").shows("help: enter does", "row above", "next event of this row") },
		"cancel":  func(s *session) { s.press("esc").at("16.384 µs") },
		"suspend": func(s *session) { s.press("ctrl+z"); s.sentA(suspending{}) },
		"quit": func(s *session) {
			if s.press("q"); !s.quit {
				s.t.Error("q does not quit")
			}
		},
		"palette": func(s *session) {
			s.press(":").shows("commands (", "next event of this row").press("z", "o", "o", "m", "i", "enter").hides("commands (").shows("│14 µs")
			s.press(":").types("go-to-time 12us").press("enter").at("12 µs")
			s.press(":").types("go 12us").press("backspace", "backspace", "enter").at("12 ns")
			s.press(":").types("nosuchthing").shows("no command is called so").press("enter", "esc").at("12 ns")
			s.press(":").types("fit now").press("enter").shows(`fit takes nothing, and "now" follows it`).press("esc").hides("commands (")
			s.press(":").types("next ev").press("esc").at("12 ns")
		},
		"palette-up":   func(s *session) { s.press(":", "down", "down", "up").shows("▶ row-down") },
		"palette-down": func(s *session) { s.press(":", "down").shows("▶ row-down").press("tab").shows("▶ rows-page-up") },
		"palette-run": func(s *session) {
			s.press(":").types("nev").shows("▶ next-event").press("enter").shows("no later event").hides("commands (")
			s.press(":").types("go-to-").press("enter").shows("go-to-time:").press("7", "enter").at("7 ns")
		},

		"help-up":        func(s *session) { s.press("?", "down", "up", "up").shows("▶ up k") },
		"help-down":      func(s *session) { s.press("?", "down").shows("▶ down j") },
		"help-page-up":   func(s *session) { s.press("?", "pgdown", "pgup").shows("▶ up k") },
		"help-page-down": func(s *session) { s.press("?", "pgdown").hides("▶ up k") },
		"help-run":       func(s *session) { s.press("?", "down", "enter").hides("help: enter does").at("cta0/w1") },
		"help-close": func(s *session) {
			s.press("?", "esc").hides("help: enter does").press("?", "?").hides("help: enter does")
		},
		"help-quit": func(s *session) {
			if s.press("?", "ctrl+c"); !s.quit {
				s.t.Error("ctrl+c does not quit in the help")
			}
		},
		"prompt-accept": func(s *session) { s.press("g", "5", "u", "enter").shows("is no time").press("s", "enter").at("5 µs") },
		"prompt-cancel": func(s *session) { s.press("g", "5", "esc").hides("go-to-time").at("16.384 µs") },
		"prompt-erase":  func(s *session) { s.press("g", "5", "6", "backspace").shows("go-to-time: 5").press("enter").at("5 ns") },
		"prompt-delete": func(s *session) { s.press("g", "5", "6", "left", "delete", "enter").at("5 ns") },
		"prompt-clear":  func(s *session) { s.press("g", "5", "6", "ctrl+u", "9", "enter").at("9 ns") },
		"prompt-left":   func(s *session) { s.press("g", "5", "left", "1", "enter").at("15 ns") },
		"prompt-right":  func(s *session) { s.press("g", "5", "left", "right", "1", "enter").at("51 ns") },
		"prompt-start":  func(s *session) { s.press("g", "5", "6", "home", "1", "enter").at("156 ns") },
		"prompt-end":    func(s *session) { s.press("g", "5", "6", "home", "end", "1", "enter").at("561 ns") },
	}
}

func TestEveryCommand(t *testing.T) {
	all := stories()
	for _, c := range Commands() {
		run := all[c.Name]
		if run == nil {
			t.Errorf("no story for the command %s", c.Name)
			continue
		}
		delete(all, c.Name)
		t.Run(c.Name, func(t *testing.T) { run(open(t, hangConfig(), 120, 40)) })
	}
	for name := range all {
		t.Errorf("a story for %s, which is no command", name)
	}
}

// Every key of a command does what the command's first key does: nothing else
// in reach of its context takes it.
func TestKeysAreUnambiguous(t *testing.T) {
	commands := Commands()
	names := map[string]bool{}
	seen := map[binding]string{}
	for _, c := range commands {
		if names[c.Name] || c.Name == "" || c.Help == "" || c.Subject == "" || len(c.Keys) == 0 {
			t.Errorf("command %q: names are unique; help, subject and keys are there", c.Name)
		}
		names[c.Name] = true
		for _, k := range c.Keys {
			if _, err := parseKey(k); err != nil {
				t.Errorf("command %s: %v", c.Name, err)
			}
			if other := seen[binding{c.Context, k}]; other != "" {
				t.Errorf("%s does both %s and %s", k, other, c.Name)
			}
			seen[binding{c.Context, k}] = c.Name
		}
	}
	for b, name := range seen {
		if panes := []Context{InWarps, InBarriers, InFindings, InDetails}; slices.Contains(panes, b.context) {
			if other := seen[binding{Everywhere, b.key}]; other != "" {
				t.Errorf("%s hides %s, which works everywhere", name, other)
			}
		}
	}
}

// The help shows every command of its context, whatever the width, and enter
// does the selected one even if the keys of the help mean something else.
func TestHelpIsComplete(t *testing.T) {
	for _, cols := range []int{24, 40, 80, 300} {
		s := open(t, hangConfig(), cols, 24).press("?")
		var text strings.Builder
		for range Commands() {
			text.WriteString(s.screen())
			s.press("down")
		}
		text.WriteString(s.screen())
		flat := strings.Join(strings.Fields(text.String()), " ")
		for _, c := range Commands() {
			if c.Context != Everywhere && c.Context != InWarps {
				continue
			}
			for _, w := range strings.Fields(c.Help) {
				if !strings.Contains(flat, w) && len(w) < cols/2 {
					t.Errorf("%d columns: the help lacks %q of %s", cols, w, c.Name)
				}
			}
		}
	}
}

// sentA asserts that the last message to the terminal was this one.
func (s *session) sentA(want tea.Msg) {
	s.t.Helper()
	if len(s.sent) == 0 || s.sent[len(s.sent)-1] != want {
		s.t.Errorf("sent %v, want %T", s.sent, want)
	}
}

func TestUnknownKeySaysSo(t *testing.T) {
	open(t, hangConfig(), 120, 40).press("Q").shows("Q does nothing here; ? shows what does")
}

func TestMarkEventsAreNamed(t *testing.T) {
	f := pipeline(1, false)
	f.add(0, 1, 70000, 1, trace.Op{Kind: trace.KindMark, Text: "here \x1b[31m", Has: trace.Fields(0).With(trace.FieldText)})
	open(t, timelines(f), 120, 40).press("j", "end").shows("text=here �[31m")
}
