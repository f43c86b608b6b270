package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"btrace/replay/stats"
	"btrace/trace"
	"btrace/trace/plain"
)

// statsFlags are the flags of stats.
type statsFlags struct {
	form    string
	launch  int64
	barrier string
	top     int
}

func newStats() *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats TRACE",
		Short: "Where warps wait: which barrier costs most, who is late, at which line",
		Long: `Stats counts the waits of a trace: per barrier (of all CTAs together), per line and per phase.

A wait is lanes of a warp that begin to wait together and come out together; it counts once. "late" is who
arrives last and so holds the others up: the time in which somebody waited for nothing else any more. Where
the bytes of asynchronous copies come last, that is "bytes". Quantiles are within 1.6 % of the exact ones;
everything else is exact. The times are the recorder's: what recording itself took is in them.`,
		Example: `  btrace stats run.zst
  btrace stats run.zst --barrier mbar:0x1420 --top 20
  btrace stats run.zst --format csv > waits.csv`,
		Args: exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.form, "format", "text", "text, json or csv")
	fs.Int64Var(&f.launch, "launch", -1, "only this launch (default: all)")
	fs.StringVar(&f.barrier, "barrier", "", "only this barrier: bar:1, mbar:0x1420, cluster, group:NAME, warp:2")
	fs.IntVar(&f.top, "top", 0, "at most so many barriers, places, latecomers and phases (default: 5 in text; all, and 10 phases of each barrier, in json and csv)")
	return cmd
}

func (f *statsFlags) run(cmd *cobra.Command, name string) error {
	if err := oneOf("--format", f.form, "text", "json", "csv"); err != nil {
		return err
	}
	if f.top < 0 || f.top == 0 && cmd.Flags().Changed("top") {
		return fmt.Errorf("--top %d: give at least 1", f.top)
	}
	opt := stats.Options{Phases: f.top}
	if f.barrier != "" {
		b, err := trace.ParseBarrier(f.barrier)
		if err != nil {
			return fmt.Errorf("--barrier: %w", err)
		}
		opt.Barrier = &b
	}
	m := newMeter(cmd.ErrOrStderr(), "counting "+name, 0)
	defer m.stop()
	r, closeTrace, err := openTrace(cmd, name, m)
	if err != nil {
		return err
	}
	defer closeTrace()
	if f.launch >= 0 {
		l, err := findLaunch(r, name, f.launch)
		if err != nil {
			return err
		}
		opt.Launch = &l.ID
	}
	rep, err := stats.Collect(cmd.Context(), r, opt)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	m.stop()
	if opt.Barrier != nil && !used(rep) {
		return fmt.Errorf("%s: nothing is recorded on %s (`btrace stats %s` lists the barriers)", name, f.barrier, name)
	}
	if err := f.write(cmd, name, rep); err != nil {
		return err
	}
	return warnDamage(cmd, name, r)
}

// used reports whether any barrier was counted.
func used(rep *stats.Report) bool {
	for _, l := range rep.Launches {
		if len(l.Barriers) > 0 {
			return true
		}
	}
	return false
}

func (f *statsFlags) write(cmd *cobra.Command, name string, rep *stats.Report) error {
	w := cmd.OutOrStdout()
	switch f.form {
	case "json":
		return stats.WriteJSON(w, name, rep, f.top)
	case "csv":
		return stats.WriteCSV(w, rep, f.top)
	}
	top := f.top
	if top == 0 {
		top = 5
	}
	p := plain.NewPrinter(w)
	stats.WriteText(p, name, rep, top)
	return p.Flush()
}
