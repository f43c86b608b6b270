package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture/racecheck"
	"btrace/trace"
)

// importFlags are the flags of import.
type importFlags struct {
	out, from            string
	kernel               string
	grid, block, cluster string
}

// The forms that import reads.
const (
	fromAuto      = "auto"
	fromNDJSON    = "ndjson"
	fromRacecheck = "racecheck"
)

func newImport() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a trace of what other tools have recorded",
		Long: `Import reads what others have recorded, as a stream, and writes a trace. "-" stands
for standard input and output.

Forms (--from; auto looks at the beginning of the file):
  ndjson     btrace's interchange form (trace/FORMAT.md), which any recorder can print
  racecheck  the log of compute-sanitizer --tool racecheck --racecheck-trace-sync yes

A log of racecheck has what each warp called, in its order, with lanes, lines and the
addresses of mbarriers. It has no times (an event's is its place in the log), no
barrier numbers, counts, phases, results or exits, and no bar.arrive. So its
operations become marks, to look at and to search, and the verdict is incomplete:
nothing is claimed that the log could not show. It does not say which launch a line is
of, either: let racecheck check one (--launch-count 1, --launch-skip, --kernel-name),
and say what it is with --kernel, --grid and --block.`,
		Example: `  btrace import run.ndjson -o run.zst
  my-recorder | btrace import - -o run.zst
  compute-sanitizer --tool racecheck --racecheck-trace-sync yes --launch-count 1 ./app > app.log
  btrace import app.log --kernel gemm --grid 8x4 --block 128 -o app.zst`,
		Args: exactly(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.out == "" {
				if args[0] == "-" {
					return errors.New("import from standard input wants a name for the trace: -o FILE.zst")
				}
				flags.out = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".zst"
			}
			return importFile(cmd, args[0], flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "output", "o", "", "the trace to write (default: FILE.zst)")
	f.StringVar(&flags.from, "from", fromAuto, "what the file is: auto, ndjson or racecheck")
	f.StringVar(&flags.kernel, "kernel", "", "racecheck: the name of the kernel")
	f.StringVar(&flags.grid, "grid", "", "racecheck: CTAs in the grid: 4, or 4x2x1")
	f.StringVar(&flags.block, "block", "", "racecheck: threads in a CTA: 128, or 16x8")
	f.StringVar(&flags.cluster, "cluster", "", "racecheck: CTAs in a cluster")
	return cmd
}

// racecheckOptions are what the flags say of a log of racecheck.
func (f *importFlags) racecheckOptions() (opt racecheck.Options, err error) {
	opt.Kernel = f.kernel
	for _, d := range []struct {
		flag, text string
		to         *trace.Dim
	}{{"--grid", f.grid, &opt.Grid}, {"--block", f.block, &opt.Block}, {"--cluster", f.cluster, &opt.Cluster}} {
		if *d.to, err = parseDim(d.flag, d.text); err != nil {
			return opt, err
		}
	}
	return opt, nil
}

func importFile(cmd *cobra.Command, in string, flags importFlags) error {
	if err := oneOf("--from", flags.from, fromAuto, fromNDJSON, fromRacecheck); err != nil {
		return err
	}
	opt, err := flags.racecheckOptions()
	if err != nil {
		return err
	}
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
	return writeTrace(cmd, flags.out, trace.Options{}, func(ctx context.Context, w *trace.Writer) error {
		m := newMeter(cmd.ErrOrStderr(), "importing "+in, size)
		defer m.stop()
		stream := m.stream(ctx, src)
		defer stream.Close()
		lines := bufio.NewReaderSize(stream, 64<<10)
		from, err := flags.form(cmd, lines)
		if err == nil && from == fromRacecheck {
			_, err = racecheck.Import(lines, w, opt)
		} else if err == nil {
			err = trace.ImportNDJSON(lines, w)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		return nil
	})
}

// form is what the file is; where that was not said, it looks at its
// beginning.
func (f *importFlags) form(cmd *cobra.Command, in *bufio.Reader) (string, error) {
	from := f.from
	if from == fromAuto {
		from = fromNDJSON
		// A recorder that writes slowly is not waited for.
		head, err := in.Peek(1)
		if len(head) > 0 && head[0] != '{' {
			head, err = in.Peek(in.Size())
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if racecheck.Looks(head) {
			from = fromRacecheck
		}
	}
	if from != fromRacecheck {
		for _, name := range []string{"kernel", "grid", "block", "cluster"} {
			if cmd.Flags().Changed(name) {
				return "", fmt.Errorf("is NDJSON, which has its own launches: --%s is for logs of racecheck", name)
			}
		}
	}
	return from, nil
}
