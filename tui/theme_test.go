package tui

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"btrace/replay"
)

// contrast is the ratio of WCAG 2 between two colours, 1 to 21.
func contrast(a, b rgb) float64 {
	light := func(c rgb) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			x := float64(c>>(16-8*i)&0xff) / 255
			if x <= 0.04045 {
				x /= 12.92
			} else {
				x = math.Pow((x+0.055)/1.055, 2.4)
			}
			sum += weight * x
		}
		return sum
	}
	x, y := light(a)+0.05, light(b)+0.05
	return max(x, y) / min(x, y)
}

// Every style of every theme can be read on its background: 4.5 to 1 is what
// WCAG asks for text, 7 to 1 for high contrast.
func TestThemesCanBeRead(t *testing.T) {
	for _, p := range palettes() {
		th := newTheme(p, colorprofile.TrueColor)
		want := 4.5
		if p.name == "high-contrast" {
			want = 7
		}
		for s := range numStyles {
			fg, bg := th.looks[s].colours(th)
			if got := contrast(fg, bg); got < want {
				t.Errorf("%s: style %d, %s on %s, has contrast %.2f", p.name, s, fg.hex(), bg.hex(), got)
			}
		}
	}
}

// With 16 colours, or none, states differ as much as they can, and no sequence
// asks for more colours than there are.
func TestFewColours(t *testing.T) {
	for _, p := range palettes() {
		for profile, more := range map[colorprofile.Profile]*regexp.Regexp{
			colorprofile.ANSI256: regexp.MustCompile(`[34]8;2;`),
			colorprofile.ANSI:    regexp.MustCompile(`[34]8;`),
			colorprofile.ASCII:   regexp.MustCompile(`[;\[](3|4|9|10)[0-7](;|m)`),
		} {
			th := newTheme(p, profile)
			for i, s := range th.sgr {
				if i < numModified && more.MatchString(s) {
					t.Errorf("%s, %v: style %d is %q", p.name, profile, i, s)
				}
			}
		}
	}
	th := newTheme(palettes()[0], colorprofile.ANSI)
	for _, x := range [][2]style{{activityStyle(replay.Running), activityStyle(replay.Hung)}, {activityStyle(replay.Waiting), activityStyle(replay.Running)}} {
		if th.sgr[x[0]] == th.sgr[x[1]] {
			t.Errorf("styles %d and %d look the same with 16 colours", x[0], x[1])
		}
	}
}

// The screens that people see in colour, as pages that can be looked at. To
// change them, run the test with -update and open what has changed.
func TestThemes(t *testing.T) {
	for _, theme := range []string{"okabe-ito", "light", "high-contrast"} {
		for _, size := range []struct{ cols, rows int }{{40, 24}, {80, 24}, {120, 40}, {200, 60}} {
			t.Run(fmt.Sprintf("%s-%dx%d", theme, size.cols, size.rows), func(t *testing.T) {
				cfg := hangConfig()
				cfg.Theme = theme
				golden.RequireEqual(t, exported(t, cfg, "x.html", size.cols, size.rows))
			})
		}
	}
}

// exported is the view as a file.
func exported(t *testing.T, cfg Config, name string, cols, rows int, keys ...string) []byte {
	t.Helper()
	var out []byte
	cfg.Save = func(_ string, data []byte) error {
		out = data
		return nil
	}
	s := open(t, cfg, cols, rows).press(keys...)
	if err := s.line(":export " + name); err != nil {
		t.Fatal(err)
	}
	return out
}

// A picture is well-formed, has the text of the screen, and nothing of a trace
// becomes markup.
func TestExports(t *testing.T) {
	cfg := hangConfig()
	f := pipeline(1, true)
	f.findings[0].Message = `<script>alert("x")</script> & ]]>`
	f.findings[0].Hint = "\x1b[31m\x00</text>"
	cfg.Open = timelines(f).Open
	cfg.Report = reportOf(replay.Deadlock, f)
	cfg.Title = `"></title><b>`
	for _, theme := range Themes() {
		cfg.Theme = theme
		svg, page, text := exported(t, cfg, "a.svg", 120, 40), exported(t, cfg, "a.html", 120, 40), exported(t, cfg, "a.txt", 120, 40)
		screen := open(t, cfg, 120, 40).screen()
		if string(text) != screen {
			t.Errorf("%s: the text is not what is on the screen:\n%s", theme, text)
		}
		if bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte("<b>")) || bytes.ContainsAny(page, "\x1b\x00") {
			t.Errorf("%s: markup of the trace is in the page:\n%s", theme, page)
		}
		var shown strings.Builder
		d := xml.NewDecoder(bytes.NewReader(svg))
		for depth := []string{}; ; {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: the picture is not well-formed: %v", theme, err)
			}
			switch x := tok.(type) {
			case xml.StartElement:
				depth = append(depth, x.Name.Local)
			case xml.EndElement:
				depth = depth[:len(depth)-1]
			case xml.CharData:
				if len(depth) > 0 && depth[len(depth)-1] == "text" {
					shown.Write(x)
				}
			}
		}
		flat := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := flat(shown.String()), flat(screen); got != want {
			t.Errorf("%s: the picture shows\n%s\nwant\n%s", theme, got, want)
		}
	}
}
