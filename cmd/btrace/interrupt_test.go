package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"
)

// An import that waits for a recorder which says nothing ends when it is
// interrupted, and leaves nothing behind.
func TestInterruptedImport(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	silent, recorder := io.Pipe()
	defer recorder.Close()
	started := make(chan struct{})
	var stdout, stderr bytes.Buffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"import", "-", "-o", "x.zst"}, notify{silent, started}, &stdout, &stderr)
	}()
	<-started
	cancel()
	if code := <-done; code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if got := stderr.String(); got != "btrace: interrupted\n" {
		t.Errorf("stderr %q", got)
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// notify tells when it is read from.
type notify struct {
	io.Reader
	started chan struct{}
}

func (n notify) Read(b []byte) (int, error) {
	close(n.started)
	return n.Reader.Read(b)
}
