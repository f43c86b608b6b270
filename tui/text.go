package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const (
	ellipsis    = '…'
	replacement = '�'
)

// printable returns r if every terminal shows it as exactly one column whatever
// stands beside it, and the replacement character otherwise: for control
// characters, for marks that combine with their neighbour, for format
// characters (which include those that turn the direction of text), for wide
// characters, and for scripts that terminals join or turn around.
func printable(r rune) rune {
	switch {
	case r >= ' ' && r < 0x7f:
		return r
	case r == '\t' || r == '\n':
		return ' '
	case r < 0xa0 || !unicode.IsGraphic(r) || unicode.In(r, unicode.M, unicode.Lm, unicode.Regional_Indicator, unicode.Other_Grapheme_Extend):
		return replacement
	case r >= 0x2500 && r < 0x25fd: // boxes, blocks, shapes: what the viewer itself draws
		return r
	case !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Common):
		return replacement
	}
	if s := string(r); ansi.StringWidth(s) != 1 || ansi.StringWidthWc(s) != 1 {
		return replacement
	}
	return r
}

// asciiOf is what stands for a character where only ASCII may be drawn.
// Glyphs that tell states apart stay apart.
func asciiOf(r rune) rune {
	switch r {
	case glyphArrives:
		return '^'
	case glyphArrived, '→', '▹':
		return '>'
	case glyphWaiting:
		return ':'
	case glyphWaitingPart:
		return ';'
	case glyphHung:
		return '#'
	case glyphReleased:
		return '<'
	case glyphCompleting:
		return 'f'
	case glyphTrapped:
		return 'X'
	case glyphExited, '•':
		return '.'
	case glyphRunning:
		return '-'
	case glyphRunningEvent:
		return '+'
	case glyphError:
		return 'E'
	case glyphClean:
		return 'v'
	case glyphLoading:
		return '~'
	case glyphPointer:
		return '>'
	case glyphFolded:
		return '+'
	case glyphUnfolded:
		return '-'
	case glyphCycle:
		return '@'
	case glyphPinned:
		return '*'
	case glyphPlayhead:
		return 'V'
	case glyphMark:
		return '|'
	case '└':
		return '`'
	case glyphPhaseStart, glyphVertical, '▏':
		return '|'
	case glyphPhaseEven, glyphRuleActive:
		return '='
	case glyphPhaseDense:
		return '%'
	case glyphGaugeFull:
		return '#'
	case glyphGaugeEmpty:
		return '.'
	case glyphWindow:
		return '='
	case ellipsis:
		return '~'
	case 'µ':
		return 'u'
	case 'Δ':
		return 'd'
	case '–', '—':
		return '-'
	case '’', '‘':
		return '\''
	case '“', '”':
		return '"'
	}
	return '?'
}

// clean is a string of a trace made fit for a place that the grid does not
// guard, such as the window's title or the clipboard: one line of printable
// text of at most n characters.
func clean(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		if n--; n < 0 {
			b.WriteRune(ellipsis)
			break
		}
		b.WriteRune(printable(r))
	}
	return b.String()
}

// wrap breaks text into lines of at most width columns, at blanks where there
// are any.
func wrap(s string, width int) []string {
	width = max(width, 1)
	var lines []string
	for _, par := range strings.Split(s, "\n") {
		line := ""
		n := 0
		for _, word := range words(par) {
			w := utf8.RuneCountInString(word)
			if n > 0 && n+1+w > width {
				lines, line, n = append(lines, line), "", 0
			}
			if n > 0 {
				line, n = line+" ", n+1
			}
			for w > width {
				cut := byteIndex(word, width)
				lines = append(lines, word[:cut])
				word, w = word[cut:], w-width
			}
			line, n = line+word, n+w
		}
		lines = append(lines, line)
	}
	return lines
}

// words splits text at blanks, but not between a number and its unit of time.
func words(s string) []string {
	out := strings.Fields(s)
	n := 0
	for i, w := range out {
		switch strings.TrimRight(w, ".,:;)") {
		case "ns", "µs", "ms", "s":
			if i > 0 {
				out[n-1] += " " + w
				continue
			}
		}
		out[n] = w
		n++
	}
	return out[:n]
}

// byteIndex is the byte at which rune number n of s begins.
func byteIndex(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
