package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/capture/ptx/interp"
	"btrace/trace"
)

// outcomes is how launches ended.
type outcomes struct {
	last  interp.Result
	told  interp.Result   // of the first launch that did not complete, or else the last
	odd   int             // the number of that launch
	ends  []trace.Outcome // in the order in which they first came
	count map[trace.Outcome]int
	runs  int
}

func (o *outcomes) add(r interp.Result) {
	if o.completed() {
		o.told, o.odd = r, o.runs
	}
	if o.count == nil {
		o.count = make(map[trace.Outcome]int)
	}
	if o.count[r.Outcome] == 0 {
		o.ends = append(o.ends, r.Outcome)
	}
	o.count[r.Outcome]++
	o.runs++
	o.last = r
}

// completed reports whether all did.
func (o outcomes) completed() bool { return o.count[trace.OutcomeCompleted] == o.runs }

func (o outcomes) String() string {
	if o.runs == 1 {
		if o.last.GivenUp {
			return fmt.Sprintf("%s (given up after %d operations)", o.last.Outcome, o.last.Steps)
		}
		return string(o.last.Outcome)
	}
	var parts []string
	for _, end := range o.ends {
		parts = append(parts, fmt.Sprintf("%d %s", o.count[end], end))
	}
	return fmt.Sprintf("%d runs: %s", o.runs, strings.Join(parts, ", "))
}

// recordFile records launches to a new file, with one seed after the other. A
// launch may be cut short, by a panic of the kernel or by the user: then it is
// the last, and the file is whole. After an error there is no file.
func recordFile(ctx context.Context, t target, opt capture.Options, runs int, path string) (seen outcomes, cut, err error) {
	w, err := trace.Create(path, trace.Options{})
	if err != nil {
		return seen, nil, fmt.Errorf("cannot be written: %w", reason(err))
	}
	for i := range runs {
		o := opt
		o.Seed, o.Launch = opt.Seed+uint64(i), uint32(i)
		r, err := t.run(ctx, o, w.Writer)
		var lane *emu.LaneError
		switch {
		case errors.As(err, &lane):
			cut = lane
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			cut = ctx.Err()
		case err != nil:
			w.Abort()
			return seen, nil, err
		}
		seen.add(r)
		if cut != nil {
			break
		}
	}
	if err := w.Close(); err != nil {
		return seen, cut, fmt.Errorf("cannot be written: %w", reason(err))
	}
	return seen, cut, nil
}

// publish gives a trace its name, with the sections that let the viewer open
// it at once; a user who is waiting for the end gets it without.
func publish(cmd *cobra.Command, o *output) error {
	ctx := cmd.Context()
	if err := attachSections(ctx, o.tmp); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	return o.commit(cmd.OutOrStdout())
}
