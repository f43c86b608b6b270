package tui

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"btrace/replay"
)

// Whatever a string of a trace holds, what is drawn is as many columns as
// there are characters, and nothing in it commands the terminal.
func TestTextIsHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		for _, ascii := range []bool{false, true} {
			g := grid{ascii: ascii}
			g.reset(40, 1)
			g.canvas(rect{0, 0, 40, 1}).text(0, 0, styleText, s)
			line := strings.TrimRight(g.plain(), "\n")
			if n := len([]rune(line)); ansi.StringWidth(line) != n || ansi.StringWidthWc(line) != n || n > 40 {
				t.Fatalf("%q is drawn as %q: %d characters, %d and %d columns", s, line, n, ansi.StringWidth(line), ansi.StringWidthWc(line))
			}
			for _, r := range line {
				if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || ascii && r >= 0x80 {
					t.Fatalf("%q is drawn with %U", s, r)
				}
			}
		}
	})
	for _, s := range []string{"\x1b[2J", "a\u202eb", "\u200b", "e\u0301", "世", "🇩🇪", "\x9b31m", "\x00", "\u2066", "ﷺ", "\ufeff", "\u00ad"} {
		if got := clean(s, 100); strings.ContainsRune(got, []rune(s)[0]) && got == s {
			t.Errorf("%q is let through", s)
		}
	}
}

func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zäµ]{1,30}`)).Draw(t, "words")
		width := rapid.IntRange(-1, 50).Draw(t, "width")
		lines := wrap(strings.Join(words, " "), width)
		for _, l := range lines {
			if len([]rune(l)) > max(width, 1) {
				t.Fatalf("%q is longer than %d", l, width)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.Join(words, "") {
			t.Fatalf("%q has become %q", words, got)
		}
	})
}

// Every activity and severity can be told from every other without colour,
// with Unicode and with ASCII.
func TestGlyphsTellStatesApart(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		g := grid{ascii: ascii}
		seen := map[rune]string{}
		note := func(r rune, name string) {
			r = g.glyph(r)
			if other := seen[r]; other != "" || r == '?' {
				t.Errorf("ascii %v: %q is %s and %s", ascii, r, other, name)
			}
			seen[r] = name
		}
		for a := range replay.NumActivities {
			note(activityGlyph(replay.Cell{Activity: replay.Activity(a)}), replay.Activity(a).String())
		}
		for s := uint8(1); s <= 3; s++ {
			note(severityGlyph(s), "a severity")
		}
		for _, e := range legend() {
			if r := g.glyph(e.glyph); r == '?' {
				t.Errorf("ascii %v: no glyph for %s", ascii, e.text)
			}
		}
	}
}

// The verdict is told by its glyph and its word, and without colours no
// sequence sets one.
func TestNoColour(t *testing.T) {
	cfg := hangConfig()
	cfg.NoColor = true
	s := open(t, cfg, 120, 40)
	if out := s.content(); regexp.MustCompile(`\x1b\[[0-9;]*;[349][0-9;]*m`).MatchString(out) {
		t.Errorf("a colour is set: %q", out)
	}
	s.shows("✗ deadlock")
	if out := open(t, hangConfig(), 120, 40).content(); !strings.Contains(out, "38;2;213;94;0") {
		t.Error("with colours, vermillion is not among them")
	}
	for _, p := range []colorprofile.Profile{colorprofile.NoTTY, colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
		th := newTheme(palettes()[0], p)
		for i, s := range th.sgr {
			if i < int(numStyles) && (!strings.HasPrefix(s, "\x1b[") || !strings.HasSuffix(s, "m")) {
				t.Errorf("profile %v: style %d is %q", p, i, s)
			}
		}
	}
}
