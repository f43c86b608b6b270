package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// small is a file with all types of frames: two launches, blocks of four
// rows, kept lines, several indices, sections.
func small(t tb) []byte { return smallFile(t, 2) }

func smallFile(t tb, launches uint32) []byte {
	t.Helper()
	return recorded(t, Options{BlockRows: 4}, func(w *Writer) {
		must(t, w.AddLine(`{"type":"session","host":"a"}`))
		for id := range launches {
			must(t, w.Begin(Launch{ID: id, Kernel: fmt.Sprintf("k%d", id), Grid: Dim{4, 1, 1}}))
			for i := range 14 {
				must(t, w.Write([]Event{smallEvent(id, i)}))
			}
			must(t, w.Flush())
			must(t, w.AddLine(`{"type":"note","of":"all"}`))
			must(t, w.End(id, OutcomeCompleted, ""))
		}
		must(t, w.AddSection("levels", 3, bytes.Repeat([]byte("level of detail "), 20)))
		must(t, w.AddSection("empty", 0, nil))
	})
}

func smallEvent(launch uint32, i int) Event {
	e := Event{Launch: launch, Time: int64(100 * i), CTA: uint32(i % 4), Seq: uint32(i / 4)}
	e.Kind, e.Lanes, e.Addr = KindMbarArrive, 1, 1024
	e.Phase, e.Clk = uint64(i), int64(35_000_000_000+i*211)
	e.Has = e.Has.With(FieldAddr, FieldPhase, FieldClk)
	return e
}

// wholeRows is how many rows the blocks have that end at or before a cut.
func wholeRows(r *Reader, cut int64) (rows int) {
	for i := range r.blocks {
		if h := &r.blocks[i]; h.Offset+h.hop() <= cut {
			rows += int(h.Rows)
		}
	}
	return rows
}

