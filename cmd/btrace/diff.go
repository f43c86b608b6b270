package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"btrace/replay/diff"
	"btrace/trace/plain"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	form   string
	launch int64
	top    int
}

func newDiff() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Where two runs of a kernel part: the first operation that differs, warp by warp",
		Long: `Diff aligns two traces by launch, warp and program order, and shows where the lanes of each warp
first did something else: a good run against one that hung.

Times, the order in which warps did things, and tests that failed are no difference. The first
divergence is the one that explains the others: what lanes did differently comes before the waits
that they never came out of.

It exits 1 when the traces differ, 0 when not.`,
		Example: "  btrace diff good.zst hung.zst\n  btrace diff before.zst after.zst --format json",
		Args:    exactly(2, "two traces"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1]) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.form, "format", "text", "text or json")
	fs.Int64Var(&f.launch, "launch", -1, "only this launch of both (default: all, in order)")
	fs.IntVar(&f.top, "top", 0, "at most so many divergences of a launch (default: 10 in text, all in json)")
	return cmd
}

func (f *diffFlags) run(cmd *cobra.Command, nameA, nameB string) error {
	if err := oneOf("--format", f.form, "text", "json"); err != nil {
		return err
	}
	if f.top < 0 || f.top == 0 && cmd.Flags().Changed("top") {
		return fmt.Errorf("--top %d: give at least 1", f.top)
	}
	if nameA == "-" && nameB == "-" {
		return errors.New("both traces are standard input: only one of them can be")
	}
	m := newMeter(cmd.ErrOrStderr(), "comparing "+nameA, 0)
	defer m.stop()
	a, closeA, err := openTrace(cmd, nameA, m)
	if err != nil {
		return err
	}
	defer closeA()
	b, closeB, err := openTrace(cmd, nameB, m)
	if err != nil {
		return err
	}
	defer closeB()
	var opt diff.Options
	if f.launch >= 0 {
		l, err := findLaunch(a, nameA, f.launch)
		if err != nil {
			return err
		}
		if _, err := findLaunch(b, nameB, f.launch); err != nil {
			return err
		}
		opt.Launch = &l.ID
	}
	rep, err := diff.Compare(cmd.Context(), a, b, opt)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", nameA, nameB, err)
	}
	m.stop()
	if err := f.write(cmd, nameA, nameB, rep); err != nil {
		return err
	}
	damaged := worse(warnDamage(cmd, nameA, a), warnDamage(cmd, nameB, b))
	if !rep.Same() {
		return exit(exitFound)
	}
	return damaged
}

// worse is the first of two errors that is one.
func worse(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (f *diffFlags) write(cmd *cobra.Command, a, b string, rep *diff.Report) error {
	if f.form == "json" {
		return diff.WriteJSON(cmd.OutOrStdout(), a, b, rep, f.top)
	}
	top := f.top
	if top == 0 {
		top = 10
	}
	p := plain.NewPrinter(cmd.OutOrStdout())
	diff.WriteText(p, a, b, rep, top)
	return p.Flush()
}
