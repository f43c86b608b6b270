package tui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only files under the root are read, whatever a trace calls them.
func TestSourceStaysUnderItsRoot(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "src", "k.cu"), "kernel")
	write(filepath.Join(root, "top.cu"), "top")
	write(filepath.Join(dir, "secret"), "secret")
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(root, "link.cu")); err != nil {
		t.Fatal(err)
	}
	if err := makeFIFO(filepath.Join(root, "pipe.cu")); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(root, "huge.cu"), "")
	if err := os.Truncate(filepath.Join(root, "huge.cu"), sourceLimit+1); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"src/k.cu":                           "kernel",
		filepath.Join(root, "src", "k.cu"):   "kernel",
		"/home/someone/project/src/k.cu":     "kernel", // recorded on another machine
		"/build/top.cu":                      "top",
		"./src/../src/k.cu":                  "kernel",
		"/etc/../" + root + "/src/./k.cu":    "kernel",
		"project/elsewhere/../src/../top.cu": "top",
	} {
		if got, err := readUnder(root, name); err != nil || string(got) != want {
			t.Errorf("%s is read as %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"../secret", filepath.Join(dir, "secret"), "link.cu", "pipe.cu", "src", "", "s", "..", "/etc/passwd",
		"nothing.cu", "huge.cu", "src/k.cu\x00", strings.Repeat("a/", 5000) + "x"} {
		if got, err := readUnder(root, name); err == nil {
			t.Errorf("%q is read as %q", name, got)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error has more than one line: %v", name, err)
		}
	}
	if _, err := readUnder(filepath.Join(dir, "no such root"), "k.cu"); err == nil {
		t.Error("a root that is not there is no error")
	}
}

const kernel = `// a pipeline
__global__ void k() {
	int n = 42;
	printf("text");
}
`

func TestSourceIsShown(t *testing.T) {
	cfg := hangConfig()
	asked := 0
	cfg.ReadSource = func(name string) ([]byte, error) {
		asked++
		if name != "corpus.cu" {
			t.Errorf("%s is asked for", name)
		}
		lines := strings.Repeat("filler\n", 340) + "  before();\n  early();\n  wait_here(empty);\n  after();\n"
		return []byte(lines), nil
	}
	s := open(t, cfg, 160, 60).shows("─ corpus.cu:343", "▶343   wait_here(empty);", " 344   after();")
	s.press("right", "left", "down", "up", "home", "u")
	if asked != 1 {
		t.Errorf("the file is read %d times", asked)
	}
	s.press("home").shows("─ corpus.cu:322", "▶322 filler")

	// A pane with nothing in it takes no room, but can be asked why.
	source := func() *session {
		s := open(t, cfg, 160, 60).hides("─ corpus.cu:343")
		for s.m.active != paneSource {
			s.press("tab")
		}
		return s
	}
	cfg.ReadSource = func(string) ([]byte, error) { return nil, errors.New("no permission") }
	source().shows("━ corpus.cu:343", "no permission")
	cfg.ReadSource, cfg.SourceRoot = nil, t.TempDir()
	source().shows("no corpus.cu under the source root")
	cfg.SourceRoot = ""
	open(t, cfg, 160, 60).hides("─ corpus.cu:343")
	cfg.ReadSource = func(string) ([]byte, error) { return []byte("short\n"), nil }
	open(t, cfg, 160, 60).shows("corpus.cu has only 2 lines")
}

func TestSourceIsScrolled(t *testing.T) {
	cfg := hangConfig()
	cfg.ReadSource = func(string) ([]byte, error) { return []byte(strings.Repeat("line\n", 500)), nil }
	s := open(t, cfg, 80, 24)
	for s.m.active != paneSource {
		s.press("tab")
	}
	s.shows("▶343 line").press("pgdown").shows("352 line").hides("▶343").press("pgup").shows("▶343 line")
	for range 30 {
		s.press("pgdown")
	}
	s.shows("500 line").press("up").shows("499 line")
}

// CUDA is coloured as C++ is, and the lines stay what they were.
func TestHighlight(t *testing.T) {
	for _, name := range []string{"k.cu", "k.cuh", "k.cpp"} {
		lines := highlight(name, kernel)
		var text []string
		styles := map[string]style{}
		for _, l := range lines {
			s := ""
			for _, x := range l {
				s += x.text
				styles[strings.TrimSpace(x.text)] = x.s
			}
			text = append(text, s)
		}
		if got := strings.Join(text, "\n"); got != strings.ReplaceAll(kernel, "\t", "    ") {
			t.Errorf("%s: the text has become %q", name, got)
		}
		for word, want := range map[string]style{"// a pipeline": styleComment, "int": styleKeyword, "42": styleNumber, `"text"`: styleString} {
			if got, ok := styles[word]; !ok || got != want {
				t.Errorf("%s: %q has style %d, want %d", name, word, got, want)
			}
		}
	}
	if lines := highlight("k.unknown", "a\nb"); len(lines) != 2 {
		t.Errorf("a file of no known language has %d lines", len(lines))
	}
}

const ptx = `// made by hand
.version 8.0
.visible .entry k(.param .u64 out)
{
	.reg .pred %p<4>;
$L1: /* a comment
	over lines */ mbarrier.arrive.shared::cta.b64 %rd1, [%r1+0x10];
	@%p1 bra.uni $L1;
	@!%p1 bar.sync 1, 64;
	.file 1 "k.cu"
	ret;
}
`

// PTX is coloured by a lexer of our own: barriers stand out.
func TestHighlightPTX(t *testing.T) {
	lines := highlight("k.ptx", ptx)
	styles := map[string]style{}
	var text []string
	for _, l := range lines {
		s := ""
		for _, x := range l {
			s += x.text
			styles[strings.TrimSpace(x.text)] = x.s
		}
		text = append(text, s)
	}
	if got := strings.Join(text, "\n"); got != strings.ReplaceAll(ptx, "\t", "    ") {
		t.Errorf("the text has become %q", got)
	}
	for word, want := range map[string]style{
		"// made by hand": styleComment, ".version": styleKeyword, "mbarrier.arrive.shared::cta.b64": styleWaiting, "bar.sync": styleWaiting,
		"0x10": styleNumber, "bra.uni": styleKeyword, "ret": styleKeyword, "over lines */": styleComment, `"k.cu"`: styleString, "1": styleNumber,
	} {
		if got, ok := styles[word]; !ok || got != want {
			t.Errorf("%q has style %d, want %d (%v)", word, got, want, ok)
		}
	}
}

func FuzzHighlightPTX(f *testing.F) {
	f.Add(ptx)
	f.Add("/*")
	f.Add("a\n\"b\n.c:")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<12 {
			return
		}
		var got []string
		for _, l := range ptxLines(s) {
			text := ""
			for _, x := range l {
				text += x.text
			}
			got = append(got, text)
		}
		if strings.Join(got, "\n") != s {
			t.Errorf("%q has become %q", s, got)
		}
	})
}

func FuzzHighlight(f *testing.F) {
	f.Add(kernel)
	f.Add("/* \x00 \"")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<12 {
			return
		}
		n := len(strings.Split(s, "\n"))
		if got := len(highlight("k.cu", s)); got < n || got > n+1 {
			t.Errorf("%d lines of %d", got, n)
		}
	})
}
