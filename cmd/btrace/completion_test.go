package main

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// complete asks btrace what a line completes to, without descriptions.
func complete(t *testing.T, line ...string) (words []string, directive string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), append([]string{"__completeNoDesc"}, line...), strings.NewReader(""), &out, &errs); code != exitClean {
		t.Fatalf("completing %q: exit code %d: %s", line, code, errs.String())
	}
	words = strings.Split(strings.TrimSpace(out.String()), "\n")
	return words[:len(words)-1], words[len(words)-1]
}

// Every flag that takes a value says what that completes to, and every command
// that takes arguments what those do: a flag or a command that was added is
// missed here.
func TestCompletionOfAll(t *testing.T) {
	arguments, flags := argumentCompletions(nil), flagCompletions()
	used := map[string]bool{}
	for _, name := range append(helpCommands(t), "man") {
		sections := help(t, name)
		for _, line := range sections["Flags:"] {
			m := helpValue.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			own, all := name+" --"+m[1], "--"+m[1]
			switch {
			case flags[own] != nil:
				used[own] = true
			case flags[all] != nil:
				used[all] = true
			default:
				t.Errorf("btrace %s --%s: completion.go does not say what it completes to", name, m[1])
			}
		}
		takes := regexp.MustCompile(`^  btrace ` + name + ` [A-Z|[]`)
		if slices.ContainsFunc(sections["Usage:"], func(s string) bool { return takes.MatchString(strings.Replace(s, " [flags]", "", 1)) }) {
			used[name] = true
			if arguments[name] == nil {
				t.Errorf("btrace %s: completion.go does not say what its arguments complete to", name)
			}
		}
	}
	for key := range flags {
		if !used[key] {
			t.Errorf("completion.go has %s, no command has", key)
		}
	}
	for key := range arguments {
		if !used[key] {
			t.Errorf("completion.go has arguments of %s, which takes none", key)
		}
	}
}

// Of a flag that takes one of a few words, those are offered, and named in the
// help, that the command takes: it lists them when it gets another.
func TestCompletionOfWords(t *testing.T) {
	found := 0
	for _, name := range helpCommands(t) {
		for _, line := range help(t, name)["Flags:"] {
			m := helpValue.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			flag := "--" + m[1]
			var errs bytes.Buffer
			args := []string{name, flag, "no-such-word", "absent.zst"}
			switch name {
			case "diff":
				args = append(args, "absent.zst")
			case "record":
				args = []string{name, flag, "no-such-word", "-o", t.TempDir() + "/x.zst"}
				if slices.Contains(appFlagNames(), m[1]) {
					args = append(args, "--", "absent")
				} else {
					args = append(args, "phase-countdown")
				}
			case "version", "kernels":
				args = args[:3]
			}
			run(context.Background(), args, strings.NewReader(""), &bytes.Buffer{}, &errs)
			takes := takesWords.FindStringSubmatch(errs.String())
			if takes == nil {
				continue
			}
			found++
			want := strings.Split(takes[1], ", ")
			if got, _ := complete(t, name, flag, ""); !slices.Equal(got, want) {
				t.Errorf("btrace %s %s completes to %v, but takes %v", name, flag, got, want)
			}
			for _, w := range want {
				if !strings.Contains(line, w) {
					t.Errorf("the help of btrace %s %s does not name %s", name, flag, w)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d flags take one of a few words", found)
	}
}

var (
	// A flag that takes a value, as help has it.
	helpValue  = regexp.MustCompile(`^  (?:-., |    )--([a-z-]+) [a-zA-Z0-9]+  +`)
	takesWords = regexp.MustCompile(`unknown --[a-z-]+ "no-such-word": it takes (.*)\n`)
)
