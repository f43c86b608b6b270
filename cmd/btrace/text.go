package main

import (
	"bufio"
	"fmt"
	"io"

	"btrace/trace/plain"
)

// text prints what people read. Every argument that is a string (or turns
// into one) is made harmless for a terminal here, so that no command can
// forget to; formats are ours.
type text struct {
	w *bufio.Writer
}

func newText(w io.Writer) *text { return &text{w: bufio.NewWriter(w)} }

// printf formats one or more whole lines.
func (t *text) printf(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = plain.Text(a)
		case error:
			args[i] = plain.Text(a.Error())
		case fmt.Stringer:
			args[i] = plain.Text(a.String())
		}
	}
	fmt.Fprintf(t.w, format, args...)
}

// flush writes out what was printed, and returns the first error of it all.
func (t *text) flush() error {
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
