package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// Options says how a Writer writes.
type Options struct {
	// BlockRows is how many warp events a block holds at most. 0 means
	// MaxBlockRows, which is also the most; fewer make a file larger.
	BlockRows int
	// MaxAge is the time after which an event is written at the latest, even
	// if its block is not full, so that a recording that dies has lost no
	// more than that. 0 means one second; less than 0 means any time.
	MaxAge time.Duration
	// Fast compresses less and faster, for live capture.
	Fast bool
}

// Writer writes a trace as a stream, with bounded memory. Its methods may be
// called from several goroutines. After an error of the underlying writer
// every method returns that error.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	opts Options
	err  error // of the underlying writer, or closed

	zenc    *zstd.Encoder
	blocks  blockEncoder
	sorter  rowSorter
	payload []byte // of a block
	packed  []byte
	frame   []byte

	ops      opTable
	extras   textTable
	launches []*launchRows
	byID     map[uint32]*launchRows
	current  *launchRows // the launch that was last spoken of
	text     int         // bytes of launch lines
	buffered int         // rows
	spare    rowTable

	lines    []byte // kept lines not yet written
	linesOf  head   // the head of the frame that they will be
	sections []packedSection

	timer *time.Timer
	since time.Time // when the oldest buffered row came
	half  time.Time // when the buffer became half full

	off       int64
	numFrames int
	heads     []byte // since the latest index
	numHeads  uint32
	prevIndex int64
	seek      []uint32 // packed and raw size of each zstd frame
	totals    totals
}

// totals is what the close frame says.
type totals struct {
	rows, threads    uint64
	blocks, launches uint32
}

// launchRows is a launch that is being written.
type launchRows struct {
	id    uint32
	ended bool
	rowTable
	unsorted bool
	accepted uint64 // rows that came
	lasts    []int64
	latest   []int64 // greatest of lasts so far
}

var errClosed = errors.New("the trace is closed")

// NewWriter begins a trace on w.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	if o.BlockRows < 0 || o.BlockRows > MaxBlockRows {
		return nil, fmt.Errorf("blocks of %d rows: want 1 to %d, or 0", o.BlockRows, MaxBlockRows)
	}
	if o.BlockRows == 0 {
		o.BlockRows = MaxBlockRows
	}
	if o.MaxAge == 0 {
		o.MaxAge = time.Second
	}
	zenc, err := newEncoder(o.Fast)
	if err != nil {
		return nil, err
	}
	t := &Writer{w: w, opts: o, zenc: zenc, byID: map[uint32]*launchRows{}}
	t.ops.reset()
	t.write(appendFileHead(nil))
	t.seek = append(t.seek, fileHeadLen, 0)
	return t, t.err
}

func newEncoder(fast bool) (*zstd.Encoder, error) {
	level := zstd.SpeedDefault
	if fast {
		level = zstd.SpeedFastest
	}
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(256<<10), zstd.WithEncoderCRC(true))
}

// Begin declares a launch, whose events may follow. Its Outcome, EndExtra and
// Ended are End's to say.
func (w *Writer) Begin(l Launch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.byID[l.ID] != nil {
		return fmt.Errorf("begin launch %d: there is one already", l.ID)
	}
	if err := l.check(); err != nil {
		return fmt.Errorf("begin launch %d: %w", l.ID, err)
	}
	line := appendLaunch(nil, &l)
	w.text += len(line)
	if len(w.launches) == MaxLaunches || w.text > maxLaunchText {
		return fmt.Errorf("begin launch %d: %w: record in several files", l.ID, ErrFull)
	}
	w.flushLines()
	w.emit(&head{Type: FrameLaunch, Launch: l.ID}, line)
	st := &launchRows{id: l.ID}
	w.launches, w.byID[l.ID], w.current = append(w.launches, st), st, st
	w.totals.launches++
	return w.err
}

// Write adds warp events of launches that have begun. They need not be
// sorted: what is buffered, up to twice BlockRows, is put in order, and
// blocks whose times overlap are merged by a reader, as long as no more than
// MaxOverlap of them do. If an event is refused those before it are kept.
func (w *Writer) Write(evs []Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && len(evs) > 0 {
		w.arm()
	}
	for i := range evs {
		if w.err != nil {
			return w.err
		}
		if err := w.add(&evs[i]); err != nil {
			e := &evs[i]
			return fmt.Errorf("launch %d, CTA %d, warp %d, seq %d at %d ns: %w", e.Launch, e.CTA, e.Warp, e.Seq, e.Time, err)
		}
	}
	return w.err
}

func (w *Writer) add(e *Event) error {
	st := w.current
	if st == nil || st.id != e.Launch {
		if st = w.byID[e.Launch]; st == nil {
			return errors.New("its launch has not begun")
		}
		w.current = st
	}
	if len(w.ops.ops) == maxTemplates || w.ops.text+w.extras.text > maxWindowText {
		if err := w.flushRows(); err != nil {
			return err
		}
	}
	op, err := w.ops.add(&e.Op)
	if err != nil {
		return err
	}
	extra := uint32(0)
	if e.Has.Has(FieldExtra) {
		if extra, err = w.extras.add(e.Extra); err != nil {
			return err
		}
	}
	if st.rows == nil {
		st.rowTable, w.spare = w.spare, rowTable{}
	}
	st.add(e, op, extra)
	if n := len(st.rows); n > 1 {
		st.unsorted = st.unsorted || st.rows[n-1].before(&st.rows[n-2])
	}
	st.accepted++
	w.buffered++
	switch w.buffered {
	case w.opts.BlockRows:
		w.half = time.Now()
	case 2 * w.opts.BlockRows:
		return w.cut()
	}
	return nil
}

