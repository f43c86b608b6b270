package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
)

func newValidate() *cobra.Command {
	var form string
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate TRACE…",
		Short: "Check every barrier phase against the rules: verdicts for CI",
		Long: `Validate replays traces through the barrier models and reports what breaks the rules.

Exit code, the first that holds for any of the files:
  2  could not check: usage, or a file that could not be read
  1  violation or deadlock (with --strict also a warning)
  3  incomplete: nothing found, but the recording has gaps
  0  clean`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("validate wants at least one trace (see `btrace validate --help`)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", form, "text", "json"); err != nil {
				return err
			}
			var files []report.File
			for _, name := range args {
				f := check(cmd, name)
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				if f.Err != nil {
					fmt.Fprintln(cmd.ErrOrStderr(), "btrace: "+plain.Text(f.Err.Error()))
				}
				files = append(files, f)
			}
			if err := writeVerdicts(cmd, form, files); err != nil {
				return err
			}
			return verdictCode(files, strict)
		},
	}
	cmd.Flags().StringVar(&form, "format", "text", "text or json")
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings count too")
	return cmd
}

// check replays one file.
func check(cmd *cobra.Command, name string) report.File {
	m := newMeter(cmd.ErrOrStderr(), "checking "+name, 0)
	defer m.stop()
	r, closeTrace, err := openTrace(cmd, name, m)
	if err != nil {
		return report.File{Name: name, Err: err}
	}
	defer closeTrace()
	return checkTrace(cmd.Context(), name, r)
}

// checkTrace reads the whole file first: a verdict has to take into account
// what is damaged at its very end.
func checkTrace(ctx context.Context, name string, r *trace.Reader) report.File {
	var found *replay.Report
	err := r.Verify(ctx)
	if err == nil {
		found, err = replay.Check(ctx, r, replay.Options{})
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return report.File{Name: name, Report: found, Err: err}
}

func writeVerdicts(cmd *cobra.Command, form string, files []report.File) error {
	if form == "json" {
		return report.WriteJSON(cmd.OutOrStdout(), files)
	}
	out := plain.NewPrinter(cmd.OutOrStdout())
	for _, f := range files {
		report.WriteText(out, f)
	}
	return out.Flush()
}

// verdictCode is what validate ends with.
func verdictCode(files []report.File, strict bool) error {
	var failed, found, incomplete bool
	for _, f := range files {
		switch {
		case f.Err != nil:
			failed = true
			continue
		case f.Report.Verdict == replay.Violation, f.Report.Verdict == replay.Deadlock:
			found = true
		case f.Report.Verdict == replay.Incomplete:
			incomplete = true
		}
		for i := range f.Report.Findings {
			found = found || strict && f.Report.Findings[i].Severity == rules.Warning
		}
	}
	switch {
	case failed:
		return exit(exitFailed)
	case found:
		return exit(exitFound)
	case incomplete:
		return exit(exitIncomplete)
	}
	return nil
}
