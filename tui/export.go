package tui

import (
	"errors"
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// export writes what is on the screen to a file, in the form that its name
// ends with.
func (m *model) export(name string) error {
	if name = strings.TrimSpace(name); name == "" {
		return errors.New("give the name of a file that ends in .svg, .html or .txt")
	}
	if m.cfg.Save == nil {
		return errors.New("files cannot be written here")
	}
	ext := filepath.Ext(name)
	if ext != ".svg" && ext != ".html" && ext != ".txt" {
		return fmt.Errorf("%q: the name must end in .svg, .html or .txt", clean(name, 40))
	}
	// The prompt that asks for the name is no part of the view.
	mode, message := m.mode, m.message
	m.mode, m.message = modeNormal, ""
	m.draw()
	m.mode, m.message = mode, message
	var data []byte
	switch ext {
	case ".svg":
		data = m.grid.svg(m.theme, m.title())
	case ".html":
		data = m.grid.html(m.theme, m.title())
	case ".txt":
		data = []byte(m.grid.plain())
	}
	if err := m.cfg.Save(name, data); err != nil {
		return err
	}
	m.say("written to " + name)
	return nil
}

// stretch is neighbouring cells of one look.
type stretch struct {
	x    int
	look look
	text []rune
}

// runs splits a row into runes; trailing blanks are left out.
func (g *grid) runs(y int, t *theme) []stretch {
	row := g.cells[y*g.w : (y+1)*g.w]
	var out []stretch
	for x, c := range row {
		l := t.looks[c.s]
		if n := len(out); n > 0 && out[n-1].look == l {
			out[n-1].text = append(out[n-1].text, c.r)
		} else {
			out = append(out, stretch{x, l, []rune{c.r}})
		}
	}
	for n := len(out); n > 0; n = len(out) {
		last := &out[n-1]
		if last.look.reverse {
			break
		}
		if trimmed := strings.TrimRight(string(last.text), " "); trimmed != "" {
			last.text = []rune(trimmed)
			break
		}
		out = out[:n-1]
	}
	return out
}

// paper is the colours that an export is painted with where a theme leaves
// them to the terminal.
func (t *theme) paper() (fg, bg rgb) {
	if fg, bg = t.palette.fg, t.palette.bg; fg == noColour {
		return 0x000000, 0xffffff
	}
	return fg, bg
}

// colours are those of a run.
func (l look) colours(t *theme) (fg, bg rgb) {
	fg, bg = t.paper()
	if l.fg != noColour {
		fg = l.fg
	}
	if l.reverse {
		return bg, fg
	}
	return fg, bg
}

// The size of a cell in an SVG, in units of its own.
const (
	svgCellW = 8
	svgCellH = 17
	svgBase  = 13 // of the text's base line in a cell
)

// svg is the screen as a picture. Every run of text is as wide as its cells,
// whatever font a reader has.
func (g *grid) svg(t *theme, title string) []byte {
	fg, bg := t.paper()
	w, h := g.w*svgCellW+2*svgCellW, g.h*svgCellH+svgCellW
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6" fill="%s"/>`+"\n", w, h, bg.hex())
	fmt.Fprintf(&b, `<g font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="13" fill="%s">`+"\n", fg.hex())
	for y := range g.h {
		for _, r := range g.runs(y, t) {
			x, top, wide := svgCellW+r.x*svgCellW, svgCellW/2+y*svgCellH, len(r.text)*svgCellW
			ink, under := r.look.colours(t)
			if r.look.reverse {
				fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, x, top, wide, svgCellH, under.hex())
			}
			// Spaces collapse in an SVG, whatever it asks for: what is left would
			// be stretched.
			text := strings.TrimRight(string(r.text), " ")
			cells := utf8.RuneCountInString(text)
			text = strings.TrimLeft(text, " ")
			if text == "" {
				continue
			}
			n := utf8.RuneCountInString(text)
			x += (cells - n) * svgCellW
			fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs"`, x, top+svgBase, n*svgCellW)
			if ink != fg {
				fmt.Fprintf(&b, ` fill="%s"`, ink.hex())
			}
			if r.look.bold {
				b.WriteString(` font-weight="bold"`)
			}
			fmt.Fprintf(&b, ">%s</text>", strings.ReplaceAll(html.EscapeString(text), " ", "\u00a0"))
		}
		b.WriteByte('\n')
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// html is the screen as a page of its own, whose text can be searched and
// copied.
func (g *grid) html(t *theme, title string) []byte {
	fg, bg := t.paper()
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&b, "<style>body{background:%s;color:%s}pre{font:13px/1.3 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}</style>\n<pre>\n", bg.hex(), fg.hex())
	for y := range g.h {
		for _, r := range g.runs(y, t) {
			ink, under := r.look.colours(t)
			style := ""
			if ink != fg {
				style += "color:" + ink.hex() + ";"
			}
			if under != bg {
				style += "background:" + under.hex() + ";"
			}
			if r.look.bold {
				style += "font-weight:bold"
			}
			text := html.EscapeString(string(r.text))
			if style == "" {
				b.WriteString(text)
			} else {
				fmt.Fprintf(&b, `<span style="%s">%s</span>`, strings.TrimSuffix(style, ";"), text)
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("</pre>\n</html>\n")
	return []byte(b.String())
}
