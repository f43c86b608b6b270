package tui

import (
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// painter puts a model on a terminal. Bubble Tea's own renderer wakes up sixty
// times a second for as long as a program runs, and reads every frame back
// into cells; the painter writes the cells that have changed when something
// has, and sleeps otherwise.
type painter struct {
	m     *model
	out   *terminal
	auto  bool // the theme follows the background of the terminal
	shown grid // what is on the terminal
	whole bool // nothing is known of what is on the terminal
	mouse bool // the terminal reports the mouse
	last  time.Time
	later bool // a frame is under way
	// ticking says that progress will be shown.
	ticking bool
	// played is when the playhead moved last, while it plays.
	played time.Time
	buf    []byte
}

// frameEvery bounds how often a frame is painted: no eye sees more, and a flood
// of mouse movements costs no more than this.
const frameEvery = 16 * time.Millisecond

// frameDue is the message that a frame that was put off is to be painted.
type frameDue struct{}

// progressEvery is how often a frame is painted for the sake of progress.
const progressEvery = 250 * time.Millisecond

// progressDue is the message that progress is to be shown.
type progressDue struct{}

// clipboard is the message that a text is to be copied.
type clipboard string

// suspending is the message that the viewer is to be stopped by job control.
type suspending struct{}

// Init asks for the model's first questions.
func (p *painter) Init() tea.Cmd {
	defer p.out.leaveOnPanic()
	p.whole = true
	p.out.enter(p.m.title(), p.auto)
	return p.guard(p.m.init())
}

// Update hands the model a message and paints what has changed by it.
func (p *painter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer p.out.leaveOnPanic()
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case frameDue:
		p.later = false
	case progressDue:
		p.ticking, p.m.dirty = false, true
	case playStart:
		p.played = time.Now()
		cmd = p.playLater()
	case playDue:
		now := time.Now()
		elapsed := now.Sub(p.played)
		p.played = now
		cmd = p.m.update(playStep{elapsed})
		if p.m.playing {
			cmd = tea.Batch(cmd, p.playLater())
		}
	case clipboard:
		p.out.write([]byte(ansi.SetSystemClipboard(string(msg))))
		return p, nil
	case suspending:
		p.out.leave()
		return p, tea.Suspend
	case tea.ResumeMsg:
		p.whole, p.mouse = true, false
		p.out.enter(p.m.title(), false)
		p.m.dirty = true
	case tea.BackgroundColorMsg:
		if p.auto && !msg.IsDark() {
			p.m.useTheme(themeLight)
		}
	default:
		cmd = p.m.update(msg)
	}
	cmds := tea.Batch(cmd, p.frame(), p.tick())
	if p.out.failed() {
		return p, tea.Quit
	}
	return p, p.guard(cmds)
}

// View is not asked for what is on the screen: the painter writes that itself.
func (p *painter) View() tea.View { return tea.View{} }

// guard leaves the alternate screen if a command panics, so that what is said
// of it then stays to be read.
func (p *painter) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer p.out.leaveOnPanic()
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = p.guard(batch[i])
			}
		}
		return msg
	}
}

// playDue is the message that a playhead that plays is to be moved.
type playDue struct{}

func (p *painter) playLater() tea.Cmd {
	return tea.Tick(playEvery, func(time.Time) tea.Msg { return playDue{} })
}

// frame paints now, or soon if the last frame was painted just now.
func (p *painter) frame() tea.Cmd {
	if !p.m.dirty || p.later || p.m.cols == 0 {
		return nil
	}
	if rest := frameEvery - time.Since(p.last); rest > 0 && !p.last.IsZero() {
		p.later = true
		return tea.Tick(rest, func(time.Time) tea.Msg { return frameDue{} })
	}
	p.paint()
	p.last = time.Now()
	return nil
}

// tick shows progress for as long as there is any.
func (p *painter) tick() tea.Cmd {
	if p.ticking || !p.m.busy() {
		return nil
	}
	p.ticking = true
	return tea.Tick(progressEvery, func(time.Time) tea.Msg { return progressDue{} })
}

