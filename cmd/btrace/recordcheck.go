package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/trace/plain"
)

// checkPTX lists what of a PTX file would be refused; if there is nothing, the
// entries and what they take.
func (f *recordFlags) checkPTX(cmd *cobra.Command, file string) error {
	m, err := readPTX(cmd, file)
	if err != nil {
		return err
	}
	entries := m.Entries()
	if f.entry != "" {
		e, err := findEntry(m, f.entry)
		if err != nil {
			return err
		}
		entries = []*ptx.Function{e}
	}
	out := plain.NewPrinter(cmd.OutOrStdout())
	kernels, refused := compileAll(m, entries)
	for _, r := range refused {
		out.Printf("%s\n", r)
	}
	if len(refused) > 0 {
		if err := out.Flush(); err != nil {
			return err
		}
		return exit(exitFound)
	}
	out.Printf("%s: %s, nothing that would be refused\n", m.File, countOf(len(kernels)))
	for _, k := range kernels {
		out.Printf("  %s\n", prototype(k.Entry))
		tellOpaque(out, "    ", k.Opaque)
	}
	return out.Flush()
}

func countOf(entries int) string {
	if entries == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", entries)
}

// compileAll decodes entries, and gives back why those that cannot be are
// refused: each reason once, in the order of the file.
func compileAll(m *ptx.Module, entries []*ptx.Function) ([]*interp.Kernel, []error) {
	var kernels []*interp.Kernel
	var notes interp.Refusals
	var others []error
	seen := make(map[interp.Note]bool)
	for _, e := range entries {
		k, err := interp.Compile(m, e)
		var rs interp.Refusals
		switch {
		case errors.As(err, &rs):
			for _, r := range rs {
				if !seen[r.Note] {
					seen[r.Note] = true
					notes = append(notes, r)
				}
			}
		case err != nil:
			others = append(others, err)
		default:
			kernels = append(kernels, k)
		}
	}
	slices.SortStableFunc(notes, func(a, b *interp.Refusal) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	var all []error
	for _, r := range notes {
		all = append(all, r)
	}
	return kernels, append(all, others...)
}

// prototype is an entry with its parameters, and what it says about its
// launch.
func prototype(e *ptx.Function) string {
	var params []string
	for _, p := range e.Params {
		s := fmt.Sprintf(".%s %s", p.Type, p.Name)
		if len(p.Dims) > 0 {
			s += fmt.Sprintf("[%d]", p.Size())
		}
		params = append(params, s)
	}
	s := fmt.Sprintf("%s(%s)", e.Name, strings.Join(params, ", "))
	for _, d := range e.Directives {
		switch d.Name {
		case "reqntid", "maxntid", "reqnctapercluster":
			s += fmt.Sprintf(" .%s %s", d.Name, strings.Join(d.Args, ", "))
		}
	}
	return s
}
