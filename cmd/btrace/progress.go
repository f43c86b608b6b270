package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// progress counts what is read of a source, and shows it on a terminal while
// that takes long. It ends with the context.
type progress struct {
	ctx    context.Context
	r      io.Reader
	out    io.Writer // nil: show nothing
	what   string
	size   int64 // 0: unknown
	done   int64
	next   time.Time
	showed bool
}

// newProgress wraps the reader; it shows on out if that is a terminal.
func newProgress(ctx context.Context, r io.Reader, out io.Writer, what string) *progress {
	p := &progress{ctx: ctx, r: r, what: what, next: time.Now().Add(time.Second)}
	if isTerminal(out) {
		p.out = out
	}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			p.size = info.Size()
		}
	}
	return p
}

// Read reads and counts.
func (p *progress) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := p.r.Read(b)
	p.done += int64(n)
	if p.out != nil && time.Now().After(p.next) {
		p.next = time.Now().Add(200 * time.Millisecond)
		p.showed = true
		if p.size > 0 {
			fmt.Fprintf(p.out, "\r%s: %3d%%", p.what, 100*p.done/p.size)
		} else {
			fmt.Fprintf(p.out, "\r%s: %d MB", p.what, p.done>>20)
		}
	}
	return n, err
}

// clear removes what was shown.
func (p *progress) clear() {
	if p.showed {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
