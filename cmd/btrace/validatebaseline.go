package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"btrace/replay/report"
)

// baseline is the baseline that is read, and the one that is written; there
// may be neither.
type baseline struct {
	report *report.Baseline // nil: none
	name   string           // of the one that was read
	out    *output          // nil: none is written
}

// openBaseline reads the baseline, and finds out early whether another one
// can be written.
func openBaseline(cmd *cobra.Command, flags validateFlags) (*baseline, error) {
	b := &baseline{name: flags.baseline}
	if b.name != "" {
		var err error
		if b.report, err = readBaseline(cmd, b.name); err != nil {
			return nil, err
		}
	}
	if flags.writeBaseline == "" {
		return b, nil
	}
	if flags.writeBaseline == "-" && !flags.quiet {
		return nil, errors.New("--write-baseline - writes to standard output, where the verdicts go: add --quiet")
	}
	out, err := newOutput(flags.writeBaseline)
	if err != nil {
		return nil, err
	}
	b.out = out
	if b.report == nil {
		b.report = report.NewBaseline()
	}
	b.report.Learn()
	return b, nil
}

func readBaseline(cmd *cobra.Command, name string) (*report.Baseline, error) {
	var in io.Reader = cmd.InOrStdin()
	if name != "-" {
		if err := readable(name); err != nil {
			return nil, fmt.Errorf("%w (--write-baseline makes a baseline)", err)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := report.ReadBaseline(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// accept marks what is known in a file.
func (b *baseline) accept(f report.File) report.File {
	if b.report == nil {
		return f
	}
	return b.report.Accept(f)
}

// end tells what the baseline knows and no file had.
func (b *baseline) end(end *report.End) {
	if b.name != "" {
		end.Baseline, end.Gone = b.name, b.report.Gone()
	}
}

// commit writes the new baseline, unless it would lack what is in files that
// could not be read.
func (b *baseline) commit(cmd *cobra.Command, unreadable int) error {
	if b.out == nil {
		return nil
	}
	if unreadable > 0 {
		return fmt.Errorf("%s: not written, because not every trace could be read", b.out.name)
	}
	f, err := os.Create(b.out.tmp)
	if err == nil {
		err = errors.Join(b.report.Write(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", b.out.name, reason(err))
	}
	return b.out.commit(cmd.OutOrStdout())
}

// discard leaves nothing half written behind.
func (b *baseline) discard() {
	if b.out != nil {
		b.out.discard()
	}
}
