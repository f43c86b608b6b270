package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture/ptx/interp"
)

// dump is a buffer that is to be written to a file.
type dump struct {
	arg  int // of the kernel, from 0
	file string
}

// parseDump reads N=FILE.
func parseDump(text string, args []interp.Arg) (dump, error) {
	number, file, ok := strings.Cut(text, "=")
	n, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil || n < 0 || file == "":
		return dump{}, fmt.Errorf("--dump %q: want N=FILE, where N is the number of an argument, from 0", text)
	case n >= len(args):
		return dump{}, fmt.Errorf("--dump %q: no argument has the number %d: there are %d, and they count from 0", text, n, len(args))
	case !args[n].IsBuffer():
		return dump{}, fmt.Errorf("--dump %q: argument %d is no buffer (buf:…)", text, n)
	}
	return dump{n, file}, nil
}

// files is what a recording leaves: its trace, and what buffers held at the
// end. They get their names when all of them are complete.
type files struct {
	name    string // of the trace, as the user has it
	trace   *output
	dumps   []dump
	buffers []*output // of the dumps
}

// files checks that all of the files can be made.
func (f *recordFlags) files(t target) (*files, error) {
	a := &files{name: f.out, dumps: t.dumps()}
	if a.name == "" {
		a.name = t.output()
	}
	var err error
	if a.trace, err = newOutput(a.name); err != nil {
		return nil, err
	}
	taken := map[string]bool{filepath.Clean(a.trace.name): true}
	for _, d := range a.dumps {
		o, err := newOutput(d.file)
		if err != nil {
			a.discard()
			return nil, err
		}
		a.buffers = append(a.buffers, o)
		name := filepath.Clean(o.name)
		if taken[name] {
			a.discard()
			return nil, fmt.Errorf("%s: two outputs cannot have the same name", named(d.file))
		}
		taken[name] = true
	}
	return a, nil
}

// String is where the recording goes, for people.
func (a *files) String() string {
	s := named(a.name)
	for _, d := range a.dumps {
		s += fmt.Sprintf(", argument %d to %s", d.arg, named(d.file))
	}
	return s
}

// publish writes the buffers that a launch left, and gives all files their
// names.
func (a *files) publish(cmd *cobra.Command, r interp.Result) error {
	for i, d := range a.dumps {
		o := a.buffers[i]
		if err := os.WriteFile(o.tmp, r.Buffers[d.arg], 0o666); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", o.name, reason(err))
		}
	}
	if err := publish(cmd, a.trace); err != nil {
		return err
	}
	for _, o := range a.buffers {
		if err := o.commit(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	return nil
}

// discard removes what has no name yet.
func (a *files) discard() {
	a.trace.discard()
	for _, o := range a.buffers {
		o.discard()
	}
}
