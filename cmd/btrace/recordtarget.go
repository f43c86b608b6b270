package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/kernels"
	"btrace/capture/ptx/interp"
	"btrace/replay/rules/similar"
	"btrace/trace"
	"btrace/trace/plain"
)

// target is what is recorded: a kernel of the gallery, or one of a PTX file.
type target interface {
	name() string
	// output is the trace's name, where the user gives none.
	output() string
	// dumps are the buffers that are to be written to files.
	dumps() []dump
	// words name the target in a command, as btrace record has them.
	words() []string
	// grid is the CTAs of a launch with the options.
	grid(capture.Options) trace.Dim
	// run makes a launch and writes its events. Every launch begins anew:
	// nothing is left of the one before.
	run(context.Context, capture.Options, *trace.Writer) (interp.Result, error)
	// tell says what there is to know of a launch besides its outcome.
	tell(*plain.Printer, capture.Options, interp.Result)
}

// gallery is a kernel of the gallery.
type gallery struct{ k kernels.Kernel }

func (g gallery) name() string    { return g.k.Name }
func (g gallery) output() string  { return g.k.Name + ".zst" }
func (g gallery) dumps() []dump   { return nil }
func (g gallery) words() []string { return []string{g.k.Name} }

func (g gallery) grid(opt capture.Options) trace.Dim { return opt.Config(g.k).Grid }

func (g gallery) run(ctx context.Context, opt capture.Options, w *trace.Writer) (interp.Result, error) {
	r, err := capture.Run(ctx, g.k.Name, opt.Config(g.k), g.k.Run, w)
	if err != nil {
		err = fmt.Errorf("kernel %s: %w", g.k.Name, err)
	}
	return interp.Result{Result: r}, err
}

func (g gallery) tell(*plain.Printer, capture.Options, interp.Result) {}

// ptxFlags are the flags that only a PTX file has.
func ptxFlags() []string { return []string{"entry", "arg", "shared", "cooperative", "dump", "check"} }

// target is what the argument names: a kernel of the gallery, or else a file.
func (f *recordFlags) target(cmd *cobra.Command, arg string) (target, error) {
	if f.isPTX(arg) {
		return f.ptxTarget(cmd, arg)
	}
	k, err := findKernel(arg)
	if err != nil {
		return nil, err
	}
	for _, name := range ptxFlags() {
		if cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s is for PTX: %s is a kernel of the gallery", name, k.Name)
		}
	}
	return gallery{k}, nil
}

// isPTX reports whether the argument is a PTX file, which need not exist.
func (f *recordFlags) isPTX(arg string) bool {
	if arg == "-" || strings.HasSuffix(arg, ".ptx") || strings.ContainsRune(arg, os.PathSeparator) {
		return true
	}
	if _, ok := kernels.Lookup(arg); ok {
		return false
	}
	_, err := os.Stat(arg)
	return err == nil
}

func findKernel(name string) (kernels.Kernel, error) {
	k, ok := kernels.Lookup(name)
	if !ok {
		return k, unknown("kernel", name, similar.Names(name, kernels.Names()), "btrace kernels")
	}
	return k, nil
}
