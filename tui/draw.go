package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"btrace/replay/report"
	"btrace/trace"
)

// draw draws the frame into the grid.
func (m *model) draw() {
	m.grid.reset(m.cols, m.rows)
	all := m.grid.canvas(rect{0, 0, m.cols, m.rows})
	l := &m.layout
	if l.tooSmall {
		all.text(0, 0, styleText, fmt.Sprintf("at least %dx%d, please", minCols, minRows))
		return
	}
	m.drawHeader(m.grid.canvas(l.header))
	m.drawStatus(m.grid.canvas(l.status))
	switch body := m.grid.canvas(rect{0, 1, m.cols, m.rows - 2}); m.mode {
	case modeHelp:
		m.drawHelp(body)
		return
	case modePalette:
		m.drawPalette(body)
		return
	}
	for y := range l.divider.h {
		all.set(l.divider.x, l.divider.y+y, styleDim, glyphVertical)
	}
	if m.tl == nil {
		m.drawOpening()
	} else if !m.maximal || !m.active.details() {
		m.drawTimeline()
	}
	for _, p := range l.panes {
		m.drawPane(p)
	}
}

// drawOpening stands where the timeline will be.
func (m *model) drawOpening() {
	c := m.grid.canvas(rect{1, 2, m.layout.axis.w - 2, m.rows - 4})
	switch {
	case len(m.cfg.Launches) == 0:
		c.text(0, 0, styleText, "the trace has no launch")
	case m.openErr != nil:
		for i, line := range wrap(m.openErr.Error(), c.w) {
			c.text(0, i, styleError, line)
		}
	default:
		c.text(0, 0, styleDim, "opening "+m.current().Kernel)
	}
}

// drawHeader says what is on the screen. The verdict always has its place;
// the rest gives way from the right.
func (m *model) drawHeader(c canvas) {
	glyph, s, verdict := m.verdict()
	c.fill(0, 0, c.w, styleText, ' ')
	w := len(verdict) + 3
	right := c.sub(rect{c.w - w, 0, w, 1})
	right.set(0, 0, s, glyph)
	right.text(2, 0, s|modFocus, verdict)
	left := c.sub(rect{0, 0, c.w - w - 1, 1})
	x := 1
	for i, part := range m.headerParts(left.w - 1) {
		if i > 0 {
			x += 2
		}
		x = left.text(x, 0, part.s, part.text)
	}
}

// headerParts are what the header says beside the verdict, as far as there is
// room: the file, the kernel and the launch first, then the device, the outcome
// and the sizes.
func (m *model) headerParts(room int) []span {
	launch := m.current()
	number, extent := "", ""
	if n := len(m.cfg.Launches); n > 1 {
		number = fmt.Sprintf("launch %d/%d", m.launch+1, n)
	}
	if launch.Kernel != "" {
		extent = dims("grid", launch.Grid) + dims(" block", launch.Block) + dims(" cluster", launch.Cluster)
	}
	file, kernel := m.cfg.Title, launch.Kernel
	base := file[strings.LastIndexByte(file, '/')+1:]
	name, _, _ := strings.Cut(kernel, "(") // without its parameters
	device := strings.TrimPrefix(launch.Device, "NVIDIA ")
	short, _, _ := strings.Cut(device, " ")
	// All of it, or less and less: what counts is left.
	var parts []span
	for _, p := range [][7]string{
		{file, kernel, number, string(launch.Outcome), extent, launch.Device, launch.Arch},
		{base, kernel, number, string(launch.Outcome), extent, launch.Device, launch.Arch},
		{base, name, number, string(launch.Outcome), extent, device, launch.Arch},
		{base, name, number, string(launch.Outcome), extent, device, ""},
		{base, name, number, string(launch.Outcome), extent, short, ""},
		{base, name, number, string(launch.Outcome), "", short, ""},
		{base, name, number, "", "", short, ""},
		{base, name, number, "", "", "", ""},
	} {
		parts = parts[:0]
		width := -2
		for i, text := range p {
			if text == "" {
				continue
			}
			s := [7]style{styleBold, styleText, styleDim, styleDim, styleDim, styleDim, styleDim}[i]
			parts = append(parts, span{s, text})
			width += 2 + utf8.RuneCountInString(text)
		}
		if width <= room {
			break
		}
	}
	return parts
}

// dims writes an extent without its trailing ones.
func dims(name string, d trace.Dim) string {
	n := 3
	for n > 1 && d[n-1] <= 1 {
		n--
	}
	if n == 1 && d[0] <= 1 && name == " cluster" {
		return ""
	}
	s := name + " "
	for i := range n {
		if i > 0 {
			s += "x"
		}
		s += strconv.FormatUint(uint64(max(d[i], 1)), 10)
	}
	return s
}

// drawStatus shows the prompt, or what was last said and the focus.
func (m *model) drawStatus(c canvas) {
	if m.mode == modePrompt || m.mode == modePalette {
		m.prompt.draw(c)
		return
	}
	hint := " ? help"
	x := c.w - len(hint) - 1
	c.text(x+1, 0, styleDim, "?")
	c.text(x+2, 0, styleDim, " help")
	said := utf8.RuneCountInString(m.message)
	where := ""
	for _, t := range m.whereTexts() {
		if x-utf8.RuneCountInString(t)-2 > said {
			where = t
			break
		}
	}
	x -= utf8.RuneCountInString(where) + 1
	c.sub(rect{x, 0, c.w - x - len(hint) - 1, 1}).text(0, 0, styleText, where)
	s := styleBold
	if m.bad {
		s = styleError
	}
	c.sub(rect{0, 0, x - 1, 1}).text(1, 0, s, m.message)
}

// whereTexts are the focus in one line, the longest form first.
func (m *model) whereTexts() []string {
	if m.tl == nil || len(m.tree.all) == 0 {
		return nil
	}
	s := report.Time(m.focus.time)
	out := []string{s}
	if t, ok := m.marks.last(); ok {
		s += "  Δ " + deltaText(m.focus.time-t)
		out = append(out, s)
	}
	s += "  " + m.focus.row.String()
	out = append(out, s)
	if !m.focus.lane.none() {
		out = append(out, s+"  "+m.focus.lane.barrier.String())
	}
	slices.Reverse(out)
	return out
}
