package tui

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Keymap binds commands to other keys than the table does: the name of a
// command and all of its keys. A command without keys can still be done from
// the palette.
type Keymap map[string][]string

// keymapLimit bounds the file of key bindings.
const keymapLimit = 64 << 10

// ParseKeymap reads a file of key bindings, one command a line:
//
//	zoom-in = + = ctrl+up
//	quit = Q ctrl+c
//
// Blank lines and those that begin with # are passed over. Keys are spelled as
// in the help. An error names the line.
func ParseKeymap(r io.Reader) (Keymap, error) {
	known := map[string]Command{}
	for _, c := range Commands() {
		known[c.Name] = c
	}
	keys := Keymap{}
	in := bufio.NewScanner(io.LimitReader(r, keymapLimit+1))
	size := 0
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if size += len(in.Bytes()) + 1; size > keymapLimit {
			return nil, fmt.Errorf("line %d: a file of key bindings has at most %d KB", n, keymapLimit>>10)
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, list, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return nil, fmt.Errorf("line %d: want COMMAND = KEY KEY, such as zoom-in = + ctrl+up", n)
		}
		if _, ok := known[name]; !ok {
			return nil, fmt.Errorf("line %d: no command %q%s", n, clean(name, 40), meant(Commands(), clean(name, 40)))
		}
		if _, twice := keys[name]; twice {
			return nil, fmt.Errorf("line %d: %s is bound twice: give all its keys on one line", n, name)
		}
		keys[name] = strings.Fields(list)
		for _, k := range keys[name] {
			if _, err := parseKey(k); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if _, err := keys.bind(Commands()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return keys, nil
}

// bind gives commands their keys. A key that is bound is taken away from the
// commands that had it in its reach.
func (k Keymap) bind(commands []Command) ([]Command, error) {
	for i := range commands {
		keys, ok := k[commands[i].Name]
		if !ok {
			continue
		}
		c := &commands[i]
		if len(keys) == 0 && (c.Name == "quit" || c.Name == "prompt-cancel" || c.Name == "help-close") {
			return nil, fmt.Errorf("%s must keep a key", c.Name)
		}
		for _, key := range keys {
			if (c.Context == InPrompt || c.Context == InPalette) && utf8.RuneCountInString(key) == 1 {
				return nil, fmt.Errorf("%s types a character, and cannot be a key of %s", key, c.Name)
			}
			for j := range commands {
				o := &commands[j]
				if j == i || !reach(c.Context, o.Context) {
					continue
				}
				if other, bound := k[o.Name]; bound && slices.Contains(other, key) {
					return nil, fmt.Errorf("%s is given to both %s and %s", key, o.Name, c.Name)
				}
				o.Keys = slices.DeleteFunc(slices.Clone(o.Keys), func(x string) bool { return x == key })
			}
		}
		c.Keys = keys
	}
	return commands, nil
}

// reach reports whether a key of one context could be meant for the other.
func reach(a, b Context) bool {
	modal := func(c Context) bool { return c == InHelp || c == InPrompt || c == InPalette }
	return a == b || !modal(a) && !modal(b) && (a == Everywhere || b == Everywhere)
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
