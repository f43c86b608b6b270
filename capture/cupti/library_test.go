package cupti

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that looks like a toolkit, and a make that makes what it is told.
func toolkit(t *testing.T, make string, files ...string) {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range map[string]string{"make": make, "g++": "exit 1"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CUDA_HOME", dir)
	t.Setenv("CUDA_PATH", "")
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

const makesLibrary = `for a in "$@"; do case $a in OUT=*) echo library > "${a#OUT=}"; cp "$3/channel.h" "${a#OUT=}.h";; esac; done`

var cuptiHeaders = []string{"include/cuda.h", "extras/CUPTI/include/cupti.h"}

func TestLibraryIsBuiltOnce(t *testing.T) {
	toolkit(t, makesLibrary, cuptiHeaders...)
	var lines []string
	say := func(s string) { lines = append(lines, s) }
	first, err := CUPTI().Find(t.Context(), "", "/no/program", say)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(first); err != nil || string(b) != "library\n" {
		t.Errorf("%s: %q, %v", first, b, err)
	}
	if b, err := os.ReadFile(first + ".h"); err != nil || len(b) == 0 {
		t.Errorf("it was built without its sources: %v", err)
	}
	again, err := CUPTI().Find(t.Context(), "", "/no/program", say)
	if err != nil || again != first || len(lines) != 1 {
		t.Errorf("found %s after %s, %v; said %q", again, first, err, lines)
	}
}

func TestLibraryBesideProgram(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "libbtrace_cupti.so")
	if err := os.WriteFile(lib, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	quiet := func(s string) { t.Errorf("said %q", s) }
	for _, named := range []string{"", lib} {
		if got, err := CUPTI().Find(t.Context(), named, filepath.Join(dir, "btrace"), quiet); err != nil || got != lib {
			t.Errorf("found %s, %v", got, err)
		}
	}
	for _, named := range []string{dir, filepath.Join(dir, "no.so")} {
		if got, err := CUPTI().Find(t.Context(), named, filepath.Join(dir, "btrace"), quiet); err == nil {
			t.Errorf("%s: found %s", named, got)
		}
	}
}

// What is missing is said in one line, and a build that fails leaves nothing.
func TestLibraryMissing(t *testing.T) {
	for _, c := range []struct {
		make  string
		files []string
		want  string
	}{
		{makesLibrary, cuptiHeaders[1:], "include/cuda.h (the headers of the CUDA driver)"},
		{makesLibrary, cuptiHeaders[:1], "cupti.h (the headers of CUPTI)"},
		{"echo x.cc:1: error: no such thing; exit 2", cuptiHeaders, "x.cc:1: error: no such thing"},
	} {
		toolkit(t, c.make, c.files...)
		_, err := CUPTI().Find(t.Context(), "", "/no/program", func(string) {})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "btrace", "*")); len(left) > 0 {
			t.Errorf("left behind: %s", left)
		}
	}
}
