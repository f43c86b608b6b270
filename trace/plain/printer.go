package plain

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
)

// Printer formats text for people. Every argument that is a string, or turns
// into one, goes through Text, so that no caller can forget to; the formats
// themselves are the program's own.
type Printer struct {
	w *bufio.Writer
}

// NewPrinter returns a Printer that writes to w. What it printed is there
// after Flush.
func NewPrinter(w io.Writer) *Printer { return &Printer{w: bufio.NewWriter(w)} }

// Printf formats as fmt.Fprintf does.
func (p *Printer) Printf(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = Text(a)
		case error:
			args[i] = Text(a.Error())
		case fmt.Stringer:
			args[i] = Text(a.String())
		default:
			if v := reflect.ValueOf(a); v.Kind() == reflect.String { // a named string type
				args[i] = Text(v.String())
			}
		}
	}
	fmt.Fprintf(p.w, format, args...)
}

// Flush writes out what was printed and returns the first error of it all.
func (p *Printer) Flush() error {
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
