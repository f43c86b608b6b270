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

// gallery is a kernel of the gallery, and what the user passes to it.
type gallery struct {
	k    kernels.Kernel
	args []string
}

func (g gallery) name() string   { return g.k.Name }
func (g gallery) output() string { return g.k.Name + ".zst" }
func (g gallery) dumps() []dump  { return nil }
func (g gallery) words() []string {
	out := []string{g.k.Name}
	for _, text := range g.args {
		out = append(out, "--arg", text)
	}
	return out
}

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
		if name != "arg" && cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s is for PTX: %s is a kernel of the gallery", name, k.Name)
		}
	}
	return galleryTarget(k, f.args)
}

// galleryTarget passes arguments to a kernel of the gallery.
func galleryTarget(k kernels.Kernel, args []string) (target, error) {
	g := gallery{k, args}
	switch {
	case len(args) == 0:
		return g, nil
	case k.Param == nil:
		return nil, fmt.Errorf("--arg %s: kernel %s takes no argument (`btrace kernels` says which do)", args[0], k.Name)
	case len(args) > 1:
		return nil, fmt.Errorf("--arg %s: kernel %s takes one argument: %s", args[1], k.Name, k.Param.Name)
	}
	a, err := interp.ParseArg(args[0])
	if err != nil {
		return nil, err
	}
	n, ok := a.Int()
	if !ok {
		return nil, fmt.Errorf("argument %q: kernel %s takes a whole number, as i32:%d: %s", args[0], k.Name, k.Param.Value, k.Param.Name)
	}
	if g.k, err = k.With(n); err != nil {
		return nil, fmt.Errorf("argument %q: %w", args[0], err)
	}
	return g, nil
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
