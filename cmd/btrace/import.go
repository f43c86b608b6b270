package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"btrace/trace"
)

func newImport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "import FILE.ndjson",
		Short: "Make a trace of recorded events in NDJSON",
		Long: `Import reads events in btrace's interchange form (NDJSON, trace/FORMAT.md) and writes a
trace. "-" stands for standard input and output.`,
		Example: "  btrace import run.ndjson -o run.zst\n  my-recorder | btrace import - -o run.zst",
		Args:    exactly(1, "one NDJSON file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				if args[0] == "-" {
					return errors.New("import from standard input wants a name for the trace: -o FILE.zst")
				}
				out = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".zst"
			}
			return importFile(cmd, args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the trace to write (default: FILE.zst)")
	return cmd
}

func importFile(cmd *cobra.Command, in, out string) error {
	var src io.Reader = cmd.InOrStdin()
	size := int64(0)
	if in == "-" {
		in = "standard input"
	} else {
		if err := readable(in); err != nil {
			return err
		}
		f, err := os.Open(in)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		src = f
	}
	return writeTrace(cmd, out, trace.Options{}, func(ctx context.Context, w *trace.Writer) error {
		m := newMeter(cmd.ErrOrStderr(), "importing "+in, size)
		defer m.stop()
		lines := m.stream(ctx, src)
		defer lines.Close()
		if err := trace.ImportNDJSON(lines, w); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		return nil
	})
}
