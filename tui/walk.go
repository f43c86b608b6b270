package tui

import "fmt"

// target is a line of a pane that leads somewhere.
type target struct {
	line int
	goTo func(*model)
}

// lead adds a line that leads somewhere.
func (p *page) lead(goTo func(*model), spans ...span) {
	p.targets = append(p.targets, target{len(p.lines), goTo})
	p.add(spans...)
}

// walkPage is the content of the active pane, if its lines lead somewhere.
func (m *model) walkPage() *page {
	for _, at := range m.layout.panes {
		if at.pane == m.active && (at.pane == paneGraph || at.pane == paneStats || at.pane == paneDiff) {
			return m.pageOf(at.pane, at.w-2)
		}
	}
	return &page{}
}

// walk selects another line that leads somewhere.
func (m *model) walk(by int) {
	n := len(m.walkPage().targets)
	if n == 0 {
		m.say("nothing to walk to here")
		return
	}
	m.walked[m.active] = min(max(m.walked[m.active]+by, 0), n-1)
}

// walkTo goes where the selected line leads.
func (m *model) walkTo() {
	p := m.walkPage()
	if len(p.targets) == 0 {
		m.say("nothing to walk to here")
		return
	}
	m.leave("walk", false)
	p.targets[min(m.walked[m.active], len(p.targets)-1)].goTo(m)
}

// drawPage draws the content of a pane as far as it is scrolled; the selected
// line of one that is walked through stays in view.
func (m *model) drawPage(c canvas, pane pane, body *page) {
	top := min(m.scroll[pane], max(len(body.lines)-c.h, 0))
	selected := -1
	if n := len(body.targets); n > 0 && m.active == pane {
		selected = body.targets[min(m.walked[pane], n-1)].line
		top = max(min(top, selected), selected-c.h+1)
		if m.walked[pane] == 0 {
			top = max(min(top, 0), selected-c.h+1)
		}
	}
	m.scroll[pane] = top
	for y := range c.h {
		if top+y >= len(body.lines) {
			break
		}
		x := 1
		for _, s := range body.lines[top+y] {
			x = c.text(x, y, s.s, s.text)
		}
		if top+y == selected {
			c.set(0, y, styleKey, glyphPointer)
			c.mark(0, y, c.w, modFocus)
		}
	}
	if more := len(body.lines) - top - c.h; more > 0 && c.h > 0 {
		text := fmt.Sprintf(" %d more ", more)
		c.text(c.w-len(text), c.h-1, styleTitle, text)
	}
}
