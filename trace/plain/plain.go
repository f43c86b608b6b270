// Package plain makes text that came from outside, such as the strings of a
// trace, fit to be shown on a terminal.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Most is how many bytes of a string Text shows.
const Most = 4096

// Text returns s as one line of printable characters: control characters
// (escape sequences, newlines), invisible and direction-changing ones and
// invalid bytes are written out as escapes (\u001b, \xff), and what is longer
// than Most bytes is cut.
func Text(s string) string {
	if len(s) <= Most && !strings.ContainsFunc(s, foreign) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if b.Len() >= Most {
			b.WriteString("…")
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r > 0xffff && foreign(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case foreign(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// foreign reports whether a character may not reach a terminal as it is. The
// replacement character is foreign so that invalid bytes are looked at.
func foreign(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
