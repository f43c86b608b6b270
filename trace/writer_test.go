package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// limitedBuffer fails when it is full.
type limitedBuffer struct {
	mu    sync.Mutex
	b     []byte
	limit int
}

// bytes is what has been written so far.
func (l *limitedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b)
}

var errDisk = errors.New("no space left on device")

func (l *limitedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(b), l.limit-len(l.b))
	l.b = append(l.b, b[:n]...)
	if n < len(b) {
		return n, errDisk
	}
	return n, nil
}

func enter(i int) Event {
	return Event{Time: int64(i), Seq: uint32(i), Op: Op{Kind: KindEnter, Lanes: 1}}
}

// An event is in the file a second after it came, even if no other follows:
// so the last events of a kernel that hangs are there.
func TestEventsAreWrittenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &limitedBuffer{limit: 1 << 20}
		w, err := NewWriter(b, Options{})
		must(t, err)
		must(t, w.Begin(Launch{}))
		seen := func() uint64 { return open(t, b.bytes()).Info().Rows }
		must(t, w.Write([]Event{enter(0)}))
		time.Sleep(900 * time.Millisecond)
		must(t, w.Write([]Event{enter(1)}))
		synctest.Wait()
		if n := seen(); n != 0 {
			t.Errorf("after 0.9 s: %d rows", n)
		}
		time.Sleep(101 * time.Millisecond)
		synctest.Wait()
		if n := seen(); n != 2 {
			t.Errorf("after a second: %d rows", n)
		}
		must(t, w.AddLine(`{"type":"note"}`))
		must(t, w.Write([]Event{enter(2)}))
		time.Sleep(1001 * time.Millisecond)
		synctest.Wait()
		if n := seen(); n != 3 {
			t.Errorf("after another second: %d rows", n)
		}
		must(t, w.Close())
		time.Sleep(3 * time.Second)
	})
}

// Rows that a full buffer leaves behind grow no older than others.
func TestRowsLeftBehindAreWrittenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &limitedBuffer{limit: 1 << 20}
		w, err := NewWriter(b, Options{BlockRows: 4})
		must(t, err)
		must(t, w.Begin(Launch{}))
		for i := range 20 {
			time.Sleep(100 * time.Millisecond)
			must(t, w.Write([]Event{enter(i)}))
			synctest.Wait()
			if old := i - int(open(t, b.bytes()).Info().Rows); old > 10 {
				t.Errorf("at event %d, %d older ones are not written", i, old)
			}
		}
		time.Sleep(1001 * time.Millisecond)
		synctest.Wait()
		if n := open(t, b.bytes()).Info().Rows; n != 20 {
			t.Errorf("%d rows", n)
		}
		must(t, w.Close())
	})
}

// When the disk is full the writer says so, once and for all, and what was
// written can be read.
func TestWriterThatCannotWrite(t *testing.T) {
	var whole int
	{
		var b bytes.Buffer
		w, err := NewWriter(&b, Options{BlockRows: 4})
		must(t, err)
		must(t, w.Begin(Launch{}))
		for i := range 40 {
			must(t, w.Write([]Event{enter(i)}))
		}
		must(t, w.Close())
		whole = b.Len()
	}
	for limit := 0; limit < whole; limit += 7 {
		b := &limitedBuffer{limit: limit}
		w, err := NewWriter(b, Options{BlockRows: 4})
		if err == nil {
			w.Begin(Launch{})
			for i := range 40 {
				w.Write([]Event{enter(i)})
			}
			err = w.Close()
		}
		if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "offset") {
			t.Fatalf("limit %d: %v", limit, err)
		}
		if w != nil {
			if again := w.Write([]Event{enter(41)}); !errors.Is(again, errDisk) {
				t.Fatalf("limit %d: the next call: %v", limit, again)
			}
		}
		if limit >= fileHeadLen && open(t, b.bytes()).Whole() {
			t.Fatalf("limit %d: whole", limit)
		}
	}
}