// paint draws the model and writes the difference to what is shown.
func (p *painter) paint() {
	p.m.dirty = false
	p.m.draw()
	buf := append(p.buf[:0], ansi.SetModeSynchronizedOutput...)
	if p.m.mouse != p.mouse {
		p.mouse = p.m.mouse
		if p.mouse {
			buf = append(buf, ansi.SetModeMouseButtonEvent+ansi.SetModeMouseExtSgr...)
		} else {
			buf = append(buf, ansi.ResetModeMouseExtSgr+ansi.ResetModeMouseButtonEvent...)
		}
	}
	if p.m.repaint {
		p.whole, p.m.repaint = true, false
	}
	if p.shown.w != p.m.grid.w || p.shown.h != p.m.grid.h {
		p.whole = true
	}
	if p.whole {
		p.whole = false
		p.shown.reset(p.m.grid.w, p.m.grid.h)
		for i := range p.shown.cells {
			p.shown.cells[i].r = 0
		}
		buf = append(buf, p.m.theme.sgr[0]...)
		buf = append(buf, ansi.EraseEntireScreen...)
	}
	buf = p.m.grid.difference(buf, &p.shown, p.m.theme)
	buf = append(buf, ansi.ResetModeSynchronizedOutput...)
	p.buf = buf
	p.out.write(buf)
}

// nearby is how many cells that have not changed are written again rather than
// stepped over: that takes fewer bytes than moving the cursor does.
const nearby = 4

// difference appends what turns a terminal that shows old into one that shows
// g, and makes old what g is.
func (g *grid) difference(out []byte, old *grid, t *theme) []byte {
	last := style(numModified) // no style is known to be set
	for y := range g.h {
		row, was := g.cells[y*g.w:(y+1)*g.w], old.cells[y*g.w:(y+1)*g.w]
		at := -1 // where the cursor is in this row, if it is in it
		for x := 0; x < g.w; x++ {
			if row[x] == was[x] {
				continue
			}
			from := x
			if at >= 0 && x-at <= nearby {
				from = at
			} else {
				out = append(out, "\x1b["...)
				out = strconv.AppendInt(out, int64(y+1), 10)
				out = append(out, ';')
				out = strconv.AppendInt(out, int64(x+1), 10)
				out = append(out, 'H')
			}
			for ; from <= x; from++ {
				c := row[from]
				if c.s != last {
					out = append(out, t.sgr[c.s]...)
					last = c.s
				}
				out = utf8.AppendRune(out, c.r)
				was[from] = c
			}
			at = x + 1
		}
	}
	return out
}

// terminal is what is written to and left as it was.
type terminal struct {
	out io.Writer

	mu  sync.Mutex // a panic of a command may leave at any time
	on  bool
	err error
}

func (t *terminal) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on && t.err == nil {
		_, t.err = t.out.Write(p)
	}
}

// failed reports whether the terminal has gone.
func (t *terminal) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil
}

// enter takes the terminal over, and asks it what its background is.
func (t *terminal) enter(title string, ask bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = true
	s := ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste + ansi.SetWindowTitle(title)
	if ask {
		s += ansi.RequestBackgroundColor
	}
	_, t.err = io.WriteString(t.out, s)
}

// leave gives the terminal back as it was.
func (t *terminal) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on {
		return
	}
	t.on = false
	_, _ = io.WriteString(t.out, ansi.ResetStyle+ansi.ResetModeMouseExtSgr+ansi.ResetModeMouseButtonEvent+ansi.ResetModeBracketedPaste+
		ansi.SetWindowTitle("")+ansi.ResetModeAltScreenSaveCursor+ansi.SetModeTextCursorEnable)
}

// leaveOnPanic gives the terminal back before a panic goes on to whoever
// reports it.
func (t *terminal) leaveOnPanic() {
	if r := recover(); r != nil {
		t.leave()
		panic(r)
	}
}
