package trace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// Attach adds sections to a trace file that was closed, or replaces those of
// the same names. It writes what follows the close frame anew and leaves the
// rest of the file alone: cut short, it costs the file its sections and no
// event, and a later Attach makes the file whole again.
func Attach(path string, sections []Section) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("attach sections: %w", err)
	}
	defer f.Close()
	if err := attach(f, sections); err != nil {
		return fmt.Errorf("attach sections to %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("attach sections to %s: %w", path, err)
	}
	return nil
}

// attachFile is what Attach needs of a file.
type attachFile interface {
	ReadAt(b []byte, off int64) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	Stat() (os.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

func attach(f attachFile, sections []Section) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		return fmt.Errorf("%w: it is a directory", ErrNotTrace)
	}
	r, err := NewReader(f, st.Size())
	if err != nil {
		return err
	}
	if r.closed == 0 {
		return fmt.Errorf("%w: only a trace that was closed can take sections", ErrTorn)
	}
	for _, d := range r.Damage() {
		if d.Offset < r.closed {
			return fmt.Errorf("offset %d: %w", d.Offset, d.Err)
		}
	}
	t, err := r.newTail()
	if err != nil {
		return err
	}
	all, err := r.packedSections()
	if err != nil {
		return err
	}
	zenc, err := newEncoder(false)
	if err != nil {
		return err
	}
	for i := range sections {
		s := &sections[i]
		if err := s.check(); err != nil {
			return err
		}
		var packed []byte
		if len(s.Data) > 0 {
			packed = zenc.EncodeAll(s.Data, nil)
		}
		if all, err = putSection(all, s, packed); err != nil {
			return err
		}
	}
	return t.write(f, all)
}

// write replaces what follows the close frame. The file is shortened first,
// so that it never holds half of the old end and half of the new one.
func (t *tail) write(f attachFile, all []packedSection) error {
	if err := f.Truncate(t.off); err != nil {
		return err
	}
	for i := range all {
		at := t.off
		if _, err := f.WriteAt(t.section(&all[i]), at); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt(t.end(), t.off); err != nil {
		return err
	}
	return f.Sync()
}

// newTail walks the data's heads, for the seek table.
func (r *Reader) newTail() (*tail, error) {
	t := &tail{off: r.closed, seek: []uint32{fileHeadLen, 0}}
	w := window{r: r.r, size: r.closed}
	for off := int64(fileHeadLen); off < r.closed; {
		h, err := w.head(off)
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w: %w", off, ErrCorrupt, err)
		}
		t.seek = appendSeek(t.seek, int(h.Size), &h)
		t.close, t.prevIndex = off, h.PrevIndex
		off += h.hop()
	}
	if t.close == 0 {
		return nil, fmt.Errorf("%w: the trace has no close frame", ErrCorrupt)
	}
	return t, nil
}

// packedSections reads the sections that the file has, as they are. Damaged
// ones are left behind.
func (r *Reader) packedSections() ([]packedSection, error) {
	f := r.frameReader()
	defer r.release(f)
	var all []packedSection
	for i := range r.sections {
		h := r.sections[i]
		if _, err := f.read(r, &h, nil); errors.Is(err, ErrCorrupt) {
			continue
		} else if err != nil {
			return nil, err
		}
		var err error
		s := Section{Name: h.sectionName(), Version: h.sectionVersion()}
		if all, err = putSection(all, &s, bytes.Clone(f.packed[h.Size:])); err != nil {
			return nil, err
		}
		for k := range all {
			if all[k].head.sectionName() == s.Name {
				all[k].head.Raw = h.Raw
			}
		}
	}
	return all, nil
}
