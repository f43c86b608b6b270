package ring_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"btrace/capture/cupti/ring"
	"btrace/capture/cupti/ring/ringtest"
)

// memory is zeroed memory for a ring, aligned as a mapping is.
func memory(chunks int) []byte {
	n := ring.Size(chunks)
	words := make([]uint64, n/8+1)
	b := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n+8)
	if uintptr(unsafe.Pointer(&b[0]))%16 != 0 {
		b = b[8:]
	}
	return b[:n]
}

// made is a ring, its reader, and a context that writes to it.
func made(t testing.TB, chunks int, flags uint32) (*ring.Reader, *ringtest.Context) {
	t.Helper()
	mem := memory(chunks)
	if err := ring.Format(mem, chunks, flags); err != nil {
		t.Fatal(err)
	}
	r, err := ring.NewReader(mem)
	if err != nil {
		t.Fatal(err)
	}
	return r, ringtest.New(mem)
}

// sizes has sites of one to four slots: site n has n-1, from 2 on. Site 6 has
// three, of which the last one is written behind the operation; of site 7 a
// record is one word.
var sizes = []ring.RecordSize{{}, {}, {Slots: 1}, {Slots: 2}, {Slots: 3}, {Slots: 4}, {Slots: 3, Head: 2}, {Slots: 1, Short: true}}

// lines are the rows of a batch as text, without their times.
func lines(b *ring.Batch) []string {
	var out []string
	for _, run := range b.Runs {
		word := run.FirstWord
		for i := run.First; i < run.First+run.N; i++ {
			s := fmt.Sprintf("grid %d cta %d w%d:l%d sm %d: site %d operand %d lanes %x", run.Grid, run.CTA, run.Warp, run.Lane, run.SM, b.Site[i], b.Operand[i], b.Lanes[i])
			if b.Site[i] > ring.SiteGap {
				n := 2 * (int(sizes[b.Site[i]].Slots) - 1)
				s += fmt.Sprint(" ", b.Value[word:word+n])
				word += n
			}
			out = append(out, s)
		}
	}
	return out
}

func TestRecordsComeOut(t *testing.T) {
	r, c := made(t, 64, 0)
	l := c.Lane(77, 1<<31+5, 63, 31, 1000)
	l.Record(2, 1<<31-1, 0xffffffff)
	l.Record(4, 3, 1, 1<<63-1, 2, 3, 4)
	var b ring.Batch
	if r.Poll(sizes, &b, 1000) {
		t.Error("there is more")
	}
	want := []string{
		"grid 77 cta 2147483653 w63:l31 sm 1000: site 2 operand 2147483647 lanes ffffffff []",
		"grid 77 cta 2147483653 w63:l31 sm 1000: site 4 operand 3 lanes 1 [9223372036854775807 2 3 4]",
	}
	if got := lines(&b); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Clocks: 40 for the first record, 80 as the lane took the chunk, 120.
	if want := []uint64{40, 120}; !slices.Equal(b.Clock, want) {
		t.Errorf("clocks %d, want %d", b.Clock, want)
	}
	if run := b.Runs[0]; run.Clock != 80 || run.Time != ringtest.Nanoseconds(80) {
		t.Errorf("the chunk was taken at clock %d, %d ns", run.Clock, run.Time)
	}
	b.Reset()
	if r.Poll(sizes, &b, 1000); b.Len() != 0 {
		t.Errorf("read twice: %q", lines(&b))
	}
}

