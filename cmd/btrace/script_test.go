package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"btrace":  main,
		"ptxas":   main, // what it acts as
		"cudaapp": cudaapp,
	})
}

// The scripts run the real program: its output, its exit codes, what it
// leaves behind. UPDATE_SCRIPTS=1 rewrites their golden parts.
func TestScripts(t *testing.T) {
	samples, err := filepath.Abs("../../sample-traces")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SAMPLES", samples)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"oneline": oneLine,
			"flip":    flip,
		},
	})
}

// exits runs a program and checks the code that it ends with:
// `exits 3 btrace validate x.zst`.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}

// oneLine checks that a stream (stdout, stderr) of the last program is one
// line of printable characters: the form of every error.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oneline stdout|stderr")
	}
	s := ts.ReadFile(args[0])
	if s == "" || s[len(s)-1] != '\n' {
		ts.Fatalf("%s is not a line: %q", args[0], s)
	}
	for _, r := range s[:len(s)-1] {
		if r == '\n' || !strconv.IsPrint(r) {
			ts.Fatalf("%s is not one printable line: %q", args[0], s)
		}
	}
}

// flip copies a file with one bit changed: `flip FILE OFFSET COPY`.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: flip FILE OFFSET COPY")
	}
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := []byte(ts.ReadFile(args[0]))
	b[at] ^= 8
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), b, 0o666))
}
