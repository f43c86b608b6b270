package ptx

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// lexer splits a source file into tokens. It loses nothing: what is not in a
// token is in the Lead of the next.
type lexer struct {
	file string
	src  string
	pos  int
	line int // of pos, from 1
	bol  int // offset of the begin of that line
	errs Errors
}

// lex returns the tokens of a file, the last of which is TokenEOF.
func lex(file, src string) ([]Token, Errors) {
	l := lexer{file: file, src: src, line: 1}
	toks := make([]Token, 0, len(src)/4+1)
	for {
		start := l.pos
		l.space()
		t := Token{Lead: src[start:l.pos], Pos: l.here()}
		if l.pos == len(src) {
			return append(toks, t), l.errs
		}
		begin := l.pos
		attached := len(t.Lead) == 0 && len(toks) > 0 && toks[len(toks)-1].Kind <= TokenDirective
		t.Kind = l.token(attached)
		t.Text = src[begin:l.pos]
		toks = append(toks, t)
		if len(l.errs) == maxErrors {
			return toks, l.errs
		}
	}
}

func (l *lexer) here() Pos {
	return Pos{Offset: l.pos, Line: l.line, Col: l.pos - l.bol + 1}
}

func (l *lexer) errorf(at Pos, format string, args ...any) {
	l.errs = append(l.errs, &SyntaxError{l.file, at, fmt.Sprintf(format, args...)})
}

// space skips white space and comments. A NUL is white space: the text that
// is taken out of a fat binary ends with some.
func (l *lexer) space() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == '\n':
			l.pos++
			l.line++
			l.bol = l.pos
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == 0:
			l.pos++
		case c == '/' && l.peek(1) == '/':
			if n := strings.IndexByte(l.src[l.pos:], '\n'); n >= 0 {
				l.pos += n
			} else {
				l.pos = len(l.src)
			}
		case c == '/' && l.peek(1) == '*':
			l.comment()
		default:
			return
		}
	}
}

func (l *lexer) comment() {
	start, end := l.here(), len(l.src)
	if n := strings.Index(l.src[l.pos+2:], "*/"); n >= 0 {
		end = l.pos + 2 + n + 2
	} else {
		l.errorf(start, "this comment does not end: expected */, found end of file")
	}
	text := l.src[l.pos:end]
	if n := strings.Count(text, "\n"); n > 0 {
		l.line += n
		l.bol = l.pos + strings.LastIndexByte(text, '\n') + 1
	}
	l.pos = end
}

// peek returns the byte n after the present one; 0 after the end.
func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

// token reads the token that begins at pos. attached says that it follows an
// identifier or a directive without a space: .1d is then a modifier.
func (l *lexer) token(attached bool) TokenKind {
	c := l.src[l.pos]
	switch {
	case isLetter(c):
		l.word(l.pos + 1)
		return TokenIdent
	case c == '_' || c == '$':
		l.word(l.pos + 1)
		return TokenIdent
	case c == '%' && isFollow(l.peek(1)):
		l.word(l.pos + 1)
		return TokenIdent
	case c == '.' && isFollow(l.peek(1)):
		if n := pointFloat(l.src[l.pos:]); n > 0 && !attached {
			l.pos += n
			return TokenFloat
		}
		l.directive()
		return TokenDirective
	case isDigit(c):
		return l.number()
	case c == '"':
		l.quoted()
		return TokenString
	}
	l.punct(c)
	return TokenPunct
}

// word goes to the end of the identifier of which the bytes before from are
// known.
func (l *lexer) word(from int) {
	for from < len(l.src) && isFollow(l.src[from]) {
		from++
	}
	l.pos = from
}

// directive reads .name and .name::name.
func (l *lexer) directive() {
	l.word(l.pos + 1)
	for l.peek(0) == ':' && l.peek(1) == ':' && isFollow(l.peek(2)) {
		l.word(l.pos + 2)
	}
}

// pointFloat returns the length of a number such as .05 or .5e-3 at the begin
// of s; 0 if it is none, but .1d or .16x64b.
func pointFloat(s string) int {
	n := digits(s, 1)
	if n == 1 {
		return 0
	}
	n = exponent(s, n)
	if n < len(s) && (isFollow(s[n]) || s[n] == ':') {
		return 0
	}
	return n
}

