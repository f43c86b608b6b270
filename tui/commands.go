package tui

import (
	tea "charm.land/bubbletea/v2"
)

// Context is where a command's keys work.
type Context string

// The contexts. A key of the active pane is tried before those that work
// everywhere; help and the prompt keep the keyboard to themselves.
const (
	Everywhere Context = "everywhere"
	InWarps    Context = "warps"
	InBarriers Context = "barriers"
	InFindings Context = "findings"
	InDetails  Context = "details" // state, event, source and story
	InHelp     Context = "help"
	InPrompt   Context = "prompt"
)

// Command is something that a key does.
type Command struct {
	Name    string   // lower case, words joined by hyphens; unique
	Keys    []string // as Bubble Tea spells them
	Help    string   // what it does, a few words
	Context Context
	Subject string // the heading that it stands under in the help
	run     func(*model) tea.Cmd
}

// Commands is the table of everything that a key can do. Key handling, the
// help, the documentation and the tests are made from it.
func Commands() []Command {
	do := func(f func(*model)) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd {
			f(m)
			return nil
		}
	}
	// on is a command that needs an open launch with something in it.
	on := func(f func(*model)) func(*model) tea.Cmd {
		return do(func(m *model) {
			if m.ready() {
				f(m)
			}
		})
	}
	move := func(cells int) func(*model) tea.Cmd { return on(func(m *model) { m.moveCells(cells) }) }
	const (
		moving   = "move"
		finding  = "find"
		zooming  = "zoom"
		looking  = "panes"
		keeping  = "remember"
		leaving  = "program"
		inPane   = "this pane"
		inHelp   = "help"
		inPrompt = "prompt"
	)
	return []Command{
		{"row-up", []string{"up", "k"}, "row above", InWarps, inPane, on(func(m *model) { m.moveRow(-1) })},
		{"row-down", []string{"down", "j"}, "row below", InWarps, inPane, on(func(m *model) { m.moveRow(1) })},
		{"rows-page-up", []string{"pgup", "ctrl+b"}, "a screen of rows up", InWarps, inPane, on(func(m *model) { m.moveRow(-m.page()) })},
		{"rows-page-down", []string{"pgdown", "ctrl+f"}, "a screen of rows down", InWarps, inPane, on(func(m *model) { m.moveRow(m.page()) })},
		{"fold", []string{"enter", "space"}, "fold or unfold: a CTA its warps, a warp its lanes", InWarps, inPane, on((*model).fold)},

		{"barrier-up", []string{"up", "k"}, "barrier above", InBarriers, inPane, on(func(m *model) { m.moveLane(-1) })},
		{"barrier-down", []string{"down", "j"}, "barrier below", InBarriers, inPane, on(func(m *model) { m.moveLane(1) })},

		{"finding-up", []string{"up", "k"}, "select the finding above", InFindings, inPane, do(func(m *model) { m.selectFinding(-1) })},
		{"finding-down", []string{"down", "j"}, "select the finding below", InFindings, inPane, do(func(m *model) { m.selectFinding(1) })},
		{"findings-page-up", []string{"pgup", "ctrl+b"}, "ten findings up", InFindings, inPane, do(func(m *model) { m.selectFinding(-10) })},
		{"findings-page-down", []string{"pgdown", "ctrl+f"}, "ten findings down", InFindings, inPane, do(func(m *model) { m.selectFinding(10) })},
		{"finding-show", []string{"enter", "space"}, "go to the selected finding", InFindings, inPane, on(func(m *model) { m.jumpFinding(0) })},

		{"scroll-up", []string{"up", "k"}, "scroll up", InDetails, inPane, do(func(m *model) { m.scrollPane(-1) })},
		{"scroll-down", []string{"down", "j"}, "scroll down", InDetails, inPane, do(func(m *model) { m.scrollPane(1) })},
		{"scroll-page-up", []string{"pgup", "ctrl+b"}, "scroll up by ten", InDetails, inPane, do(func(m *model) { m.scrollPane(-10) })},
		{"scroll-page-down", []string{"pgdown", "ctrl+f"}, "scroll down by ten", InDetails, inPane, do(func(m *model) { m.scrollPane(10) })},

		{"left", []string{"left", "h"}, "playhead one cell left", Everywhere, moving, move(-1)},
		{"right", []string{"right", "l"}, "playhead one cell right", Everywhere, moving, move(1)},
		{"far-left", []string{"shift+left", "H"}, "playhead ten cells left", Everywhere, moving, move(-10)},
		{"far-right", []string{"shift+right", "L"}, "playhead ten cells right", Everywhere, moving, move(10)},
		{"next-event", []string{"."}, "next event of this row", Everywhere, moving, on(func(m *model) { m.seekEvent(1) })},
		{"previous-event", []string{","}, "previous event of this row", Everywhere, moving, on(func(m *model) { m.seekEvent(-1) })},
		{"next-phase", []string{"]"}, "next phase of the focused barrier", Everywhere, moving, on(func(m *model) { m.seekPhase(1) })},
		{"previous-phase", []string{"["}, "previous phase of the focused barrier", Everywhere, moving, on(func(m *model) { m.seekPhase(-1) })},
		{"start", []string{"home"}, "first event of the launch", Everywhere, moving, on(func(m *model) { m.jumpTime("start", m.bounds.first) })},
		{"end", []string{"end"}, "last event of the launch", Everywhere, moving, on(func(m *model) { m.jumpTime("end", m.bounds.last) })},
		{"go-to-time", []string{"g"}, "go to a time: 12us, 3ms, 107552, +2us", Everywhere, moving, on((*model).askTime)},

		{"next-finding", []string{"n"}, "next finding", Everywhere, finding, on(func(m *model) { m.jumpFinding(1) })},
		{"previous-finding", []string{"N"}, "previous finding", Everywhere, finding, on(func(m *model) { m.jumpFinding(-1) })},
		{"next-barrier", []string{"b"}, "focus the next barrier", Everywhere, finding, on(func(m *model) { m.moveLane(1) })},
		{"previous-barrier", []string{"B"}, "focus the previous barrier", Everywhere, finding, on(func(m *model) { m.moveLane(-1) })},
		{"follow", []string{"o"}, "focus the barrier that this row is at", Everywhere, finding, on((*model).followRow)},
		{"search", []string{"/"}, "find a row or barrier: 2/3, w3, bar:1, 0x1420; empty repeats", Everywhere, finding, on((*model).askSearch)},

		{"zoom-in", []string{"+", "="}, "zoom in at the playhead", Everywhere, zooming, on(func(m *model) { m.zoom(true) })},
		{"zoom-out", []string{"-", "_"}, "zoom out at the playhead", Everywhere, zooming, on(func(m *model) { m.zoom(false) })},
		{"fit", []string{"f"}, "show the whole launch", Everywhere, zooming, on((*model).zoomFit)},
		{"zoom-phase", []string{"z"}, "show the focused barrier's phase at the playhead", Everywhere, zooming, on((*model).seekZoom)},
		{"zoom-event", []string{"Z"}, "zoom in to single events at the playhead", Everywhere, zooming, on((*model).zoomEvent)},
		{"centre", []string{"c"}, "centre the window on the playhead", Everywhere, zooming, on((*model).centre)},

		{"next-pane", []string{"tab"}, "next pane", Everywhere, looking, do(func(m *model) { m.cyclePane(1) })},
		{"previous-pane", []string{"shift+tab"}, "previous pane", Everywhere, looking, do(func(m *model) { m.cyclePane(-1) })},
		{"fold-all", []string{"F"}, "fold or unfold every CTA", Everywhere, looking, on((*model).foldAll)},
		{"next-launch", []string{"}"}, "next launch of the trace", Everywhere, looking, do(func(m *model) { m.nextLaunch(1) })},
		{"previous-launch", []string{"{"}, "previous launch of the trace", Everywhere, looking, do(func(m *model) { m.nextLaunch(-1) })},
		{"toggle-mouse", []string{"M"}, "mouse on or off; off lets the terminal select text", Everywhere, looking, do((*model).toggleMouse)},

		{"undo", []string{"u"}, "back to where you were", Everywhere, keeping, do((*model).undo)},
		{"redo", []string{"U", "ctrl+r"}, "forth again", Everywhere, keeping, do((*model).redo)},
		{"mark", []string{"m"}, "set or clear a mark here; times are measured from the last one", Everywhere, keeping, on((*model).toggleMark)},
		{"next-mark", []string{"'"}, "go to the next mark", Everywhere, keeping, on((*model).nextMark)},
		{"copy", []string{"y"}, "copy what is in focus as text (OSC 52)", Everywhere, keeping, (*model).copyFocus},

		{"help", []string{"?", "f1"}, "what the keys do here", Everywhere, leaving, do((*model).openHelp)},
		{"cancel", []string{"esc"}, "give up what is being looked for", Everywhere, leaving, do((*model).cancelSeeks)},
		{"suspend", []string{"ctrl+z"}, "suspend the viewer", Everywhere, leaving, func(*model) tea.Cmd { return tea.Suspend }},
		{"quit", []string{"q", "ctrl+c"}, "leave the viewer", Everywhere, leaving, func(*model) tea.Cmd { return tea.Quit }},

		{"help-up", []string{"up", "k"}, "command above", InHelp, inHelp, do(func(m *model) { m.help.move(-1) })},
		{"help-down", []string{"down", "j"}, "command below", InHelp, inHelp, do(func(m *model) { m.help.move(1) })},
		{"help-page-up", []string{"pgup", "ctrl+b"}, "ten commands up", InHelp, inHelp, do(func(m *model) { m.help.move(-10) })},
		{"help-page-down", []string{"pgdown", "ctrl+f"}, "ten commands down", InHelp, inHelp, do(func(m *model) { m.help.move(10) })},
		{"help-run", []string{"enter"}, "do the selected command", InHelp, inHelp, (*model).runHelp},
		{"help-close", []string{"esc", "?", "f1", "q"}, "close the help", InHelp, inHelp, do((*model).closeModal)},
		{"help-quit", []string{"ctrl+c"}, "leave the viewer", InHelp, inHelp, func(*model) tea.Cmd { return tea.Quit }},

		{"prompt-accept", []string{"enter"}, "take what is typed", InPrompt, inPrompt, do((*model).acceptPrompt)},
		{"prompt-cancel", []string{"esc", "ctrl+c"}, "take nothing", InPrompt, inPrompt, do((*model).closeModal)},
		{"prompt-erase", []string{"backspace", "ctrl+h"}, "erase a character", InPrompt, inPrompt, do(func(m *model) { m.prompt.erase() })},
		{"prompt-delete", []string{"delete", "ctrl+d"}, "erase the character under the cursor", InPrompt, inPrompt, do(func(m *model) { m.prompt.delete() })},
		{"prompt-clear", []string{"ctrl+u"}, "erase everything", InPrompt, inPrompt, do(func(m *model) { m.prompt.clear() })},
		{"prompt-left", []string{"left", "ctrl+b"}, "cursor left", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(-1) })},
		{"prompt-right", []string{"right", "ctrl+f"}, "cursor right", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(1) })},
		{"prompt-start", []string{"home", "ctrl+a"}, "cursor to the beginning", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(-promptLimit) })},
		{"prompt-end", []string{"end", "ctrl+e"}, "cursor to the end", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(promptLimit) })},
	}
}

