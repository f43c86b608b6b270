package tui

import "strings"

// ptxLines colours a file of PTX, for which there is no lexer elsewhere. It
// knows only what a reader wants to see: directives, instructions, registers,
// numbers, strings and comments.
func ptxLines(text string) []line {
	var out []line
	comment := false // inside /* */
	for _, l := range strings.Split(text, "\n") {
		var spans line
		add := func(s style, t string) {
			if n := len(spans); n > 0 && spans[n-1].s == s {
				spans[n-1].text += t
			} else if t != "" {
				spans = append(spans, span{s, t})
			}
		}
		first := true // no instruction has been seen in this statement
		for len(l) > 0 {
			n, s := 1, styleText
			switch {
			case comment:
				if n = strings.Index(l, "*/"); n < 0 {
					n = len(l)
				} else {
					n += 2
					comment = false
				}
				s = styleComment
			case strings.HasPrefix(l, "//"):
				n, s = len(l), styleComment
			case strings.HasPrefix(l, "/*"):
				add(styleComment, l[:2])
				comment, l = true, l[2:]
				continue
			case l[0] == '"':
				if n = strings.IndexByte(l[1:], '"'); n < 0 {
					n = len(l)
				} else {
					n += 2
				}
				s = styleString
			case l[0] == '%' || l[0] == '$':
				n = 1 + word(l[1:])
			case l[0] >= '0' && l[0] <= '9':
				n, s = word(l), styleNumber
			case l[0] == '.':
				n, s = 1+word(l[1:]), styleNumber
				if first {
					s = styleKeyword // a directive
				}
			case word(l) > 0:
				n = word(l)
				if rest := strings.TrimLeft(l[n:], " "); first && !strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "(") {
					// An instruction with its suffixes; a barrier's is what
					// people look for here.
					for n < len(l) && (l[n] == '.' || l[n] == ':') {
						n++
						n += word(l[n:])
					}
					s, first = styleKeyword, false
					if synchronises(l[:n]) {
						s = styleWaiting
					}
				}
			case l[0] == ';' || l[0] == '{' || l[0] == '}':
				first = true
			case l[0] == '@': // a predicate: the instruction follows it
				n = 1
				for n < len(l) && l[n] != ' ' {
					n++
				}
			}
			add(s, l[:n])
			l = l[n:]
		}
		out = append(out, spans)
	}
	return out
}

// word is the length of the identifier or number that a text begins with.
func word(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] == '$' || s[n] >= '0' && s[n] <= '9' || s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z') {
		n++
	}
	return n
}

// synchronises reports whether an instruction is one of those that a trace is
// about.
func synchronises(op string) bool {
	for _, p := range []string{"bar.", "barrier.", "mbarrier.", "cp.async.mbarrier", "cp.async.bulk"} {
		if strings.HasPrefix(op, p) {
			return true
		}
	}
	return false
}
