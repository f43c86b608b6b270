package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/capture/kernels"
	"btrace/replay/rules/similar"
	"btrace/trace"
	"btrace/trace/plain"
)

// recordFlags is what the user asked for.
type recordFlags struct {
	out, grid, block, cluster, schedule string
	seed, steps                         uint64
	runs                                int
	untilFail, strict                   bool
}

// stressRuns is how many runs --until-fail makes if nobody says.
const stressRuns = 1000

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record KERNEL",
		Short: "Run a kernel of the gallery in the emulator and record its barriers",
		Long: `Record runs a kernel of the gallery (see "btrace kernels") in the emulator and writes the
trace of its barriers. It exits 0 whenever the kernel came to an end, also by a hang or a trap;
with --strict those are 1. When the kernel panics or you interrupt it the code is 2, and the
trace holds what happened until then.

With --until-fail it runs the kernel under one schedule after the other, replays each, and stops
at the first with a violation or a deadlock: the trace is of that run, and the command that
repeats it is printed.`,
		Example: `  btrace record producer-consumer -o pc.zst
  btrace record phase-countdown --block 256 --schedule random --seed 7
  btrace record tma-pipeline --until-fail --runs 500`,
		Args: exactly(1, "one kernel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := findKernel(args[0])
			if err != nil {
				return err
			}
			return f.run(cmd, k)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "output", "o", "", "the trace to write (default: KERNEL.zst)")
	fs.StringVar(&f.grid, "grid", "", "CTAs in the grid: 4, or 4x2x1 (default: the kernel's own)")
	fs.StringVar(&f.block, "block", "", "threads in a CTA (default: the kernel's own)")
	fs.StringVar(&f.cluster, "cluster", "", "CTAs in a cluster (default: the kernel's own)")
	fs.StringVar(&f.schedule, "schedule", "", "who runs next: rr (round robin), random, or pct (random priorities) (default: rr, with --until-fail pct)")
	fs.Uint64Var(&f.seed, "seed", 1, "the seed of --schedule random and pct: the same seed gives the same run")
	fs.IntVar(&f.runs, "runs", 0, fmt.Sprintf("how many runs, each with the next seed and a launch of the trace (default: 1, with --until-fail %d)", stressRuns))
	fs.BoolVar(&f.untilFail, "until-fail", false, "stop at the first run with a violation or a deadlock, and keep only that")
	fs.Uint64Var(&f.steps, "steps", 0, "warp operations after which a kernel that does not end is given up as hung (default: 67108864)")
	fs.BoolVar(&f.strict, "strict", false, "exit 1 if the kernel hangs or traps, or --until-fail finds something")
	return cmd
}

func (f *recordFlags) run(cmd *cobra.Command, k kernels.Kernel) error {
	opt, err := f.options()
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("runs") && f.runs < 1 {
		return fmt.Errorf("--runs %d: give at least 1", f.runs)
	}
	if f.untilFail {
		return f.stress(cmd, k, opt)
	}
	if f.runs > trace.MaxLaunches {
		return fmt.Errorf("--runs %d: a trace holds at most %d launches (--until-fail keeps only one)", f.runs, trace.MaxLaunches)
	}
	out := f.output(k)
	seen, err := recordTo(cmd, k, opt, max(f.runs, 1), out)
	if err != nil {
		return err
	}
	p := plain.NewPrinter(cmd.ErrOrStderr())
	p.Printf("%s: %s, recorded to %s\n", k.Name, seen, named(out))
	suggest(p, !seen.completed(), out)
	if err := p.Flush(); err != nil {
		return err
	}
	if f.strict && !seen.completed() {
		return exit(exitFound)
	}
	return nil
}

// options is what the flags say about the launch.
func (f *recordFlags) options() (capture.Options, error) {
	opt := capture.Options{Seed: f.seed, Schedule: f.schedule, StepBudget: f.steps}
	if opt.Schedule == "" {
		opt.Schedule = emu.RoundRobin
		if f.untilFail {
			opt.Schedule = emu.PCT
		}
	}
	var err error
	for _, d := range []struct {
		flag, text string
		dim        *trace.Dim
	}{{"--grid", f.grid, &opt.Grid}, {"--block", f.block, &opt.Block}, {"--cluster", f.cluster, &opt.Cluster}} {
		if *d.dim, err = parseDim(d.flag, d.text); err != nil {
			return opt, err
		}
	}
	return opt, nil
}

func (f *recordFlags) output(k kernels.Kernel) string {
	if f.out == "" {
		return k.Name + ".zst"
	}
	return f.out
}

// suggest prints the command for the next thing to do.
func suggest(p *plain.Printer, hangs bool, out string) {
	what := "validate"
	if hangs {
		what = "diagnose"
	}
	p.Printf("next: btrace %s %s\n", what, out)
}

// named is what an output is called in a sentence.
func named(out string) string {
	if out == "-" {
		return "standard output"
	}
	return out
}

// recordTo records launches of a kernel, with one seed after the other. A
// trace that the user or a panic cut short gets its name too, and then there
// is an error all the same.
func recordTo(cmd *cobra.Command, k kernels.Kernel, opt capture.Options, runs int, out string) (outcomes, error) {
	o, err := newOutput(out)
	if err != nil {
		return outcomes{}, err
	}
	defer o.discard()
	m := newMeter(cmd.ErrOrStderr(), k.Name, 0)
	defer m.stop()
	m.size = int64(runs) * int64(opt.Config(k).Grid.Size())
	opt.Progress = func(ctas uint64) { m.read.Add(int64(ctas)) }
	seen, cut, err := recordFile(cmd.Context(), k, opt, runs, o.tmp)
	if err != nil {
		return seen, err
	}
	if err := publish(cmd, o); err != nil {
		return seen, err
	}
	m.stop()
	return seen, cutError(cmd, k, cut, out)
}

// record records one launch, and gives back how it ended.
func record(cmd *cobra.Command, k kernels.Kernel, opt capture.Options, out string) (trace.Outcome, error) {
	seen, err := recordTo(cmd, k, opt, 1, out)
	return seen.last.Outcome, err
}

// cutError is the error for a recording that was cut short.
func cutError(cmd *cobra.Command, k kernels.Kernel, cut error, out string) error {
	var lane *emu.LaneError
	switch {
	case cut == nil:
		return nil
	case errors.As(cut, &lane):
		return fmt.Errorf("kernel %s: %w (what it did until then is in %s)", k.Name, cut, named(out))
	}
	p := plain.NewPrinter(cmd.ErrOrStderr())
	p.Printf("btrace: interrupted: what kernel %s did until then is in %s\n", k.Name, named(out))
	if err := p.Flush(); err != nil {
		return err
	}
	return exit(exitFailed)
}

func findKernel(name string) (kernels.Kernel, error) {
	k, ok := kernels.Lookup(name)
	if !ok {
		return k, unknown("kernel", name, similar.Names(name, kernels.Names()), "btrace kernels")
	}
	return k, nil
}

// parseDim reads an extent: 4, 4x2, 4x2x1.
func parseDim(flag, s string) (trace.Dim, error) {
	var d trace.Dim
	if s == "" {
		return d, nil
	}
	parts := strings.Split(s, "x")
	if len(parts) > len(d) {
		return d, fmt.Errorf("%s %q: give up to three extents: 4, or 4x2x1", flag, s)
	}
	for i := range d {
		d[i] = 1
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 31)
		if err != nil || n == 0 {
			return d, fmt.Errorf("%s %q: give up to three extents, each at least 1: 4, or 4x2x1", flag, s)
		}
		d[i] = uint32(n)
	}
	return d, nil
}
