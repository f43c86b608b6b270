package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// Frame is a frame of a trace file: a head and the data that follow it.
type Frame struct {
	Type   FrameType
	Offset int64 // of the head in the file
	Bytes  int64 // of head and data
	Launch uint32
	Rows   int // warp events of a block; lines or heads of the frames that hold those
	head   head
}

// RawReader walks the frames of a file from its beginning, without the
// index, and believes nothing. It reads heads only, so what the data of a
// frame are worth is not yet known.
type RawReader struct {
	w      window
	off    int64
	frames int
	ended  endMark
	hasEnd bool
	done   bool
}

// NewRawReader reads the file head of the trace in r, of size bytes.
func NewRawReader(r io.ReaderAt, size int64) (*RawReader, error) {
	if _, err := checkFileHead(r, size); err != nil {
		return nil, err
	}
	return &RawReader{w: window{r: r, size: size}, off: fileHeadLen}, nil
}

// DamageError reports a stretch of a file that could not be read. The reader
// that returned it can go on after the stretch.
type DamageError struct{ Damage Damage }

func (e *DamageError) Error() string {
	return fmt.Sprintf("offset %d: %v", e.Damage.Offset, e.Damage.Err)
}

// Unwrap gives ErrTorn or ErrCorrupt to errors.Is.
func (e *DamageError) Unwrap() error { return e.Damage.Err }

// Next returns the next frame, io.EOF after the last one of a complete file,
// or a DamageError, after which it may be called again. Other errors are the
// file's own and final.
func (r *RawReader) Next() (Frame, error) {
	switch {
	case r.done:
		return Frame{}, io.EOF
	case r.hasEnd:
		r.done = true
		return Frame{}, r.seekTable()
	case r.off == r.w.size:
		r.done = true
		return Frame{}, r.damage(r.off, r.off, 0, fmt.Errorf("%w: the file ends before the trace does", ErrTorn))
	case r.frames == maxFrames:
		r.done = true
		return Frame{}, r.damage(r.off, r.w.size, -1, fmt.Errorf("%w: more than %d frames", ErrCorrupt, maxFrames))
	}
	h, err := r.w.head(r.off)
	if err != nil {
		return Frame{}, r.skip(err)
	}
	if end := r.off + h.hop(); end > r.w.size {
		at := r.off
		r.off, r.done = r.w.size, true
		return Frame{}, r.damage(at, r.w.size, h.rows(), fmt.Errorf("%w: %d bytes of a frame of %d are left", ErrTorn, r.w.size-at, h.hop()))
	}
	r.off += h.hop()
	r.frames++
	if h.Type == FrameEnd {
		r.ended, r.hasEnd = parseEnd(h.Own), true
	}
	return frameOf(h), nil
}

func frameOf(h head) Frame {
	return Frame{Type: h.Type, Offset: h.Offset, Bytes: h.hop(), Launch: h.Launch, Rows: int(h.Rows), head: h}
}

// rows is the number of warp events in the frame.
func (h *head) rows() int64 {
	if h.Type == FrameEvents {
		return int64(h.Rows)
	}
	return 0
}

func (r *RawReader) damage(from, to, rows int64, err error) error {
	return &DamageError{Damage{Offset: from, Bytes: to - from, Err: err, Rows: rows}}
}

// skip finds the next frame after one whose head could not be read.
func (r *RawReader) skip(why error) error {
	if errors.Is(why, errRead) {
		return why
	}
	at := r.off
	next, err := r.w.findHead(at + 1)
	if err != nil {
		return err
	}
	r.off = next
	if next < r.w.size {
		return r.damage(at, next, -1, fmt.Errorf("%w: %w", ErrCorrupt, why))
	}
	r.done = true
	if errors.Is(why, ErrTorn) {
		return r.damage(at, next, -1, why)
	}
	return r.damage(at, next, -1, fmt.Errorf("%w: %w", ErrCorrupt, why))
}

// seekTable checks what follows the end frame.
func (r *RawReader) seekTable() error {
	switch sum, n, err := r.w.sum(r.off, r.ended.seekLen); {
	case err != nil:
		return err
	case n < r.ended.seekLen:
		return r.damage(r.off, r.w.size, 0, fmt.Errorf("%w: %d bytes of a seek table of %d are left", ErrTorn, n, r.ended.seekLen))
	case sum != r.ended.seekSum:
		return r.damage(r.off, r.off+n, 0, fmt.Errorf("%w: the seek table does not match its checksum", ErrCorrupt))
	case r.off+n < r.w.size:
		return r.damage(r.off+n, r.w.size, 0, fmt.Errorf("%w: there are %d bytes after the end", ErrCorrupt, r.w.size-r.off-n))
	}
	return io.EOF
}