// A file cut at any byte gives back every whole block and says that it is
// cut.
func TestCutAtEveryByte(t *testing.T) {
	file := small(t)
	whole := open(t, file)
	all := rowsOf(t, whole, Query{})
	if len(all) != 28 || !whole.Whole() {
		t.Fatalf("%d rows", len(all))
	}
	for cut := range len(file) {
		if testing.Short() && cut%7 > 0 {
			continue
		}
		r, err := NewReader(bytes.NewReader(file[:cut]), int64(cut))
		if cut < fileHeadLen {
			if !errors.Is(err, ErrTorn) && !errors.Is(err, ErrNotTrace) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		rows := rowsOf(t, r, Query{})
		if want := wholeRows(whole, int64(cut)); len(rows) != want {
			t.Fatalf("cut at %d: %d rows, want %d", cut, len(rows), want)
		}
		sameEvents(t, rows, all[:len(rows)])
		if r.Whole() || len(r.Damage()) == 0 {
			t.Fatalf("cut at %d: it does not say so", cut)
		}
		for _, d := range r.Damage() {
			if !errors.Is(d.Err, ErrTorn) || errors.Is(d.Err, ErrCorrupt) || d.Offset > int64(cut) {
				t.Fatalf("cut at %d: %+v", cut, d)
			}
		}
		if n := len(r.Launches()); len(rows) > 14 && n != 2 {
			t.Fatalf("cut at %d: %d launches", cut, n)
		}
	}
}

// The number of rows that a cut took from the block it is in is known as
// soon as the block's head is there.
func TestCutSaysHowManyRowsAreLost(t *testing.T) {
	file := small(t)
	h := open(t, file).blocks[2]
	cut := h.data() + 1
	d := open(t, file[:cut]).Damage()
	if len(d) != 1 || d[0].Rows != int64(h.Rows) || d[0].Offset != h.Offset || d[0].Bytes != cut-h.Offset {
		t.Errorf("damage %+v, want %d rows at %d", d, h.Rows, h.Offset)
	}
}

// A flipped bit is always found: by opening the file, by reading its rows or
// by verifying it; and no more than the block that it is in is lost.
func TestEveryFlippedBitIsFound(t *testing.T) {
	file := smallFile(t, 1)
	whole := open(t, file)
	all := rowsOf(t, whole, Query{})
	for i := range file {
		for bit := range 8 {
			if testing.Short() && bit != i%8 {
				continue // a bit of each byte
			}
			bad := bytes.Clone(file)
			bad[i] ^= 1 << bit
			r, err := NewReader(bytes.NewReader(bad), int64(len(bad)))
			if err != nil {
				if i >= fileHeadLen {
					t.Fatalf("byte %d: not opened: %v", i, err)
				}
				continue
			}
			rows := rowsOf(t, r, Query{})
			if r.Whole() {
				must(t, r.Verify(context.Background()))
			}
			if r.Whole() {
				t.Fatalf("byte %d bit %d: not found", i, bit)
			}
			if len(rows) < len(all)-4 {
				t.Fatalf("byte %d bit %d: %d rows left: %v", i, bit, len(rows), r.Damage())
			}
			for _, e := range rows {
				if !slices.Contains(all, e) {
					t.Fatalf("byte %d bit %d: an event that was never written: %+v", i, bit, e)
				}
			}
			for _, d := range r.Damage() {
				if !errors.Is(d.Err, ErrCorrupt) && !errors.Is(d.Err, ErrTorn) {
					t.Fatalf("byte %d bit %d: %v", i, bit, d.Err)
				}
				if strings.Contains(d.Err.Error(), "\n") {
					t.Fatalf("an error of several lines: %q", d.Err)
				}
			}
		}
	}
}

// A block whose data are damaged is passed over and reported with its rows.
func TestDamagedBlockIsPassedOver(t *testing.T) {
	file := small(t)
	whole := open(t, file)
	h := whole.blocks[1]
	file[h.data()+5] ^= 0x10
	r := open(t, file)
	if !r.Whole() {
		t.Fatal("opening a file reads no blocks")
	}
	if got, want := len(rowsOf(t, r, Query{})), 28-int(h.Rows); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	d := r.Damage()
	if len(d) != 1 || d[0].Offset != h.Offset || d[0].Bytes != h.hop() || d[0].Rows != int64(h.Rows) || !errors.Is(d[0].Err, ErrCorrupt) {
		t.Errorf("%+v", d)
	}
	if rowsOf(t, r, Query{}); len(r.Damage()) != 1 {
		t.Errorf("reading twice: %+v", r.Damage())
	}
	// The rows after it keep their numbers.
	for b, err := range r.Blocks(t.Context(), Query{}) {
		must(t, err)
		if want := uint64(b.Time[0] / 100); b.First != want {
			t.Errorf("block %d begins with row %d, want %d", b.Index, b.First, want)
		}
	}
	if _, err := r.ReadBlock(1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("ReadBlock: %v", err)
	}
}

// Bytes that are overwritten, in the heads too, cost what they cover. As the
// file was closed it is known how many rows that is.
func TestOverwrittenStretch(t *testing.T) {
	file := small(t)
	whole := open(t, file)
	a, z := whole.blocks[1], whole.blocks[2]
	copy(file[a.Offset+3:z.data()+4], bytes.Repeat([]byte{0xee}, 1<<10))
	r := open(t, file)
	rows := rowsOf(t, r, Query{})
	if want := 28 - int(a.Rows) - int(z.Rows); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	var lost int64
	for _, d := range r.Damage() {
		lost += d.Rows
	}
	if lost != int64(a.Rows+z.Rows) {
		t.Errorf("%d rows lost, want %d: %+v", lost, a.Rows+z.Rows, r.Damage())
	}
}

// A file that is cut in its last part is found by its index, not by reading
// all of it.
func TestCutFileOpensByItsIndex(t *testing.T) {
	file := recorded(t, Options{BlockRows: 2}, func(w *Writer) {
		must(t, w.Begin(Launch{}))
		for i := range 4000 {
			e := smallEvent(0, i)
			e.Seq = uint32(i)
			must(t, w.Write([]Event{e}))
		}
	})
	end := open(t, file).closed
	cut := &countingReader{r: bytes.NewReader(file[:end-10])}
	r, err := NewReader(cut, end-10)
	must(t, err)
	if got := len(rowsOf(t, r, Query{})); got != 4000 {
		t.Fatalf("%d rows", got)
	}
	fresh := &countingReader{r: bytes.NewReader(file[:end-10])}
	if _, err := NewReader(fresh, end-10); err != nil {
		t.Fatal(err)
	}
	if fresh.bytes > int64(len(file))/2 {
		t.Errorf("opening read %d bytes of %d", fresh.bytes, len(file))
	}
}

type countingReader struct {
	r     *bytes.Reader
	bytes int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(b, off)
	c.bytes += int64(n)
	return n, err
}

// Torn, corrupt and the end are three different things.
func TestRawReaderTellsEndsApart(t *testing.T) {
	file := small(t)
	walk := func(b []byte) (types []FrameType, damage []error, err error) {
		raw, err := NewRawReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, nil, err
		}
		for {
			f, err := raw.Next()
			var d *DamageError
			switch {
			case err == nil:
				types = append(types, f.Type)
			case errors.As(err, &d):
				damage = append(damage, err)
			default:
				return types, damage, err
			}
		}
	}
	types, damage, _ := walk(file)
	if len(damage) > 0 {
		t.Errorf("whole file: %v", damage)
	}
	seen := map[FrameType]int{}
	for _, f := range types {
		seen[f]++
	}
	if seen[FrameLaunch] != 2 || seen[FrameLaunchEnd] != 2 || seen[FrameLines] != 3 || seen[FrameIndex] != 1 ||
		seen[FrameClose] != 1 || seen[FrameSection] != 2 || seen[FrameEnd] != 1 {
		t.Errorf("frames: %v", types)
	}
	if _, damage, _ = walk(file[:len(file)/2]); len(damage) != 1 || !errors.Is(damage[0], ErrTorn) {
		t.Errorf("cut: %v", damage)
	}
	bad := bytes.Clone(file)
	bad[len(bad)/2&^7] ^= 1
	head := open(t, file).blocks[2]
	bad = bytes.Clone(file)
	bad[head.Offset+20] ^= 1
	if _, damage, _ = walk(bad); len(damage) != 1 || !errors.Is(damage[0], ErrCorrupt) {
		t.Errorf("flipped: %v", damage)
	}
	if _, damage, _ = walk(append(bytes.Clone(file), "more"...)); len(damage) != 1 || !errors.Is(damage[0], ErrCorrupt) {
		t.Errorf("grown: %v", damage)
	}
}
