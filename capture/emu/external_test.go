package emu_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExternalModule: another module tests a protocol of its own with this
// package, in its own `go test`: a ring between two warps, in which it finds
// the planted bug, and no other once that is fixed. It needs no network: what
// btrace depends on is there already.
func TestExternalModule(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	goTest := func() (string, error) {
		cmd := exec.Command("go", "test", "-count=1", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	write("go.mod", fmt.Appendf(nil, "module example.com/ring\n\ngo 1.26\n\nrequire btrace v0.0.0\n\nreplace btrace => %s\n", root))
	write("go.sum", read(filepath.Join(root, "go.sum")))
	for _, name := range []string{"ring.go", "ring_test.go"} {
		write(name, read(filepath.Join("testdata", "external", name)))
	}
	write("parity.go", read(filepath.Join("testdata", "external", "bug.go")))
	out, err := goTest()
	if err == nil || !strings.Contains(out, "--- FAIL: TestRing") ||
		!strings.Contains(out, "arrives as") && !strings.Contains(out, "hung under schedule replay:") {
		t.Errorf("the bug is not found: %v\n%s", err, out)
	}
	write("parity.go", read(filepath.Join("testdata", "external", "fix.go")))
	if out, err := goTest(); err != nil || !strings.Contains(out, "ok  \texample.com/ring") {
		t.Errorf("the fixed ring fails: %v\n%s", err, out)
	}
}
