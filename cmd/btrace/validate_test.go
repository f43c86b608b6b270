package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// The workflow is an example that people copy: what its job does to
// sample-traces has to go through.
func TestWorkflow(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(".github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	commands := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "BTRACE: "); ok {
			flags = strings.Fields(v)
		}
		_, command, ok := strings.Cut(line, "btrace validate --format ")
		if !ok || !strings.Contains(line, "$BTRACE") {
			continue
		}
		commands++
		format, _, _ := strings.Cut(command, " ")
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), append([]string{"validate", "--format", format}, flags...), strings.NewReader(""), &stdout, &stderr)
		if code != exitClean || stderr.Len() > 0 || strings.Contains(stdout.String(), "::error") {
			t.Errorf("%s: exit code %d, %s%s", format, code, stdout.String(), stderr.String())
		}
	}
	if commands != 3 || len(flags) == 0 {
		t.Errorf("found %d commands with the flags %q", commands, flags)
	}
}

// brokenPipe takes so many bytes and no more.
type brokenPipe struct{ left int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

// When the verdicts cannot be written, the files that are still being checked
// are left, even one that waits for its recorder.
func TestValidateStopsWhenItCannotWrite(t *testing.T) {
	t.Chdir("../../sample-traces")
	silent, recorder := io.Pipe()
	defer recorder.Close()
	for _, format := range []string{"text", "json"} {
		var stderr bytes.Buffer
		code := run(context.Background(), []string{"validate", "--format", format, "pingpong.zst", "hang_cross.zst", "-"}, silent, &brokenPipe{100}, &stderr)
		if code != exitFailed || stderr.String() != "btrace: write output: no space left on device\n" {
			t.Errorf("%s: exit code %d, %s", format, code, stderr.String())
		}
	}
}

func TestInterruptedValidate(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	ctx, cancel := context.WithCancel(context.Background())
	silent, recorder := io.Pipe()
	defer recorder.Close()
	started := make(chan struct{})
	var stdout, stderr bytes.Buffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"validate", "-", "--write-baseline", "known.json"}, notify{silent, started}, &stdout, &stderr)
	}()
	<-started
	cancel()
	if code := <-done; code != exitFailed || stderr.String() != "btrace: interrupted\n" || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q, %q", code, stdout.String(), stderr.String())
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
