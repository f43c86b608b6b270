package interp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"btrace/capture/ptx"
)

// Note is about an instruction.
type Note struct {
	File string
	Pos  ptx.Pos
	Text string
}

func (n Note) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", n.File, n.Pos.Line, n.Pos.Col, n.Text)
}

// Refusal is an instruction, or something else in a module, that cannot be
// run.
type Refusal struct {
	Note
}

func (r *Refusal) Error() string { return r.String() }

// Refusals is all that cannot be run, in the order of the file.
type Refusals []*Refusal

// shown is how many refusals an error message lists.
const shown = 5

func (rs Refusals) Error() string {
	var lines []string
	for i, r := range rs {
		if i == shown {
			lines = append(lines, fmt.Sprintf("and %d more", len(rs)-shown))
			break
		}
		lines = append(lines, r.Error())
	}
	return strings.Join(lines, "; ")
}

// sort puts refusals in the order of the file, each once: several entries may
// call the same function.
func (rs Refusals) sort() Refusals {
	slices.SortStableFunc(rs, func(a, b *Refusal) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	seen := make(map[Note]bool)
	return slices.DeleteFunc(rs, func(r *Refusal) bool {
		again := seen[r.Note]
		seen[r.Note] = true
		return again
	})
}

// Check lists what cannot be run in all of a module's entries, and in the
// functions that they call. The error is a Refusals, or that of the first
// entry that Compile gives up for another reason; nil if there is nothing.
func Check(m *ptx.Module) error {
	var all Refusals
	for _, e := range m.Entries() {
		_, err := Compile(m, e)
		var rs Refusals
		switch {
		case errors.As(err, &rs):
			all = append(all, rs...)
		case err != nil:
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all.sort()
}

// refuse notes that what is at a place cannot be run.
func (c *compiler) refuse(pos ptx.Pos, format string, args ...any) {
	c.refusals = append(c.refusals, &Refusal{Note{c.k.file, pos, fmt.Sprintf(format, args...)}})
}
