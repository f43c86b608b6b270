package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"btrace/replay"
	"btrace/replay/report"
	"btrace/trace"
	"btrace/trace/plain"
)

// job is a file that is being checked.
type job struct {
	name string
	m    *meter
	done chan report.File
	took time.Duration // set when done
}

// checkAll checks files side by side, jobs of them at once (0: one on each
// core), and yields them in their order. It runs ahead of the order by a few
// files only, so that the memory it takes does not grow with their number.
//
// Cores go to files first: one file keeps a core busier than several cores
// keep each other with one file, and the less is replayed at once of each, the
// less memory it takes.
func checkAll(cmd *cobra.Command, files []traceFile, opt replay.Options, jobs int, quiet bool) iter.Seq[report.File] {
	return func(yield func(report.File) bool) {
		// The checks end with the loop, also one that waits for standard input.
		outside := cmd.Context()
		ctx, cancel := context.WithCancel(outside)
		cmd.SetContext(ctx)
		defer cmd.SetContext(outside)
		cores := runtime.GOMAXPROCS(0)
		jobs := max(1, min(cmp.Or(jobs, cores), len(files)))
		opt.Workers = max(1, cores/jobs)
		ahead := make(chan *job, 4*jobs)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(ahead)
			startAll(cmd, files, opt, ahead, jobs)
		})
		defer wg.Wait()
		defer cancel()
		begin := time.Now()
		var slow slowest
		for j := range ahead {
			if !quiet {
				j.m.showOn(cmd.ErrOrStderr())
			}
			f := <-j.done
			j.m.stop()
			slow.add(j.name, j.took)
			if !yield(f) {
				return
			}
		}
		if line := slow.line(time.Since(begin)); line != "" && !quiet {
			fmt.Fprintln(cmd.ErrOrStderr(), "btrace: "+plain.Text(line))
		}
	}
}

// startAll starts the check of each file as soon as there is a core for it
// and the files before it are not too far behind. It returns when all are
// done.
func startAll(cmd *cobra.Command, files []traceFile, opt replay.Options, ahead chan<- *job, jobs int) {
	var wg sync.WaitGroup
	defer wg.Wait()
	free := make(chan bool, jobs)
	for _, f := range files {
		j := &job{name: f.name, m: newMeter(io.Discard, "checking "+f.name, 0), done: make(chan report.File, 1)}
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
			begin := time.Now()
			checked := checkFile(cmd, f.name, j.m, opt)
			j.took = time.Since(begin)
			j.done <- checked
		})
	}
}

// slowest keeps the files that took longest.
type slowest struct {
	n     int
	first []timed
}

type timed struct {
	name string
	took time.Duration
}

func (s *slowest) add(name string, took time.Duration) {
	const most = 3
	s.n++
	at, _ := slices.BinarySearchFunc(s.first, took, func(t timed, took time.Duration) int { return cmp.Compare(took, t.took) })
	s.first = slices.Insert(s.first, at, timed{name, took})
	s.first = s.first[:min(len(s.first), most)]
}

// line says what took so long, where it took long; else it is empty. It is
// for people: a report does not depend on the time that it took.
func (s *slowest) line(all time.Duration) string {
	const long = 10 * time.Second
	if all < long || s.n < 2 {
		return ""
	}
	var parts []string
	for _, t := range s.first {
		parts = append(parts, fmt.Sprintf("%s %.1f s", t.name, t.took.Seconds()))
	}
	return fmt.Sprintf("%d traces took %.1f s; slowest: %s", s.n, all.Seconds(), strings.Join(parts, ", "))
}

// showOn displays a meter that only counted so far.
func (m *meter) showOn(out io.Writer) {
	if isTerminal(out) {
		m.out = out
		m.quit, m.end = make(chan struct{}), make(chan struct{})
		go m.show()
	}
}

// check replays one file, for what happened in it.
func check(cmd *cobra.Command, name string) report.File {
	m := newMeter(cmd.ErrOrStderr(), "checking "+name, 0)
	defer m.stop()
	return checkFile(cmd, name, m, replay.Options{NoHazards: true})
}

func checkFile(cmd *cobra.Command, name string, m *meter, opt replay.Options) report.File {
	r, closeTrace, err := openTrace(cmd, name, m)
	if err != nil {
		return report.File{Name: name, Err: err}
	}
	defer closeTrace()
	return checkTrace(cmd.Context(), name, r, opt)
}

// checkTrace reads the whole file first: a verdict has to take into account
// what is damaged at its very end.
func checkTrace(ctx context.Context, name string, r *trace.Reader, opt replay.Options) report.File {
	var found *replay.Report
	err := r.Verify(ctx)
	if err == nil {
		found, err = replay.Check(ctx, r, opt)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return report.File{Name: name, Report: found, Err: err}
}
