package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// An export that is interrupted, whenever it is, leaves the file as it was
// that it was to replace, and nothing beside it.
func TestInterruptedExport(t *testing.T) {
	sample, err := filepath.Abs("../../sample-traces/cuda-cluster-exchange.zst")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, form := range []string{"ndjson", "csv", "parquet", "perfetto", "html"} {
		t.Run(form, func(t *testing.T) {
			if err := os.WriteFile(form, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			stopped := 0
			for looks := int64(0); ; looks += 1 + looks/4 {
				var stdout, stderr bytes.Buffer
				code := run(newImpatient(looks), []string{"export", sample, "--to", form, "-o", form}, strings.NewReader(""), &stdout, &stderr)
				now, err := os.ReadFile(form)
				if err != nil {
					t.Fatal(err)
				}
				if code == exitClean {
					if string(now) == "old" {
						t.Error("nothing was exported")
					}
					break
				}
				stopped++
				if code != exitFailed || stderr.String() != "btrace: interrupted\n" {
					t.Errorf("after %d looks: exit code %d, stderr %q", looks, code, stderr.String())
				}
				if string(now) != "old" {
					t.Fatalf("after %d looks: the file was replaced", looks)
				}
			}
			if stopped == 0 {
				t.Error("the export never looked whether it is to stop")
			}
			if left, err := filepath.Glob(".btrace-*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// impatient is a context that is cancelled when it has been looked at so
// often.
type impatient struct {
	context.Context
	cancel context.CancelFunc
	looks  atomic.Int64
}

func newImpatient(looks int64) *impatient {
	c := &impatient{}
	c.Context, c.cancel = context.WithCancel(context.Background())
	c.looks.Store(looks)
	return c
}

func (c *impatient) Err() error {
	if c.looks.Add(-1) < 0 {
		c.cancel()
	}
	return c.Context.Err()
}
