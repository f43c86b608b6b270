package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

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
	InWalk     Context = "walk"    // the wait-for graph, the waits and the comparison, whose lines lead somewhere
	InHelp     Context = "help"
	InPrompt   Context = "prompt"
	InPalette  Context = "palette" // beside the keys of a prompt
)

// Command is something that a key does.
type Command struct {
	Name    string   // lower case, words joined by hyphens; unique
	Keys    []string // as Bubble Tea spells them
	Help    string   // what it does, a few words
	Context Context
	Subject string // the heading that it stands under in the help
	Takes   string // what it asks for, and what may follow its name in the palette; empty: nothing
	run     func(*model) tea.Cmd
	with    func(*model, string) error // of a command that takes something
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
	case paneGraph, paneStats, paneDiff:
		return InWalk
	}
	return InDetails
}

// key does what a key means here.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	contexts := []Context{m.context(), Everywhere}
	switch m.mode {
	case modeHelp:
		contexts = []Context{InHelp}
	case modePrompt:
		contexts = []Context{InPrompt}
	case modePalette:
		contexts = []Context{InPalette, InPrompt}
	}
	if m.mode != modePrompt {
		m.message, m.bad = "", false
	}
	for _, c := range contexts {
		if i, ok := m.keys[binding{c, name}]; ok {
			return m.commands[i].run(m)
		}
	}
	switch m.mode {
	case modePrompt:
		m.prompt.insert(k.Text)
	case modePalette:
		m.prompt.insert(k.Text)
		m.searchPalette()
	case modeNormal:
		m.say(name + " does nothing here; ? shows what does")
	}
	return nil
}

// do does a command by its name, with what follows the name. A command that
// takes something asks for it where nothing follows.
func (m *model) do(line string) (tea.Cmd, error) {
	name, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	i := slices.IndexFunc(m.commands, func(c Command) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no command %q%s", clean(name, 40), meant(m.commands, name))
	}
	c := &m.commands[i]
	arg = strings.TrimSpace(arg)
	switch {
	case arg == "":
		return c.run(m), nil
	case c.with == nil:
		return nil, fmt.Errorf("%s takes nothing, and %q follows it", name, clean(arg, 40))
	}
	return nil, c.with(m, arg)
}

// meant suggests the command that somebody may have meant: the best match of
// as much of the name as matches any.
func meant(commands []Command, name string) string {
	for n := utf8.RuneCountInString(name); n >= 3; n-- {
		if best := rank(commands, name[:byteIndex(name, n)]); len(best) > 0 {
			return ": is " + commands[best[0]].Name + " meant?"
		}
	}
	return ""
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
