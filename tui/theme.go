package tui

import (
	"fmt"
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"btrace/replay"
)

// style is an index into a theme's table: a base and modifiers.
type style uint16

// The bases. Those of the activities and severities are in the order of
// replay.
const (
	styleText style = iota
	styleDim
	styleBold
	styleTitle
	styleTitleActive
	styleKey
	styleAbsent // activities from here
	styleExited
	styleRunning
	styleArrived
	styleReleased
	styleCompleting
	styleWaiting
	styleTrapped
	styleHung
	styleNone // severities from here
	styleNote
	styleWarning
	styleError
	styleClean
	stylePhaseEven
	stylePhaseOdd
	styleMark
	styleKeyword
	styleString
	styleComment
	styleNumber
	numStyles
)

// The modifiers, added to a base.
const (
	modPlayhead style = 1 << (iota + 5)
	modFocus
	numModified = 1 << (iota + 5)
)

func activityStyle(a replay.Activity) style {
	if int(a) >= replay.NumActivities {
		return styleText
	}
	return styleAbsent + style(a)
}

func severityStyle(s uint8) style { return styleNone + style(min(s, 3)) }

// rgb is a colour, or none: that of the terminal.
type rgb int32

const noColour rgb = -1

func (c rgb) hex() string { return fmt.Sprintf("#%06x", int32(c)) }

// palette is the colours of a theme. The foreground and background are what
// an export paints; a terminal keeps its own unless paint is set.
type palette struct {
	name       string
	about      string
	fg, bg     rgb
	paint      bool
	orange     rgb
	sky        rgb
	green      rgb
	yellow     rgb
	vermillion rgb
	purple     rgb
	grey       rgb
}

// The names of the themes that the viewer itself chooses.
const (
	themeDark  = "okabe-ito"
	themeLight = "light"
)

// palettes are the themes. The first is that of a dark terminal: its colours
// are those of Okabe and Ito ("Color Universal Design", 2008), which people
// with any common colour blindness tell apart. Light has the same hues, dark
// enough to be read on white.
func palettes() []palette {
	return []palette{
		{themeDark, "the colours of Okabe and Ito, safe for colour-blind eyes, on a dark background",
			0xe4e4e4, 0x16181d, false, 0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442, 0xd55e00, 0xcc79a7, 0x8f949e},
		{themeLight, "the same hues for a light background",
			0x1c1c1c, 0xffffff, false, 0x8f5a00, 0x005f99, 0x006b4f, 0x6b5f00, 0xb03a00, 0x98336e, 0x666666},
		{"high-contrast", "bright colours on black, which is painted",
			0xffffff, 0x000000, true, 0xffb733, 0x80d0ff, 0x4dffb8, 0xffff4d, 0xff9466, 0xffa6dd, 0xcccccc},
		{"plain", "no colours: glyphs, bold and reverse",
			noColour, noColour, false, noColour, noColour, noColour, noColour, noColour, noColour, noColour},
	}
}

// Themes lists the names of the themes.
func Themes() []string {
	var names []string
	for _, p := range palettes() {
		names = append(names, p.name)
	}
	return names
}

// paletteOf finds a theme by its name.
func paletteOf(name string) (palette, error) {
	for _, p := range palettes() {
		if p.name == name {
			return p, nil
		}
	}
	return palette{}, fmt.Errorf("no theme %q: there are %s", clean(name, 40), strings.Join(Themes(), ", "))
}

// look is how a style looks.
type look struct {
	fg            rgb
	bold, reverse bool
}

// looks are those of all bases.
func (p *palette) looks() [numStyles]look {
	plain := func(c rgb) look { return look{fg: c} }
	bold := func(c rgb) look { return look{fg: c, bold: true} }
	return [numStyles]look{
		styleText:        plain(noColour),
		styleDim:         plain(p.grey),
		styleBold:        bold(noColour),
		styleTitle:       plain(p.grey),
		styleTitleActive: bold(p.yellow),
		styleKey:         plain(p.yellow),
		styleAbsent:      plain(p.grey),
		styleExited:      plain(p.grey),
		styleRunning:     plain(p.green),
		styleArrived:     plain(p.sky),
		styleReleased:    bold(p.sky),
		styleCompleting:  plain(p.purple),
		styleWaiting:     plain(p.orange),
		styleTrapped:     bold(p.vermillion),
		styleHung:        plain(p.vermillion),
		styleNone:        plain(noColour),
		styleNote:        plain(p.sky),
		styleWarning:     bold(p.yellow),
		styleError:       bold(p.vermillion),
		styleClean:       plain(p.green),
		stylePhaseEven:   plain(p.sky),
		stylePhaseOdd:    plain(p.purple),
		styleMark:        plain(p.yellow),
		styleKeyword:     plain(p.sky),
		styleString:      plain(p.orange),
		styleComment:     plain(p.grey),
		styleNumber:      plain(p.purple),
	}
}

// theme holds how every style looks, and its SGR sequence.
type theme struct {
	palette palette
	looks   [numModified]look
	sgr     [numModified]string
}

// newTheme makes the sequences for a terminal that can do what the profile
// says.
func newTheme(p palette, profile colorprofile.Profile) *theme {
	t := &theme{palette: p}
	for i, l := range p.looks() {
		for mod := style(0); mod < numModified; mod += modPlayhead {
			x := l
			x.reverse = mod&modPlayhead != 0
			x.bold = x.bold || mod&modFocus != 0
			t.looks[style(i)|mod] = x
			t.sgr[style(i)|mod] = x.sequence(p, profile)
		}
	}
	return t
}

// sequence is what turns a look on, after a reset. Cells are many and styles
// few: rendering each cell through Lip Gloss would cost a hundred times the
// frame.
func (l look) sequence(p palette, profile colorprofile.Profile) string {
	s := lipgloss.NewStyle().Bold(l.bold).Reverse(l.reverse)
	if c := profileColour(l.fg, profile); c != nil {
		s = s.Foreground(c)
	}
	if p.paint {
		if c := profileColour(p.bg, profile); c != nil {
			s = s.Background(c)
		}
		if c := profileColour(p.fg, profile); c != nil && l.fg == noColour {
			s = s.Foreground(c)
		}
	}
	const cell = "x"
	before, _, _ := strings.Cut(s.Render(cell), cell)
	return ansi.ResetStyle + before
}

// profileColour is a colour as a terminal can show it; nil for its own.
func profileColour(c rgb, p colorprofile.Profile) color.Color {
	if c == noColour {
		return nil
	}
	return p.Convert(color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff})
}
