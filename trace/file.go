package trace

import (
	"fmt"
	"io"
	"os"
)

// FileWriter is a Writer on a file.
type FileWriter struct {
	*Writer
	f    *os.File
	done bool
}

// Create begins a trace in the file of that name, which is made or emptied.
func Create(path string, o Options) (*FileWriter, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create a trace: %w", err)
	}
	w, err := NewWriter(f, o)
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, fmt.Errorf("create the trace %s: %w", path, err)
	}
	return &FileWriter{Writer: w, f: f}, nil
}

// Close completes the trace and closes the file. A file that could not be
// completed is left as far as it came: its whole blocks can be read.
func (f *FileWriter) Close() error {
	err := f.Writer.Close()
	if cerr := f.f.Close(); err == nil && cerr != nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("close the trace %s: %w", f.f.Name(), err)
	}
	f.done = true
	return nil
}

// Abort gives the trace up: it closes and removes the file. After a Close
// that succeeded it does nothing.
func (f *FileWriter) Abort() error {
	if f.done {
		return nil
	}
	f.Writer.abort()
	f.f.Close()
	if err := os.Remove(f.f.Name()); err != nil {
		return fmt.Errorf("remove the unfinished trace: %w", err)
	}
	return nil
}

func (w *Writer) abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.err == nil {
		w.err = errClosed
	}
}

// Open opens a trace file.
func Open(path string) (*Reader, error) {
	st, err := os.Stat(path) // first: to open a pipe is to wait for its writer
	if err != nil {
		return nil, fmt.Errorf("open a trace: %w", err)
	}
	switch mode := st.Mode(); {
	case mode.IsDir():
		return nil, fmt.Errorf("open %s: %w: it is a directory", path, ErrNotTrace)
	case !mode.IsRegular():
		return nil, fmt.Errorf("open %s: %w: it is no regular file; save it to one first", path, ErrNotTrace)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a trace: %w", err)
	}
	r, err := NewReader(f, st.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	r.file = f
	return r, nil
}

// Close closes the file, if Open opened one. No iterator may be in use.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

var _ io.Closer = (*Reader)(nil)
