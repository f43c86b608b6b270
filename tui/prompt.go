package tui

import "strings"

// promptLimit bounds what can be typed.
const promptLimit = 200

// prompt is one line that a user types on the status line.
type prompt struct {
	label string
	text  []rune
	at    int // the cursor
	done  func(*model, string) error
	err   error // why the last attempt was not taken
}

// ask opens a prompt; done gets what was typed, and an error keeps it open.
func (m *model) ask(label string, done func(*model, string) error) {
	m.mode = modePrompt
	m.prompt = prompt{label: label, done: done}
}

func (m *model) acceptPrompt() {
	if err := m.prompt.done(m, string(m.prompt.text)); err != nil {
		m.prompt.err = err
		return
	}
	if m.mode == modePrompt {
		m.mode = modeNormal
	}
}

func (p *prompt) insert(s string) {
	for _, r := range strings.TrimRight(s, "\r\n") {
		if r = printable(r); r == replacement || len(p.text) >= promptLimit {
			continue
		}
		p.text = append(p.text[:p.at], append([]rune{r}, p.text[p.at:]...)...)
		p.at++
	}
	p.err = nil
}

func (p *prompt) erase() {
	if p.at > 0 {
		p.at--
		p.delete()
	}
}

func (p *prompt) delete() {
	if p.at < len(p.text) {
		p.text = append(p.text[:p.at], p.text[p.at+1:]...)
	}
	p.err = nil
}

func (p *prompt) clear() { p.text, p.at, p.err = nil, 0, nil }

func (p *prompt) move(by int) { p.at = min(max(p.at+by, 0), len(p.text)) }

// draw writes the prompt into a line.
func (p *prompt) draw(c canvas) {
	x := c.text(0, 0, styleKey, " "+p.label+": ")
	from := max(p.at-max(c.w-x-2, 1), 0)
	for i, r := range append(p.text[from:len(p.text):len(p.text)], ' ') {
		s := styleText
		if from+i == p.at {
			s |= modPlayhead
		}
		c.set(x, 0, s, r)
		x++
	}
	if p.err != nil {
		c.text(x+1, 0, styleError, p.err.Error())
	}
}
