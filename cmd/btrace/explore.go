package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
	"btrace/trace/plain"
)

// exploreFlags is what the user asked for.
type exploreFlags struct {
	out, form string
	opt       replay.ExploreOptions
}

func newExplore() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore TRACE",
		Short: "What every other schedule of the same program orders could do: proved, or one that goes wrong",
		Long: `Explore says of a run that went well what another schedule of the same program orders could
do. Where the barriers alone order everything, it is proved that every schedule goes as this one
did. Otherwise it names the hazards, and for each looks for a schedule that hangs, traps or breaks
a rule. With -o the first that it finds is written as a trace, which view and diagnose open; the
others get a number: bad-2.zst.

It exits 1 when it has found one, 0 when not.`,
		Example: `  btrace explore run.zst
  btrace explore run.zst -o bad.zst && btrace diagnose bad.zst`,
		Args: exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "output", "o", "", "the trace to write the schedule to that was found")
	fs.StringVar(&f.form, "format", "text", "text or json")
	fs.IntVar(&f.opt.Tries, "tries", 0, "schedules to try for each hazard (default: 200)")
	fs.Uint64Var(&f.opt.Seed, "seed", 1, "the seed of the search: the same seed finds the same")
	return cmd
}

func (f *exploreFlags) run(cmd *cobra.Command, name string) error {
	if err := oneOf("--format", f.form, "text", "json"); err != nil {
		return err
	}
	if f.opt.Tries < 0 {
		return fmt.Errorf("--tries %d: give at least 1", f.opt.Tries)
	}
	m := newMeter(cmd.ErrOrStderr(), "exploring "+name, 0)
	defer m.stop()
	r, closeTrace, err := openTrace(cmd, name, m)
	if err != nil {
		return err
	}
	defer closeTrace()
	c := checkTrace(cmd.Context(), name, r, replay.Options{})
	if c.Err != nil {
		return c.Err
	}
	var xs []replay.Exploration
	var written [][]string
	found := 0
	for _, l := range c.Report.Launches {
		x, err := replay.Explore(cmd.Context(), r, c.Report, l.Launch.ID, f.opt)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files := make([]string, len(x.Trials))
		for i := range x.Trials {
			if t := &x.Trials[i]; t.Bad != "" {
				found++
				if files[i], err = f.write(cmd, t, found); err != nil {
					return err
				}
			}
		}
		xs, written = append(xs, x), append(written, files)
	}
	m.stop()
	if err := f.tell(cmd, name, xs, written); err != nil {
		return err
	}
	if found > 0 {
		return exit(exitFound)
	}
	return nil
}

// write writes the n'th schedule that was found, if the user wants it, and
// returns the name of the file.
func (f *exploreFlags) write(cmd *cobra.Command, t *replay.Trial, n int) (string, error) {
	name := f.out
	switch {
	case name == "" || name == "-" && n > 1:
		return "", nil
	case n > 1:
		ext := filepath.Ext(name)
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
	}
	return name, writeTrace(cmd, name, trace.Options{}, func(_ context.Context, w *trace.Writer) error { return t.Write(w) })
}

func (f *exploreFlags) tell(cmd *cobra.Command, name string, xs []replay.Exploration, written [][]string) error {
	w := cmd.OutOrStdout()
	if f.out == "-" { // the trace is there
		w = cmd.ErrOrStderr()
	}
	if f.form == "json" {
		return report.WriteExplorationJSON(w, name, xs, written)
	}
	p := plain.NewPrinter(w)
	for i := range xs {
		report.WriteExploration(p, name, &xs[i], written[i])
	}
	return p.Flush()
}