// Records of one word stand between those of slots, which begin at a slot's
// beginning.
func TestShortRecords(t *testing.T) {
	r, c := made(t, 64, 0)
	l := c.Lane(5, 1, 2, 0, 0)
	l.Short(7)
	l.Record(3, 9, 1, 10, 11)
	l.Short(7)
	l.Short(7)
	l.Record(2, 8, 1)
	l.Short(7)
	l.Close()
	var b ring.Batch
	r.Poll(sizes, &b, 1000)
	const who, short = "grid 5 cta 1 w2:l0 sm 0: ", "site 7 operand 0 lanes ffffffff []"
	want := []string{who + short, who + "site 3 operand 9 lanes 1 [10 11]", who + short, who + short, who + "site 2 operand 8 lanes 1 []", who + short}
	if got := lines(&b); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !slices.IsSorted(b.Clock) || r.Taken() != 0 || r.Broken() != 0 {
		t.Errorf("clocks %d, %d chunks not given back", b.Clock, r.Taken())
	}
}

// The 40 bits of a record's clock may wrap between the chunk's own and the
// record's, in either direction.
func TestClockWraps(t *testing.T) {
	const wrap = 1 << 40
	r, c := made(t, 64, 0)
	before := c.Lane(1, 0, 0, 0, 0)
	for c.Clock() < 400 { // the chunk is taken after this
	}
	before.RecordAt(0, 2, 0, 1)
	before.RecordAt(wrap-8, 2, 0, 1)
	before.RecordAt(wrap+8, 2, 0, 1)
	before.RecordAt(wrap+9, 2, 0, 1)
	var b ring.Batch
	r.Poll(sizes, &b, 1000)
	if want := []uint64{0, wrap - 8, wrap + 8, wrap + 9}; !slices.Equal(b.Clock, want) {
		t.Errorf("clocks %d, want %d", b.Clock, want)
	}
}

// order checks that the records of each lane (CTA and warp) are there once: in
// the order of their clocks their operands count from 0.
type order map[[2]uint32][][2]uint64

// Those of one word count for themselves: how many there are is returned.
func (o order) add(b *ring.Batch) (short int) {
	for _, run := range b.Runs {
		lane := [2]uint32{run.CTA, uint32(run.Warp)}
		for i := run.First; i < run.First+run.N; i++ {
			if b.Site[i] == 7 {
				short++
				continue
			}
			o[lane] = append(o[lane], [2]uint64{b.Clock[i], uint64(b.Operand[i])})
		}
	}
	return short
}

func (o order) check(t interface{ Errorf(string, ...any) }, wrote map[[2]uint32]uint32) {
	for lane, n := range wrote {
		rows := o[lane]
		slices.SortFunc(rows, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
		if len(rows) != int(n) {
			t.Errorf("lane %d: %d records of %d", lane, len(rows), n)
		}
		for i, row := range rows {
			if row[1] != uint64(i) {
				t.Errorf("lane %d: record %d comes as number %d", lane, row[1], i)
				break
			}
		}
	}
}

// Whatever lanes write, each lane's records come out once, however few chunks
// there are: full chunks and those of lanes that end come back.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := memory(16)
		if err := ring.Format(mem, 16, 0); err != nil {
			t.Fatal(err)
		}
		r, err := ring.NewReader(mem)
		if err != nil {
			t.Fatal(err)
		}
		c := ringtest.New(mem)
		lanes := make([]*ringtest.Lane, rapid.IntRange(1, 8).Draw(t, "lanes"))
		for i := range lanes {
			lanes[i] = c.Lane(9, 0, uint8(i), 0, 0)
		}
		wrote, read := make(map[[2]uint32]uint32), make(order)
		short := 0
		var b ring.Batch
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := uint32(rapid.IntRange(0, len(lanes)-1).Draw(t, "lane"))
			for range rapid.IntRange(1, 1200).Draw(t, "records") {
				n := rapid.IntRange(0, 3).Draw(t, "values")
				if rapid.IntRange(0, 3).Draw(t, "short") == 0 {
					lanes[i].Short(7)
					short++
				}
				lanes[i].Record(uint32(2+n), wrote[[2]uint32{0, i}], 1, make([]uint64, 2*n)...)
				wrote[[2]uint32{0, i}]++
			}
			if rapid.Bool().Draw(t, "close") {
				lanes[i].Close()
			}
			for more, limit := true, rapid.IntRange(1, 200).Draw(t, "limit"); more; {
				b.Reset()
				more = r.Poll(sizes, &b, limit)
				short -= read.add(&b)
				if more != (b.Bound < math.MaxUint64) {
					t.Fatalf("more to read: %v, and all before %d was", more, b.Bound)
				}
			}
		}
		read.check(t, wrote)
		if short != 0 {
			t.Errorf("%d records of one word did not come, or came twice", short)
		}
	})
}

