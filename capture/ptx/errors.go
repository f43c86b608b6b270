package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// maxErrors is after how many errors Parse and Resolve give up.
const maxErrors = 10

// SyntaxError is an error at a place of a source file.
type SyntaxError struct {
	File string
	Pos  Pos
	Msg  string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Col, e.Msg)
}

// Errors are errors of a file, at most ten, in the order of the file. It is
// what Parse and Resolve return if they fail.
type Errors []*SyntaxError

// Error gives a line to each.
func (e Errors) Error() string {
	var s strings.Builder
	for i, err := range e {
		if i > 0 {
			s.WriteByte('\n')
		}
		s.WriteString(err.Error())
	}
	return s.String()
}

// Unwrap returns the errors, for errors.As.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// err returns the errors as an error, in the order of the file: nil if there
// are none.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *SyntaxError) int { return a.Pos.Offset - b.Pos.Offset })
	return e
}
