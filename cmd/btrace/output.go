package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// output is a file being made. It gets its name only when it is complete, so
// that nothing half written is ever left behind; "-" is standard output.
type output struct {
	name string // what the user asked for
	tmp  string // where it is written
}

// newOutput checks that the file can be made.
func newOutput(name string) (*output, error) {
	dir := os.TempDir()
	if name != "-" {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real // write through a link, do not replace it
		}
		info, err := os.Stat(name)
		switch {
		case err == nil && info.IsDir():
			return nil, fmt.Errorf("%s: is a directory, name a file in it", name)
		case err == nil && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s: is not an ordinary file (- is standard output)", name)
		}
		dir = filepath.Dir(name)
	}
	tmp, err := os.MkdirTemp(dir, ".btrace-*")
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be written: %w", name, reason(err))
	}
	return &output{name: name, tmp: filepath.Join(tmp, "new.zst")}, nil
}

// commit gives the finished file its name, or copies it to standard output.
func (o *output) commit(stdout io.Writer) error {
	defer o.discard()
	if o.name != "-" {
		if err := os.Rename(o.tmp, o.name); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", o.name, reason(err))
		}
		return nil
	}
	f, err := os.Open(o.tmp)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(stdout, f); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// discard removes what was written; after commit it does nothing to the file.
func (o *output) discard() { os.RemoveAll(filepath.Dir(o.tmp)) }

// reason is what the system said, without the name of a temporary file.
func reason(err error) error {
	switch e := err.(type) {
	case *os.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