// Lanes wait for chunks when all are taken, and lose nothing.
func TestFullRingWaits(t *testing.T) {
	const lanes, records = 100, 5000
	r, c := made(t, 128, 0)
	done := make(chan struct{})
	for i := range lanes {
		go func() {
			l := c.Lane(1, uint32(i), 0, 0, 0)
			for n := range records {
				l.Record(2, uint32(n), 1)
			}
			l.Close()
			done <- struct{}{}
		}()
	}
	wrote, read := make(map[[2]uint32]uint32), make(order)
	for i := range uint32(lanes) {
		wrote[[2]uint32{i, 0}] = records
	}
	var b ring.Batch
	for running, more := lanes, true; running > 0 || more || b.Len() > 0; {
		select {
		case <-done:
			running--
		default:
		}
		b.Reset()
		more = r.Poll(sizes, &b, 100)
		read.add(&b)
	}
	read.check(t, wrote)
	if r.Taken() != 0 {
		t.Errorf("%d chunks are still taken", r.Taken())
	}
}

// While lanes may be waiting for chunks, a batch says so, and since when they
// do at the earliest: when the latest chunk that was read was asked for, which
// is when its lane read the clock of the record it had no room for.
func TestWaits(t *testing.T) {
	r, c := made(t, 16, 0)
	lanes := make([]*ringtest.Lane, 16)
	var b ring.Batch
	poll := func() {
		b.Reset()
		r.Poll(sizes, &b, 1<<20)
	}
	for i := range lanes {
		if poll(); b.Waits {
			t.Fatalf("lanes wait when %d chunks are taken", i)
		}
		lanes[i] = c.Lane(1, uint32(i), 0, 0, 0)
		lanes[i].Record(2, 0, 1)
	}
	if poll(); !b.Waits {
		t.Fatal("all chunks are taken, and no lane may wait")
	}
	lanes[3].Close()
	poll() // gives the chunk back
	old := c.Clock()
	for range 1000 {
		c.Clock()
	}
	late := c.Lane(1, 16, 0, 0, 0)
	late.RecordAt(old, 2, 0, 1)
	if poll(); !b.Waits || b.Asked > ringtest.Nanoseconds(old) || b.Asked < ringtest.Nanoseconds(old)-1<<20 {
		t.Errorf("lanes wait: %v, since %d, want true, and %d or a little before", b.Waits, b.Asked, ringtest.Nanoseconds(old))
	}
	late.Close()
	lanes[4].Close()
	poll()
	if poll(); b.Waits || b.Bound != math.MaxUint64 {
		t.Errorf("lanes wait for free chunks; read is what is before %d", b.Bound)
	}
}