// binding is a key in a context.
type binding struct {
	context Context
	key     string
}

func bindings(commands []Command) map[binding]int {
	keys := map[binding]int{}
	for i, c := range commands {
		for _, k := range c.Keys {
			keys[binding{c.Context, k}] = i
		}
	}
	return keys
}

// context is that of the active pane.
func (m *model) context() Context {
	switch m.active {
	case paneRows:
		return InWarps
	case paneBarriers:
		return InBarriers
	case paneFindings:
		return InFindings
	}
	return InDetails
}

// key does what a key means here.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch m.mode {
	case modeHelp:
		m.message = ""
		if i, ok := m.keys[binding{InHelp, name}]; ok {
			return m.commands[i].run(m)
		}
		return nil
	case modePrompt:
		if i, ok := m.keys[binding{InPrompt, name}]; ok {
			return m.commands[i].run(m)
		}
		m.prompt.insert(k.Text)
		return nil
	}
	m.message, m.bad = "", false
	for _, c := range []Context{m.context(), Everywhere} {
		if i, ok := m.keys[binding{c, name}]; ok {
			return m.commands[i].run(m)
		}
	}
	m.say(name + " does nothing here; ? shows what does")
	return nil
}

// ready reports whether there is an open launch with rows, and says so if not.
func (m *model) ready() bool {
	switch {
	case m.openErr != nil:
		m.complain(m.openErr)
	case m.tl == nil:
		m.say("still opening")
	case len(m.tree.all) == 0:
		m.say("this launch has no events")
	default:
		return true
	}
	return false
}
