package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What CONTRIBUTING.md names is there: tests, files and folders.
func TestContributingNamesWhatIsThere(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, top := range []string{"capture", "cmd", "replay", "trace", "tui"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(source, -1) {
				tests[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	named, paths := 0, 0
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(text), -1) {
		switch name := m[1]; {
		case regexp.MustCompile(`^Test\w+$`).MatchString(name):
			if named++; !tests[name] {
				t.Errorf("CONTRIBUTING.md names %s: there is no such test", name)
			}
		case regexp.MustCompile(`^(capture|cmd|replay|trace|tui|\.ci)/[\w./-]+$`).MatchString(name):
			paths++
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("CONTRIBUTING.md names %s: %v", name, err)
			}
		}
	}
	if named < 10 || paths < 20 {
		t.Errorf("CONTRIBUTING.md names %d tests and %d paths", named, paths)
	}
}
