//go:build unix

package tui

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// A signal that ends a program, and a terminal that hangs up, leave the
// terminal as it was, too.
func TestSignalsRestoreTheTerminal(t *testing.T) {
	for _, sig := range endings() {
		ctx, stop := signal.NotifyContext(context.Background(), sig)
		x := startIn(t, ctx, hangConfig(), 80, 24)
		x.waitFor("✗ deadlock", "? help")
		if err := syscall.Kill(os.Getpid(), sig.(syscall.Signal)); err != nil {
			t.Fatal(err)
		}
		if err := x.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: the viewer ends with %v", sig, err)
		}
		stop()
	}
}
