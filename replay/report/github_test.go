package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/replay/barrier"
	"btrace/replay/rules"
)

// unescape is what the runner does with a value.
func unescape(s string, property bool) string {
	pairs := []string{"%0D", "\r", "%0A", "\n", "%25", "%"}
	if property {
		pairs = append([]string{"%3A", ":", "%2C", ","}, pairs...)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

func TestGitHubEscapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`(%|:|,|\r|\n|%2|5|0A|::){0,12}`)).Draw(t, "s")
		data, property := escapeData(s), escapeProperty(s)
		if strings.ContainsAny(data, "\r\n") || strings.ContainsAny(property, "\r\n:,") {
			t.Fatalf("%q became %q and %q", s, data, property)
		}
		if unescape(data, false) != s || unescape(property, true) != s {
			t.Fatalf("%q became %q and %q", s, data, property)
		}
	})
}

// parsed is a workflow command, as the runner reads it.
type parsed struct {
	kind, message string
	properties    map[string]string
}

func parse(line string) (parsed, bool) {
	rest, ok := strings.CutPrefix(line, "::")
	if !ok {
		return parsed{}, false
	}
	head, data, ok := strings.Cut(rest, "::")
	if !ok {
		return parsed{}, false
	}
	kind, list, _ := strings.Cut(head, " ")
	p := parsed{kind, unescape(data, false), map[string]string{}}
	for _, pair := range strings.Split(list, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return parsed{}, false
		}
		p.properties[k] = unescape(v, true)
	}
	return p, true
}

// Whatever the strings are, every line but the last is a command of ours: a
// recording cannot give the runner commands of its own.
func TestGitHubOfAnyStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string) string {
			return rapid.OneOf(rapid.String(), rapid.Just("\n::set-env name=PATH::x"), rapid.Just("##[add-mask]x, ::y"), rapid.Just("a,b:c%0A")).Draw(t, name)
		}
		f := hang()
		f.Name = word("trace")
		f.Report.Launches[1].Launch.Kernel = word("kernel")
		x := &f.Report.Findings[0]
		x.Message, x.Hint, x.Location.File = word("message"), word("hint"), word("file")
		out := written(t, GitHub, Options{}, []File{f, {Name: word("bad"), Err: errors.New(word("error"))}}, End{})
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		for i, line := range lines {
			p, ok := parse(line)
			if last := i == len(lines)-1; last {
				if !strings.HasPrefix(line, "btrace: 2 traces: ") {
					t.Fatalf("the last line is %q", line)
				}
				continue
			}
			if !ok || p.kind != "error" && p.kind != "warning" || p.properties["title"] == "" {
				t.Fatalf("%q is not a command of ours", line)
			}
		}
		if len(lines) != 4 {
			t.Fatalf("%d lines:\n%s", len(lines), out)
		}
	})
}

// many is a file with that many findings of each severity, each on a line of
// its own; the last error is the root of a hang.
func many(name string, n int) File {
	f := launches(replay.Deadlock)
	f.Name = name
	root := f.Report.Findings[0]
	f.Report.Findings = nil
	for i := range n {
		for _, s := range []rules.Severity{rules.Note, rules.Warning, rules.Error} {
			f.Report.Findings = append(f.Report.Findings, replay.Finding{
				Rule: barrier.Rule("some-" + string(s)), Severity: s, Message: "m", Location: replay.Location{File: "k.cu", Line: uint32(i + 1)},
			})
		}
	}
	root.Location = replay.Location{File: "k.cu", Line: 99}
	f.Report.Findings = append(f.Report.Findings, root)
	return f
}

// GitHub shows ten of each kind and drops the rest: the worst come first, and
// it is said how many there are more.
func TestGitHubBounds(t *testing.T) {
	for _, tt := range []struct {
		n, gone int
		want    string // numbers of errors, warnings, notices
		more    string
	}{
		{2, 0, "7 4 4", ""},
		{3, 0, "9 6 6", ""},
		{3, 1, "9 6 7", ""},
		{4, 0, "10 8 9", "Not shown: 1 error."},
		{5, 0, "10 10 10", "Not shown: 3 errors, 1 notice."}, // a notice gives way to the line
		{20, 0, "10 10 10", "Not shown: 33 errors, 30 warnings, 31 notices."},
		{20, 2, "10 10 10", "Not shown: 33 errors, 30 warnings, 32 notices."},
	} {
		files := []File{many("a.zst", tt.n), many("b.zst", tt.n), {Name: "c.zst", Err: errors.New("c.zst: no such file")}}
		end := End{Baseline: "b.json", Gone: make([]Site, tt.gone)}
		n := map[string]int{}
		var all []parsed
		for line := range strings.Lines(written(t, GitHub, Options{}, files, end)) {
			if p, ok := parse(strings.TrimSuffix(line, "\n")); ok {
				n[p.kind]++
				all = append(all, p)
			}
		}
		if got := fmt.Sprint(n["error"], " ", n["warning"], " ", n["notice"]); got != tt.want {
			t.Errorf("%d: %s, want %s", tt.n, got, tt.want)
		}
		if all[0].properties["title"] != "not checked" || all[1].properties["title"] != "deadlock-tx" || all[2].properties["title"] != "deadlock-tx" {
			t.Errorf("%d: the worst do not come first: %v", tt.n, all[:3])
		}
		if last := all[len(all)-1]; !strings.Contains(last.message, tt.more) || (tt.more != "") != strings.Contains(last.message, "Not shown") {
			t.Errorf("%d: %q, want %q", tt.n, last.message, tt.more)
		}
	}
}
