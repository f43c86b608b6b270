package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"btrace/replay"
)

func TestSourcesAreFoundHere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"src/gemm/a.cu", "src/a.cu", "out.cu"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ folder, recorded, want string }{
		{"src", "a.cu", "src/a.cu"},
		{"src", "/build/17/gemm/a.cu", "src/gemm/a.cu"},
		{"src", "/build/17/other/a.cu", "src/a.cu"},
		{"src", `C:\build\gemm\a.cu`, "src/gemm/a.cu"},
		{".", "/build/src/gemm/a.cu", "src/gemm/a.cu"},
		{"src", "../out.cu", "../out.cu"}, // not in the folder
		{"src", "gemm", "gemm"},           // not a file
		{"src", "/", "/"},
		{"src", "", ""},
		{"src", strings.Repeat("x/", 5000) + "a.cu", strings.Repeat("x/", 5000) + "a.cu"},
		{"src", strings.Repeat("x/", 100) + "a.cu", "src/a.cu"},
		{"", "a.cu", "a.cu"},
	} {
		s, err := newSources(tt.folder)
		if err != nil {
			t.Fatal(err)
		}
		r := &replay.Report{Findings: []replay.Finding{{
			Location: replay.Location{File: tt.recorded}, Behind: []replay.Wait{{Location: replay.Location{File: tt.recorded}}},
		}}}
		s.rename(r)
		s.rename(nil)
		if f := r.Findings[0]; f.Location.File != tt.want || f.Behind[0].Location.File != tt.want {
			t.Errorf("%s in %s: %s, %s, want %s", tt.recorded, tt.folder, f.Location.File, f.Behind[0].Location.File, tt.want)
		}
	}
	for _, folder := range []string{"nosuch", "out.cu"} {
		if _, err := newSources(folder); err == nil {
			t.Errorf("--source %s is taken", folder)
		}
	}
}
