package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// paletteList is the commands that match what is typed, the best first.
type paletteList struct {
	all      []Command // those of here
	commands []int     // indexes into all
	at       int       // the selected one
	top      int       // first visible line
}

// openPalette lets the user type the name of a command. The commands are those
// of the active pane and of everywhere.
func (m *model) openPalette() {
	context := m.context()
	m.ask("", nil)
	m.mode = modePalette
	m.palette = paletteList{}
	for _, c := range m.commands {
		if (c.Context == context || c.Context == Everywhere) && c.Name != "palette" {
			m.palette.all = append(m.palette.all, c)
		}
	}
	m.searchPalette()
}

// searchPalette lists what matches the first word that is typed; the rest is
// what the command takes.
func (m *model) searchPalette() {
	p := &m.palette
	name, _, _ := strings.Cut(strings.TrimLeft(string(m.prompt.text), " "), " ")
	p.commands, p.at, p.top = rank(p.all, name), 0, 0
}

func (p *paletteList) move(by int) { p.at = min(max(p.at+by, 0), max(len(p.commands)-1, 0)) }

// runPalette does the selected command. What it makes of what follows its name
// may be an error: then the palette stays.
func (m *model) runPalette() tea.Cmd {
	p := &m.palette
	if p.at >= len(p.commands) {
		return nil
	}
	_, arg, _ := strings.Cut(strings.TrimLeft(string(m.prompt.text), " "), " ")
	m.mode = modeNormal
	cmd, err := m.do(p.all[p.commands[p.at]].Name + " " + arg)
	if err != nil {
		m.mode, m.prompt.err = modePalette, err
	}
	return cmd
}

// rank lists the commands whose name or help holds the letters of what was
// typed in their order, the best first: letters that stand together or begin
// a word count more, and a name more than a help text.
func rank(commands []Command, typed string) []int {
	type match struct{ command, score int }
	var found []match
	for i, c := range commands {
		score, ok := fuzzy(c.Name, typed)
		if ok && typed != "" {
			score += 1000 - len(c.Name)
		} else if ok {
			score = 0 // as the table has them
		} else if score, ok = fuzzy(c.Help, typed); !ok || !strings.Contains(strings.ToLower(c.Help), strings.ToLower(typed)) {
			continue // letters strewn over a sentence match nothing
		}
		found = append(found, match{i, score})
	}
	slices.SortStableFunc(found, func(a, b match) int { return b.score - a.score })
	out := make([]int, len(found))
	for i, f := range found {
		out[i] = f.command
	}
	return out
}

// fuzzy reports whether text holds the letters of typed in order, and how well.
func fuzzy(text, typed string) (score int, ok bool) {
	want := []rune(strings.ToLower(typed))
	at, run, before := 0, 0, '-'
	for _, r := range text {
		r = unicode.ToLower(r)
		if at < len(want) && r == want[at] {
			run++
			score += run * 2
			if before == '-' || before == ' ' {
				score += 8
			}
			at++
		} else {
			run = 0
		}
		before = r
	}
	return score, at == len(want)
}

// drawPalette draws the commands in place of the panes.
func (m *model) drawPalette(c canvas) {
	p := &m.palette
	drawRule(c, fmt.Sprintf("commands (%d): type a name, enter does the selected one, esc closes", len(p.commands)), true)
	c = c.sub(rect{0, 1, c.w, c.h - 1})
	if len(p.commands) == 0 {
		c.text(2, 0, styleDim, "no command is called so")
		return
	}
	p.top = max(min(p.top, p.at), p.at-c.h+1, 0)
	wide := 0
	for i := range p.all {
		wide = max(wide, len(p.all[i].Name))
	}
	for y := range min(c.h, len(p.commands)-p.top) {
		k := &p.all[p.commands[p.top+y]]
		x := c.text(2, y, styleText, k.Name)
		keys := strings.Join(k.Keys, " ")
		if w := utf8.RuneCountInString(keys); c.w-w-1 > wide+4 {
			c.sub(rect{0, y, c.w - w - 2, 1}).text(max(x+2, wide+4), 0, styleDim, k.Help)
			c.text(c.w-w-1, y, styleKey, keys)
		}
		if p.top+y == p.at {
			c.set(0, y, styleKey, glyphPointer)
			c.mark(0, y, c.w, modFocus)
		}
	}
}
