package main

import (
	"context"
	"io"
	"iter"
	"runtime"
	"sync"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/report"
)

// job is a file that is being checked.
type job struct {
	name string
	m    *meter
	done chan report.File
}

// checkAll checks files side by side, one on each core, and yields them in
// their order. It runs ahead of the order by a few files only, so that the
// memory it takes does not grow with their number.
func checkAll(cmd *cobra.Command, files []traceFile, opt replay.Options, quiet bool) iter.Seq[report.File] {
	return func(yield func(report.File) bool) {
		// The checks end with the loop, also one that waits for standard input.
		outside := cmd.Context()
		ctx, cancel := context.WithCancel(outside)
		cmd.SetContext(ctx)
		defer cmd.SetContext(outside)
		cores := runtime.GOMAXPROCS(0)
		ahead := make(chan job, 4*cores)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(ahead)
			startAll(cmd, files, opt, ahead, cores)
		})
		defer wg.Wait()
		defer cancel()
		for j := range ahead {
			if !quiet {
				j.m.showOn(cmd.ErrOrStderr())
			}
			f := <-j.done
			j.m.stop()
			if !yield(f) {
				return
			}
		}
	}
}

// startAll starts the check of each file as soon as there is a core for it
// and the files before it are not too far behind. It returns when all are
// done.
func startAll(cmd *cobra.Command, files []traceFile, opt replay.Options, ahead chan<- job, cores int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	free := make(chan bool, cores)
	for _, f := range files {
		j := job{f.name, newMeter(io.Discard, "checking "+f.name, 0), make(chan report.File, 1)}
		select {
		case ahead <- j:
		case <-cmd.Context().Done():
			return
		}
		free <- true
		wg.Go(func() {
			defer func() { <-free }()
			if f.err != nil {
				j.done <- report.File{Name: f.name, Err: f.err}
				return
			}
			j.done <- checkFile(cmd, f.name, j.m, opt)
		})
	}
}

// showOn displays a meter that only counted so far.
func (m *meter) showOn(out io.Writer) {
	if isTerminal(out) {
		m.out = out
		m.quit, m.end = make(chan struct{}), make(chan struct{})
		go m.show()
	}
}
