package trace

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

var errLater = errors.New("trace: being written")

// Options says how a Writer writes.
type Options struct {
	BlockRows int           // warp events in a block; 0 = 65536, which is also the most
	MaxAge    time.Duration // a block is written at most this long after its first event; 0 = 1s, negative = no limit
	Fast      bool          // compress less and faster, for live capture
}

// Writer writes a trace. Its methods may be called from several goroutines.
type Writer struct{}

// NewWriter begins a trace on w.
func NewWriter(w io.Writer, o Options) (*Writer, error) { return nil, errLater }

// Begin declares a launch.
func (w *Writer) Begin(l Launch) error { return errLater }

// Write adds warp events of launches that have begun. They need not be sorted.
func (w *Writer) Write(evs []Event) error { return errLater }

// End records how a launch ended; extra is unknown keys as the inside of a JSON object.
func (w *Writer) End(launch uint32, o Outcome, extra string) error { return errLater }

// AddLine keeps a line of the interchange form whose type is unknown.
func (w *Writer) AddLine(raw string) error { return errLater }

// AddSection adds a section, written at Close.
func (w *Writer) AddSection(name string, version int, data []byte) error { return errLater }

// Flush writes what is buffered.
func (w *Writer) Flush() error { return errLater }

// Close completes the trace. It does not close the underlying writer.
func (w *Writer) Close() error { return errLater }

// FileWriter is a Writer on a file.
type FileWriter struct{ *Writer }

// Create begins a trace in a new file.
func Create(path string, o Options) (*FileWriter, error) { return nil, errLater }

// Close completes the trace and closes the file.
func (f *FileWriter) Close() error { return errLater }

// Abort closes and removes the file.
func (f *FileWriter) Abort() error { return errLater }

// Section is a named, versioned, discardable addition to a trace.
type Section struct {
	Name    string
	Version int
	Data    []byte
}

// Attach adds or replaces sections of a closed file.
func Attach(path string, sections []Section) error { return errLater }

// Reader reads a trace. Its methods may be called from several goroutines.
type Reader struct{}

// Open opens a trace file.
func Open(path string) (*Reader, error) { return nil, errLater }

// NewReader opens the trace in r.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) { return nil, errLater }

// Close closes the file, if Open opened one.
func (r *Reader) Close() error { return errLater }

// Launches returns the launches, in the order in which they began.
func (r *Reader) Launches() []Launch { return nil }

// Blocks returns the rows that q selects.
func (r *Reader) Blocks(ctx context.Context, q Query) iter.Seq2[*Block, error] { return nil }

// NumBlocks is the number of event blocks in the file.
func (r *Reader) NumBlocks() int { return 0 }

// ReadBlock reads event block i; the caller may keep it.
func (r *Reader) ReadBlock(i int) (*Block, error) { return nil, errLater }

// Section reads a section; the bool tells whether there is one.
func (r *Reader) Section(name string) (Section, bool, error) { return Section{}, false, errLater }

// SectionNames lists the sections.
func (r *Reader) SectionNames() []string { return nil }

// Damage lists what could not be read so far.
func (r *Reader) Damage() []Damage { return nil }

// Whole reports that the file was closed cleanly and no damage is known.
func (r *Reader) Whole() bool { return false }

// Verify reads everything, so that Damage is complete.
func (r *Reader) Verify(ctx context.Context) error { return errLater }

// Info describes a file as a whole.
type Info struct {
	Major, Minor int // format version
	Size         int64
	Blocks       int    // of events
	Rows         uint64 // warp events
	ThreadEvents uint64
	Launches     []LaunchInfo // as Launches
	Whole        bool
}

// LaunchInfo counts what a file has of one launch.
type LaunchInfo struct {
	ID           uint32
	Blocks       int
	Rows         uint64
	ThreadEvents uint64
	First, Last  int64 // times of the first and last row, ns
}

// Info describes the file.
func (r *Reader) Info() Info { return Info{} }

// ImportNDJSON adds the lines of r to w.
func ImportNDJSON(r io.Reader, w *Writer) error { return errLater }

// ExportNDJSON writes the rows that q selects as lines.
func ExportNDJSON(w io.Writer, r *Reader, q Query) error { return errLater }

// AppendNDJSON appends the line of e, without a newline.
func AppendNDJSON(b []byte, e *Event) []byte { return b }
