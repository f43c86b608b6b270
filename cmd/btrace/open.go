package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"btrace/trace"
	"btrace/trace/plain"
)

// openTrace opens a trace file; "-" is standard input. The errors say what to
// do about the commonest mistakes. The meter, if there is one, counts what is
// read.
func openTrace(cmd *cobra.Command, path string, m *meter) (*trace.Reader, func(), error) {
	if path == "-" {
		return spooled(cmd)
	}
	if err := readable(path); err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := readTrace(f, m)
	if err != nil {
		f.Close()
		return nil, nil, openError(path, err)
	}
	return r, func() { f.Close() }, nil
}

func readTrace(f *os.File, m *meter) (*trace.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if m == nil {
		return trace.NewReader(f, info.Size())
	}
	return trace.NewReader(m.readerAt(f), info.Size())
}

// spooled reads a trace that does not lie in a file: readers seek.
func spooled(cmd *cobra.Command) (*trace.Reader, func(), error) {
	f, err := os.CreateTemp("", "btrace-stdin-*.zst")
	if err != nil {
		return nil, nil, fmt.Errorf("keep standard input: %w", err)
	}
	remove := func() { f.Close(); os.Remove(f.Name()) }
	in := newMeter(io.Discard, "", 0).stream(cmd.Context(), cmd.InOrStdin())
	n, err := io.Copy(f, in)
	in.Close()
	if err == nil && n == 0 {
		err = errors.New("is empty")
	}
	var r *trace.Reader
	if err == nil {
		r, err = readTrace(f, nil)
	}
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("standard input: %w", err)
	}
	return r, remove, nil
}

// readable finds what no format can be read from.
func readable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s: is a directory, name a file in it", path)
	case info.Mode().IsRegular() && info.Size() == 0:
		return fmt.Errorf("%s: is empty", path)
	}
	return nil
}

func openError(path string, err error) error {
	if errors.Is(err, trace.ErrNotTrace) && startsWith(path, '{') {
		return fmt.Errorf("%s: not a btrace trace but looks like NDJSON: `btrace import %s` makes a trace of it", path, path)
	}
	if errors.Is(err, trace.ErrNotTrace) {
		return fmt.Errorf("%s: not a btrace trace", path)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// startsWith reports whether the first byte of the file is c.
func startsWith(path string, c byte) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [1]byte
	_, err = io.ReadFull(f, b[:])
	return err == nil && b[0] == c
}

// findLaunch returns the launch with the id, or the only or first one where
// none is asked for.
func findLaunch(r *trace.Reader, path string, id int64) (trace.Launch, error) {
	all := r.Launches()
	if len(all) == 0 {
		return trace.Launch{}, fmt.Errorf("%s: has no launch", path)
	}
	if id < 0 {
		return all[0], nil
	}
	for _, l := range all {
		if int64(l.ID) == id {
			return l, nil
		}
	}
	return trace.Launch{}, fmt.Errorf("%s: has no launch %d (`btrace info %s` lists them)", path, id, path)
}

// warnDamage says on stderr what of the file could not be read, and returns
// the exit code for a command that has shown the rest.
func warnDamage(cmd *cobra.Command, path string, r *trace.Reader) error {
	damage := r.Damage()
	if len(damage) == 0 {
		return nil
	}
	rows, known := int64(0), true
	for _, d := range damage {
		rows += d.Rows
		known = known && d.Rows >= 0
	}
	lost := "an unknown number of events is lost"
	switch {
	case known && rows == 0:
		lost = "no event is lost"
	case known:
		lost = fmt.Sprintf("%d warp events are lost", rows)
	}
	places := "1 place"
	if len(damage) > 1 {
		places = fmt.Sprintf("%d places", len(damage))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "btrace: %s: damaged in %s, %s: %s\n", plain.Text(path), places, lost, plain.Text(damage[0].Err.Error()))
	return exit(exitIncomplete)
}