// digits returns where the decimal digits of s from i on end.
func digits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// exponent returns where the exponent at i ends; i if there is none.
func exponent(s string, i int) int {
	if i == len(s) || s[i] != 'e' && s[i] != 'E' {
		return i
	}
	j := i + 1
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	if end := digits(s, j); end > j {
		return end
	}
	return i
}

// number reads an integer or a floating-point number (PTX ISA, "Integer
// Constants" and "Floating-Point Constants").
func (l *lexer) number() TokenKind {
	start, s := l.here(), l.src[l.pos:]
	kind, end, ok := scanNumber(s)
	if stop := follow(s, end); stop > end || !ok {
		l.errorf(start, "expected a number, found %s", quote(s[:stop]))
		end = stop
	}
	l.pos += end
	return kind
}

// scanNumber says what number s begins with, where it ends, and whether it is
// well formed.
func scanNumber(s string) (kind TokenKind, end int, ok bool) {
	if len(s) > 1 && s[0] == '0' {
		switch s[1] {
		case 'x', 'X':
			end = span(s, 2, isHex)
			return TokenInt, suffix(s, end), end > 2
		case 'b', 'B':
			end = span(s, 2, func(c byte) bool { return c == '0' || c == '1' })
			return TokenInt, suffix(s, end), end > 2
		case 'f', 'F':
			end = span(s, 2, isHex)
			return TokenFloat, end, end == 2+8
		case 'd', 'D':
			end = span(s, 2, isHex)
			return TokenFloat, end, end == 2+16
		}
	}
	whole := digits(s, 0)
	end = whole
	if end < len(s) && s[end] == '.' {
		end = digits(s, end+1)
	}
	if end = exponent(s, end); end > whole {
		return TokenFloat, end, true
	}
	octal := s[0] != '0' || span(s, 0, func(c byte) bool { return '0' <= c && c <= '7' }) == whole
	return TokenInt, suffix(s, end), octal
}

func span(s string, i int, in func(byte) bool) int {
	for i < len(s) && in(s[i]) {
		i++
	}
	return i
}

// follow returns where the run of identifier bytes at i ends.
func follow(s string, i int) int { return span(s, i, isFollow) }

// suffix skips the U of an unsigned integer.
func suffix(s string, i int) int {
	if i < len(s) && s[i] == 'U' {
		i++
	}
	return i
}

func (l *lexer) quoted() {
	start := l.here()
	for i := l.pos + 1; i < len(l.src) && l.src[i] != '\n'; i++ {
		switch l.src[i] {
		case '"':
			l.pos = i + 1
			return
		case '\\':
			if i+1 < len(l.src) && l.src[i+1] != '\n' {
				i++
			}
		}
	}
	l.errorf(start, "this string does not end: expected \", found end of line")
	l.pos++
	l.toLineEnd()
}

func (l *lexer) toLineEnd() {
	for l.pos < len(l.src) && l.src[l.pos] != '\n' {
		l.pos++
	}
}

// punct reads punctuation and operators; two bytes where they make one.
func (l *lexer) punct(c byte) {
	switch c {
	case ',', ';', ':', '(', ')', '[', ']', '{', '}', '@', '+', '-', '*', '/', '%', '~', '^', '?':
		l.pos++
		return
	case '<', '>', '=', '!', '&', '|':
		l.pos++
		switch next := l.peek(0); {
		case next == '=' && c != '&' && c != '|':
			l.pos++
		case next == c && c != '=' && c != '!':
			l.pos++
		}
		return
	}
	start := l.here()
	switch {
	case c == '#':
		l.errorf(start, "preprocessor line: run the file through cpp -P first")
		l.toLineEnd()
	case c == 0x7f && strings.HasPrefix(l.src[l.pos:], "\x7fELF"):
		l.errorf(start, "a compiled binary, not PTX: extract the PTX with cuobjdump -ptx")
		l.pos = len(l.src)
	default:
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if r == utf8.RuneError {
			l.errorf(start, "unexpected byte 0x%02x", c)
		} else {
			l.errorf(start, "unexpected character %q", r)
		}
		l.pos += n
	}
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isFollow says whether c may stand in an identifier after its first byte
// (PTX ISA, "Identifiers").
func isFollow(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '$' }

// quote returns source text as a message shows it: in quotes, cut.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
