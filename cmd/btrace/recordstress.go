package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/capture/kernels"
	"btrace/replay"
	"btrace/trace"
	"btrace/trace/plain"
)

// stress runs a kernel under one schedule after the other, until one is bad.
// The trace is of that run; if there is none, of the last.
func (f *recordFlags) stress(cmd *cobra.Command, k kernels.Kernel, opt capture.Options) error {
	out := f.output(k)
	o, err := newOutput(out)
	if err != nil {
		return err
	}
	defer o.discard()
	runs := f.runs
	if runs == 0 {
		runs = stressRuns
	}
	if opt.Schedule == emu.RoundRobin {
		runs = 1
	}
	m := newMeter(cmd.ErrOrStderr(), k.Name, int64(runs))
	defer m.stop()
	var end ending
	for n := range runs {
		if end, err = f.try(cmd.Context(), k, opt, o); err != nil {
			return err
		}
		if end.cut != nil || end.bad() || n == runs-1 {
			runs = n + 1
			break
		}
		opt.Seed++
		m.read.Add(1)
	}
	if end.cut != nil && end.whole { // it is the run before that is kept
		opt.Seed--
		runs--
	}
	if err := publish(cmd, o); err != nil {
		return err
	}
	m.stop()
	return f.tell(cmd, k, opt, end, runs)
}

// ending is what became of a run.
type ending struct {
	outcome trace.Outcome
	verdict replay.Verdict
	cut     error // why it did not come to its end
	whole   bool  // there is an earlier run, which is kept then
}

func (e *ending) bad() bool {
	return e.cut == nil && (e.verdict == replay.Violation || e.verdict == replay.Deadlock || e.outcome != trace.OutcomeCompleted)
}

// try makes one run. Its trace takes the place of the one before, unless the
// user interrupted it.
func (f *recordFlags) try(ctx context.Context, k kernels.Kernel, opt capture.Options, o *output) (ending, error) {
	next := o.tmp + ".next"
	seen, cut, err := recordFile(ctx, k, opt, 1, next)
	if err != nil {
		return ending{}, err
	}
	end := ending{outcome: seen.last.Outcome, cut: cut}
	if cut == nil {
		end.verdict, err = judge(ctx, next)
	}
	if ctx.Err() != nil {
		end.cut = ctx.Err()
		if _, err := os.Stat(o.tmp); err == nil {
			end.whole = true
			return end, nil
		}
	} else if err != nil {
		return end, err
	}
	if err := os.Rename(next, o.tmp); err != nil {
		return end, fmt.Errorf("%s: cannot be written: %w", o.name, reason(err))
	}
	return end, nil
}

// judge replays a trace.
func judge(ctx context.Context, path string) (replay.Verdict, error) {
	r, err := trace.Open(path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	rep, err := replay.Check(ctx, r, replay.Options{})
	if err != nil {
		return "", err
	}
	return rep.Verdict, nil
}

// tell says what the last of the runs was.
func (f *recordFlags) tell(cmd *cobra.Command, k kernels.Kernel, opt capture.Options, end ending, runs int) error {
	out := f.output(k)
	p := plain.NewPrinter(cmd.ErrOrStderr())
	var code error
	var lane *emu.LaneError
	switch {
	case errors.As(end.cut, &lane):
		p.Printf("btrace: kernel %s: %v, with seed %d (what it did until then is in %s)\n", k.Name, lane, opt.Seed, named(out))
		p.Printf("repeat: %s\n", f.again(k, opt))
		code = exit(exitFailed)
	case end.cut != nil && end.whole:
		p.Printf("btrace: interrupted: no bad schedule in %d runs, the last of them recorded to %s\n", runs, named(out))
		code = exit(exitFailed)
	case end.cut != nil:
		return cutError(cmd, k, end.cut, out)
	case end.bad():
		what := string(end.verdict)
		if end.verdict != replay.Violation && end.verdict != replay.Deadlock {
			what = string(end.outcome)
		}
		p.Printf("%s: %s with seed %d, in run %d, recorded to %s\n", k.Name, what, opt.Seed, runs, named(out))
		p.Printf("repeat: %s\n", f.again(k, opt))
		suggest(p, end.verdict == replay.Deadlock, out)
		if f.strict {
			code = exit(exitFound)
		}
	default:
		what := fmt.Sprintf("%d runs", runs)
		if opt.Schedule == emu.RoundRobin {
			what = "the one run that there is of rr"
		}
		p.Printf("%s: no bad schedule in %s, the last (seed %d) recorded to %s\n", k.Name, what, opt.Seed, named(out))
		suggest(p, false, out)
	}
	if err := p.Flush(); err != nil {
		return err
	}
	return code
}

// again is the command that repeats a run.
func (f *recordFlags) again(k kernels.Kernel, opt capture.Options) string {
	args := []string{"btrace", "record", k.Name, "--schedule", opt.Schedule, "--seed", fmt.Sprint(opt.Seed)}
	for _, a := range []struct{ flag, value string }{{"--grid", f.grid}, {"--block", f.block}, {"--cluster", f.cluster}, {"-o", f.out}} {
		if a.value != "" {
			args = append(args, a.flag, a.value)
		}
	}
	if f.steps != 0 {
		args = append(args, "--steps", fmt.Sprint(f.steps))
	}
	return strings.Join(args, " ")
}
