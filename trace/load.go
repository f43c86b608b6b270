package trace

import (
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// loadIndexed finds all frames by the end of the file and the index, and
// holds them against each other. Any error means that the file has to be
// walked.
func (r *Reader) loadIndexed() error {
	w := window{r: r.r, size: r.size}
	end, err := r.findEnd(&w)
	if err != nil {
		return err
	}
	mark := parseEnd(end.Own)
	c, err := w.head(mark.close)
	if err != nil || c.Type != FrameClose {
		return fmt.Errorf("there is no close frame at offset %d: %w", mark.close, orElse(err, errNoHead))
	}
	off, err := r.loadIndex(&w, c.PrevIndex)
	if err != nil {
		return err
	}
	if off != c.Offset {
		return fmt.Errorf("the index ends at offset %d, the data at %d", off, c.Offset)
	}
	if err := r.close(&c); err != nil {
		return err
	}
	off += c.hop()
	for range mark.sections {
		s, err := w.head(off)
		if err != nil || s.Type != FrameSection {
			return fmt.Errorf("there is no section at offset %d: %w", off, orElse(err, errNoHead))
		}
		if err := r.add(&s); err != nil {
			return err
		}
		off += s.hop()
	}
	if off != end.Offset {
		return fmt.Errorf("the sections end at offset %d, not at %d", off, end.Offset)
	}
	return nil
}

// findEnd returns the head of the end frame, whose seek table ends the file.
func (r *Reader) findEnd(w *window) (head, error) {
	if r.size < fileHeadLen+endLen+17 {
		return head{}, errors.New("the file has no end")
	}
	foot, err := w.bytes(r.size-9, 9)
	if err != nil {
		return head{}, err
	}
	n, err := seekFooter(foot)
	if err != nil {
		return head{}, err
	}
	off := r.size - n - endLen
	if off < fileHeadLen {
		return head{}, errors.New("the seek table is longer than the file")
	}
	end, err := w.head(off)
	if err != nil || end.Type != FrameEnd {
		return head{}, fmt.Errorf("there is no end frame at offset %d: %w", off, orElse(err, errNoHead))
	}
	sum, _, err := w.sum(off+endLen, n)
	if err != nil {
		return head{}, err
	}
	if m := parseEnd(end.Own); m.seekLen != n || m.seekSum != sum || end.Size != endLen {
		return head{}, errors.New("the seek table does not match its checksum")
	}
	return end, nil
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// loadIndex adds the frames that the chain of indices up to the one at that
// offset lists, and returns where the last of them ends.
func (r *Reader) loadIndex(w *window, last int64) (off int64, err error) {
	var chain []head
	for at := last; at != 0; {
		h, err := w.head(at)
		if err != nil || h.Type != FrameIndex {
			return 0, fmt.Errorf("there is no index at offset %d: %w", at, orElse(err, errNoHead))
		}
		if len(chain) == maxFrames/8 {
			return 0, errors.New("the chain of indices is too long")
		}
		chain = append(chain, h)
		at = h.PrevIndex // which is less than h.Offset: there is no loop
	}
	f := r.frameReader()
	defer r.release(f)
	off = fileHeadLen
	for i := len(chain) - 1; i >= 0; i-- {
		raw, err := f.read(r, &chain[i], f.raw)
		if err != nil {
			return 0, fmt.Errorf("the index at offset %d: %w", chain[i].Offset, err)
		}
		f.raw = raw
		if off, err = r.addIndex(raw, off, chain[i].Rows); err != nil {
			return 0, err
		}
		if off != chain[i].Offset {
			return 0, fmt.Errorf("the index at offset %d lists frames up to %d", chain[i].Offset, off)
		}
		off += chain[i].hop()
	}
	return off, nil
}

// addIndex adds the n heads in raw, the first of which stands at off.
func (r *Reader) addIndex(raw []byte, off int64, n uint32) (int64, error) {
	for range n {
		h, err := readHead(raw[:min(len(raw), maxHead)], off)
		if err != nil || h.Type == FrameIndex {
			return 0, fmt.Errorf("the index's head for offset %d: %w", off, orElse(err, errNoHead))
		}
		if err := r.add(&h); err != nil {
			return 0, err
		}
		raw = raw[h.Size:]
		off += h.hop()
	}
	if len(raw) > 0 {
		return 0, errors.New("an index with more than its heads")
	}
	return off, nil
}

// add notes a frame. Those of unknown types are passed over.
func (r *Reader) add(h *head) error {
	switch h.Type {
	case FrameLaunch:
		r.starts = append(r.starts, *h)
	case FrameLaunchEnd:
		r.ends = append(r.ends, *h)
	case FrameEvents:
		r.blocks = append(r.blocks, *h)
	case FrameLines:
		r.lines = append(r.lines, *h)
	case FrameSection:
		r.sections = append(r.sections, *h)
	}
	if len(r.blocks) > MaxBlocks || len(r.starts) > MaxLaunches || len(r.ends) > MaxLaunches ||
		len(r.lines) > MaxBlocks || len(r.sections) > MaxSections {
		return errors.New("more frames than a trace may have")
	}
	return nil
}

// close notes the close frame and holds its counts against the frames.
func (r *Reader) close(h *head) error {
	r.totals = parseTotals(h.Own)
	var n totals
	for i := range r.blocks {
		n.rows += uint64(r.blocks[i].Rows)
		n.threads += r.blocks[i].Events.Threads
	}
	n.blocks, n.launches = uint32(len(r.blocks)), uint32(len(r.starts))
	if n != r.totals {
		return fmt.Errorf("the file has %d blocks of %d events, and was closed with %d of %d", n.blocks, n.rows, r.totals.blocks, r.totals.rows)
	}
	r.closed = h.Offset + h.hop()
	return nil
}

// recover finds what can be found of a file whose end or index is not what
// it should be.
func (r *Reader) recover(why error) error {
	r.forget()
	raw := &RawReader{w: window{r: r.r, size: r.size}, off: fileHeadLen}
	// A file that was cut has most of its index: begin after that.
	if h, ok := raw.w.findLastHead(); ok && h.Type != FrameEnd {
		last := h.PrevIndex
		if h.Type == FrameIndex && h.Offset+h.hop() <= r.size {
			last = h.Offset
		}
		if off, err := r.loadIndex(&raw.w, last); err == nil {
			raw.off = off
		} else {
			r.forget()
		}
	}
	f := r.frameReader()
	defer r.release(f)
	for {
		frame, err := raw.Next()
		var d *DamageError
		switch {
		case err == nil:
			if err := r.recoverFrame(f, &frame.head); err != nil {
				return err
			}
			continue
		case errors.As(err, &d):
			r.addDamage(d.Damage)
			continue
		case !errors.Is(err, io.EOF):
			return err
		}
		break
	}
	r.countLost()
	if len(r.damage) == 0 {
		r.addDamage(Damage{Offset: r.size, Err: fmt.Errorf("%w: %w", ErrCorrupt, why)})
	}
	return nil
}

// countLost says how many rows a damaged stretch had, if there is only one
// and the close frame was found.
func (r *Reader) countLost() {
	if r.closed == 0 {
		return
	}
	lost := int64(r.totals.rows)
	for i := range r.blocks {
		lost -= int64(r.blocks[i].Rows)
	}
	at, unknown := 0, 0
	for i, d := range r.damage {
		if d.Rows < 0 {
			at, unknown = i, unknown+1
		}
	}
	if unknown == 1 && lost >= 0 {
		r.damage[at].Rows = lost
	}
}

func (r *Reader) forget() {
	r.blocks, r.lines, r.sections, r.starts, r.ends = nil, nil, nil, nil, nil
	r.closed = 0
}

// recoverFrame notes a frame that was found by walking the file.
func (r *Reader) recoverFrame(f *frameReader, h *head) error {
	var err error
	switch h.Type {
	case FrameClose:
		// Blocks that are missing are known damage, if their places are.
		if err = r.close(h); len(r.damage) > 0 {
			err = nil
		}
		r.closed = h.Offset + h.hop()
	case FrameIndex:
		raw, rerr := f.read(r, h, f.raw)
		if errors.Is(rerr, errRead) {
			return rerr
		}
		if err = rerr; err == nil {
			f.raw = raw
		}
	default:
		if r.add(h) != nil {
			r.trim()
			err = errors.New("more frames than a trace may have")
		}
	}
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		r.note(h, err)
	}
	return nil
}

// trim keeps what the limits allow.
func (r *Reader) trim() {
	r.blocks = r.blocks[:min(len(r.blocks), MaxBlocks)]
	r.starts = r.starts[:min(len(r.starts), MaxLaunches)]
	r.ends = r.ends[:min(len(r.ends), MaxLaunches)]
	r.lines = r.lines[:min(len(r.lines), MaxBlocks)]
	r.sections = r.sections[:min(len(r.sections), MaxSections)]
}

// copyRoom is how far beyond the data's end the decoder may write.
const copyRoom = 16

// frameReader reads and decompresses frames. It is reused.
type frameReader struct {
	z      *zstd.Decoder
	packed []byte
	raw    []byte
	buf    blockBuffer
	blockDecoder
}

// frameReader takes a frame reader out of the pool.
func (r *Reader) frameReader() *frameReader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		f := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return f
	}
	// The options are constants, so this cannot fail.
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(MaxSection), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return &frameReader{z: z}
}

