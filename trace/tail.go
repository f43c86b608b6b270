package trace

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Section is a named, versioned addition to a trace, such as what a viewer
// needs to open at once. It can be computed again from the events, so a
// reader that does not know it, or another version of it, ignores it.
type Section struct {
	Name    string // 1 to MaxSectionName bytes
	Version int    // 0 to 1<<31-1
	Data    []byte // at most MaxSection
}

func (s *Section) check() error {
	switch {
	case s.Name == "" || len(s.Name) > MaxSectionName || !utf8.ValidString(s.Name):
		return fmt.Errorf("section %.40q: want a name of 1 to %d bytes", s.Name, MaxSectionName)
	case s.Version < 0 || s.Version > 1<<31-1:
		return fmt.Errorf("section %q: version %d is out of range", s.Name, s.Version)
	case len(s.Data) > MaxSection:
		return fmt.Errorf("section %q: %d bytes, want at most %d: store it in parts", s.Name, len(s.Data), MaxSection)
	}
	return nil
}

// packedSection is a section as its frame holds it.
type packedSection struct {
	head   head
	packed []byte
}

// name is the section's name, in the own part of its head.
func (h *head) sectionName() string { return string(h.Own[4:]) }

func (h *head) sectionVersion() int { return int(le.Uint32(h.Own)) }

const maxSectionSum = 32 << 20 // packed bytes of all sections

// AddSection adds a section, or replaces the one of that name. It is written
// when the trace is closed.
func (w *Writer) AddSection(name string, version int, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	s := Section{name, version, data}
	if err := s.check(); err != nil {
		return err
	}
	var packed []byte
	if len(data) > 0 {
		packed = w.zenc.EncodeAll(data, nil)
	}
	var err error
	w.sections, err = putSection(w.sections, &s, packed)
	return err
}

// putSection adds a section or replaces the one of its name.
func putSection(all []packedSection, s *Section, packed []byte) ([]packedSection, error) {
	own := le.AppendUint32(nil, uint32(s.Version))
	p := packedSection{
		head:   head{Type: FrameSection, Raw: uint32(len(s.Data)), Own: append(own, s.Name...)},
		packed: packed,
	}
	sum, at := len(packed), len(all)
	for i := range all {
		if all[i].head.sectionName() == s.Name {
			at = i
		} else {
			sum += len(all[i].packed)
		}
	}
	if sum > maxSectionSum || at == MaxSections {
		return all, fmt.Errorf("section %q: %w: sections of %d bytes", s.Name, ErrFull, sum)
	}
	if at < len(all) {
		all[at] = p
		return all, nil
	}
	return append(all, p), nil
}

// Close writes what is buffered, the rest of the index, the sections and the
// marks of a file that is complete. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.err != nil {
		return w.err
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.index()
	at := w.off
	w.emit(&head{Type: FrameClose, Own: w.totals.append(nil)}, nil)
	if w.err != nil {
		return w.err
	}
	t := tail{off: w.off, close: at, prevIndex: w.prevIndex, seek: w.seek}
	for i := range w.sections {
		w.write(t.section(&w.sections[i]))
	}
	w.write(t.end())
	if w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}

func (t *totals) append(b []byte) []byte {
	b = le.AppendUint64(b, t.rows)
	b = le.AppendUint64(b, t.threads)
	b = le.AppendUint32(b, t.blocks)
	return le.AppendUint32(b, t.launches)
}

func parseTotals(b []byte) totals {
	return totals{le.Uint64(b), le.Uint64(b[8:]), le.Uint32(b[16:]), le.Uint32(b[20:])}
}

// tail makes the frames that follow the close frame: the sections, the end
// frame and the seek table. They alone are written again when sections are
// attached.
type tail struct {
	off       int64 // where the next frame goes
	close     int64 // offset of the close frame
	prevIndex int64
	seek      []uint32 // of the frames so far
	sections  uint32
}

// section returns a section's frame.
func (t *tail) section(s *packedSection) []byte {
	h := s.head
	h.Offset, h.PrevIndex = t.off, t.prevIndex
	h.Packed, h.Sum = uint32(len(s.packed)), xxhash.Sum64(s.packed)
	b := appendHead(nil, &h)
	t.seek = appendSeek(t.seek, len(b), &h)
	b = append(b, s.packed...)
	t.off += int64(len(b))
	t.sections++
	return b
}

// end returns the end frame and the seek table.
func (t *tail) end() []byte {
	seek := append(t.seek, endLen, 0)
	table := le.AppendUint32(nil, seekMagic)
	table = le.AppendUint32(table, uint32(4*len(seek)+9))
	for _, n := range seek {
		table = le.AppendUint32(table, n)
	}
	table = le.AppendUint32(table, uint32(len(seek)/2))
	table = append(table, 0)
	table = le.AppendUint32(table, seekFoot)

	own := le.AppendUint64(nil, uint64(t.close))
	own = le.AppendUint64(own, xxhash.Sum64(table))
	own = le.AppendUint32(own, uint32(len(table)))
	own = le.AppendUint32(own, t.sections)
	h := head{Type: FrameEnd, Offset: t.off, PrevIndex: t.prevIndex, Sum: xxhash.Sum64(nil), Own: own}
	return append(appendHead(nil, &h), table...)
}

// endMark is what an end frame says.
type endMark struct {
	close    int64
	seekSum  uint64
	seekLen  int64
	sections uint32
}

func parseEnd(own []byte) endMark {
	return endMark{int64(le.Uint64(own)), le.Uint64(own[8:]), int64(le.Uint32(own[16:])), le.Uint32(own[20:])}
}

// appendSeek adds a head of n bytes and its data to a seek table: for each
// frame of the zstd format its size and that of its content.
func appendSeek(seek []uint32, n int, h *head) []uint32 {
	seek = append(seek, uint32(n), 0)
	if h.Packed > 0 {
		seek = append(seek, h.Packed, h.Raw)
	}
	return seek
}

// seekFooter returns the length of the seek table that ends with b, of 9
// bytes.
func seekFooter(b []byte) (int64, error) {
	n := int64(le.Uint32(b))
	if le.Uint32(b[5:]) != seekFoot || b[4] != 0 || n > 2*(maxFrames+MaxSections)+8 {
		return 0, errors.New("there is no seek table at the end")
	}
	return 8 + 8*n + 9, nil
}
