package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"btrace/capture/kernels"
	"btrace/capture/ptx"
	"btrace/replay/rules"
	"btrace/trace"
	"btrace/trace/plain"
	"btrace/tui"
)

// Bounds on what is looked at in a trace, and on what is offered of it: a key
// press has to be answered at once, whatever the file is.
const (
	completionRows   = 1 << 20 // warp events
	completionValues = 256
)

const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	inOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
)

// filesEnding completes to files with one of the endings, and to folders.
func filesEnding(endings ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

func anyFile(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func noValue(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, noFiles
}

// words completes to the words that a flag takes.
func words(all ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return begin(typed, all), inOrder
	}
}

// begin keeps what begins with what has been typed.
func begin(typed string, all []cobra.Completion) []cobra.Completion {
	var out []cobra.Completion
	for _, c := range all {
		if strings.HasPrefix(c, typed) {
			out = append(out, c)
		}
	}
	return out
}

// first completes the first n arguments, and nothing behind them.
func first(n int, complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, noFiles
		}
		return complete(cmd, args, typed)
	}
}

// list completes the last of several values with commas between them.
func list(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		at := strings.LastIndexByte(typed, ',') + 1
		out, directive := complete(cmd, args, typed[at:])
		for i := range out {
			out[i] = typed[:at] + out[i]
		}
		return out, directive
	}
}

// described is a word with what it means.
func described(word, meaning string) cobra.Completion {
	return cobra.CompletionWithDesc(word, plain.Text(meaning))
}

func ruleIDs(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, r := range rules.All() {
		all = append(all, described(string(r.ID), r.Title))
	}
	return begin(typed, all), inOrder
}

// recordable completes to kernels of the gallery and PTX files here, to PTX
// files elsewhere, or behind -- to anything. While it completes, cobra knows
// only of the -- that it adds itself.
func recordable(line []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case slices.Contains(line[:len(line)-1], "--"):
			return nil, cobra.ShellCompDirectiveDefault
		case len(args) > 0:
			return nil, noFiles
		}
		var all []cobra.Completion
		for _, k := range kernels.All() {
			all = append(all, described(k.Name, k.Doc))
		}
		all = begin(typed, all)
		if len(all) == 0 {
			return []string{"ptx"}, cobra.ShellCompDirectiveFilterFileExt
		}
		here, err := os.ReadDir(".")
		if err != nil {
			return all, inOrder
		}
		for _, e := range here {
			if name := e.Name(); strings.HasSuffix(name, ".ptx") && strings.HasPrefix(name, typed) && plain.Text(name) == name {
				all = append(all, name)
			}
		}
		return all, inOrder
	}
}

// checkable completes to traces and folders of them, or to the results that
// --merge takes.
func checkable(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ending := "zst"
	if cmd.Flags().Changed("merge") {
		ending = "json"
	}
	return filesEnding(ending)(cmd, args, typed)
}

// argTypes completes to what an argument of a PTX kernel may begin with.
func argTypes(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all := []cobra.Completion{
		described("i32:", "a signed integer; also i8, i16, i64"),
		described("u32:", "an unsigned integer; also u8, u16, u64"),
		described("f32:", "a floating-point number; also f64"),
		described("buf:", "a pointer to that many zero bytes, or with @FILE to what a file holds"),
		described("bytes:", "a struct, in hexadecimal, or with @FILE from a file"),
	}
	return begin(typed, all), inOrder | cobra.ShellCompDirectiveNoSpace
}

// entries completes to the kernels of the PTX file that is to be recorded.
func entries(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 || !regular(args[0]) {
		return nil, noFiles
	}
	m, err := readPTX(cmd, args[0])
	if err != nil {
		return nil, noFiles
	}
	var all []cobra.Completion
	for _, e := range m.Entries() {
		readable := ptx.Readable(e.Name)
		if readable == e.Name {
			readable = ""
		}
		all = append(all, described(e.Name, readable))
	}
	return begin(typed, all), inOrder
}

func operations(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return begin(typed, opNames()), inOrder
}

func themes(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return begin(typed, tui.Themes()), inOrder
}

// regular reports whether the argument is an ordinary file: what is typed
// after a key press must not wait for a pipe, nor for standard input.
func regular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// namedTrace opens the trace that is the first argument; nil if there is none
// that can be read.
func namedTrace(cmd *cobra.Command, args []string) (*trace.Reader, func()) {
	if len(args) == 0 || !regular(args[0]) {
		return nil, nil
	}
	r, closeTrace, err := openTrace(cmd, args[0], nil)
	if err != nil {
		return nil, nil
	}
	return r, closeTrace
}

// launchIDs completes to the launches of the trace that is the first argument.
func launchIDs(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	r, closeTrace := namedTrace(cmd, args)
	if r == nil {
		return nil, noFiles
	}
	defer closeTrace()
	var all []cobra.Completion
	for _, l := range r.Launches() {
		if len(all) == completionValues {
			break
		}
		all = append(all, described(fmt.Sprint(l.ID), fmt.Sprintf("%s: %s", l.Kernel, l.Outcome)))
	}
	return begin(typed, all), inOrder
}

// barrierNames completes to the barriers of the trace that is the first argument,
// as far as it is looked at.
func barrierNames(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	r, closeTrace := namedTrace(cmd, args)
	if r == nil {
		return nil, noFiles
	}
	defer closeTrace()
	seen, rows := map[trace.Barrier]int{}, 0
	for b, err := range r.Blocks(cmd.Context(), trace.Query{}) {
		if err != nil {
			break // what was read until here is better than nothing
		}
		for i := range b.Len() {
			at := b.Ops[b.Op[i]].Barrier(b.Warp[i])
			if at.Kind != trace.BarrierNone && (seen[at] > 0 || len(seen) < completionValues) {
				seen[at]++
			}
		}
		if rows += b.Len(); rows >= completionRows {
			break
		}
	}
	var all []cobra.Completion
	for _, at := range sortedBarriers(seen) {
		all = append(all, described(plain.Text(at.String()), fmt.Sprintf("%d warp events", seen[at])))
	}
	return begin(typed, all), inOrder
}

func sortedBarriers(seen map[trace.Barrier]int) []trace.Barrier {
	var all []trace.Barrier
	for b := range seen {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b trace.Barrier) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name))
	})
	return all
}