// In drop mode a lane without a chunk goes on, and says later what it lost.
func TestDrop(t *testing.T) {
	r, c := made(t, 64, ring.FlagDrop)
	for i := range 64 { // lanes that keep their chunks
		c.Lane(1, uint32(i), 0, 0, 0).Record(2, 0, 1)
	}
	l := c.Lane(1, 1000, 3, 4, 0)
	for range 7 {
		if l.Record(2, 0, 1) {
			t.Fatal("there was a chunk")
		}
	}
	r.EndGrid(2, false) // somebody else's
	var b ring.Batch
	if r.Poll(sizes, &b, 1000); b.Len() != 64 || l.Record(2, 0, 1) {
		t.Fatalf("%d records, want 64, and no chunk", b.Len())
	}
	r.EndGrid(1, false)
	r.Poll(sizes, &b, 1000)
	l.Record(2, 42, 1)
	b.Reset()
	r.Poll(sizes, &b, 1000)
	want := []string{
		"grid 1 cta 1000 w3:l4 sm 0: site 1 operand 8 lanes 10",
		"grid 1 cta 1000 w3:l4 sm 0: site 2 operand 42 lanes 1 []",
	}
	if got := lines(&b); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// In drop mode a lane may give up its ticket. Others' records come out all the
// same, and its chunk is not lost.
func TestTicketsGivenUp(t *testing.T) {
	r, c := made(t, 16, ring.FlagDrop)
	var b ring.Batch
	poll := func() {
		b.Reset()
		r.Poll(sizes, &b, 1000)
	}
	for lap := range uint32(100) {
		var lanes []*ringtest.Lane
		for i := range uint32(8) {
			l := c.Lane(1, i, 0, 0, 0)
			if !l.Record(2, lap, 1) {
				t.Fatalf("lap %d: there is no chunk for lane %d", lap, i)
			}
			lanes = append(lanes, l)
			if i == 3 && lap > 1 {
				c.Ticket()
			}
		}
		if poll(); b.Len() != len(lanes) {
			t.Fatalf("lap %d: %d records of %d", lap, b.Len(), len(lanes))
		}
		for _, l := range lanes {
			l.Close()
		}
		poll()
	}
}

// A record of which only a part is written is not read; when its writer is
// gone it is a gap. What comes after it in other chunks is.
func TestTorn(t *testing.T) {
	r, c := made(t, 64, 0)
	l := c.Lane(1, 0, 2, 9, 0)
	l.Record(2, 1, 1)
	l.Torn(3)
	c.Lane(1, 0, 3, 0, 0).Record(2, 2, 1)
	c.Lane(1, 0, 4, 0, 0).Record(4, 3, 1, 1, 2) // a slot of its three is missing
	var b ring.Batch
	r.Poll(sizes, &b, 1000)
	if torn := r.Finish(&b); torn != 2 {
		t.Errorf("%d torn records, want 2", torn)
	}
	want := []string{
		"grid 1 cta 0 w2:l9 sm 0: site 2 operand 1 lanes 1 []",
		"grid 1 cta 0 w3:l0 sm 0: site 2 operand 2 lanes 1 []",
		"grid 1 cta 0 w2:l9 sm 0: site 1 operand 1 lanes 200",
		"grid 1 cta 0 w4:l0 sm 0: site 1 operand 1 lanes 1",
	}
	if got := lines(&b); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A record that lacks only what is written behind its operation is read once
// its lanes have ended, and says what it lacks. Until then it may become whole.
func TestTornBehindOperation(t *testing.T) {
	r, c := made(t, 64, 0)
	l := c.Lane(1, 0, 2, 9, 0)
	l.Record(6, 1, 1, 1, 2, 3, 4)
	l.Record(6, 2, 1, 1, 2)                     // the operation trapped
	c.Lane(1, 0, 3, 0, 0).Record(6, 3, 1)       // a slot ahead of the operation is missing, too
	c.Lane(2, 0, 4, 0, 0).Record(6, 4, 1, 5, 6) // of another grid, which goes on
	var b ring.Batch
	r.Poll(sizes, &b, 1000)
	if b.Len() != 1 {
		t.Errorf("%d records while their lanes run, want 1", b.Len())
	}
	r.EndGrid(1, false)
	r.Poll(sizes, &b, 1000)
	if b.Len() != 3 || r.Taken() != 1 {
		t.Errorf("%d records of a grid that ended, want 3, and %d chunks taken", b.Len(), r.Taken())
	}
	r.Finish(&b)
	missing := fmt.Sprint(uint64(ring.Missing))
	want := []string{
		"grid 1 cta 0 w2:l9 sm 0: site 6 operand 1 lanes 1 [1 2 3 4]",
		"grid 1 cta 0 w2:l9 sm 0: site 6 operand 2 lanes 1 [1 2 " + missing + " " + missing + "]",
		"grid 1 cta 0 w3:l0 sm 0: site 1 operand 1 lanes 1",
		"grid 2 cta 0 w4:l0 sm 0: site 6 operand 4 lanes 1 [5 6 " + missing + " " + missing + "]",
	}
	if got := lines(&b); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A lane that ends between its ticket and its chunk keeps the chunks behind
// it from being seen only until all lanes are known to be gone.
func TestTicketWithoutChunk(t *testing.T) {
	mem := memory(64)
	if err := ring.Format(mem, 64, 0); err != nil {
		t.Fatal(err)
	}
	r, err := ring.NewReader(mem)
	if err != nil {
		t.Fatal(err)
	}
	c := ringtest.New(mem)
	c.Ticket()
	c.Lane(1, 0, 0, 0, 0).Record(2, 7, 1)
	r.EndGrid(1, false)
	var b ring.Batch
	if r.Poll(sizes, &b, 1000); b.Len() != 0 || len(b.Ended) != 0 {
		t.Errorf("%d records, ended: %d", b.Len(), b.Ended)
	}
	r.Last()
	if r.Poll(sizes, &b, 1000); b.Len() != 1 || len(b.Ended) != 1 {
		t.Errorf("%d records, ended: %d", b.Len(), b.Ended)
	}
}

// A record of no known site ends what can be read of its chunk.
func TestUnknownSite(t *testing.T) {
	r, c := made(t, 64, 0)
	l := c.Lane(1, 0, 0, 0, 0)
	l.Record(2, 1, 1)
	l.Record(400000, 1, 1)
	l.Record(2, 2, 1)
	var b ring.Batch
	r.Poll(sizes, &b, 1000)
	r.Poll(sizes, &b, 1000)
	want := []string{
		"grid 1 cta 0 w0:l0 sm 0: site 2 operand 1 lanes 1 []",
		"grid 1 cta 0 w0:l0 sm 0: site 1 operand 1 lanes 1",
	}
	if got := lines(&b); !slices.Equal(got, want) || r.Broken() != 1 {
		t.Errorf("got  %q\nwant %q, and %d chunks broken", got, want, r.Broken())
	}
	r.EndGrid(1, false)
	if r.Poll(sizes, &b, 1000); r.Taken() != 0 {
		t.Error("its chunk does not come back")
	}
}

// Chunks come back once their grid has ended, however many grids end.
func TestEndGrid(t *testing.T) {
	r, c := made(t, 64, 0)
	var b ring.Batch
	for grid := range uint64(10_000) {
		if !c.Lane(grid, 0, 0, 0, 0).Record(2, 0, 1) {
			t.Fatal("no chunk")
		}
		r.Poll(sizes, &b, 1000)
		r.EndGrid(grid, false)
		b.Reset()
		if r.Poll(sizes, &b, 1000); r.Taken() != 0 || !slices.Equal(b.Ended, []uint64{grid}) {
			t.Fatalf("grid %d has ended: %d chunks are taken, ended: %d", grid, r.Taken(), b.Ended)
		}
	}
}

// The chunks of a grid that runs again are not taken away from it.
func TestEndGridAgain(t *testing.T) {
	r, c := made(t, 64, 0)
	var b ring.Batch
	l := c.Lane(1, 0, 0, 0, 0)
	l.Record(2, 0, 1)
	r.Poll(sizes, &b, 1000)
	r.EndGrid(1, true)
	l.Record(2, 1, 1)
	r.Poll(sizes, &b, 1000)
	l.Record(2, 2, 1)
	r.Poll(sizes, &b, 1000)
	if b.Len() != 3 || !slices.Equal(b.Ended, []uint64{1}) || r.Taken() != 1 {
		t.Errorf("%d records, ended %d, %d chunks taken", b.Len(), b.Ended, r.Taken())
	}
}

func TestNoRing(t *testing.T) {
	good := memory(64)
	if err := ring.Format(good, 64, 0); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"short":         func(b []byte) []byte { return b[:4000] },
		"cut":           func(b []byte) []byte { return b[:len(b)-1] },
		"magic":         func(b []byte) []byte { b[0]++; return b },
		"version":       func(b []byte) []byte { b[8]++; return b },
		"chunk bytes":   func(b []byte) []byte { b[0x0c]++; return b },
		"chunks":        func(b []byte) []byte { b[0x12] = 3; return b },
		"many chunks":   func(b []byte) []byte { b[0x13] = 0x80; return b },
		"fifo":          func(b []byte) []byte { b[0x18]++; return b },
		"chunks' place": func(b []byte) []byte { b[0x21]++; return b },
	} {
		b := memory(64)
		copy(b, good)
		if _, err := ring.NewReader(change(b)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, chunks := range []int{0, 1, 8, 65, 1 << 20} {
		if err := ring.Format(good, chunks, 0); err == nil {
			t.Errorf("%d chunks: no error", chunks)
		}
	}
}

// FuzzReader reads rings in which anything may stand. It must end, and what
// it hands out must be of known sites.
func FuzzReader(f *testing.F) {
	mem := memory(64)
	if err := ring.Format(mem, 64, 0); err != nil {
		f.Fatal(err)
	}
	c := ringtest.New(mem)
	l := c.Lane(1, 0, 0, 0, 0)
	l.Record(2, 1, 1)
	l.Record(5, 1, 1, 1, 2, 3, 4, 5, 6)
	l.Record(6, 1, 1, 1, 2)
	l.Short(7)
	l.Record(2, 1, 1)
	offset := ring.Size(64) - 64*ring.ChunkBytes
	f.Add(mem[offset:][:ring.ChunkBytes], uint64(1))
	f.Fuzz(func(t *testing.T, chunk []byte, taken uint64) {
		mem := memory(64)
		if err := ring.Format(mem, 64, 0); err != nil {
			t.Fatal(err)
		}
		for i := range 64 {
			if taken>>i&1 != 0 {
				copy(mem[offset+i*ring.ChunkBytes:][:ring.ChunkBytes], chunk)
			}
		}
		r, err := ring.NewReader(mem)
		if err != nil {
			t.Fatal(err)
		}
		var b ring.Batch
		for range 3 {
			r.Poll(sizes, &b, 1000)
			r.EndGrid(1, false)
		}
		r.Finish(&b)
		rows := 0
		for _, run := range b.Runs {
			rows += run.N
		}
		if rows != b.Len() {
			t.Errorf("%d records in runs, %d in the columns", rows, b.Len())
		}
		for _, site := range b.Site {
			if site != ring.SiteGap && (int(site) >= len(sizes) || sizes[site].Slots == 0) {
				t.Errorf("a record of site %d", site)
			}
		}
		if b.Len() > 64*ring.ChunkSlots*4 {
			t.Errorf("%d records in 64 chunks", b.Len())
		}
	})
}

// BenchmarkPoll drains rings that are full of records of one slot: what a
// recorder must keep up with is its records/s.
func BenchmarkPoll(b *testing.B) {
	const chunks = 512
	mem := memory(chunks)
	full := memory(chunks)
	if err := ring.Format(full, chunks, 0); err != nil {
		b.Fatal(err)
	}
	c := ringtest.New(full)
	for i := range chunks {
		l := c.Lane(1, uint32(i), 0, 0, uint16(i%132))
		for range ring.ChunkSlots - 5 {
			l.Record(2, 0, 1)
		}
	}
	var batch ring.Batch
	records := 0
	for b.Loop() {
		b.StopTimer()
		copy(mem, full)
		r, err := ring.NewReader(mem)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for more := true; more; {
			batch.Reset()
			more = r.Poll(sizes, &batch, 1<<16)
			records += batch.Len()
		}
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}
