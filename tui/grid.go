package tui

import "unicode/utf8"

// rect is a part of the screen, in cells.
type rect struct{ x, y, w, h int }

func (r rect) contains(x, y int) bool {
	return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h
}

// cell is one character position. Its rune is always one column wide.
type cell struct {
	r rune
	s style
}

// grid is a screen of cells. It is drawn anew for every frame, into memory
// that is kept.
type grid struct {
	w, h  int
	ascii bool
	cells []cell
}

// reset makes the grid w x h cells of blanks.
func (g *grid) reset(w, h int) {
	if n := w * h; cap(g.cells) < n {
		g.cells = make([]cell, n)
	} else {
		g.cells = g.cells[:n]
	}
	g.w, g.h = w, h
	for i := range g.cells {
		g.cells[i] = cell{r: ' '}
	}
}

// canvas is the part of a grid that a pane may draw on; what falls outside is
// clipped. Coordinates are relative to it.
type canvas struct {
	g *grid
	rect
}

func (g *grid) canvas(r rect) canvas {
	x0, y0 := max(r.x, 0), max(r.y, 0)
	x1, y1 := min(r.x+r.w, g.w), min(r.y+r.h, g.h)
	return canvas{g, rect{x0, y0, max(x1-x0, 0), max(y1-y0, 0)}}
}

// sub returns a part of the canvas.
func (c canvas) sub(r rect) canvas {
	x0, y0 := max(r.x, 0), max(r.y, 0)
	x1, y1 := min(r.x+r.w, c.w), min(r.y+r.h, c.h)
	return canvas{c.g, rect{c.x + x0, c.y + y0, max(x1-x0, 0), max(y1-y0, 0)}}
}

// row returns the cells of a row, to be written directly; nil outside.
func (c canvas) row(y int) []cell {
	if y < 0 || y >= c.h {
		return nil
	}
	i := (c.y+y)*c.g.w + c.x
	return c.g.cells[i : i+c.w]
}

// set writes one cell.
func (c canvas) set(x, y int, s style, r rune) {
	if x < 0 || x >= c.w || y < 0 || y >= c.h {
		return
	}
	c.g.cells[(c.y+y)*c.g.w+c.x+x] = cell{c.g.glyph(r), s}
}

// fill writes n cells of a rune.
func (c canvas) fill(x, y, n int, s style, r rune) {
	for i := range n {
		c.set(x+i, y, s, r)
	}
}

// text writes a string and returns the column after it. Whatever is not a
// printable character of one column is replaced, so that no string of a trace
// reaches the terminal as anything but text. A string that does not fit ends
// in an ellipsis.
func (c canvas) text(x, y int, s style, str string) int {
	if y < 0 || y >= c.h {
		return x
	}
	for _, r := range str {
		if x >= c.w {
			c.set(c.w-1, y, s, ellipsis)
			return c.w
		}
		c.set(x, y, s, printable(r))
		x++
	}
	return x
}

// glyph is the rune as this grid can show it.
func (g *grid) glyph(r rune) rune {
	if g.ascii && r >= utf8.RuneSelf {
		return asciiOf(r)
	}
	return r
}

// mark changes the style of cells without changing what they show.
func (c canvas) mark(x, y, n int, mod style) {
	row := c.row(y)
	for i := max(x, 0); i < min(x+n, len(row)); i++ {
		row[i].s |= mod
	}
}

// plain is the grid as text without styles; lines end where their text ends.
func (g *grid) plain() string {
	var out []byte
	for y := range g.h {
		row := g.cells[y*g.w : (y+1)*g.w]
		n := len(row)
		for n > 0 && row[n-1].r == ' ' {
			n--
		}
		for _, c := range row[:n] {
			out = utf8.AppendRune(out, c.r)
		}
		out = append(out, '\n')
	}
	return string(out)
}
