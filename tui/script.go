package tui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Script drives the viewer without a terminal and returns its last screen as
// plain text. keys has one key a line, as Bubble Tea spells it (right, ctrl+c,
// shift+tab, ?), or a command of the table as the palette takes it (:zoom-in,
// :go-to-time 12us); blank lines and those that begin with # are passed over.
// Each line finds everything loaded that the one before it asked for, so that
// the screen depends on nothing but the lines.
func Script(ctx context.Context, cfg Config, keys io.Reader, cols, rows int) (string, error) {
	if cols < 1 || rows < 1 || cols > 1000 || rows > 1000 {
		return "", fmt.Errorf("screen of %dx%d: want 1x1 to 1000x1000", cols, rows)
	}
	d, err := newDriver(ctx, cfg, cols, rows)
	if err != nil {
		return "", err
	}
	in := bufio.NewScanner(keys)
	for n := 1; in.Scan() && !d.quit; n++ {
		name := strings.TrimSpace(in.Text())
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if err := d.line(name); err != nil {
			return "", fmt.Errorf("keys, line %d: %w", n, err)
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
	if err := in.Err(); err != nil {
		return "", fmt.Errorf("keys: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return d.screen(), nil
}

// driver runs a model without a terminal: commands run where they are
// returned, one after the other.
type driver struct {
	m    *model
	quit bool
	sent []tea.Msg // what commands sent that the viewer itself has no use for
}

func newDriver(ctx context.Context, cfg Config, cols, rows int) (*driver, error) {
	m, err := newModel(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d := &driver{m: m}
	d.send(tea.WindowSizeMsg{Width: cols, Height: rows})
	d.run(d.m.init())
	return d, nil
}

// line does a line of a script: a key, or a command behind a colon.
func (d *driver) line(s string) error {
	if name, ok := strings.CutPrefix(s, ":"); ok && name != "" {
		cmd, err := d.m.do(name)
		if err != nil {
			return err
		}
		d.m.arrange()
		d.run(tea.Batch(cmd, d.m.next()))
		return nil
	}
	key, err := parseKey(s)
	if err != nil {
		return err
	}
	d.send(key)
	return nil
}

// send hands the model a message and runs what it asks for.
func (d *driver) send(msg tea.Msg) {
	d.run(d.m.update(msg))
}

func (d *driver) run(cmd tea.Cmd) {
	for queue := []tea.Cmd{cmd}; len(queue) > 0; {
		cmd, queue = queue[0], queue[1:]
		if cmd == nil {
			continue
		}
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			queue = append(queue, msg...)
		case tea.QuitMsg:
			d.quit = true
		case workDone, loaded:
			queue = append(queue, d.m.update(msg))
		case playStart:
			queue = append(queue, d.m.update(playStep{time.Second}))
		case nil:
		default:
			d.sent = append(d.sent, msg)
		}
	}
}

func (d *driver) screen() string {
	d.m.draw()
	return d.m.grid.plain()
}

// parseKey makes the key press that Bubble Tea would send for a key's name.
func parseKey(name string) (tea.KeyPressMsg, error) {
	bad := fmt.Errorf("unknown key %q: want a character or a name like right, pgdown, enter, ctrl+c, shift+tab", name)
	var k tea.Key
	rest := name
	for {
		mod, after, ok := strings.Cut(rest, "+")
		if !ok || after == "" {
			break
		}
		switch mod {
		case "ctrl":
			k.Mod |= tea.ModCtrl
		case "alt":
			k.Mod |= tea.ModAlt
		case "shift":
			k.Mod |= tea.ModShift
		default:
			return tea.KeyPressMsg{}, bad
		}
		rest = after
	}
	if code, ok := namedKeys()[rest]; ok {
		k.Code = code
		if code == tea.KeySpace && k.Mod == 0 {
			k.Text = " "
		}
	} else if r, n := utf8.DecodeRuneInString(rest); n == len(rest) && r != utf8.RuneError && unicode.IsGraphic(r) {
		k.Code = r
		switch {
		case k.Mod == 0 && unicode.IsUpper(r):
			k = tea.Key{Code: unicode.ToLower(r), Mod: tea.ModShift, Text: rest}
		case k.Mod == 0:
			k.Text = rest
		}
	}
	press := tea.KeyPressMsg(k)
	if k.Code == 0 || press.String() != name {
		return tea.KeyPressMsg{}, bad
	}
	return press, nil
}

// namedKeys are the keys that have a name of their own.
func namedKeys() map[string]rune {
	keys := map[string]rune{
		"enter": tea.KeyEnter, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "esc": tea.KeyEscape,
		"space": tea.KeySpace, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"insert": tea.KeyInsert, "delete": tea.KeyDelete, "home": tea.KeyHome, "end": tea.KeyEnd,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	}
	for i := range 12 {
		keys[fmt.Sprintf("f%d", i+1)] = tea.KeyF1 + rune(i)
	}
	return keys
}
