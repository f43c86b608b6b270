package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"btrace/replay/stats"
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
	// cross hangs in a cycle: w0 waits for w1 on one barrier, w1 for w0 on
	// another.
	cross := func(s *session) *session {
		f := crossed()
		cfg := timelines(f)
		cfg.Report = reportOf("deadlock", f)
		cfg.LoadStats = func(context.Context, uint32) (*stats.Launch, error) { return pipelineStats(), nil }
		return open(s.t, cfg, 120, 40)
	}
	graph := func(s *session) *session {
		s = cross(s)
		for s.m.active != paneGraph {
			s.press("tab")
		}
		return s
	}
	return map[string]func(*session){
		"walk-up":        func(s *session) { graph(s).press("down", "down", "up").shows("▶└ w1 held") },
		"walk-down":      func(s *session) { graph(s).shows("▶bar:1 #0  32/64  holds w0").press("down").shows("▶└ w1 held") },
		"walk-page-up":   func(s *session) { graph(s).press("pgdown", "pgup").shows("▶bar:1 #0") },
		"walk-page-down": func(s *session) { graph(s).press("pgdown").shows("▶      └ ↺ bar:1 #0  a cycle") },
		"walk-to": func(s *session) {
			graph(s).press("down", "enter").at("cta0/w1  bar:2").press("u").at("cta0/w0  bar:1")
			open(s.t, hangConfig(), 120, 40).press("S", "down", "enter").at("6 µs  cta0/w0  mbar:0x1420")
		},
		"next-at-barrier": func(s *session) {
			s.press("home", ">").at("5.12 µs  cta0/w0").shows("mbar.init by cta0/w0").press(">").at("12.288 µs")
			s.press("end", ">").shows("no later event on mbar:0x1420")
		},
		"previous-at-barrier": func(s *session) {
			s.press("<").at("15.36 µs  cta0/w4").shows("mbar.arrive by cta0/w4").press("<").at("15.104 µs  cta0/w3")
			s.press("home", "<").shows("no earlier event on mbar:0x1420")
		},
		"released-by": func(s *session) {
			s.types("s").types("w2").press("enter", "g").types("11us").press("enter", "r").shows("released by bar.sync of cta0/w4, the last of phase 0").at("10.24 µs  cta0/w4  bar:0")
			s.press("home", "r").shows("has not come out of a wait yet")
		},
		"waits-for": func(s *session) {
			x := cross(s)
			x.at("cta0/w0  bar:1").press("w").at("cta0/w1  bar:2").shows("w1 has not come to bar:1: it waits at bar:2")
			x.press("w").at("cta0/w0  bar:1").press("home", "w").shows("this row waits for nobody here")
			s.press("w").shows("mbar:0x1420 lacks 1 arrivals, and nobody is left who makes them")
			s.types("s").types("w1").press("enter", "g").types("8us").press("enter", "w").shows("completed by bar.sync of cta0/w4").at("10.24 µs  cta0/w4")
		},
		"longest-wait": func(s *session) {
			s.types("s").types("w2").press("enter", "W").shows("cta0/w2 waits 2.144 µs at bar:0, until 10.336 µs").at("8.192 µs  cta0/w2  bar:0")
		},
		"longest-wait-of-all": func(s *session) {
			s.press("ctrl+w").shows("cta0/w0 waits 4.128 µs at bar:0").at("6.144 µs  cta0/w0  bar:0")
		},
		"play": func(s *session) {
			s.press("home", "p").shows("playing 1.768 µs a second").at("1.768 µs").press("p").shows("stopped").at("1.768 µs")
			s.press("p").at("3.536 µs").press("end", "p").shows("this is the end")
			s.press("u", "u")
		},
		"faster": func(s *session) { s.press("home", ")", "p").shows("playing 3.536 µs a second").at("3.536 µs") },
		"slower": func(s *session) { s.press("home", "(", "(").shows("plays 442 ns a second").press("p").at("442 ns") },
		"filter": func(s *session) {
			s.press("/").types("warp:1-3 op:arrive").press("enter").shows("warps (3 of 5) warp:1-3 op:arrive", "3 of 5 warps").hides("warp 0", "warp 4")
			s.press("/").types("warp:0 cta:1").press("enter").shows("no warp matches").press("esc")
			s.press("/").types("wate>3").press("enter").shows("is no part of a filter").press("esc")
			s.press("/", "enter").shows("warp 0", "warp 4", "all warps")
		},
		"pin": func(s *session) {
			s.press("end", "down", "down", "P").shows("▶◆ cta0/w2", "cta0/w2 is pinned").hides("warp 2")
			s.press("down", "down").at("cta0/w0").press("up", "up", "P").shows("▷ warp 2", "no longer pinned")
		},
		"hide": func(s *session) {
			s.press("down", "x").hides("warp 1 ").shows("cta0/w1 is hidden", "warps (4 of 5)").at("cta0/w2")
			s.press("up", "up", "x").shows("nothing else is shown: this row stays", "▽ CTA 0")
		},
		"show-all": func(s *session) {
			s.press("down", "x", "x", "/").types("warp:3-4").press("enter", "X").shows("warp 1", "warp 2", "warps (5)")
		},
		"order": func(s *session) {
			s.press("O").shows("warps (5), most waiting first").press("O").shows("first to hang first").press("O").shows("warps by number")
			s.press(":").types("order waiting").press("enter").shows("most waiting first").press(":").types("order upside").press("enter").shows("no order").press("esc")
		},
		"toggle-graph": func(s *session) {
			s.shows("─ who waits").press("G").hides("who waits").press("G").shows("━ who waits")
		},
		"toggle-waits": func(s *session) {
			s.hides("waits at").press("S").shows("━ waits at mbar:0x1420", "warps wait 42 % of their time", "3, 4.5 µs in all", "1 wait without end", "w3        ■■■■■■■■■■    2 times",
				"bytes     ■", "▶#0                   1 for ever").press("S").hides("waits at mbar")
		},
		"pane": func(s *session) {
			s.press("t").types("event").press("enter").hides("event of").press("t").types("event").press("enter").shows("━ event of")
			s.press("t").types("nonsense").press("enter").shows("no pane").press("esc")
		},
		"maximise": func(s *session) {
			s.press("v").hides("findings (").shows("warps alone", "▶ ▷ warp 0").press("v").shows("findings (")
			s.press("tab", "tab", "v").shows("━ barrier mbar:0x1420").hides("warp 0", "│").press("v").shows("warp 0")
		},
		"wider": func(s *session) { s.wide(47, "ctrl+left") },
		"narrower": func(s *session) {
			s.wide(35, "ctrl+right", "ctrl+right").wide(30, "ctrl+right", "ctrl+right", "ctrl+right", "ctrl+right")
		},
		"taller": func(s *session) {
			s.press("tab", "tab")
			before := s.tall(paneState)
			if s.press("ctrl+up", "ctrl+up"); s.tall(paneState) != before+2 {
				s.t.Errorf("the pane has %d lines, after %d", s.tall(paneState), before)
			}
		},
		"shorter": func(s *session) {
			s = open(s.t, hangConfig(), 80, 24)
			before := s.tall(paneState)
			if s.press("ctrl+down"); s.tall(paneState) != before-1 {
				s.t.Errorf("the pane has %d lines, after %d", s.tall(paneState), before)
			}
		},
		"theme": func(s *session) {
			s.press("T").shows("theme light").press(":").types("theme high-contrast").press("enter").shows("theme high-contrast")
			if out := s.content(); !strings.Contains(out, "48;2;0;0;0") {
				s.t.Error("high-contrast does not paint its background")
			}
			s.press(":").types("theme pink").press("enter").shows(`no theme "pink"`)
		},
		"toggle-ascii": func(s *session) {
			s.press("A").shows("ASCII only").hides("▷", "█").press("A").shows("▷")
		},
		"swap": func(s *session) {
			s.press("D").shows("one recording: btrace view A B compares two")
			x := open(s.t, twoRecordings(s.t), 120, 44).shows("tma_pipeline_lost_arrive.zst  tma_pipeline_lost_arrive", "✗ deadlock", "━ where they part").at("491.232 µs  cta0/w3  mbar:0x1428")
			x.shows("▶first w3:l0  70 operations in", "both  syncwarp.done warp:3", "A     mbar.arrive mbar:0x1428", "B     syncwarp warp:3",
				"─ A tma_pipeline.zst, completed")
			x.press("D").shows("tma_pipeline.zst  tma_pipeline  completed", "✓ clean").at("886.72 µs  cta0/w3  mbar:0x1428").shows("─ B tma_pipeline_lost_arrive.zst, hung")
			x.press("u").shows("✗ deadlock").at("491.232 µs  cta0/w3  mbar:0x1428").press("U").shows("✓ clean").press("D").shows("✗ deadlock")
		},
		"toggle-other": func(s *session) {
			s.press("d").shows("one recording: btrace view A B compares two")
			x := open(s.t, twoRecordings(s.t), 120, 44).shows("─ A tma_pipeline.zst, completed")
			x.press("d").shows("tma_pipeline_lost_arrive.zst alone").hides("─ A tma_pipeline.zst").press("d").shows("both recordings", "─ A tma_pipeline.zst, completed")
		},
		"launch": func(s *session) {
			two(s).press("ctrl+l", "1", "enter").shows("launch 2/2").press("ctrl+l", "7", "enter").shows(`no launch "7"`)
		},
		"previous-mark": func(s *session) { s.press("home", "m", "end", "m", "\"").at("0 ns").press("\"").at("16.64 µs") },
		"clear-marks":   func(s *session) { s.press("m", "end").shows("Δ").press("ctrl+x").hides("Δ").shows("1 marks cleared") },
		"copy-finding": func(s *session) {
			s.press("Y").shows("copied the finding")
			if text, ok := s.sent[0].(clipboard); !ok || !strings.Contains(string(text), "initialise it with 4") {
				s.t.Errorf("%q is copied", text)
			}
		},
		"export": func(s *session) {
			files := map[string]string{}
			cfg := hangConfig()
			cfg.Save = func(name string, data []byte) error {
				files[name] = string(data)
				return nil
			}
			s = open(s.t, cfg, 120, 30)
			for _, name := range []string{"a.svg", "a.html", "a.txt"} {
				s.press("e").types(name).press("enter").shows("written to " + name)
				if !strings.Contains(files[name], "mbar:0x1420") {
					s.t.Errorf("%s is %q", name, files[name])
				}
			}
			s.press("e").types("a.pdf").press("enter").shows("must end in .svg").press("esc")
			s.press(":").types("export b.svg").press("enter").shows("written to b.svg").hides("commands (")
		},
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
			s.press("B", "g", "1", "3", "u", "s", "enter", "z").shows("│13.2 µs", "├#0 ■■■■ 1/1═")
		},
		"zoom-event": func(s *session) { s.press("Z").shows("│16.36 µs", "│16.4 µs") },
		"centre":     func(s *session) { s.press("+", "+", "c").shows("│15 µs", "│18 µs") },
		"next-pane":  func(s *session) { s.press("tab").shows("━ barriers").press("tab").shows("━ barrier mbar:0x1420") },
		"previous-pane": func(s *session) {
			s.press("shift+tab").shows("━ waits at mbar:0x1420").press("shift+tab").shows("━ who waits for whom").press("shift+tab").shows("━ deadlock-count")
		},
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

// wide presses keys and asserts the width of the panes beside the timeline.
func (s *session) wide(want int, keys ...string) *session {
	s.t.Helper()
	s.press(keys...)
	if got := s.m.cols - s.m.layout.divider.x - 1; got != want {
		s.t.Errorf("the panes are %d wide, want %d", got, want)
	}
	return s
}

// tall is the height of a pane.
func (s *session) tall(p pane) int {
	for _, x := range s.m.layout.panes {
		if x.pane == p {
			return x.h
		}
	}
	return 0
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
