package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"btrace/capture/kernels"
)

// TestStories: what `btrace record` and `btrace diagnose` say of every bug of
// the gallery is short, names lanes and lines and the change to make, and is
// the text in testdata/stories. UPDATE_SCRIPTS=1 rewrites those.
func TestStories(t *testing.T) {
	dir, err := filepath.Abs("testdata/stories")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	bugs := make(map[string]bool)
	for _, k := range kernels.All() {
		if k.Expect.Verdict == "clean" {
			continue
		}
		bugs[k.Name+".txt"] = true
		t.Run(k.Name, func(t *testing.T) {
			got := story(t, &k)
			golden := filepath.Join(dir, k.Name+".txt")
			if os.Getenv("UPDATE_SCRIPTS") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != got {
				t.Errorf("the story is\n%s\nwant\n%s", got, want)
			}
			for what, form := range map[string]string{
				"the rule":   `(?m)^ *(error )?` + string(k.Expect.Rule) + `: `,
				"lanes":      `\bw[0-9]+(:l[0-9]+)?\b`,
				"a line":     `\b[a-z]+\.go:[0-9]+\b`,
				"the change": `(?m)^ *change: .{20}`,
			} {
				if !regexp.MustCompile(form).MatchString(got) {
					t.Errorf("the story does not name %s:\n%s", what, got)
				}
			}
			if n := strings.Count(got, "\n"); n > 20 {
				t.Errorf("the story has %d lines", n)
			}
		})
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !bugs[f.Name()] {
			t.Errorf("%s is the story of no kernel", f.Name())
		}
	}
}

// story records a kernel and returns its diagnosis.
func story(t *testing.T, k *kernels.Kernel) string {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(context.Background(), []string{"record", k.Name}, strings.NewReader(""), &out, &said); code != exitClean {
		t.Fatalf("record %s exits %d: %s", k.Name, code, said.String())
	}
	want := exitClean
	if k.Expect.Verdict == "deadlock" {
		want = exitFound
	}
	out.Reset()
	if code := run(context.Background(), []string{"diagnose", k.Name + ".zst"}, strings.NewReader(""), &out, &said); code != want {
		t.Fatalf("diagnose %s exits %d, want %d: %s", k.Name, code, want, said.String())
	}
	return out.String()
}