// What a writer refuses, and how it says so.
func TestWriterRefuses(t *testing.T) {
	ev := func(o Op) error {
		w, err := NewWriter(&bytes.Buffer{}, Options{})
		must(t, err)
		must(t, w.Begin(Launch{ID: 3}))
		return w.Write([]Event{{Launch: 3, CTA: 1, Warp: 2, Seq: 4, Time: 50, Op: o}})
	}
	fields := func(f ...Field) Fields { return Fields(0).With(f...) }
	for want, o := range map[string]Op{
		`launch 3, CTA 1, warp 2, seq 4 at 50 ns: mbar.arrive has no "addr"`: {Kind: KindMbarArrive},
		`parity: want 0 or 1, got 2`:                                         {Kind: KindMbarWait, Parity: 2, Has: fields(FieldAddr, FieldParity)},
		`red: want popc, and or or, got 0`:                                   {Kind: KindBarRed, Has: fields(FieldBar, FieldCount, FieldRed, FieldPred)},
		`kind(200) is no kind of event`:                                      {Kind: 200},
		`an unknown operation is called exit, which is known`:                {Name: "exit"},
		`only marks and gaps may imply keys`:                                 {Kind: KindExit, Implied: ImpliedSeq},
		`is not UTF-8`:                                                       {Kind: KindMark, Text: "\xff", Has: fields(FieldText)},
		`its extra keys are not the inside of a JSON object`:                 {},
	} {
		var err error
		if o == (Op{}) {
			w, nerr := NewWriter(&bytes.Buffer{}, Options{})
			must(t, nerr)
			must(t, w.Begin(Launch{}))
			err = w.Write([]Event{{Op: Op{Kind: KindExit, Has: fields(FieldExtra)}, Extra: `"a":1},{`}})
		} else {
			err = ev(o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	w, err := NewWriter(&bytes.Buffer{}, Options{})
	must(t, err)
	must(t, w.Begin(Launch{ID: 3}))
	must(t, w.End(3, OutcomeCompleted, ""))
	for want, err := range map[string]error{
		"its launch has not begun":            w.Write([]Event{enter(0)}),
		"begin launch 3: there is one":        w.Begin(Launch{ID: 3}),
		"begin launch 4: its extra keys":      w.Begin(Launch{ID: 4, Extra: `"x"`}),
		"begin launch 5: the text":            w.Begin(Launch{ID: 5, Kernel: "\xff"}),
		"end launch 3: it has ended already":  w.End(3, OutcomeHung, ""),
		"end launch 9: it has not begun":      w.End(9, OutcomeHung, ""),
		"a line that is no JSON object":       w.AddLine("{}\n{}"),
		"section \"\": want a name":           w.AddSection("", 0, nil),
		"section \"s\": version -1":           w.AddSection("s", -1, nil),
		"section \"s\": 16777217 bytes, want": w.AddSection("s", 1, make([]byte, MaxSection+1)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	must(t, w.Close())
	if err := w.Write([]Event{enter(0)}); err == nil {
		t.Error("a closed writer takes events")
	}
	if _, err := NewWriter(&bytes.Buffer{}, Options{BlockRows: MaxBlockRows + 1}); err == nil {
		t.Error("blocks of any size")
	}
}

func TestWriterStopsAtTheMostLaunches(t *testing.T) {
	var n int
	var err error
	file := recorded(t, Options{}, func(w *Writer) {
		for ; err == nil; n++ {
			err = w.Begin(Launch{ID: uint32(n), Kernel: "k"})
		}
	})
	if n-1 != MaxLaunches || !errors.Is(err, ErrFull) {
		t.Errorf("%d launches, then %v", n-1, err)
	}
	if r := open(t, file); !r.Whole() || len(r.Launches()) != MaxLaunches {
		t.Errorf("%d launches, %v", len(r.Launches()), r.Damage())
	}
}

// Launches that run at the same time share the writer's memory.
func TestInterleavedLaunches(t *testing.T) {
	const launches, each = 9, 300
	r := open(t, recorded(t, Options{BlockRows: 64}, func(w *Writer) {
		for id := range uint32(launches) {
			must(t, w.Begin(Launch{ID: id}))
		}
		for i := range each {
			for id := range uint32(launches) {
				e := enter(i)
				e.Launch = id
				must(t, w.Write([]Event{e}))
			}
			if w.buffered > 2*64 {
				t.Fatalf("%d rows are buffered", w.buffered)
			}
		}
	}))
	rows := rowsOf(t, r, Query{})
	if len(rows) != launches*each {
		t.Fatalf("%d rows", len(rows))
	}
	for i, e := range rows {
		if e.Launch != uint32(i/each) || e.Time != int64(i%each) {
			t.Fatalf("row %d: %+v", i, e)
		}
	}
}

// Many distinct operations and long texts are cut into several blocks.
func TestManyOperationsAndLongTexts(t *testing.T) {
	const n = 3*maxTemplates + 5
	long := strings.Repeat("x", 300<<10)
	r := open(t, recorded(t, Options{}, func(w *Writer) {
		must(t, w.Begin(Launch{}))
		for i := range n {
			e := enter(i)
			e.PC = uint64(i)
			e.Has = e.Has.With(FieldPC)
			must(t, w.Write([]Event{e}))
		}
		for i := range 8 {
			e := enter(n + i)
			e.Kind, e.Text = KindMark, fmt.Sprint(i, long)
			e.Has = e.Has.With(FieldText, FieldExtra)
			e.Extra = fmt.Sprintf(`"x":"%d%s"`, i, long)
			must(t, w.Write([]Event{e}))
		}
	}))
	rows := rowsOf(t, r, Query{})
	if len(rows) != n+8 || !r.Whole() {
		t.Fatalf("%d rows, %v", len(rows), r.Damage())
	}
	for i := range n {
		if rows[i].PC != uint64(i) {
			t.Fatalf("row %d: %+v", i, rows[i])
		}
	}
	if e := rows[n+7]; e.Text != "7"+long || len(e.Extra) != len(long)+7 {
		t.Errorf("the last text has %d bytes, its extra %d", len(e.Text), len(e.Extra))
	}
}

// An event costs a writer and a reader no allocation.
func TestNoAllocationPerEvent(t *testing.T) {
	s := synthetic{CTAs: 8, Stages: 4, Rounds: 60, Clk: true, Tokens: true}
	evs := s.events()
	var b bytes.Buffer
	b.Grow(1 << 20)
	w, err := NewWriter(&b, Options{MaxAge: -1, BlockRows: 4096})
	must(t, err)
	must(t, w.Begin(s.launch()))
	must(t, w.Write(evs))
	if n := testing.AllocsPerRun(3, func() {
		for i := range evs {
			evs[i].Time += 1_000_000
		}
		must(t, w.Write(evs))
	}); n > 300 {
		t.Errorf("writing %d events: %.0f allocations", len(evs), n)
	}
	must(t, w.Close())
	r := open(t, b.Bytes())
	if n := testing.AllocsPerRun(3, func() {
		for _, err := range r.Blocks(t.Context(), Query{}) {
			must(t, err)
		}
	}); n > 60+float64(r.NumBlocks())*20 {
		t.Errorf("reading %d events in %d blocks: %.0f allocations", 4*len(evs), r.NumBlocks(), n)
	}
}

// A writer's memory does not grow with the trace.
func TestWriterMemoryIsBounded(t *testing.T) {
	var n counter
	w, err := NewWriter(&n, Options{MaxAge: -1})
	must(t, err)
	must(t, w.Begin(Launch{}))
	batch := make([]Event, 4096)
	n0 := 0
	fill := func(rows int) {
		for at := 0; at < rows; at += len(batch) {
			for i := range batch {
				batch[i] = enter(n0 ^ 64) // a little out of order
				batch[i].CTA, batch[i].Warp = uint32(n0%1000), uint32(i%32)
				n0++
			}
			must(t, w.Write(batch))
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	fill(4 * MaxBlockRows)
	before := heap()
	fill(16 * MaxBlockRows)
	if after := heap(); after > before+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	must(t, w.Close())
}

func TestCreateAndAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.zst")
	f, err := Create(path, Options{})
	must(t, err)
	must(t, f.Begin(Launch{Kernel: "k"}))
	must(t, f.Write([]Event{enter(1)}))
	must(t, f.Close())
	must(t, f.Abort())
	r, err := Open(path)
	must(t, err)
	if r.Info().Rows != 1 || !r.Whole() {
		t.Errorf("%+v", r.Info())
	}
	must(t, r.Close())

	path = filepath.Join(dir, "b.zst")
	f, err = Create(path, Options{})
	must(t, err)
	must(t, f.Begin(Launch{}))
	must(t, f.Abort())
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Abort: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "no", "such.zst"), Options{}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("Create: %v", err)
	}
}

// What is no trace is refused in one line that says what it is.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, b, 0o666))
		return path
	}
	newer := appendFileHead(nil)
	newer[16]++
	newer = append(newer[:24], le.AppendUint64(nil, sum64(newer[:24]))...)
	for _, c := range []struct {
		path string
		is   error
		want string
	}{
		{dir, ErrNotTrace, "it is a directory"},
		{file("empty", nil), ErrNotTrace, "the file is empty"},
		{file("text", []byte("hello, this is a text of some length")), ErrNotTrace, "it does not begin like one"},
		{file("x.ndjson", []byte(`{"type":"launch","id":0,"kernel":"k"}`)), ErrNotTrace, "can be imported"},
		{file("z", []byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0, 0, 0}), ErrNotTrace, "zstd-compressed data, but not a trace"},
		{file("newer", newer), ErrVersion, "version 2.0, and this reads version 1"},
		{file("cut", appendFileHead(nil)[:20]), ErrTorn, "only 20 bytes of a trace are left"},
		{filepath.Join(dir, "missing"), fs.ErrNotExist, "open a trace"},
	} {
		_, err := Open(c.path)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", filepath.Base(c.path), err)
		}
		if err != nil && !strings.Contains(err.Error(), c.path) {
			t.Errorf("%v: it does not name the file", err)
		}
	}
}
