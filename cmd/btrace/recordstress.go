package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/capture/ptx/interp"
	"btrace/replay"
	"btrace/trace"
	"btrace/trace/plain"
)

// stress runs a kernel under one schedule after the other, until one is bad.
// The files are of that run; if there is none, of the last.
func (f *recordFlags) stress(cmd *cobra.Command, t target, opt capture.Options, to *files) error {
	runs := f.runs
	if runs == 0 {
		runs = stressRuns
	}
	if opt.Schedule == emu.RoundRobin {
		runs = 1
	}
	m := newMeter(cmd.ErrOrStderr(), t.name(), int64(runs))
	defer m.stop()
	var end, kept ending
	for n := range runs {
		var err error
		if end, err = try(cmd.Context(), t, opt, to.trace); err != nil {
			return err
		}
		if !end.whole {
			kept = end
		}
		if end.cut != nil || end.bad() || n == runs-1 {
			runs = n + 1
			break
		}
		opt.Seed++
		m.read.Add(1)
	}
	if end.whole { // it is the run before that is kept
		opt.Seed--
		runs--
	}
	if err := to.publish(cmd, kept.result); err != nil {
		return err
	}
	m.stop()
	return f.tell(cmd, t, opt, end, runs, to)
}

// ending is what became of a run.
type ending struct {
	result  interp.Result
	verdict replay.Verdict
	cut     error // why it did not come to its end
	whole   bool  // the user cut it, and there is an earlier run, which is kept
}

func (e *ending) bad() bool {
	return e.cut == nil && (e.verdict == replay.Violation || e.verdict == replay.Deadlock || e.result.Outcome != trace.OutcomeCompleted)
}

// try makes one run. Its trace takes the place of the one before, unless the
// user interrupted it.
func try(ctx context.Context, t target, opt capture.Options, o *output) (ending, error) {
	next := o.tmp + ".next"
	seen, cut, err := recordFile(ctx, t, opt, 1, next)
	if err != nil {
		return ending{}, err
	}
	end := ending{result: seen.last, cut: cut}
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
func (f *recordFlags) tell(cmd *cobra.Command, t target, opt capture.Options, end ending, runs int, to *files) error {
	p := plain.NewPrinter(cmd.ErrOrStderr())
	var code error
	var lane *emu.LaneError
	switch {
	case errors.As(end.cut, &lane):
		p.Printf("btrace: kernel %s: %v, with seed %d (what it did until then is in %s)\n", t.name(), lane, opt.Seed, named(to.name))
		p.Printf("repeat: %s\n", f.again(t, opt))
		code = exit(exitFailed)
	case end.whole:
		p.Printf("btrace: interrupted: no bad schedule in %d runs, the last of them recorded to %s\n", runs, to)
		code = exit(exitFailed)
	case end.cut != nil:
		return cutError(cmd, t, end.cut, to.name)
	case end.bad():
		t.tell(p, opt, end.result)
		what := string(end.verdict)
		if end.verdict != replay.Violation && end.verdict != replay.Deadlock {
			what = string(end.result.Outcome)
		}
		p.Printf("%s: %s with seed %d, in run %d, recorded to %s\n", t.name(), what, opt.Seed, runs, to)
		p.Printf("repeat: %s\n", f.again(t, opt))
		suggest(p, end.verdict == replay.Deadlock, to.name)
		if f.strict {
			code = exit(exitFound)
		}
	default:
		t.tell(p, opt, end.result)
		what := fmt.Sprintf("%d runs", runs)
		if opt.Schedule == emu.RoundRobin {
			what = "the one run that there is of rr"
		}
		p.Printf("%s: no bad schedule in %s, the last (seed %d) recorded to %s\n", t.name(), what, opt.Seed, to)
		suggest(p, false, to.name)
	}
	if err := p.Flush(); err != nil {
		return err
	}
	return code
}

// again is the command that repeats a run.
func (f *recordFlags) again(t target, opt capture.Options) string {
	args := append([]string{"btrace", "record"}, t.words()...)
	args = append(args, "--schedule", opt.Schedule, "--seed", fmt.Sprint(opt.Seed))
	for _, a := range []struct{ flag, value string }{{"--grid", f.grid}, {"--block", f.block}, {"--cluster", f.cluster}, {"-o", f.out}} {
		if a.value != "" {
			args = append(args, a.flag, a.value)
		}
	}
	if f.steps != 0 {
		args = append(args, "--steps", fmt.Sprint(f.steps))
	}
	for i, a := range args {
		args[i] = quoted(a)
	}
	return strings.Join(args, " ")
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	strange := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && !strings.ContainsFunc(word, strange) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