// End records how a launch ended; extra is unknown keys of its line, as the
// inside of a JSON object.
func (w *Writer) End(launch uint32, o Outcome, extra string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	st := w.byID[launch]
	switch {
	case st == nil:
		return fmt.Errorf("end launch %d: it has not begun", launch)
	case st.ended:
		return fmt.Errorf("end launch %d: it has ended already", launch)
	}
	l := Launch{ID: launch, Outcome: o, EndExtra: extra, Ended: true}
	if err := l.check(); err != nil {
		return fmt.Errorf("end launch %d: %w", launch, err)
	}
	if err := w.flushLaunch(st); err != nil {
		return err
	}
	w.flushLines()
	w.emit(&head{Type: FrameLaunchEnd, Launch: launch}, appendLaunchEnd(nil, &l))
	st.ended, w.current = true, st
	return w.err
}

// AddLine keeps a line of the interchange form whose type is unknown, for
// export. It stands after the rows that were written before it.
func (w *Writer) AddLine(raw string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case len(raw) > MaxLine:
		return fmt.Errorf("a line of %d bytes: want at most %d", len(raw), MaxLine)
	case !validLine(raw):
		return errors.New("a line that is no JSON object on one line")
	}
	h := head{Type: FrameLines, Flags: noLaunch}
	at := uint64(0)
	if st := w.current; st != nil {
		h.Flags, h.Launch, at = 0, st.id, st.accepted
		if st.ended {
			h.Flags = afterEnd
		}
	}
	if len(w.lines) > 0 && (h.Launch != w.linesOf.Launch || h.Flags != w.linesOf.Flags) {
		w.flushLines()
	}
	w.arm()
	h.Rows = w.linesOf.Rows + 1
	w.linesOf = h
	w.lines = binary.AppendUvarint(w.lines, at)
	w.lines = binary.AppendUvarint(w.lines, uint64(len(raw)))
	w.lines = append(w.lines, raw...)
	if len(w.lines) > maxLinesText {
		w.flushLines()
	}
	return w.err
}

func (w *Writer) flushLines() {
	if len(w.lines) == 0 {
		return
	}
	h := w.linesOf
	w.emit(&h, w.lines)
	w.lines, w.linesOf = w.lines[:0], head{}
}

// Flush writes all that is buffered.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return w.flush()
}

func (w *Writer) flush() error {
	if err := w.flushRows(); err != nil {
		return err
	}
	w.flushLines()
	return w.err
}

// arm starts the clock of MaxAge when something is buffered for the first
// time.
func (w *Writer) arm() {
	if w.buffered > 0 || len(w.lines) > 0 || w.opts.MaxAge < 0 {
		return
	}
	w.since = time.Now()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.opts.MaxAge, w.expire)
		return
	}
	w.timer.Reset(w.opts.MaxAge)
}

// expire writes what has become too old. What fails is reported by the next
// call of any method.
func (w *Writer) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.buffered == 0 && len(w.lines) == 0 {
		return
	}
	if left := w.opts.MaxAge - time.Since(w.since); left > 0 {
		w.timer.Reset(left)
		return
	}
	if err := w.flush(); err != nil && w.err == nil {
		w.err = err
	}
}

// emit writes a frame: a head and, if there is any, its data.
func (w *Writer) emit(h *head, raw []byte) {
	if w.err != nil {
		return
	}
	h.Raw = uint32(len(raw))
	w.packed = w.packed[:0]
	if len(raw) > 0 {
		w.packed = w.zenc.EncodeAll(raw, w.packed)
	}
	w.emitPacked(h, w.packed)
}

func (w *Writer) emitPacked(h *head, packed []byte) {
	if w.numFrames >= maxFrames {
		w.err = fmt.Errorf("%w: record in several files", ErrFull)
		return
	}
	h.Offset, h.PrevIndex = w.off, w.prevIndex
	h.Packed, h.Sum = uint32(len(packed)), xxhash.Sum64(packed)
	w.frame = appendHead(w.frame[:0], h)
	n := len(w.frame)
	w.frame = append(w.frame, packed...)
	w.write(w.frame) // in one piece: a crash tears no frame that need not be
	w.seek = appendSeek(w.seek, n, h)
	w.numFrames++
	if h.Type >= FrameIndex {
		return
	}
	w.heads = append(w.heads, w.frame[:n]...)
	if w.numHeads++; w.numHeads == indexEvery {
		w.index()
	}
}

// index writes the heads since the index before.
func (w *Writer) index() {
	if w.numHeads == 0 {
		return
	}
	at := w.off
	w.emit(&head{Type: FrameIndex, Rows: w.numHeads}, w.heads)
	w.heads, w.numHeads, w.prevIndex = w.heads[:0], 0, at
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(b)
	w.off += int64(n)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("write the trace at offset %d: %w", w.off, err)
	}
}

// validLine reports whether s is a JSON object on one line.
func validLine(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && validExtra([]byte(s[1:len(s)-1]))
}