// errRead: the file could not be read, as opposed to what is in it.
var errRead = errors.New("cannot read the file")

// window reads a file through a small buffer.
type window struct {
	r    io.ReaderAt
	size int64
	at   int64
	buf  []byte
	room []byte
}

const windowSize = 64 << 10

// bytes returns n bytes at an offset, or fewer at the end of the file. They
// are valid until the next call.
func (w *window) bytes(off int64, n int) ([]byte, error) {
	if off < 0 || off >= w.size {
		return nil, nil
	}
	n = int(min(int64(n), w.size-off))
	if off < w.at || off+int64(n) > w.at+int64(len(w.buf)) {
		if w.room == nil {
			w.room = make([]byte, min(windowSize, w.size))
		}
		// Read ahead where the file is walked in small steps only.
		ahead := n
		if end := w.at + int64(len(w.buf)); off >= w.at && off < end+windowSize/4 {
			ahead = windowSize
		}
		w.at, w.buf = off, w.room[:min(int64(ahead), w.size-off)]
		if k, err := w.r.ReadAt(w.buf, off); k < len(w.buf) {
			w.buf = nil
			return nil, fmt.Errorf("%w at offset %d: %w", errRead, off, noEOF(err))
		}
	}
	b := w.buf[off-w.at:]
	return b[:min(n, len(b))], nil
}

// head reads the head at an offset.
func (w *window) head(off int64) (head, error) {
	b, err := w.bytes(off, maxHead)
	if err != nil {
		return head{}, err
	}
	return readHead(b, off)
}

// readHead reads the head that b begins with, which is all that the file has
// at the offset, or enough.
func readHead(b []byte, off int64) (head, error) {
	if len(b) < 12 {
		return head{}, fmt.Errorf("%w: %d bytes of a frame's head are left", ErrTorn, len(b))
	}
	n, err := headSize(b)
	if err != nil {
		return head{}, err
	}
	if n > len(b) {
		return head{}, fmt.Errorf("%w: %d bytes of a head of %d are left", ErrTorn, len(b), n)
	}
	return parseHead(b[:n], off)
}

// findHead returns the offset of the first head at or after off, or the size
// of the file.
func (w *window) findHead(off int64) (int64, error) {
	for off+headLen <= w.size {
		// What is buffered, if a whole head fits into it.
		n := int(w.at + int64(len(w.buf)) - off)
		if n < maxHead {
			n = windowSize
		}
		b, err := w.bytes(off, n)
		if err != nil {
			return 0, err
		}
		i := bytes.Index(b[8:], headTag)
		if i < 0 {
			off += int64(len(b) - 8 - len(headTag) + 1)
			continue
		}
		off += int64(i)
		if b = b[i:]; len(b) < maxHead && off+int64(len(b)) < w.size {
			continue // read on from the candidate
		}
		if _, err := readHead(b[:min(len(b), maxHead)], off); err == nil {
			return off, nil
		}
		off++
	}
	return w.size, nil
}

// findLastHead returns the last head of the file, if it is no further from
// the end than the largest frame is long.
func (w *window) findLastHead() (head, bool) {
	b := make([]byte, min(windowSize+maxHead, w.size))
	for end := w.size; end > fileHeadLen && w.size-end < 2*maxBlockRaw; {
		from := max(end-windowSize, fileHeadLen)
		n := int(min(w.size-from, int64(len(b))))
		if k, _ := w.r.ReadAt(b[:n], from); k < n {
			return head{}, false
		}
		for i := n; i >= 8; {
			if i = bytes.LastIndex(b[:i], headTag); i < 8 {
				break
			}
			at := i - 8
			if h, err := readHead(b[at:min(n, at+maxHead)], from+int64(at)); err == nil {
				return h, true
			}
		}
		if from == fileHeadLen {
			break
		}
		end = from + 12 // a head's tag may lie across
	}
	return head{}, false
}

// sum hashes n bytes at an offset, or fewer at the end of the file.
func (w *window) sum(off, n int64) (sum uint64, got int64, err error) {
	n = min(n, w.size-off)
	d := xxhash.New()
	for got < n {
		b, err := w.bytes(off+got, int(min(windowSize, n-got)))
		if err != nil {
			return 0, got, err
		}
		d.Write(b)
		got += int64(len(b))
	}
	return d.Sum64(), got, nil
}
