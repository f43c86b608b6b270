package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"btrace/trace"
)

func newExport() *cobra.Command {
	var to, out string
	cmd := &cobra.Command{
		Use:     "export TRACE",
		Short:   "Write a trace's events as NDJSON",
		Long:    "Export writes a trace in btrace's interchange form (NDJSON, trace/FORMAT.md), without loss:\nimporting it gives the same trace.",
		Example: "  btrace export run.zst --to ndjson | jq .op",
		Args:    exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to != "ndjson" {
				return fmt.Errorf("unknown form %q: --to takes ndjson", to)
			}
			r, closeTrace, err := openTrace(cmd, args[0], nil)
			if err != nil {
				return err
			}
			defer closeTrace()
			if err := exportNDJSON(cmd, r, out); err != nil {
				return err
			}
			return warnDamage(cmd, args[0], r)
		},
	}
	cmd.Flags().StringVar(&to, "to", "ndjson", "the form to write: ndjson")
	cmd.Flags().StringVarP(&out, "output", "o", "-", "the file to write")
	return cmd
}

func exportNDJSON(cmd *cobra.Command, r *trace.Reader, out string) error {
	if out == "-" {
		w := bufio.NewWriter(cmd.OutOrStdout())
		if err := trace.ExportNDJSON(w, r, trace.Query{}); err != nil {
			return err
		}
		return w.Flush()
	}
	o, err := newOutput(out)
	if err != nil {
		return err
	}
	defer o.discard()
	f, err := os.Create(o.tmp)
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", out, reason(err))
	}
	w := bufio.NewWriter(f)
	err = trace.ExportNDJSON(w, r, trace.Query{})
	if err == nil {
		err = w.Flush()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("%s: %w", out, reason(err))
	}
	return o.commit(nil)
}
