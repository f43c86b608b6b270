package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/trace"
	"btrace/trace/plain"
)

// recordFlags is what the user asked for.
type recordFlags struct {
	out, grid, block, cluster, schedule string
	seed, steps                         uint64
	runs                                int
	untilFail, strict                   bool

	// Of a PTX file only.
	entry              string
	args, dumps        []string
	shared             int
	cooperative, check bool

	app appFlags // of a program only
}

// stressRuns is how many runs --until-fail makes if nobody says.
const stressRuns = 1000

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record KERNEL|FILE.ptx|-- PROGRAM ARGS…",
		Short: "Record barriers: of a kernel in the emulator, or of a program on a GPU",
		Long: `Record runs a kernel in the emulator and writes the trace of its barriers: one of the gallery
(see "btrace kernels"), or one of a PTX file, as nvcc, clang and Triton write them. It exits 0
whenever the kernel came to an end, also by a hang or a trap; with --strict those are 1. When
the kernel panics or you interrupt it the code is 2, and the trace holds what happened until
then.

A kernel of a PTX file gets an --arg TYPE:VALUE for each of its parameters, in their order:
  i8:… to i64:…, u8:… to u64:…, f32:…, f64:…   a scalar
  buf:BYTES, buf:@FILE                         a pointer to that many zeros, or to what FILE holds
  bytes:HEX, bytes:@FILE                       a struct
and --dump N=FILE writes what the buffer of argument N, counted from 0, holds in the end, however
that came. What the kernel asks for itself (.reqntid, .reqnctapercluster) need not be given.
For a hang it says where each warp is, for a trap which instruction it was. --check lists the
instructions that would be refused, and runs nothing: it exits 1 if there are any.

With --until-fail it runs the kernel under one schedule after the other, replays each, and stops
at the first with a violation or a deadlock: the trace is of that run, and the command that
repeats it is printed.

Behind -- stands a program that uses CUDA, which is run as it is: its kernels get probes when they
are loaded, and are recorded on the GPU. A kernel that hangs is noticed (--hang-timeout), the
program ended, and the diagnosis printed; Ctrl-C and a crash of the program leave a trace, too.
What cannot be given probes is in the trace as "not instrumented", with the reason.`,
		Example: `  btrace record producer-consumer -o pc.zst
  btrace record phase-countdown --block 256 --schedule random --seed 7
  btrace record tma-pipeline --until-fail --runs 500
  btrace record tma-pipeline --grid 132 --arg i32:1000
  btrace record --check kernel.ptx
  btrace record -o app.zst -- ./app --size 4096
  btrace record --kernel attention --launch 0..9 -- python train.py
  btrace record kernel.ptx --entry scale --grid 2 --block 128 --arg i32:5 --arg buf:4096 --dump 1=out.bin`,
		Args: recordArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isApp(cmd) {
				return f.runApp(cmd, args)
			}
			if f.check && f.isPTX(args[0]) {
				return f.checkPTX(cmd, args[0])
			}
			t, err := f.target(cmd, args[0])
			if err != nil {
				return err
			}
			return f.run(cmd, t)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "output", "o", "", "the trace to write (default: KERNEL.zst, FILE.zst, PROGRAM.zst)")
	fs.StringVar(&f.grid, "grid", "", "CTAs in the grid: 4, or 4x2x1 (default: the kernel's own, or 1)")
	fs.StringVar(&f.block, "block", "", "threads in a CTA (default: the kernel's own, or 1)")
	fs.StringVar(&f.cluster, "cluster", "", "CTAs in a cluster (default: the kernel's own, or 1)")
	fs.StringVar(&f.schedule, "schedule", "", "who runs next: rr (round robin), random, or pct (random priorities) (default: rr, with --until-fail pct)")
	fs.Uint64Var(&f.seed, "seed", 1, "the seed of --schedule random and pct: the same seed gives the same run")
	fs.IntVar(&f.runs, "runs", 0, fmt.Sprintf("how many runs, each with the next seed and a launch of the trace (default: 1, with --until-fail %d)", stressRuns))
	fs.BoolVar(&f.untilFail, "until-fail", false, "stop at the first run with a violation or a deadlock, and keep only that")
	fs.Uint64Var(&f.steps, "steps", 0, "warp operations after which a kernel that does not end is given up as hung (default: 67108864)")
	fs.BoolVar(&f.strict, "strict", false, "exit 1 if a kernel hangs or traps, or --until-fail finds something")
	fs.StringVar(&f.entry, "entry", "", "PTX: the kernel, by its name in the file or in C++ (default: the only one)")
	fs.StringArrayVar(&f.args, "arg", nil, "the next argument: i32:5, f32:1.5, buf:4096, buf:@FILE (of the gallery, some kernels take one number)")
	fs.IntVar(&f.shared, "shared", 0, "PTX: bytes of dynamic shared memory")
	fs.BoolVar(&f.cooperative, "cooperative", false, "PTX: a cooperative launch: all CTAs are resident at once, and can synchronise")
	fs.StringArrayVar(&f.dumps, "dump", nil, "PTX: N=FILE: write what the buffer of argument N, from 0, holds in the end")
	fs.BoolVar(&f.check, "check", false, "PTX: only list what would be refused; flags about the run are ignored")
	f.app.define(cmd)
	return cmd
}

