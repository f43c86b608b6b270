package trace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func writeFile(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.zst")
	must(t, os.WriteFile(path, b, 0o666))
	return path
}

func section(t tb, r *Reader, name string) string {
	t.Helper()
	s, ok, err := r.Section(name)
	if err != nil || !ok {
		t.Fatalf("section %s: %v %v", name, ok, err)
	}
	return string(s.Data)
}

func TestSections(t *testing.T) {
	r := open(t, small(t))
	s, ok, err := r.Section("levels")
	must(t, err)
	if !ok || s.Version != 3 || len(s.Data) != 320 {
		t.Errorf("%v %d %d", ok, s.Version, len(s.Data))
	}
	if s, ok, err := r.Section("empty"); !ok || err != nil || len(s.Data) != 0 {
		t.Errorf("%v %v %v", s, ok, err)
	}
	if _, ok, err := r.Section("other"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if names := r.SectionNames(); !slices.Equal(names, []string{"levels", "empty"}) {
		t.Errorf("%v", names)
	}
}

// Attaching adds and replaces sections, and changes nothing else.
func TestAttach(t *testing.T) {
	path := writeFile(t, small(t))
	for range 2 {
		must(t, Attach(path, []Section{{"levels", 4, []byte("new")}, {"checkpoints", 1, make([]byte, 1<<20)}}))
	}
	must(t, Attach(path, nil))
	r, err := Open(path)
	must(t, err)
	defer r.Close()
	must(t, r.Verify(t.Context()))
	if !r.Whole() {
		t.Fatalf("%v", r.Damage())
	}
	if section(t, r, "levels") != "new" || len(section(t, r, "checkpoints")) != 1<<20 || section(t, r, "empty") != "" {
		t.Error("sections differ")
	}
	if len(r.SectionNames()) != 3 {
		t.Errorf("%v", r.SectionNames())
	}
	sameEvents(t, rowsOf(t, r, Query{}), rowsOf(t, open(t, small(t)), Query{}))
	b, err := os.ReadFile(path)
	must(t, err)
	fresh := small(t)
	end := open(t, fresh).closed
	if !bytes.Equal(b[:end], fresh[:end]) {
		t.Error("the events' part of the file has changed")
	}
}

// A damaged section is reported, costs nothing else, and can be replaced.
func TestDamagedSection(t *testing.T) {
	file := small(t)
	h := open(t, file).sections[0]
	file[h.data()+3] ^= 1
	path := writeFile(t, file)
	r, err := Open(path)
	must(t, err)
	if _, ok, err := r.Section("levels"); !ok || !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v %v", ok, err)
	}
	must(t, r.Close())
	must(t, Attach(path, []Section{{"levels", 5, []byte("again")}}))
	r, err = Open(path)
	must(t, err)
	defer r.Close()
	must(t, r.Verify(t.Context()))
	if section(t, r, "levels") != "again" || !r.Whole() {
		t.Errorf("%v", r.Damage())
	}
}

// crashFile is a file in memory on which writing stops after some bytes, as
// when the power goes.
type crashFile struct {
	b    []byte
	left int
}

var errCrash = errors.New("crash")

func (c *crashFile) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(c.b).ReadAt(b, off)
}

func (c *crashFile) WriteAt(b []byte, off int64) (int, error) {
	n := min(len(b), c.left)
	c.left -= n
	c.b = append(c.b[:off], b[:n]...)
	if n < len(b) {
		return n, errCrash
	}
	return n, nil
}

func (c *crashFile) Truncate(size int64) error {
	if c.left == 0 {
		return errCrash
	}
	c.b = c.b[:size]
	return nil
}

func (c *crashFile) Sync() error                { return nil }
func (c *crashFile) Stat() (os.FileInfo, error) { return crashInfo{size: int64(len(c.b))}, nil }

type crashInfo struct{ size int64 }

func (i crashInfo) Name() string       { return "t.zst" }
func (i crashInfo) Size() int64        { return i.size }
func (i crashInfo) Mode() os.FileMode  { return 0o644 }
func (i crashInfo) ModTime() time.Time { return time.Time{} }
func (i crashInfo) IsDir() bool        { return false }
func (i crashInfo) Sys() any           { return nil }

// However far an Attach comes before the machine stops, the file is readable
// and no event is lost; it says if its end is missing; and attaching again
// makes it whole.
func TestAttachCutShort(t *testing.T) {
	file := small(t)
	want := rowsOf(t, open(t, file), Query{})
	add := []Section{{"levels", 9, []byte("ninth")}, {"more", 1, []byte("more")}}
	step := 1
	if testing.Short() {
		step = 7
	}
	for left := 0; ; left += step {
		f := &crashFile{b: bytes.Clone(file), left: left}
		err := attach(f, add)
		r := open(t, f.b)
		sameEvents(t, rowsOf(t, r, Query{}), want)
		if err == nil {
			if left < 100 || !r.Whole() {
				t.Fatalf("done after %d bytes: %v", left, r.Damage())
			}
			return
		}
		if !errors.Is(err, errCrash) {
			t.Fatalf("after %d bytes: %v", left, err)
		}
		if r.Whole() != (left == 0) {
			t.Fatalf("after %d bytes: whole %v", left, r.Whole())
		}
		f.left = 1 << 20
		must(t, attach(f, add))
		again := open(t, f.b)
		if !again.Whole() || section(t, again, "levels") != "ninth" {
			t.Fatalf("attached again after %d bytes: %v", left, again.Damage())
		}
	}
}

// What was not closed, or is damaged, takes no sections, and is left alone.
func TestAttachRefuses(t *testing.T) {
	file := small(t)
	end := open(t, file).closed
	bad := bytes.Clone(file)
	bad[open(t, file).blocks[0].Offset+9] ^= 1
	for name, c := range map[string]struct {
		b  []byte
		is error
	}{
		"cut":       {file[:end-1], ErrTorn},
		"damaged":   {bad, ErrCorrupt},
		"not a one": {[]byte("text"), ErrNotTrace},
	} {
		path := writeFile(t, c.b)
		if err := Attach(path, []Section{{"a", 1, nil}}); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, c.b) {
			t.Errorf("%s: the file has changed", name)
		}
	}
	path := writeFile(t, file)
	if err := Attach(path, []Section{{"", 1, nil}}); err == nil {
		t.Error("a section without a name")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, file) {
		t.Error("the file has changed")
	}
}

var _ io.ReaderAt = (*crashFile)(nil)
