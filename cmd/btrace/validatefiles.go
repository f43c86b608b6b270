package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// traceFile is a file to be checked, or why an argument stands for none.
type traceFile struct {
	name string
	err  error
}

// traceFiles lists what the arguments stand for, in their order. A file is
// listed once.
func traceFiles(args []string) []traceFile {
	var out []traceFile
	seen := map[string]bool{}
	add := func(f traceFile) {
		if key := filepath.Clean(f.name); !seen[key] {
			seen[key] = true
			out = append(out, f)
		}
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			inFolder(arg, add)
		case err != nil && strings.ContainsAny(arg, "*?["):
			matching(arg, add)
		default:
			add(traceFile{name: arg})
		}
	}
	return out
}

// maxList bounds a list of traces: some hundred thousand names.
const maxList = 64 << 20

// withList adds to the arguments those that a file lists, one a line; or each
// ended by NUL, as `find -print0` writes names that may have anything in them.
func withList(cmd *cobra.Command, args []string, name string) ([]string, error) {
	if name == "" {
		return args, nil
	}
	in := io.NopCloser(cmd.InOrStdin())
	if name == "-" {
		in = newMeter(io.Discard, "", 0).stream(cmd.Context(), in)
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--files-from %s: %w", name, reason(err))
		}
		in = f
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxList+1))
	if err != nil {
		return nil, fmt.Errorf("--files-from %s: %w", name, reason(err))
	}
	if len(text) > maxList {
		return nil, fmt.Errorf("--files-from %s: longer than %d MB", name, maxList>>20)
	}
	list := slices.Clone(args)
	end := "\n"
	if bytes.IndexByte(text, 0) >= 0 {
		end = "\x00"
	}
	for line := range strings.SplitSeq(string(text), end) {
		if end == "\n" {
			line = strings.TrimSuffix(line, "\r")
		}
		switch line {
		case "":
		case "-":
			return nil, fmt.Errorf("--files-from %s: it lists -: give that as an argument", name)
		default:
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--files-from %s: names no traces", name)
	}
	return list, nil
}

// inFolder lists the traces in a folder and below, sorted by name.
func inFolder(folder string, add func(traceFile)) {
	names, errs := zstBelow(folder)
	for _, err := range errs {
		add(err)
	}
	if len(names) == 0 && len(errs) == 0 {
		add(traceFile{folder, fmt.Errorf("%s: has no traces (*.zst) in it", folder)})
	}
	slices.Sort(names)
	for _, name := range names {
		add(traceFile{name: name})
	}
}

// zstBelow lists the *.zst below a folder, and the folders that could not be
// read. Links to files are followed, links to folders are not: they could lead
// back. What is hidden is left out, such as a trace that is being written.
func zstBelow(folder string) (names []string, errs []traceFile) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		errs = append(errs, traceFile{folder, fmt.Errorf("%s: cannot be listed: %w", folder, reason(err))})
	}
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			n, e := zstBelow(name)
			names, errs = append(names, n...), append(errs, e...)
		case filepath.Ext(name) == ".zst":
			if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
				names = append(names, name) // a link that leads nowhere is told when it is opened
			}
		}
	}
	return names, errs
}

// matching lists what a pattern stands for, as if the shell had expanded it.
func matching(pattern string, add func(traceFile)) {
	slashed := filepath.ToSlash(pattern)
	if _, err := path.Match(slashed, ""); err != nil {
		add(traceFile{pattern, fmt.Errorf("%s: no such file, and not a pattern either: a [ is not closed", pattern)})
		return
	}
	root, rest := "", slashed
	if strings.HasPrefix(slashed, "/") {
		root, rest = "/", strings.TrimLeft(slashed, "/")
	}
	names := expand(root, strings.Split(rest, "/"))
	if len(names) == 0 {
		add(traceFile{pattern, fmt.Errorf("%s: no file matches", pattern)})
		return
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			inFolder(name, add)
		} else {
			add(traceFile{name: name})
		}
	}
}

// expand lists the paths below a folder that match a pattern, element by
// element; ** is any number of folders. As in a shell, what is hidden has to be
// named.
func expand(folder string, pattern []string) []string {
	if len(pattern) == 0 {
		return []string{folder}
	}
	first, rest := pattern[0], pattern[1:]
	if !strings.ContainsAny(first, `*?[\`) {
		name := filepath.Join(folder, first)
		if _, err := os.Lstat(name); err != nil {
			return nil
		}
		return expand(name, rest)
	}
	list := folder
	if list == "" {
		list = "."
	}
	entries, err := os.ReadDir(list)
	if err != nil {
		return nil // not a folder, or not ours to see: nothing matches in it
	}
	var out []string
	if first == "**" && len(rest) > 0 {
		out = expand(folder, rest)
	}
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		switch ok, err := path.Match(first, e.Name()); {
		case strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(first, "."):
		case first == "**" && e.IsDir():
			out = append(out, expand(name, pattern)...)
		case first == "**" && len(rest) > 0:
		case ok && err == nil:
			out = append(out, expand(name, rest)...)
		}
	}
	return out
}