func (f *recordFlags) run(cmd *cobra.Command, t target) error {
	opt, err := f.options()
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("runs") && f.runs < 1 {
		return fmt.Errorf("--runs %d: give at least 1", f.runs)
	}
	if f.runs > trace.MaxLaunches && !f.untilFail {
		return fmt.Errorf("--runs %d: a trace holds at most %d launches (--until-fail keeps only one)", f.runs, trace.MaxLaunches)
	}
	to, err := f.files(t)
	if err != nil {
		return err
	}
	defer to.discard()
	if f.untilFail {
		return f.stress(cmd, t, opt, to)
	}
	seen, err := recordTo(cmd, t, opt, max(f.runs, 1), to)
	if err != nil {
		return err
	}
	p := plain.NewPrinter(cmd.ErrOrStderr())
	if seen.runs > 1 && !seen.completed() {
		p.Printf("launch %d is the first that did not complete:\n", seen.odd)
	}
	t.tell(p, opt, seen.told)
	p.Printf("%s: %s, recorded to %s\n", t.name(), seen, to)
	suggest(p, !seen.completed(), to.name)
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

// recordTo records launches, with one seed after the other. A trace that the
// user or a panic cut short gets its name too, and then there is an error all
// the same.
func recordTo(cmd *cobra.Command, t target, opt capture.Options, runs int, to *files) (outcomes, error) {
	m := newMeter(cmd.ErrOrStderr(), t.name(), 0)
	defer m.stop()
	m.size = int64(runs) * int64(t.grid(opt).Size())
	opt.Progress = func(ctas uint64) { m.read.Add(int64(ctas)) }
	seen, cut, err := recordFile(cmd.Context(), t, opt, runs, to.trace.tmp)
	if err != nil {
		return seen, err
	}
	if err := to.publish(cmd, seen.last); err != nil {
		return seen, err
	}
	m.stop()
	return seen, cutError(cmd, t, cut, to.name)
}

// cutError is the error for a recording that was cut short.
func cutError(cmd *cobra.Command, t target, cut error, out string) error {
	var lane *emu.LaneError
	switch {
	case cut == nil:
		return nil
	case errors.As(cut, &lane):
		return fmt.Errorf("kernel %s: %w (what it did until then is in %s)", t.name(), cut, named(out))
	}
	p := plain.NewPrinter(cmd.ErrOrStderr())
	p.Printf("btrace: interrupted: what kernel %s did until then is in %s\n", t.name(), named(out))
	if err := p.Flush(); err != nil {
		return err
	}
	return exit(exitFailed)
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
