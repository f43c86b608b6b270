package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// help is the list of what the keys do where it was opened. The commands are
// those of the table; enter does the selected one.
type help struct {
	commands []int // indexes into the table
	at       int   // the selected one
	top      int   // first visible line
}

// openHelp shows the commands of the active pane, then those of everywhere.
func (m *model) openHelp() {
	m.mode = modeHelp
	m.help = help{}
	for _, c := range []Context{m.context(), Everywhere} {
		for i := range m.commands {
			if m.commands[i].Context == c {
				m.help.commands = append(m.help.commands, i)
			}
		}
	}
}

func (h *help) move(by int) { h.at = min(max(h.at+by, 0), len(h.commands)-1) }

// runHelp does the selected command, as its key would have.
func (m *model) runHelp() tea.Cmd {
	m.mode = modeNormal
	if m.help.at >= len(m.help.commands) {
		return nil
	}
	return m.commands[m.help.commands[m.help.at]].run(m)
}

// helpLine is a line of the help; command is -1 for headings and legends.
type helpLine struct {
	command int
	line    line
}

// helpLines lays the help out for a width. Nothing is cut: what is too long
// takes more lines.
func (m *model) helpLines(width int) []helpLine {
	keys := 0
	for _, i := range m.help.commands {
		keys = max(keys, utf8.RuneCountInString(strings.Join(m.commands[i].Keys, " ")))
	}
	keys = min(keys, width/3)
	var out []helpLine
	subject := ""
	for n, i := range m.help.commands {
		c := &m.commands[i]
		if c.Subject != subject {
			subject = c.Subject
			title := subject
			if c.Context != Everywhere {
				title += ": " + m.active.String()
			}
			out = append(out, helpLine{-1, line{{styleTitleActive, title}}})
		}
		left := wrap(strings.Join(c.Keys, " "), keys)
		right := wrap(c.Help, max(width-keys-4, 8))
		for k := range max(len(left), len(right)) {
			l, r := "", ""
			if k < len(left) {
				l = left[k]
			}
			if k < len(right) {
				r = right[k]
			}
			pad := strings.Repeat(" ", max(keys-utf8.RuneCountInString(l), 0))
			out = append(out, helpLine{n, line{{styleText, "  "}, {styleKey, l + pad}, {styleText, "  " + r}}})
		}
	}
	out = append(out, helpLine{-1, line{{styleTitleActive, "glyphs"}}})
	for _, e := range legend() {
		out = append(out, helpLine{-1, line{{styleText, "  "}, {e.s, string(e.glyph)}, {styleText, " " + e.text}}})
	}
	return out
}

// drawHelp draws the help in place of the panes.
func (m *model) drawHelp(c canvas) {
	drawRule(c, "help: enter does the selected command, esc closes", true)
	c = c.sub(rect{0, 1, c.w, c.h - 1})
	lines := m.helpLines(c.w - 1)
	is := func(l helpLine) bool { return l.command == m.help.at }
	first := slices.IndexFunc(lines, is)
	last := first
	for last+1 < len(lines) && is(lines[last+1]) {
		last++
	}
	if m.help.at == 0 {
		first = 0 // the heading above it, too
	}
	if m.help.at == len(m.help.commands)-1 {
		last = len(lines) - 1 // and what stands below the last one
	}
	m.help.top = max(min(m.help.top, first), last-c.h+1, 0)
	for y := range c.h {
		i := m.help.top + y
		if i >= len(lines) {
			break
		}
		x := 0
		for _, s := range lines[i].line {
			x = c.text(x, y, s.s, s.text)
		}
		if is(lines[i]) {
			c.set(0, y, styleKey, glyphPointer)
			c.mark(0, y, c.w, modFocus)
		}
	}
	if more := len(lines) - m.help.top - c.h; more > 0 && c.w > 20 {
		text := " more below "
		c.text(c.w-len(text)-1, c.h-1, styleTitle, text)
	}
}
