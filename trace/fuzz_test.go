package trace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// seal makes the checksums and offsets of heads right, so that what is behind
// them is reached. The heads are those of a file, whose data follow each, or
// those of an index, whose first stands at off.
func seal(b []byte, off int, index bool) {
	for len(b) >= headLen {
		n, err := headSize(b)
		if err != nil || n > len(b) {
			return
		}
		packed := int(le.Uint32(b[32:]))
		le.PutUint64(b[16:], uint64(off))
		off += n + packed
		next := n
		if !index {
			if packed > len(b)-n {
				packed = len(b) - n
			}
			le.PutUint64(b[40:], sum64(b[n:n+packed]))
			next += packed
		}
		le.PutUint64(b[n-hashLen:], sum64(b[:n-hashLen]))
		b = b[next:]
	}
}

// FuzzReader opens anything and reads all of it.
func FuzzReader(f *testing.F) {
	file := small(f)
	f.Add(file, false)
	f.Add(file, true)
	f.Add(file[:len(file)/2], false)
	for _, h := range hostileFiles() {
		if len(h.file) < 4096 {
			f.Add(h.file, true)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = bytes.Clone(b)
			if len(b) >= fileHeadLen {
				seal(b[fileHeadLen:], fileHeadLen, false)
			}
		}
		r, err := NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		before := map[uint32]key{}
		for blk, err := range r.Blocks(t.Context(), Query{}) {
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				break
			}
			for i := range blk.Len() {
				k := blk.key(i)
				if last, ok := before[blk.Launch]; ok && k.less(last) {
					t.Fatal("rows out of order")
				}
				before[blk.Launch] = k
			}
		}
		must(t, r.Verify(t.Context()))
		for _, name := range r.SectionNames() {
			if _, _, err := r.Section(name); err != nil && r.Whole() {
				t.Fatal("a damaged section in a whole file")
			}
		}
		for range r.Check(t.Context()) {
		}
		exported(t, r, Query{})
		r.Info()
	})
}

// FuzzBlock decodes anything as a block. What comes out goes through a
// writer and comes back.
func FuzzBlock(f *testing.F) {
	for _, rows := range []int{1, 5} {
		p := payload(plain(rows))
		f.Add(p, uint32(rows), int64(0), int64(rows-1), uint32(rows-1))
	}
	r := open(f, small(f))
	fr := r.frameReader()
	for i := range r.blocks {
		h := &r.blocks[i]
		raw, err := fr.read(r, h, nil)
		must(f, err)
		f.Add(raw, h.Rows, h.Events.First.Time, h.Events.Last.Time, h.Events.Last.Seq)
	}
	f.Fuzz(func(t *testing.T, b []byte, rows uint32, first, last int64, seq uint32) {
		if rows == 0 || rows > 1<<12 {
			return
		}
		var d blockDecoder
		var buf blockBuffer
		// The range is the head's: take the CTA and warp from the rows.
		from, to := key{Time: first}, key{Time: last, Seq: seq}
		if d.decode(b, int(rows), from, to, nil, &buf) != nil {
			return
		}
		var evs []Event
		for i := range buf.Len() {
			var e Event
			buf.Event(i, &e)
			evs = append(evs, e)
		}
		if !slices.IsSortedFunc(evs, func(a, b Event) int { return a.Compare(&b) }) {
			t.Fatal("rows out of order")
		}
		var grouped blockBuffer
		var g Grouper
		pairs := func(cta uint32) uint32 { return cta / 2 }
		must(t, d.decode(b, int(rows), from, to, pairs, &grouped))
		sameEvents(t, rowsIn(&grouped.Block), rowsIn(g.Group(&buf.Block, pairs)))
		w, err := NewWriter(&limitedBuffer{limit: 1 << 26}, Options{MaxAge: -1})
		must(t, err)
		must(t, w.Begin(Launch{}))
		if w.Write(evs) != nil {
			return // a reader believes more than a writer takes
		}
		file := recorded(t, Options{}, func(w *Writer) {
			must(t, w.Begin(Launch{}))
			must(t, w.Write(evs))
		})
		sameEvents(t, rowsOf(t, open(t, file), Query{}), evs)
	})
}

// FuzzIndex reads anything as an index.
func FuzzIndex(f *testing.F) {
	r := open(f, small(f))
	raw := &RawReader{w: window{r: r.r, size: r.size}, off: fileHeadLen}
	for {
		frame, err := raw.Next()
		if err != nil {
			break
		}
		if frame.Type == FrameIndex {
			b, err := r.frameReader().read(r, &frame.head, nil)
			must(f, err)
			f.Add(b, int64(fileHeadLen), uint32(frame.Rows))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, off int64, n uint32) {
		if off < 0 || off > 1<<40 {
			return
		}
		b = bytes.Clone(b)
		seal(b, int(off), true)
		r := &Reader{byID: map[uint32]int{}}
		end, err := r.addIndex(b, off, n)
		if err == nil && (end < off || uint64(len(r.blocks)+len(r.starts)+len(r.ends)) > uint64(n)) {
			t.Fatal("an index of more than its heads")
		}
	})
}

// FuzzTail replaces what follows the close frame of a file: the sections,
// the end and the seek table. The events are never lost.
func FuzzTail(f *testing.F) {
	file := small(f)
	end := open(f, file).closed
	want := rowsOf(f, open(f, file), Query{})
	f.Add(file[end:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		bad := append(bytes.Clone(file[:end]), b...)
		r := open(t, bad)
		sameEvents(t, rowsOf(t, r, Query{}), want)
		for _, name := range r.SectionNames() {
			s, ok, err := r.Section(name)
			if !ok || err != nil && !errors.Is(err, ErrCorrupt) || s.Name != name && err == nil {
				t.Fatalf("section %q: %v %v", name, ok, err)
			}
		}
		c := &crashFile{b: bad, left: 1 << 30}
		if err := attach(c, []Section{{"x", 1, b}}); err != nil {
			if errors.Is(err, ErrFull) {
				return
			}
			t.Fatal(err)
		}
		if r := open(t, c.b); !r.Whole() || section(t, r, "x") != string(b) {
			t.Fatalf("attached: %v", r.Damage())
		}
	})
}

// FuzzImport reads anything as lines. What it takes comes out of the trace,
// and goes in again, unchanged.
func FuzzImport(f *testing.F) {
	paths, err := filepath.Glob("testdata/h100/hang*.ndjson")
	must(f, err)
	for _, path := range append(paths, "testdata/survivors.ndjson") {
		b, err := os.ReadFile(path)
		must(f, err)
		f.Add(string(b))
	}
	f.Add(launch0 + event("exit", `,"x":[{}]`))
	f.Fuzz(func(t *testing.T, in string) {
		w, err := NewWriter(&limitedBuffer{limit: 1 << 26}, Options{MaxAge: -1})
		must(t, err)
		if err := ImportNDJSON(strings.NewReader(in), w); err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of several lines: %q", err)
			}
			return
		}
		first := exported(t, open(t, imported(t, in, Options{})), Query{})
		if n, k := strings.Count(first, "\n"), nonEmptyLines(in); n != k {
			t.Fatalf("%d lines in, %d out", k, n)
		}
		second := exported(t, open(t, imported(t, first, Options{})), Query{})
		if first != second {
			t.Fatalf("exported\n%s\nimported and exported\n%s", first, second)
		}
	})
}

func nonEmptyLines(s string) (n int) {
	for line := range strings.Lines(strings.TrimPrefix(s, "\ufeff")) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}