// release puts a frame reader back. What a large section took is given up.
func (r *Reader) release(f *frameReader) {
	if cap(f.packed) > maxBlockRaw {
		f.packed = nil
	}
	if cap(f.raw) > maxBlockRaw {
		f.raw = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) < 2 {
		r.idle = append(r.idle, f)
	}
}

// read returns the data of a frame, in to if it is large enough. What is
// wrong with them is an ErrCorrupt.
func (f *frameReader) read(r *Reader, h *head, to []byte) ([]byte, error) {
	if h.Offset+h.hop() > r.size {
		return nil, fmt.Errorf("%w: a frame of %d bytes ends after the file", ErrCorrupt, h.hop())
	}
	f.packed = resize(f.packed, int(h.hop()))
	if n, err := r.r.ReadAt(f.packed, h.Offset); n < len(f.packed) {
		return nil, fmt.Errorf("%w at offset %d: %w", errRead, h.Offset+int64(n), noEOF(err))
	}
	// The head may be known from the index: the one in place must be it.
	inPlace, err := parseHead(f.packed[:h.Size], h.Offset)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	packed := f.packed[h.Size:]
	if inPlace.Sum != h.Sum || xxhash.Sum64(packed) != h.Sum {
		return nil, fmt.Errorf("%w: the data do not match their checksum", ErrCorrupt)
	}
	if h.Packed == 0 {
		return to[:0], nil
	}
	// With some room after the data the decoder copies faster. The largest
	// block gets none, as that would make its buffer twice as large.
	to = resize(to, max(int(h.Raw), min(int(h.Raw)+copyRoom, maxBlockRaw)))
	raw, err := f.z.DecodeAll(packed, to[:0:len(to)])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if len(raw) != int(h.Raw) {
		return nil, fmt.Errorf("%w: the data are %d bytes, not %d", ErrCorrupt, len(raw), h.Raw)
	}
	return to[:h.Raw], nil // which is raw, but with all its room
}
