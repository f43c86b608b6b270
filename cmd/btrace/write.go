package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/trace"
)

// writeTrace makes a trace file: fill writes its events. The file appears
// under its name only when all is well.
func writeTrace(cmd *cobra.Command, name string, opt trace.Options, fill func(context.Context, *trace.Writer) error) error {
	o, err := newOutput(name)
	if err != nil {
		return err
	}
	defer o.discard()
	w, err := trace.Create(o.tmp, opt)
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", name, reason(err))
	}
	if err := fill(cmd.Context(), w.Writer); err != nil {
		w.Abort()
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: cannot be written: %w", name, reason(err))
	}
	if err := attachSections(cmd.Context(), o.tmp); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return o.commit(cmd.OutOrStdout())
}

// attachSections adds to a trace what lets the viewer open it at once.
func attachSections(ctx context.Context, path string) error {
	r, err := trace.Open(path)
	if err != nil {
		return err
	}
	sections, err := replay.Sections(ctx, r)
	r.Close()
	if err != nil {
		return err
	}
	err = trace.Attach(path, sections)
	if errors.Is(err, trace.ErrFull) {
		return nil // more than a file holds: the viewer works without
	}
	return err
}
