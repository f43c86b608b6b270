package tui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"btrace/replay"
)

// Bounds of what is read of a source file and kept.
const (
	sourceLimit    = 4 << 20   // a larger file is not shown
	highlightLimit = 512 << 10 // a larger file is shown without colours
	sourcesKept    = 16
	pathLimit      = 4096 // a longer name is no file of anybody
	depthLimit     = 64   // ends that are tried of a path of another machine
)

// sourceFile is a file ready to draw.
type sourceFile struct {
	lines []line
	err   error
}

// sources are the files that were read.
type sources struct {
	files   map[string]*sourceFile
	order   []string
	loading string
}

// site is the place in the source that the focus is at: that of the row's
// event, else that of the selected finding.
func (m *model) site() replay.Location {
	if x, _ := m.moments.get(m.momentKey()); x != nil && x.event.ok {
		if at := m.eventSite(&x.event.Event); at.Line > 0 {
			return at
		}
	}
	var at replay.Location
	if f := m.selected(); f != nil {
		at = f.Location
	}
	if at.File == "" && at.Line > 0 {
		at.File = m.current().Program
	}
	return at
}

// sourceKnown reports whether there are lines to show.
func (m *model) sourceKnown() bool {
	f := m.sources.files[m.site().File]
	return f != nil && f.err == nil
}

// loadSource asks for the file of the site, if it is to be shown and has not
// been read.
func (m *model) loadSource() tea.Cmd {
	if !m.offered(paneSource) || m.sources.loading != "" {
		return nil
	}
	name := m.site().File
	if name == "" || m.sources.files[name] != nil {
		return nil
	}
	m.sources.loading = name
	read, root := m.cfg.ReadSource, m.cfg.SourceRoot
	if read == nil {
		read = func(name string) ([]byte, error) { return readUnder(root, name) }
	}
	return func() tea.Msg {
		data, err := read(name)
		f := &sourceFile{err: err}
		if err == nil {
			f.lines = highlight(name, string(data))
		}
		return loaded{apply: func(m *model) { m.sources.put(name, f) }}
	}
}

func (s *sources) put(name string, f *sourceFile) {
	if s.files == nil {
		s.files = map[string]*sourceFile{}
	}
	s.loading = ""
	s.files[name] = f
	if s.order = append(s.order, name); len(s.order) > sourcesKept {
		delete(s.files, s.order[0])
		s.order = s.order[1:]
	}
}

// readUnder reads a file that lies under root, and no other: a trace may name
// any file. A path of another machine is looked for by its end.
func readUnder(root, name string) ([]byte, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("source root: %w", err)
	}
	defer dir.Close()
	if rel, err := filepath.Rel(root, name); err == nil && filepath.IsAbs(name) && filepath.IsLocal(rel) {
		name = rel
	}
	path := strings.TrimLeft(filepath.ToSlash(filepath.Clean(name)), "/")
	if len(path) > pathLimit {
		return nil, fmt.Errorf("the name of the source file has %d characters", len(path))
	}
	for range depthLimit {
		data, err := readLocal(dir, path)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return data, err
		}
		_, rest, ok := strings.Cut(path, "/")
		if !ok {
			break
		}
		path = rest
	}
	return nil, fmt.Errorf("no %s under the source root", filepath.Base(name))
}

func readLocal(dir *os.Root, path string) ([]byte, error) {
	if !filepath.IsLocal(path) {
		return nil, os.ErrNotExist
	}
	// Opening a pipe or a device would block: look first.
	info, err := dir.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, os.ErrNotExist
	}
	if info.Size() > sourceLimit {
		return nil, fmt.Errorf("%s is larger than %d MB", filepath.Base(path), sourceLimit>>20)
	}
	f, err := dir.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, sourceLimit))
}

// highlight splits a file into lines and colours those of a known language.
func highlight(name, text string) []line {
	// A lone carriage return ends no line for a compiler, but would for the
	// lexer.
	text = strings.NewReplacer("\t", "    ", "\r\n", "\n", "\r", " ").Replace(text)
	var lexer chroma.Lexer
	switch filepath.Ext(name) {
	case ".ptx":
		return ptxLines(text)
	case ".cu", ".cuh":
		lexer = lexers.Get("c++")
	default:
		lexer = lexers.Match(filepath.Base(name))
	}
	if lexer != nil && len(text) <= highlightLimit {
		if tokens, err := chroma.Tokenise(chroma.Coalesce(lexer), nil, text); err == nil {
			return colour(tokens)
		}
	}
	var out []line
	for _, l := range strings.Split(text, "\n") {
		out = append(out, line{{styleText, l}})
	}
	return out
}

func colour(tokens []chroma.Token) []line {
	out := []line{nil}
	for _, t := range tokens {
		s := tokenStyle(t.Type)
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				out = append(out, nil)
			}
			if part != "" {
				n := len(out) - 1
				out[n] = append(out[n], span{s, part})
			}
		}
	}
	return out
}

func tokenStyle(t chroma.TokenType) style {
	switch {
	case t.InCategory(chroma.Keyword):
		return styleKeyword
	case t.InCategory(chroma.Comment):
		return styleComment
	case t.InSubCategory(chroma.LiteralString):
		return styleString
	case t.InSubCategory(chroma.LiteralNumber):
		return styleNumber
	}
	return styleText
}

// drawSource draws the source around the site.
func (m *model) drawSource(c canvas) {
	at := m.site()
	if at.File == "" || at.Line == 0 {
		c.text(1, 0, styleDim, "no source line is known here")
		return
	}
	f := m.sources.files[at.File]
	switch {
	case f == nil && m.sources.loading != "":
		c.text(1, 0, styleDim, "loading "+at.File)
		return
	case f == nil:
		c.text(1, 0, styleDim, "give a source root to see "+at.File)
		return
	case f.err != nil:
		for i, l := range wrap(f.err.Error(), c.w-2) {
			c.text(1, i, styleDim, l)
		}
		return
	}
	here := int(at.Line) - 1
	if here >= len(f.lines) {
		c.text(1, 0, styleDim, fmt.Sprintf("%s has only %d lines", filepath.Base(at.File), len(f.lines)))
		return
	}
	top := max(here-c.h/2, 0)
	scroll := min(m.scroll[paneSource], max(len(f.lines)-top-c.h, 0))
	m.scroll[paneSource] = scroll
	top += scroll
	width := len(strconv.Itoa(top + c.h))
	for y := range c.h {
		n := top + y
		if n >= len(f.lines) {
			return
		}
		num := strconv.Itoa(n + 1)
		c.text(1+width-len(num), y, styleDim, num)
		x := width + 2
		if n == here {
			c.set(0, y, styleKey, glyphPointer)
		}
		for _, s := range f.lines[n] {
			x = c.text(x, y, s.s, s.text)
		}
		if n == here {
			c.mark(0, y, c.w, modFocus)
		}
	}
}
