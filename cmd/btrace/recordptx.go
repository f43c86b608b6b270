package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture"
	"btrace/capture/emu"
	"btrace/capture/ptx"
	"btrace/capture/ptx/interp"
	"btrace/replay/rules/similar"
	"btrace/trace"
)

// Bounds on what is read and on what an error lists.
const (
	maxPTX       = 64 << 20 // bytes of a file
	listedNames  = 40       // entries in an error
	listedErrors = 3        // errors in one
)

// ptxKernel is an entry of a PTX file, with what is passed to it.
type ptxKernel struct {
	file   string // as the user named it
	module *ptx.Module
	kernel *interp.Kernel
	args   []interp.Arg
	dumped []dump
	flags  *recordFlags
}

// ptxTarget reads a PTX file and decodes the entry that is asked for.
func (f *recordFlags) ptxTarget(cmd *cobra.Command, file string) (target, error) {
	m, err := readPTX(cmd, file)
	if err != nil {
		return nil, err
	}
	entry, err := findEntry(m, f.entry)
	if err != nil {
		return nil, err
	}
	p := &ptxKernel{file: file, module: m, flags: f}
	for _, text := range f.args {
		a, err := interp.ParseArg(text)
		if err != nil {
			return nil, err
		}
		p.args = append(p.args, a)
	}
	for _, text := range f.dumps {
		d, err := parseDump(text, p.args)
		if err != nil {
			return nil, err
		}
		p.dumped = append(p.dumped, d)
	}
	p.kernel, err = interp.Compile(m, entry)
	var refused interp.Refusals
	if errors.As(err, &refused) {
		err = firstOf(refused, fmt.Sprintf(" (`btrace record --check %s` lists all)", quoted(file)))
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be run: %w", entry.Name, err)
	}
	return p, nil
}

func (p *ptxKernel) name() string { return p.kernel.Entry.Name }

func (p *ptxKernel) dumps() []dump { return p.dumped }

func (p *ptxKernel) output() string {
	if p.file == "-" {
		return p.name() + ".zst"
	}
	return strings.TrimSuffix(filepath.Base(p.file), ".ptx") + ".zst"
}

func (p *ptxKernel) words() []string {
	words := []string{p.file, "--entry", p.name()}
	for _, a := range p.flags.args {
		words = append(words, "--arg", a)
	}
	if p.flags.shared != 0 {
		words = append(words, "--shared", strconv.Itoa(p.flags.shared))
	}
	if p.flags.cooperative {
		words = append(words, "--cooperative")
	}
	for _, d := range p.flags.dumps {
		words = append(words, "--dump", d)
	}
	return words
}

// config is the launch with the options; CTAs run on all cores.
func (p *ptxKernel) config(opt capture.Options) emu.Config {
	return emu.Config{
		Grid: opt.Grid, Block: opt.Block, Cluster: opt.Cluster, Shared: p.flags.shared, Cooperative: p.flags.cooperative,
		Seed: opt.Seed, Schedule: opt.Schedule, StepBudget: opt.StepBudget, Launch: opt.Launch, Progress: opt.Progress,
		Workers: runtime.GOMAXPROCS(0),
	}
}

func (p *ptxKernel) grid(opt capture.Options) trace.Dim { return opt.Grid }

func (p *ptxKernel) run(ctx context.Context, opt capture.Options, w *trace.Writer) (interp.Result, error) {
	r, err := capture.RunPTX(ctx, p.module, p.kernel, p.config(opt), p.args, w)
	if err != nil {
		err = fmt.Errorf("%s: %w", p.file, err)
	}
	return r, err
}

// readPTX reads, parses and resolves a PTX file; "-" is standard input.
func readPTX(cmd *cobra.Command, file string) (*ptx.Module, error) {
	name := file
	if file == "-" {
		name = "stdin"
	}
	src, err := readSource(cmd, file, name)
	if err != nil {
		return nil, err
	}
	if err := notPTX(name, src); err != nil {
		return nil, err
	}
	m, err := ptx.Parse(name, src)
	if err == nil {
		err = ptx.Resolve(m)
	}
	var all ptx.Errors
	if errors.As(err, &all) {
		return nil, firstOf(all, "")
	}
	return m, err
}

// readSource reads the bytes of a file; name is for messages.
func readSource(cmd *cobra.Command, file, name string) ([]byte, error) {
	var in io.ReadCloser
	if file == "-" {
		in = newMeter(io.Discard, "", 0).stream(cmd.Context(), cmd.InOrStdin())
	} else {
		if err := readable(file); err != nil {
			return nil, err
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be read: %w", file, reason(err))
		}
		in = f
	}
	defer in.Close()
	src, err := io.ReadAll(io.LimitReader(in, maxPTX+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: cannot be read: %w", name, reason(err))
	case len(src) > maxPTX:
		return nil, fmt.Errorf("%s: is longer than the %d MiB that a PTX file may have", name, maxPTX>>20)
	}
	return src, nil
}

// notPTX is the error for a file that is something else that people have at
// hand.
func notPTX(file string, src []byte) error {
	ext := filepath.Ext(file)
	switch {
	case len(bytes.TrimSpace(src)) == 0:
		return fmt.Errorf("%s: is empty", file)
	case bytes.HasPrefix(src, []byte("\x7fELF")), bytes.HasPrefix(src, []byte("\x50\xed\x55\xba")):
		return fmt.Errorf("%s: is machine code (a cubin, fatbin or program), and PTX is wanted: `nvcc -ptx` makes it, `cuobjdump -ptx` prints it", file)
	case bytes.IndexByte(src, 0) >= 0:
		return fmt.Errorf("%s: is a binary file, and PTX is wanted: text, as `nvcc -ptx` makes it", file)
	case slices.Contains([]string{".cu", ".cuh", ".cpp", ".cc", ".c", ".h"}, ext):
		return fmt.Errorf("%s: is a source file, and PTX is wanted: `nvcc -arch=sm_90 -lineinfo -ptx %s` makes it", file, file)
	}
	return nil
}

// firstOf is the first few of some errors, as one; hint says what to do about
// more.
func firstOf[E error](all []E, hint string) error {
	var lines []string
	for _, e := range all[:min(len(all), listedErrors)] {
		lines = append(lines, e.Error())
	}
	if n := len(all) - len(lines); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more%s", n, hint))
	}
	return errors.New(strings.Join(lines, "; "))
}

// findEntry finds an entry of a module; the only one needs no name.
func findEntry(m *ptx.Module, name string) (*ptx.Function, error) {
	entries := m.Entries()
	var names []string
	var short []*ptx.Function // entries of that name in C++
	for _, e := range entries {
		if e.Name == name || name == "" && len(entries) == 1 {
			return e, nil
		}
		names = append(names, e.Name)
		if ptx.Short(e.Name) == name || ptx.Readable(e.Name) == name {
			short = append(short, e)
		}
	}
	if len(short) == 1 {
		return short[0], nil
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: has no .entry, which is what can be run", m.File)
	}
	list := "it has " + listed(names)
	if name == "" {
		return nil, fmt.Errorf("%s: name one of its entries with --entry: %s", m.File, list)
	}
	if near := similar.Names(name, names); len(near) > 0 {
		list = fmt.Sprintf("did you mean %s? %s", near[0], list)
	}
	return nil, fmt.Errorf("%s: no entry %q: %s", m.File, name, list)
}

// listed is the first of some names.
func listed(names []string) string {
	if n := len(names) - listedNames; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listedNames], ", "), n)
	}
	return strings.Join(names, ", ")
}
