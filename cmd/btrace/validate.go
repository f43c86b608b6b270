package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
	"btrace/trace/plain"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	form           string
	strict         bool
	quiet, summary bool
	baseline       string
	writeBaseline  string
	source         string
	hazards        string
}

func newValidate() *cobra.Command {
	var flags validateFlags
	cmd := &cobra.Command{
		Use:   "validate TRACE…",
		Short: "Check every barrier phase against the rules: verdicts for CI",
		Long: `Validate replays traces through the barrier models and reports what breaks the rules.

A TRACE is a file, a folder (every *.zst in it and below, but nothing hidden), a
pattern with * ? [ ] and ** for any folders, or - for standard input. A file that is
named twice is checked once. A file that cannot be read does not keep the others
from being checked.

Formats:
  text    for people; --summary has a line a file and a total, --quiet nothing
  json    everything, for scripts
  sarif   SARIF 2.1.0, for code scanning
  junit   JUnit XML, for test reports: a suite a file, a test a launch
  github  annotations of GitHub Actions: the ten worst of each severity

Hazards are warnings: the run went well, another schedule of the same program orders
need not. --hazards=off leaves them out; btrace explore looks for such a schedule.

A baseline holds findings that are accepted: they are shown as known and count
neither for verdicts nor for the exit code. A finding is known by its rule, kernel,
barrier and line. Gaps in a recording cannot be accepted. --write-baseline accepts
whatever is found now.

Exit code, the first that holds for any of the files:
  2  could not check: usage, or a file that could not be read
  1  violation or deadlock (with --strict also a warning)
  3  incomplete: nothing found, but the recording has gaps
  0  clean`,
		Example: `  btrace validate run.zst
  btrace validate --summary traces
  btrace validate --format sarif 'traces/**/*.zst' > btrace.sarif
  btrace validate --format github --source src --strict traces
  btrace validate --quiet --write-baseline known.json traces
  btrace validate --baseline known.json traces
  my-recorder | btrace import - -o - | btrace validate -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("validate wants at least one trace (see `btrace validate --help`)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return validate(cmd, flags, args) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.form, "format", "text", strings.Join(formats(), ", "))
	f.BoolVar(&flags.strict, "strict", false, "warnings count too")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "print no verdicts: the exit code tells")
	f.BoolVar(&flags.summary, "summary", false, "print a line a file, and a total")
	f.StringVar(&flags.baseline, "baseline", "", "accept the findings in this file")
	f.StringVar(&flags.writeBaseline, "write-baseline", "", "write what is found to this file, and accept it")
	f.StringVar(&flags.hazards, "hazards", "on", "on or off: warn of what another schedule of the same program orders could do")
	f.StringVar(&flags.source, "source", "", "the folder that the kernels' sources lie in here: findings then name the files in it")
	return cmd
}

func formats() []string {
	return []string{string(report.Text), string(report.JSON), string(report.SARIF), string(report.JUnit), string(report.GitHub)}
}

// format is what is printed: nothing, where quiet.
func (f *validateFlags) format() (report.Format, error) {
	if err := oneOf("--format", f.form, formats()...); err != nil {
		return "", err
	}
	switch {
	case f.quiet && f.summary:
		return "", errors.New("--quiet prints nothing, --summary a line a file: give one of them")
	case f.quiet && f.form != "text":
		return "", fmt.Errorf("--quiet prints nothing, --format %s a document: give one of them", f.form)
	case f.summary && f.form != "text":
		return "", fmt.Errorf("--summary is short text, --format %s a document: give one of them", f.form)
	case f.summary:
		return report.Summary, nil
	}
	return report.Format(f.form), nil
}

func validate(cmd *cobra.Command, flags validateFlags, args []string) error {
	if err := oneOf("--hazards", flags.hazards, "on", "off"); err != nil {
		return err
	}
	format, err := flags.format()
	if err != nil {
		return err
	}
	src, err := newSources(flags.source)
	if err != nil {
		return err
	}
	base, err := openBaseline(cmd, flags, args)
	if err != nil {
		return err
	}
	defer base.discard()
	stdout := cmd.OutOrStdout()
	if flags.quiet {
		stdout = io.Discard
	}
	out, err := report.NewWriter(stdout, format, report.Options{Strict: flags.strict, Version: version()})
	if err != nil {
		return err
	}
	var all report.Tally
	opt := replay.Options{NoHazards: flags.hazards == "off"}
	for f := range checkAll(cmd, traceFiles(args), opt, flags.quiet) {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if f.Err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "btrace: "+plain.Text(f.Err.Error()))
		}
		src.rename(f.Report)
		f = base.accept(f)
		all.Add(f)
		if err := out.File(f); err != nil {
			return err
		}
	}
	end := base.end()
	if err := out.Close(end); err != nil {
		return err
	}
	if line := report.GoneLine(end.Baseline, end.Gone); line != "" && format == report.JUnit {
		fmt.Fprintln(cmd.ErrOrStderr(), "btrace: "+plain.Text(line)) // its form has no place for that
	}
	if err := base.commit(cmd, all.Unreadable); err != nil {
		return err
	}
	return verdictCode(&all, flags.strict)
}

// verdictCode is what validate ends with.
func verdictCode(all *report.Tally, strict bool) error {
	switch {
	case all.Unreadable > 0:
		return exit(exitFailed)
	case all.Violation > 0, all.Deadlock > 0, strict && all.Warnings > 0:
		return exit(exitFound)
	case all.Incomplete > 0:
		return exit(exitIncomplete)
	}
	return nil
}

// check replays one file, for what happened in it.
func check(cmd *cobra.Command, name string) report.File {
	m := newMeter(cmd.ErrOrStderr(), "checking "+name, 0)
	defer m.stop()
	return checkFile(cmd, name, m, replay.Options{NoHazards: true})
}

func checkFile(cmd *cobra.Command, name string, m *meter, opt replay.Options) report.File {
	r, closeTrace, err := openTrace(cmd, name, m)
	if err != nil {
		return report.File{Name: name, Err: err}
	}
	defer closeTrace()
	return checkTrace(cmd.Context(), name, r, opt)
}

// checkTrace reads the whole file first: a verdict has to take into account
// what is damaged at its very end.
func checkTrace(ctx context.Context, name string, r *trace.Reader, opt replay.Options) report.File {
	var found *replay.Report
	err := r.Verify(ctx)
	if err == nil {
		found, err = replay.Check(ctx, r, opt)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return report.File{Name: name, Report: found, Err: err}
}
