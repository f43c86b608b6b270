package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/term"

	"btrace/trace/plain"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// meter counts the bytes that a command has read, and shows them on a
// terminal once the command takes longer than people like to wait for
// without a word.
type meter struct {
	read      atomic.Int64
	out       io.Writer
	what      string
	size      int64         // of what is read once; 0 = unknown, or read several times
	quit, end chan struct{} // nil where there is no terminal
}

// newMeter starts counting; the command calls stop before it prints.
func newMeter(out io.Writer, what string, size int64) *meter {
	m := &meter{out: out, what: what, size: size}
	if isTerminal(out) {
		m.quit, m.end = make(chan struct{}), make(chan struct{})
		go m.show()
	}
	return m
}

func (m *meter) show() {
	defer close(m.end)
	wait := time.NewTimer(time.Second)
	defer wait.Stop()
	for {
		select {
		case <-m.quit:
			fmt.Fprint(m.out, "\r\x1b[K")
			return
		case <-wait.C:
			wait.Reset(200 * time.Millisecond)
			n := m.read.Load()
			if m.size > 0 {
				fmt.Fprintf(m.out, "\r%s: %d%%", plain.Text(m.what), 100*n/m.size)
			} else {
				fmt.Fprintf(m.out, "\r%s: %d MB read", plain.Text(m.what), n>>20)
			}
		}
	}
}

// stop ends the display and removes it.
func (m *meter) stop() {
	if m.quit != nil {
		close(m.quit)
		<-m.end
		m.quit = nil
	}
}

// readerAt counts what is read of r.
func (m *meter) readerAt(r io.ReaderAt) io.ReaderAt { return countedAt{r, m} }

type countedAt struct {
	r io.ReaderAt
	m *meter
}

func (c countedAt) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(b, off)
	c.m.read.Add(int64(n))
	return n, err
}

// stream counts what is read of r, and makes reading end with the context:
// a read of a terminal or a pipe cannot be interrupted, so it is left behind.
// The caller closes the stream.
func (m *meter) stream(ctx context.Context, r io.Reader) io.ReadCloser {
	pr, pw := io.Pipe()
	go func() {
		_, err := io.Copy(pw, r)
		pw.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { pw.CloseWithError(context.Cause(ctx)) })
	return &counted{pr, m}
}

type counted struct {
	*io.PipeReader
	m *meter
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.PipeReader.Read(b)
	c.m.read.Add(int64(n))
	return n, err
}
