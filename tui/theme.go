package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"btrace/replay"
)

// Glyphs. Every state has one of its own: a colour only repeats what the glyph
// says.
const (
	glyphExited       = '·'
	glyphRunning      = '─'
	glyphRunningEvent = '┴'
	glyphArrived      = '▸'
	glyphReleased     = '◂'
	glyphCompleting   = 'ƒ'
	glyphWaiting      = '░'
	glyphWaitingPart  = '▒'
	glyphTrapped      = '╳'
	glyphHung         = '█'
	glyphError        = '✗'
	glyphWarning      = '!'
	glyphNote         = 'i'
	glyphClean        = '✓'
	glyphIncomplete   = '?'
	glyphLoading      = '⋯'
	glyphPointer      = '▶'
	glyphFolded       = '▷'
	glyphUnfolded     = '▽'
	glyphPlayhead     = '▼'
	glyphMark         = '┆'
	glyphVertical     = '│'
	glyphPhaseStart   = '├'
	glyphPhaseEven    = '═'
	glyphPhaseOdd     = '─'
	glyphPhaseDense   = '▦'
	glyphGaugeFull    = '■'
	glyphGaugeEmpty   = '□'
	glyphRule         = '─'
	glyphRuleActive   = '━'
	glyphWindow       = '▬'
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

func severityGlyph(s uint8) rune {
	return [...]rune{' ', glyphNote, glyphWarning, glyphError}[min(s, 3)]
}

// activityGlyph is the glyph of a cell in which the activity is the worst.
func activityGlyph(c replay.Cell) rune {
	switch c.Activity {
	case replay.Exited:
		return glyphExited
	case replay.Running:
		if c.Events {
			return glyphRunningEvent
		}
		return glyphRunning
	case replay.Arrived:
		return glyphArrived
	case replay.Released:
		return glyphReleased
	case replay.Completing:
		return glyphCompleting
	case replay.Waiting:
		if c.Mixed {
			return glyphWaitingPart
		}
		return glyphWaiting
	case replay.Trapped:
		return glyphTrapped
	case replay.Hung:
		return glyphHung
	}
	return ' '
}

// theme holds the SGR sequence of every style.
type theme struct {
	sgr [numModified]string
}

// newTheme makes the sequences for a terminal that can do what the profile
// says. The colours are those of Okabe and Ito ("Color Universal Design",
// 2008), which people with any common colour blindness tell apart.
func newTheme(p colorprofile.Profile) *theme {
	rgb := func(x uint32) color.Color {
		return p.Convert(color.RGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 0xff})
	}
	var (
		orange     = rgb(0xe69f00)
		sky        = rgb(0x56b4e9)
		green      = rgb(0x009e73)
		yellow     = rgb(0xf0e442)
		vermillion = rgb(0xd55e00)
		purple     = rgb(0xcc79a7)
		grey       = rgb(0x8a8a8a)
	)
	plain := lipgloss.NewStyle()
	fg := func(c color.Color) lipgloss.Style {
		if c == nil {
			return plain
		}
		return plain.Foreground(c)
	}
	base := [numStyles]lipgloss.Style{
		styleText:        plain,
		styleDim:         fg(grey),
		styleBold:        plain.Bold(true),
		styleTitle:       fg(grey),
		styleTitleActive: fg(yellow).Bold(true),
		styleKey:         fg(yellow),
		styleAbsent:      fg(grey),
		styleExited:      fg(grey),
		styleRunning:     fg(green),
		styleArrived:     fg(sky),
		styleReleased:    fg(sky).Bold(true),
		styleCompleting:  fg(purple),
		styleWaiting:     fg(orange),
		styleTrapped:     fg(vermillion).Bold(true),
		styleHung:        fg(vermillion),
		styleNone:        plain,
		styleNote:        fg(sky),
		styleWarning:     fg(yellow).Bold(true),
		styleError:       fg(vermillion).Bold(true),
		styleClean:       fg(green),
		stylePhaseEven:   fg(sky),
		stylePhaseOdd:    fg(purple),
		styleMark:        fg(yellow),
		styleKeyword:     fg(sky),
		styleString:      fg(orange),
		styleComment:     fg(grey),
		styleNumber:      fg(purple),
	}
	t := new(theme)
	for i, s := range base {
		for mod := style(0); mod < numModified; mod += modPlayhead {
			x := s
			if mod&modPlayhead != 0 {
				x = x.Reverse(true)
			}
			if mod&modFocus != 0 {
				x = x.Bold(true)
			}
			t.sgr[style(i)|mod] = opening(x)
		}
	}
	return t
}

// opening is the sequence with which a style begins, after a reset. Cells are
// many and styles few: rendering each cell through its style would cost a
// hundred times the frame.
func opening(s lipgloss.Style) string {
	const cell = "x"
	before, _, _ := strings.Cut(s.Render(cell), cell)
	return ansi.ResetStyle + before
}
