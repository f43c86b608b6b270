package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/perfetto"
	"btrace/replay/report"
	"btrace/trace"
	"btrace/trace/table"
)

// exportFlags are the flags of export.
type exportFlags struct {
	to, out string
	finding int
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export TRACE",
		Short: "Write a trace for other tools: NDJSON, CSV, Parquet, Perfetto, or a page about a finding",
		Long: `Export writes a trace in another form:

  ndjson    btrace's interchange form (trace/FORMAT.md), without loss: importing it gives the same trace
  csv       a table, a row for every warp event (trace/table/COLUMNS.md)
  parquet   the same table for DuckDB, Spark, ClickHouse and others
  perfetto  waits as slices, arrows from the arrival that ended a phase to those that it released, and
            counters of pending arrivals, for ui.perfetto.dev
  html      a page about a finding, by default the root: what happened, a picture, the state, the rule;
            one file, without scripts`,
		Example: `  btrace export run.zst | jq .op
  btrace export run.zst --to parquet -o run.parquet
  btrace export run.zst --to perfetto -o run.pftrace
  btrace export hang.zst --to html -o hang.html`,
		Args: exactly(1, "one trace"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.to, "to", "ndjson", "the form to write: ndjson, csv, parquet, perfetto or html")
	fs.StringVarP(&f.out, "output", "o", "-", "the file to write")
	fs.IntVar(&f.finding, "finding", 0, "with html: the finding, by its place in \"btrace validate --format json\", from 0")
	return cmd
}

func (f *exportFlags) run(cmd *cobra.Command, name string) error {
	if err := oneOf("--to", f.to, "ndjson", "csv", "parquet", "perfetto", "html"); err != nil {
		return err
	}
	if cmd.Flags().Changed("finding") && f.to != "html" {
		return errors.New("--finding is for --to html")
	}
	if f.out == "-" && (f.to == "parquet" || f.to == "perfetto") && isTerminal(cmd.OutOrStdout()) {
		return fmt.Errorf("%s is not for terminals: give a file with -o", f.to)
	}
	m := newMeter(cmd.ErrOrStderr(), "exporting "+name, 0)
	defer m.stop()
	r, closeTrace, err := openTrace(cmd, name, m)
	if err != nil {
		return err
	}
	defer closeTrace()
	if err := exportTo(cmd, f.out, f.writer(name, r)); err != nil {
		return err
	}
	m.stop()
	return warnDamage(cmd, name, r)
}

// writer is what writes the form that is wanted.
func (f *exportFlags) writer(name string, r *trace.Reader) func(ctx context.Context, w io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		switch f.to {
		case "csv":
			return table.WriteCSV(ctx, w, r)
		case "parquet":
			return table.WriteParquet(ctx, w, r)
		case "perfetto":
			return perfetto.Write(ctx, w, r)
		case "html":
			return f.page(ctx, w, name, r)
		}
		return trace.ExportNDJSON(ctx, w, r, trace.Query{})
	}
}

// page checks the trace and writes a page about a finding.
func (f *exportFlags) page(ctx context.Context, w io.Writer, name string, r *trace.Reader) error {
	c := checkTrace(ctx, name, r, replay.Options{})
	if c.Err != nil {
		return c.Err
	}
	err := report.WriteHTML(ctx, w, c, f.finding, func(ctx context.Context, launch uint32) (replay.Timeline, error) {
		return replay.Open(ctx, r, launch)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// exportTo writes a file, or standard output.
func exportTo(cmd *cobra.Command, out string, write func(ctx context.Context, w io.Writer) error) error {
	if out == "-" {
		w := bufio.NewWriter(cmd.OutOrStdout())
		if err := write(cmd.Context(), w); err != nil {
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
	err = write(cmd.Context(), w)
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
