package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/kernels"
	"btrace/trace"
	"btrace/trace/plain"
)

func newRecord() *cobra.Command {
	var out, grid, block, cluster, schedule string
	var seed uint64
	var strict bool
	cmd := &cobra.Command{
		Use:   "record KERNEL",
		Short: "Run a kernel of the gallery in the emulator and record its barriers",
		Long: `Record runs a kernel of the gallery (see "btrace kernels") in the emulator and writes the
trace of its barriers. It exits 0 whenever a usable trace was written, also when the kernel
hangs or traps; with --strict those are 1.`,
		Example: "  btrace record producer-consumer -o pc.zst\n  btrace record phase-countdown --block 256 --schedule random --seed 7",
		Args:    exactly(1, "one kernel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := findKernel(args[0])
			if err != nil {
				return err
			}
			opt := capture.Options{Seed: seed, Schedule: schedule}
			for _, d := range []struct {
				flag, text string
				dim        *trace.Dim
			}{{"--grid", grid, &opt.Grid}, {"--block", block, &opt.Block}, {"--cluster", cluster, &opt.Cluster}} {
				if *d.dim, err = parseDim(d.flag, d.text); err != nil {
					return err
				}
			}
			if out == "" {
				out = k.Name + ".zst"
			}
			outcome, err := record(cmd, k, opt, out)
			if err != nil {
				return err
			}
			p := plain.NewPrinter(cmd.ErrOrStderr())
			p.Printf("%s: %s, recorded to %s\n", k.Name, outcome, out)
			if outcome == trace.OutcomeCompleted {
				p.Printf("next: btrace validate %s\n", out)
			} else {
				p.Printf("next: btrace diagnose %s\n", out)
			}
			if err := p.Flush(); err != nil {
				return err
			}
			if strict && outcome != trace.OutcomeCompleted {
				return exit(exitFound)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&out, "output", "o", "", "the trace to write (default: KERNEL.zst)")
	fs.StringVar(&grid, "grid", "", "CTAs in the grid: 4, or 4x2x1 (default: the kernel's own)")
	fs.StringVar(&block, "block", "", "threads in a CTA (default: the kernel's own)")
	fs.StringVar(&cluster, "cluster", "", "CTAs in a cluster (default: the kernel's own)")
	fs.StringVar(&schedule, "schedule", "rr", "who runs next: rr (round robin) or random")
	fs.Uint64Var(&seed, "seed", 1, "the seed of --schedule random: the same seed gives the same run")
	fs.BoolVar(&strict, "strict", false, "exit 1 if the kernel hangs or traps")
	return cmd
}

func record(cmd *cobra.Command, k kernels.Kernel, opt capture.Options, out string) (outcome trace.Outcome, err error) {
	err = writeTrace(cmd, out, trace.Options{}, func(ctx context.Context, w *trace.Writer) error {
		outcome, err = capture.Record(ctx, k, opt, w)
		return err
	})
	return outcome, err
}

func findKernel(name string) (kernels.Kernel, error) {
	k, ok := kernels.Lookup(name)
	if !ok {
		return k, unknown("kernel", name, kernels.Nearest(name), "btrace kernels")
	}
	return k, nil
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
