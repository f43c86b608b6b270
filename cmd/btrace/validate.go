package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/report"
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
	filesFrom      string
	shard          string
	jobs           int
	merge          bool
}

func newValidate() *cobra.Command {
	var flags validateFlags
	cmd := &cobra.Command{
		Use:   "validate TRACE… | --merge RESULTS.json…",
		Short: "Check every barrier phase against the rules: verdicts for CI",
		Long: `Validate replays traces through the barrier models and reports what breaks the rules.

A TRACE is a file, a folder (every *.zst in it and below, but nothing hidden), a
pattern with * ? [ ] and ** for any folders, or - for standard input; --files-from
reads more of them from a file, one a line (or ended by NUL). A file that is named
twice is checked once. A file that cannot be read does not keep the others from being
checked. Several are checked at once, one on each core; --jobs 1 takes least memory.

Many machines: --shard 2/8 checks the second of eight parts of the traces. Every
trace is in one of them, and they are about as long; all have to be given the same
traces. --merge makes one report of the parts' --format json, the same as if all had
been checked at once. Put --write-baseline there; --baseline may be in either place.

Formats:
  text    for people; --summary has a line a file and a total, --quiet nothing
  json    everything, for scripts
  sarif   SARIF 2.1.0, for code scanning
  junit   JUnit XML, for test reports: a suite a file, a test a launch
  github  annotations of GitHub Actions: the ten worst of each severity

The same fault in many CTAs is told once. JSON has a finding for the 16 earliest CTAs,
of which the first says in how many more it is (elsewhere).

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
  my-recorder | btrace import - -o - | btrace validate -
  find runs -name '*.zst' -mtime -1 | btrace validate --summary --files-from -
  btrace validate --shard $SLURM_ARRAY_TASK_ID/100 --format json traces > part-$SLURM_ARRAY_TASK_ID.json
  btrace validate --merge --format junit part-*.json > btrace.xml`,
		Args: func(cmd *cobra.Command, args []string) error { return flags.check(cmd, args) },
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
	f.StringVar(&flags.filesFrom, "files-from", "", "check the traces that this file names, too (- is standard input)")
	f.StringVar(&flags.shard, "shard", "", "I/N: check only the I-th of N parts of the traces; I counts from 1")
	f.IntVarP(&flags.jobs, "jobs", "j", 0, "how many traces are checked at once (default: as many as there are cores)")
	f.BoolVar(&flags.merge, "merge", false, "put the results of several runs with --format json together")
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

// check refuses what does not go together.
func (f *validateFlags) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	switch {
	case f.merge && len(args) == 0:
		return errors.New("validate --merge wants results of `btrace validate --format json` (- is standard input)")
	case len(args) == 0 && f.filesFrom == "":
		return errors.New("validate wants at least one trace (see `btrace validate --help`)")
	case f.jobs < 0, f.jobs == 0 && given("jobs"):
		return errors.New("--jobs wants a number of traces, at least 1")
	case given("shard") && f.writeBaseline != "":
		return errors.New("a shard is no baseline for all: give --write-baseline with --merge")
	case given("shard") && slices.Contains(args, "-"):
		return errors.New("a trace on standard input cannot be in a shard: name files")
	}
	if f.merge {
		for _, name := range []string{"shard", "files-from", "jobs", "hazards"} {
			if given(name) {
				return fmt.Errorf("--merge checks no traces: --%s goes with the runs that do", name)
			}
		}
	}
	in := 0
	for _, name := range append([]string{f.filesFrom, f.baseline}, args...) {
		if name == "-" {
			in++
		}
	}
	if in > 1 {
		return errors.New("standard input can be read once only: name a file instead of one of the -")
	}
	return nil
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
	base, err := openBaseline(cmd, flags)
	if err != nil {
		return err
	}
	defer base.discard()
	files, end, err := flags.files(cmd, args)
	if err != nil {
		return err
	}
	if end.Baseline != "" && base.report != nil {
		return fmt.Errorf("the results were made with the baseline %s: a baseline there or here, not both", end.Baseline)
	}
	stdout := cmd.OutOrStdout()
	if flags.quiet {
		stdout = io.Discard
	}
	out, err := report.NewWriter(stdout, format, report.Options{Strict: flags.strict, Version: version()})
	if err != nil {
		return err
	}
	var all report.Tally
	for f := range files {
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
	if err := cmd.Context().Err(); err != nil {
		return err // there may have been more files
	}
	base.end(&end)
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

// files are the verdicts, in their order: of the traces, which are checked as
// they are asked for, or those that results hold.
func (f *validateFlags) files(cmd *cobra.Command, args []string) (iter.Seq[report.File], report.End, error) {
	if f.merge {
		files, end, err := mergeResults(cmd, args)
		return slices.Values(files), end, err
	}
	var end report.End
	args, err := withList(cmd, args, f.filesFrom)
	if err != nil {
		return nil, end, err
	}
	traces := traceFiles(args)
	if cmd.Flags().Changed("shard") {
		s, err := parseShard(f.shard)
		if err != nil {
			return nil, end, err
		}
		traces, s.List = shardOf(traces, s)
		end.Shard = &s
	}
	opt := replay.Options{NoHazards: f.hazards == "off"}
	return checkAll(cmd, traces, opt, f.jobs, f.quiet), end, nil
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
