package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

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
		moving    = "move"
		finding   = "find"
		showing   = "rows"
		zooming   = "zoom"
		looking   = "panes"
		keeping   = "remember"
		leaving   = "program"
		inPane    = "this pane"
		inHelp    = "help"
		inPrompt  = "prompt"
		inPalette = "palette"
	)
	plain := func(name, keys, help string, c Context, subject string, run func(*model) tea.Cmd) Command {
		return Command{Name: name, Keys: strings.Fields(keys), Help: help, Context: c, Subject: subject, run: run}
	}
	// asking is a command that takes something: what stands behind its name in
	// the palette, or what is typed into its prompt.
	asking := func(name, keys, help, subject, takes string, with func(*model, string) error) Command {
		c := plain(name, keys, help, Everywhere, subject, nil)
		c.Takes, c.with = takes, with
		c.run = do(func(m *model) { m.ask(name, with) })
		return c
	}
	// choosing is a command that takes something by its name, and goes on to the
	// next by its key.
	choosing := func(name, keys, help, subject, takes string, next func(*model) tea.Cmd, with func(*model, string) error) Command {
		c := plain(name, keys, help, Everywhere, subject, next)
		c.Takes, c.with = takes, with
		return c
	}
	return []Command{
		plain("row-up", "up k", "row above", InWarps, inPane, on(func(m *model) { m.moveRow(-1) })),
		plain("row-down", "down j", "row below", InWarps, inPane, on(func(m *model) { m.moveRow(1) })),
		plain("rows-page-up", "pgup ctrl+b", "a screen of rows up", InWarps, inPane, on(func(m *model) { m.moveRow(-m.page()) })),
		plain("rows-page-down", "pgdown ctrl+f", "a screen of rows down", InWarps, inPane, on(func(m *model) { m.moveRow(m.page()) })),
		plain("fold", "enter space", "fold or unfold: a CTA its warps, a warp its lanes", InWarps, inPane, on((*model).fold)),

		plain("barrier-up", "up k", "barrier above", InBarriers, inPane, on(func(m *model) { m.moveLane(-1) })),
		plain("barrier-down", "down j", "barrier below", InBarriers, inPane, on(func(m *model) { m.moveLane(1) })),

		plain("finding-up", "up k", "select the finding above", InFindings, inPane, do(func(m *model) { m.selectFinding(-1) })),
		plain("finding-down", "down j", "select the finding below", InFindings, inPane, do(func(m *model) { m.selectFinding(1) })),
		plain("findings-page-up", "pgup ctrl+b", "ten findings up", InFindings, inPane, do(func(m *model) { m.selectFinding(-10) })),
		plain("findings-page-down", "pgdown ctrl+f", "ten findings down", InFindings, inPane, do(func(m *model) { m.selectFinding(10) })),
		plain("finding-show", "enter space", "go to the selected finding", InFindings, inPane, on(func(m *model) { m.jumpFinding(0) })),

		plain("walk-up", "up k", "line above", InWalk, inPane, do(func(m *model) { m.walk(-1) })),
		plain("walk-down", "down j", "line below", InWalk, inPane, do(func(m *model) { m.walk(1) })),
		plain("walk-page-up", "pgup ctrl+b", "ten lines up", InWalk, inPane, do(func(m *model) { m.walk(-10) })),
		plain("walk-page-down", "pgdown ctrl+f", "ten lines down", InWalk, inPane, do(func(m *model) { m.walk(10) })),
		plain("walk-to", "enter space", "go where the selected line leads", InWalk, inPane, on((*model).walkTo)),

		plain("scroll-up", "up k", "scroll up", InDetails, inPane, do(func(m *model) { m.scrollPane(-1) })),
		plain("scroll-down", "down j", "scroll down", InDetails, inPane, do(func(m *model) { m.scrollPane(1) })),
		plain("scroll-page-up", "pgup ctrl+b", "scroll up by ten", InDetails, inPane, do(func(m *model) { m.scrollPane(-10) })),
		plain("scroll-page-down", "pgdown ctrl+f", "scroll down by ten", InDetails, inPane, do(func(m *model) { m.scrollPane(10) })),

		plain("left", "left h", "playhead one cell left", Everywhere, moving, move(-1)),
		plain("right", "right l", "playhead one cell right", Everywhere, moving, move(1)),
		plain("far-left", "shift+left H", "playhead ten cells left", Everywhere, moving, move(-10)),
		plain("far-right", "shift+right L", "playhead ten cells right", Everywhere, moving, move(10)),
		plain("next-event", ".", "next event of this row", Everywhere, moving, on(func(m *model) { m.seekEvent(1) })),
		plain("previous-event", ",", "previous event of this row", Everywhere, moving, on(func(m *model) { m.seekEvent(-1) })),
		plain("next-at-barrier", ">", "next event on the focused barrier, by whoever", Everywhere, moving, on(func(m *model) { m.seekAtBarrier(1) })),
		plain("previous-at-barrier", "<", "previous event on the focused barrier", Everywhere, moving, on(func(m *model) { m.seekAtBarrier(-1) })),
		plain("released-by", "r", "go to who released this row last", Everywhere, moving, on((*model).goReleaser)),
		plain("waits-for", "w", "go to who this row waits for", Everywhere, moving, on((*model).goAwaited)),
		plain("longest-wait", "W", "longest wait of this row", Everywhere, moving, on(func(m *model) { m.goLongest(false) })),
		plain("longest-wait-of-all", "ctrl+w", "longest wait of all rows", Everywhere, moving, on(func(m *model) { m.goLongest(true) })),
		plain("play", "p", "let the playhead run, or stop it", Everywhere, moving, (*model).play),
		plain("faster", ")", "play twice as fast", Everywhere, moving, on(func(m *model) { m.changeSpeed(1) })),
		plain("slower", "(", "play half as fast", Everywhere, moving, on(func(m *model) { m.changeSpeed(-1) })),
		plain("next-phase", "]", "next phase of the focused barrier", Everywhere, moving, on(func(m *model) { m.seekPhase(1) })),
		plain("previous-phase", "[", "previous phase of the focused barrier", Everywhere, moving, on(func(m *model) { m.seekPhase(-1) })),
		plain("start", "home", "first event of the launch", Everywhere, moving, on(func(m *model) { m.jumpTime("start", m.bounds.first) })),
		plain("end", "end", "last event of the launch", Everywhere, moving, on(func(m *model) { m.jumpTime("end", m.bounds.last) })),
		asking("go-to-time", "g", "go to a time: 12us, 3ms, 107552, +2us", moving, "a time", (*model).goToTime),

		plain("next-finding", "n", "next finding", Everywhere, finding, on(func(m *model) { m.jumpFinding(1) })),
		plain("previous-finding", "N", "previous finding", Everywhere, finding, on(func(m *model) { m.jumpFinding(-1) })),
		plain("next-barrier", "b", "focus the next barrier", Everywhere, finding, on(func(m *model) { m.moveLane(1) })),
		plain("previous-barrier", "B", "focus the previous barrier", Everywhere, finding, on(func(m *model) { m.moveLane(-1) })),
		plain("follow", "o", "focus the barrier that this row is at", Everywhere, finding, on((*model).followRow)),
		asking("find", "s", "go to a row or barrier: 2/3, w3, bar:1, 0x1420; empty repeats", finding, "a row or barrier", (*model).find),

		asking("filter", "/", "show only some warps: "+filterHelp+"; empty shows all", showing, "terms", (*model).filterRows),
		plain("pin", "P", "keep this row above the others, or no longer", Everywhere, showing, on((*model).togglePin)),
		plain("hide", "x", "hide this row", Everywhere, showing, on((*model).hideRow)),
		plain("show-all", "X", "show all rows by number, none hidden or filtered out", Everywhere, showing, on((*model).showAllRows)),
		choosing("order", "O", "order rows by number, most waiting, first to hang", showing, "index, waiting or hang", on((*model).nextOrder), (*model).orderBy),
		plain("fold-all", "F", "fold or unfold every CTA", Everywhere, showing, on((*model).foldAll)),

		plain("zoom-in", "+ =", "zoom in at the playhead", Everywhere, zooming, on(func(m *model) { m.zoom(true) })),
		plain("zoom-out", "- _", "zoom out at the playhead", Everywhere, zooming, on(func(m *model) { m.zoom(false) })),
		plain("fit", "f", "show the whole launch", Everywhere, zooming, on((*model).zoomFit)),
		plain("zoom-phase", "z", "show the focused barrier's phase at the playhead", Everywhere, zooming, on((*model).seekZoom)),
		plain("zoom-event", "Z", "zoom in to single events at the playhead", Everywhere, zooming, on((*model).zoomEvent)),
		plain("centre", "c", "centre the window on the playhead", Everywhere, zooming, on((*model).centre)),

		plain("next-pane", "tab", "next pane", Everywhere, looking, do(func(m *model) { m.cyclePane(1) })),
		plain("previous-pane", "shift+tab", "previous pane", Everywhere, looking, do(func(m *model) { m.cyclePane(-1) })),
		plain("toggle-graph", "G", "show or hide who waits for whom", Everywhere, looking, do(func(m *model) { m.togglePane(paneGraph) })),
		plain("toggle-waits", "S", "show or hide how long is waited at the barrier, and for whom", Everywhere, looking, do(func(m *model) { m.togglePane(paneStats) })),
		asking("pane", "t", "show or hide a pane: state, event, source, findings, story, graph, waits, diff", looking, "name", (*model).paneByName),
		plain("maximise", "v", "the active pane alone, or all again", Everywhere, looking, do((*model).maximise)),
		plain("wider", "ctrl+left", "the panes beside the timeline wider", Everywhere, looking, do(func(m *model) { m.resizePane(4, 0) })),
		plain("narrower", "ctrl+right", "the panes beside the timeline narrower", Everywhere, looking, do(func(m *model) { m.resizePane(-4, 0) })),
		plain("taller", "ctrl+up", "the active pane taller", Everywhere, looking, do(func(m *model) { m.resizePane(0, 1) })),
		plain("shorter", "ctrl+down", "the active pane shorter", Everywhere, looking, do(func(m *model) { m.resizePane(0, -1) })),
		plain("toggle-other", "d", "show or hide the other of two recordings below this one", Everywhere, looking, do((*model).toggleOther)),
		plain("swap", "D", "show the other of two recordings (btrace view A B)", Everywhere, looking, do((*model).swapRecordings)),
		asking("launch", "ctrl+l", "go to a launch by its number", looking, "number", (*model).launchByNumber),
		plain("next-launch", "}", "next launch of the trace", Everywhere, looking, do(func(m *model) { m.nextLaunch(1) })),
		plain("previous-launch", "{", "previous launch of the trace", Everywhere, looking, do(func(m *model) { m.nextLaunch(-1) })),
		plain("toggle-mouse", "M", "mouse on or off; off lets the terminal select text", Everywhere, looking, do((*model).toggleMouse)),

		choosing("theme", "T", "other colours: okabe-ito, light, high-contrast, plain", looking, "name", do((*model).nextTheme), (*model).themeByName),
		plain("toggle-ascii", "A", "draw with ASCII characters only, or no longer", Everywhere, looking, do((*model).toggleASCII)),

		plain("undo", "u", "back to where you were", Everywhere, keeping, do((*model).undo)),
		plain("redo", "U ctrl+r", "forth again", Everywhere, keeping, do((*model).redo)),
		plain("mark", "m", "set or clear a mark here; times are measured from the last one", Everywhere, keeping, on((*model).toggleMark)),
		plain("next-mark", "'", "go to the next mark", Everywhere, keeping, on(func(m *model) { m.nextMark(1) })),
		plain("previous-mark", "\"", "go to the previous mark", Everywhere, keeping, on(func(m *model) { m.nextMark(-1) })),
		plain("clear-marks", "ctrl+x", "take all marks away", Everywhere, keeping, do((*model).clearMarks)),
		plain("copy", "y", "copy what is in focus as text (OSC 52)", Everywhere, keeping, (*model).copyFocus),

		plain("copy-finding", "Y", "copy the selected finding as text (OSC 52)", Everywhere, keeping, (*model).copyFinding),
		asking("export", "e", "write what is on the screen to a file: .svg, .html or .txt", keeping, "file", (*model).export),

		plain("palette", ":", "type a command's name", Everywhere, leaving, do((*model).openPalette)),
		plain("help", "? f1", "what the keys do here", Everywhere, leaving, do((*model).openHelp)),
		plain("cancel", "esc", "give up what is being looked for", Everywhere, leaving, do((*model).cancelSeeks)),
		plain("suspend", "ctrl+z", "suspend the viewer", Everywhere, leaving, func(*model) tea.Cmd { return func() tea.Msg { return suspending{} } }),
		plain("quit", "q ctrl+c", "leave the viewer", Everywhere, leaving, func(*model) tea.Cmd { return tea.Quit }),

		plain("help-up", "up k", "command above", InHelp, inHelp, do(func(m *model) { m.help.move(-1) })),
		plain("help-down", "down j", "command below", InHelp, inHelp, do(func(m *model) { m.help.move(1) })),
		plain("help-page-up", "pgup ctrl+b", "ten commands up", InHelp, inHelp, do(func(m *model) { m.help.move(-10) })),
		plain("help-page-down", "pgdown ctrl+f", "ten commands down", InHelp, inHelp, do(func(m *model) { m.help.move(10) })),
		plain("help-run", "enter", "do the selected command", InHelp, inHelp, (*model).runHelp),
		plain("help-close", "esc ? f1 q", "close the help", InHelp, inHelp, do((*model).closeModal)),
		plain("help-quit", "ctrl+c", "leave the viewer", InHelp, inHelp, func(*model) tea.Cmd { return tea.Quit }),

		plain("palette-up", "up ctrl+p", "command above", InPalette, inPalette, do(func(m *model) { m.palette.move(-1) })),
		plain("palette-down", "down ctrl+n tab", "command below", InPalette, inPalette, do(func(m *model) { m.palette.move(1) })),
		plain("palette-run", "enter", "do the selected command, with what follows its name", InPalette, inPalette, (*model).runPalette),

		plain("prompt-accept", "enter", "take what is typed", InPrompt, inPrompt, do((*model).acceptPrompt)),
		plain("prompt-cancel", "esc ctrl+c", "take nothing", InPrompt, inPrompt, do((*model).closeModal)),
		plain("prompt-erase", "backspace ctrl+h", "erase a character", InPrompt, inPrompt, do(func(m *model) { m.prompt.erase() })),
		plain("prompt-delete", "delete ctrl+d", "erase the character under the cursor", InPrompt, inPrompt, do(func(m *model) { m.prompt.delete() })),
		plain("prompt-clear", "ctrl+u", "erase everything", InPrompt, inPrompt, do(func(m *model) { m.prompt.clear() })),
		plain("prompt-left", "left ctrl+b", "cursor left", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(-1) })),
		plain("prompt-right", "right ctrl+f", "cursor right", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(1) })),
		plain("prompt-start", "home ctrl+a", "cursor to the beginning", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(-promptLimit) })),
		plain("prompt-end", "end ctrl+e", "cursor to the end", InPrompt, inPrompt, do(func(m *model) { m.prompt.move(promptLimit) })),
	}
}
