package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// help runs btrace with --help, and splits what it prints into its sections.
func help(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	var out bytes.Buffer
	if code := run(context.Background(), append(args, "--help"), strings.NewReader(""), &out, &out); code != exitClean {
		t.Fatalf("btrace %v --help: exit code %d: %s", args, code, out.String())
	}
	sections := map[string][]string{}
	name := ""
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			name = line
		}
		sections[name] = append(sections[name], line)
	}
	return sections
}

// helpCommands are the commands that help lists.
func helpCommands(t *testing.T) []string {
	var names []string
	for _, line := range help(t)["Available Commands:"] {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(line, "  ") && name != "help" {
			names = append(names, name)
		}
	}
	if len(names) < 10 {
		t.Fatalf("help lists only %v", names)
	}
	return names
}

// A page says of a command what help says of it: every flag with its words,
// and none besides.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if code := run(context.Background(), []string{"man", dir}, strings.NewReader(""), &out, &out); code != exitClean {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	want := []string{"btrace.1"}
	check := func(file string, args ...string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
			return
		}
		page := strings.Join(strings.Fields(unescape(string(text))), " ")
		var flags []string
		for _, line := range help(t, args...)["Flags:"] {
			m := helpFlag.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			flags = append(flags, m[1])
			// Help quotes a default, and has those that say nothing too.
			meaning := strings.Join(strings.Fields(helpDefault.ReplaceAllString(m[2], "")), " ")
			if !strings.Contains(page, meaning) {
				t.Errorf("%s does not have: %s: %s", file, m[1], meaning)
			}
		}
		var got []string
		for _, m := range pageFlag.FindAllStringSubmatch(unescape(string(text)), -1) {
			got = append(got, m[1])
		}
		if len(flags) == 0 || !slices.Equal(got, flags) {
			t.Errorf("%s has the flags\n%v, help\n%v", file, got, flags)
		}
	}
	check("btrace.1")
	for _, name := range helpCommands(t) {
		file := "btrace-" + name + ".1"
		want = append(want, file)
		check(file, name)
	}

	var got []string
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		got = append(got, f.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("pages %v\nwant  %v", got, want)
	}
}

var (
	// `  -o, --output string   the file`: a flag that takes a value names it in
	// one word, or help's columns are of no use.
	helpFlag    = regexp.MustCompile(`^  (?:-., |    )(--[a-z-]+)(?: [a-zA-Z0-9]+)?  +(.*)$`)
	helpDefault = regexp.MustCompile(` \(default \S+\)$`)
	pageFlag    = regexp.MustCompile(`(?m)^\.TP\n(?:\\fB-.\\fR, )?\\fB(--[a-z-]+)\\fR`)
)

func unescape(s string) string {
	return strings.NewReplacer(`\e`, `\`, `\-`, "-", `\[u2026]`, "…", `\&`, "").Replace(s)
}

// A line of help is a line of the page, and never a request of the formatter.
func TestManualPageText(t *testing.T) {
	p := new(page)
	p.prose("Words of a \\ paragraph\n.that goes on.\n\nA table:\n  'a  b\n\n  c  d\nand more.")
	const want = `Words of a \e paragraph
\&.that goes on.
.PP
A table:
.PP
.nf
  'a  b
.sp
  c  d
.fi
.PP
and more.
`
	if p.String() != want {
		t.Errorf("got\n%s\nwant\n%s", p.String(), want)
	}
}
