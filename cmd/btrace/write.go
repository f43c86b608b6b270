package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

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
	return o.commit(cmd.OutOrStdout())
}
