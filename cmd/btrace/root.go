package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"btrace/replay/rules/similar"
	"btrace/trace/plain"
)

// The exit codes. Of several files the first of failed, found, incomplete and
// clean wins.
const (
	exitClean      = 0
	exitFound      = 1 // a violation, a deadlock, a difference
	exitFailed     = 2 // usage, or a file that could not be read
	exitIncomplete = 3 // nothing found, but not everything could be checked
)

// exit is an error that only says which code to end with: what there was to
// say has been printed.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run is the whole program. Errors are printed as one line.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	addCompletions(root, args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitClean
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	fmt.Fprintln(stderr, "btrace: "+plain.Text(err.Error()))
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "btrace",
		Short: "A debugger for GPU barriers: record, check and look at barrier traces",
		Long: `btrace records what the barriers of a GPU kernel do, checks every phase against
the rules of PTX and CUDA, says why a kernel hangs, and shows it.

Start with:  btrace demo`,
		Version:       version(),
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			return unknown("command", args[0], similar.Names(args[0], names), "btrace --help")
		},
	}
	root.SetVersionTemplate("btrace {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (see `%s --help`)", err, cmd.CommandPath())
	})
	root.AddCommand(
		newDemo(), newKernels(), newRecord(), newView(),
		newValidate(), newDiagnose(), newExplore(), newDiff(), newState(),
		newImport(), newExport(), newInfo(), newEvents(), newStats(),
		newExplain(),
		newVersion(), newCompletion(), newMan(),
	)
	return root
}

// unknown is the error for a name that does not exist: it offers the nearest
// ones, and the command that lists them all.
func unknown(what, name string, nearest []string, list string) error {
	if len(nearest) == 0 {
		return fmt.Errorf("unknown %s %q: `%s` lists them", what, name, list)
	}
	return fmt.Errorf("unknown %s %q: did you mean `%s`? (`%s` lists them all)", what, name, strings.Join(nearest, "`, `"), list)
}

// exactly is cobra.ExactArgs with an error that says what is wanted.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s wants %s, got %d arguments (see `%s --help`)", cmd.Name(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}
