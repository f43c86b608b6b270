package tui

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func keymap(t *testing.T, text string) Keymap {
	t.Helper()
	k, err := ParseKeymap(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A user binds other keys: they work, the help shows them, and the old ones do
// nothing any more.
func TestKeysCanBeBound(t *testing.T) {
	cfg := hangConfig()
	cfg.Keys = keymap(t, "# mine\n\nzoom-in = i\nnext-finding = ] ctrl+n\nquit = Q\n")
	s := open(t, cfg, 120, 40)
	s.press("home", "i").shows("│2 µs").press("+").shows("+ does nothing here")
	s.press("]").at("16.384 µs").press("[").hides("nothing here") // ] is no longer next-phase, [ is what it was
	s.press("q").shows("q does nothing here")
	s.press("?")
	for _, keys := range []string{"  ] ctrl+n ", "  i "} {
		for n := 0; n < len(Commands()) && !strings.Contains(s.screen(), keys); n++ {
			s.press("down")
		}
		s.shows(keys)
	}
	s.press("esc")
	s.press(":").types("zoom-in").shows("zoom in at the playhead").press("esc").press("Q")
	if !s.quit {
		t.Error("Q does not quit")
	}
	// A key of a pane is taken away from what works everywhere.
	cfg.Keys = keymap(t, "fold = f\n")
	open(t, cfg, 120, 40).press("f").shows("    l1-31").press(":").types("fit").press("enter").hides("nothing here")
}

func TestWrongKeymaps(t *testing.T) {
	for text, want := range map[string]string{
		"zoom-inn = +":              `line 1: no command "zoom-inn": is zoom-in meant?`,
		"\n# x\nzoom-in":            "line 3: want COMMAND = KEY KEY",
		"zoom-in = hyper+x":         `line 1: unknown key "hyper+x"`,
		"zoom-in = i\nzoom-in = j":  "line 2: zoom-in is bound twice",
		"zoom-in = i\nzoom-out = i": "line 2: i is given to both",
		"row-up = i\nzoom-out = i":  "line 2: i is given to both",
		"quit =":                    "line 1: quit must keep a key",
		"prompt-clear = x":          "line 1: x types a character",
		strings.Repeat("#\n", 40e3): "at most 64 KB",
		"\x1b]0;x\x07 = a":          "line 1: no command",
	} {
		_, err := ParseKeymap(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b\x07") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseKeymap(f *testing.F) {
	f.Add("zoom-in = + =\nquit = Q")
	f.Add("row-up=\nleft = right")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKeymap(strings.NewReader(s))
		if err != nil {
			return
		}
		commands, err := k.bind(Commands())
		if err != nil {
			t.Fatalf("%q is read and then refused: %v", s, err)
		}
		// No key means two things in one place.
		seen := map[binding]string{}
		for _, c := range commands {
			for _, key := range c.Keys {
				if other := seen[binding{c.Context, key}]; other != "" && other != c.Name {
					t.Fatalf("%q: %s does both %s and %s", s, key, other, c.Name)
				}
				seen[binding{c.Context, key}] = c.Name
			}
		}
	})
}

// KEYS.md is what the table says. To change it, run the test with
// UPDATE_KEYS=1.
func TestKeysAreDocumented(t *testing.T) {
	want := KeysDoc()
	for _, c := range Commands() {
		if !strings.Contains(want, "`"+c.Name) {
			t.Errorf("%s is not documented", c.Name)
		}
		if !slices.ContainsFunc(contexts(), func(x struct {
			context Context
			title   string
		}) bool {
			return x.context == c.Context
		}) {
			t.Errorf("%s has no heading", c.Context)
		}
	}
	if os.Getenv("UPDATE_KEYS") != "" {
		if err := os.WriteFile("KEYS.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("KEYS.md"); err != nil || string(got) != want {
		t.Errorf("KEYS.md does not show the table (UPDATE_KEYS=1 mends it): %v", err)
	}
}
