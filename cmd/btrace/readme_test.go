package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What README.md shows is what the program prints: every command in a console
// block is run, in order, in a folder that has what is in sample-traces and the
// PTX that nvcc made of the interpreter's corpus. UPDATE_SCRIPTS=1 rewrites the
// outputs.
func TestReadme(t *testing.T) {
	readme, err := filepath.Abs("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, from := range []string{"../../sample-traces", "../../capture/ptx/interp/testdata/corpus/nvcc"} {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)

	var out strings.Builder
	commands := 0
	inBlock, skip := false, false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = strings.HasPrefix(line, "```console")
			skip = false
		case inBlock && strings.HasPrefix(line, "$ btrace "):
			commands++
			out.WriteString(line)
			out.WriteString(shown(line))
			skip = true
			continue
		case inBlock && strings.HasPrefix(line, "$ "):
			t.Errorf("README.md runs something else than btrace: %s", line)
		}
		if !skip {
			out.WriteString(line)
		}
	}
	if commands < 5 {
		t.Errorf("README.md shows %d commands", commands)
	}
	if out.String() == string(text) {
		return
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(readme, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("README.md does not show what btrace prints (UPDATE_SCRIPTS=1 mends it):\n%s", firstDifference(string(text), out.String()))
}

// shown runs a command line of README.md and returns what it prints.
func shown(line string) string {
	var out bytes.Buffer
	args := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "$ btrace "))
	run(context.Background(), args, strings.NewReader(""), &out, &out)
	var b strings.Builder
	for line := range strings.Lines(out.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return "it has   " + as[i] + "\nbtrace has " + bs[i]
		}
	}
	return "one is longer than the other"
}
