package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
)

// forge makes files whose checksums are right and whose contents lie.
type forge struct {
	b         []byte
	heads     []byte
	n         uint32
	prevIndex int64
	seek      []uint32
}

func newForge() *forge {
	return &forge{b: appendFileHead(nil), seek: []uint32{fileHeadLen, 0}}
}

// frame adds a frame with these data; lie may change the head.
func (f *forge) frame(h head, raw []byte, lie func(h *head)) *forge {
	z, err := newEncoder(false)
	if err != nil {
		panic(err)
	}
	var packed []byte
	if len(raw) > 0 {
		packed = z.EncodeAll(raw, nil)
	}
	h.Raw = uint32(len(raw))
	return f.packed(h, packed, lie)
}

func (f *forge) packed(h head, packed []byte, lie func(h *head)) *forge {
	h.Offset, h.PrevIndex = int64(len(f.b)), f.prevIndex
	h.Packed, h.Sum = uint32(len(packed)), xxhash.Sum64(packed)
	if lie != nil {
		lie(&h)
	}
	b := appendHead(nil, &h)
	f.b = append(append(f.b, b...), packed...)
	h.Packed = uint32(len(packed))
	f.seek = appendSeek(f.seek, len(b), &h)
	if h.Type < FrameIndex || h.Type > FrameEnd {
		f.heads, f.n = append(f.heads, b...), f.n+1
	}
	return f
}

// block adds a block of events with that payload.
func (f *forge) block(payload []byte, rows int, first, last int64) *forge {
	return f.lyingBlock(payload, rows, first, last, nil)
}

// lyingBlock adds one whose head is not true.
func (f *forge) lyingBlock(payload []byte, rows int, first, last int64, lie func(h *head)) *forge {
	s := newSummary(key{Time: first}, key{Time: last, Seq: uint32(rows - 1)}, 0, 0)
	s.Threads, s.Warps, s.CTAs[0] = 0, 1, 1
	s.setName(nameHash("enter"))
	return f.frame(head{Type: FrameEvents, Rows: uint32(rows), Events: s}, payload, lie)
}

func (f *forge) launch() *forge {
	return f.frame(head{Type: FrameLaunch}, []byte(`{"type":"launch","id":0}`), nil)
}

// close completes the file.
func (f *forge) close(t totals) []byte {
	at := int64(len(f.b))
	f.frame(head{Type: FrameIndex, Rows: f.n}, f.heads, nil)
	f.prevIndex = at
	at = int64(len(f.b))
	f.frame(head{Type: FrameClose, Own: t.append(nil)}, nil, nil)
	tl := tail{off: int64(len(f.b)), close: at, prevIndex: f.prevIndex, seek: f.seek}
	return append(f.b, tl.end()...)
}

func uvarints(vs ...uint64) (b []byte) {
	for _, v := range vs {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func payload(cols map[columnID][]byte) (b []byte) {
	for id := columnID(1); id < numColumns; id++ {
		b = appendColumn(b, id, cols[id])
	}
	return b
}

// plain is the columns of n "enter" rows of one warp, at 0, 1, 2, ... ns.
func plain(n int) map[columnID][]byte {
	templates := append(uvarints(1, 5), "enter"...)
	templates = append(templates, uvarints(1, 0)...)
	templates = append(templates, 1, 0, 0, 0, 0)
	return map[columnID][]byte{
		colTemplates: templates,
		colWarps:     uvarints(1, 0, 0, uint64(n), 0, 0),
		colOp:        make([]byte, n),
		colTime:      append(append(uvarints(1, 1), 1), make([]byte, n-1)...),
	}
}

func with(cols map[columnID][]byte, id columnID, col []byte) []byte {
	cols[id] = col
	return payload(cols)
}

// hostile is a file that must do no harm, and what becomes of its rows.
type hostile struct {
	name string
	file []byte
	rows int
	say  string // in the damage
}

func hostileFiles() []hostile {
	one := func(p []byte, rows int) []byte { return newForge().launch().block(p, rows, 0, int64(rows-1)).b }
	zeros := bytes.Repeat([]byte{0}, maxBlockRaw)
	z, err := newEncoder(false)
	if err != nil {
		panic(err)
	}
	bomb := z.EncodeAll(make([]byte, 1<<30), nil)
	loop := newForge().launch()
	loop.frame(head{Type: FrameIndex, Rows: 1}, loop.heads, func(h *head) { h.PrevIndex = h.Offset })
	late := newForge().launch()
	late.prevIndex = int64(len(late.b))
	late.frame(head{Type: FrameIndex, Rows: 1}, late.heads, nil).block(payload(plain(2)), 2, 0, 1)
	text := append(uvarints(1, 1<<20), bytes.Repeat([]byte{'x'}, 1<<20)...)
	text = append(text, uvarints(4)...)
	for range 4 { // each with the one long text as forty unknown operands
		text = append(append(text, uvarints(0)...), 0, 0, 0, 0)
		text = append(text, uvarints(40)...)
		for range 40 {
			text = append(text, uvarints(0, uint64(formText), 0)...)
		}
	}
	return []hostile{
		{"honest", one(payload(plain(4)), 4), 4, "the file ends before"},
		{"a frame that grows beyond its head", newForge().launch().packed(head{Type: FrameEvents, Rows: 4, Raw: 100}, bomb, nil).b, 0, "corrupt"},
		{"a frame of zeros", one(zeros, MaxBlockRows), 0, "out of order"},
		{"more raw bytes than the format allows", newForge().launch().frame(head{Type: FrameEvents, Rows: 4}, []byte{1}, func(h *head) { h.Raw = 1 << 31 }).b, 0, "corrupt"},
		{"a number of strings", one(with(plain(4), colTemplates, uvarints(1<<60)), 4), 0, "template"},
		{"a number of templates", one(with(plain(4), colTemplates, uvarints(0, 1<<60)), 4), 0, "templates for 4 rows"},
		{"long unknown operands", one(with(plain(4), colTemplates, text), 4), 0, "more unknown operands"},
		{"a number of warps", one(with(plain(4), colWarps, uvarints(1<<60)), 4), 0, "do not add up"},
		{"warps of too many rows", one(with(plain(4), colWarps, uvarints(1, 0, 0, 1<<32+4, 0, 0)), 4), 0, "do not add up"},
		{"templates that are none", one(with(plain(4), colOp, []byte{9, 9, 9, 9}), 4), 0, "too early"},
		{"times that overflow", one(with(plain(4), colTime, uvarints(1, math.MaxUint64, 1, 1, 1, 1)), 4), 0, "beyond those of its head"},
		{"no unit of time", one(with(plain(4), colTime, uvarints(0)), 4), 0, "beyond those of its head"},
		{"sequence numbers of no row", one(with(plain(4), colSeq, uvarints(1<<40, 2)), 4), 0, "out of order"},
		{"a column of tomorrow", one(append(payload(plain(4)), 99, 0), 4), 0, "unknown or out of order"},
		{"a column that is too long", one(with(plain(4), colOp, make([]byte, 5)), 4), 0, "longer than its rows"},
		{"rows beyond the head's range", newForge().launch().block(payload(plain(4)), 4, 0, 2).b, 0, "beyond those of its head"},
		{"a head that hides a warp", newForge().launch().lyingBlock(payload(plain(4)), 4, 0, 3, func(h *head) { h.Events.Warps = 2 }).close(totals{rows: 4, blocks: 1, launches: 1}), 4, "summary is not that of"},
		{"a launch line that is none", newForge().frame(head{Type: FrameLaunch}, []byte("{"), nil).block(payload(plain(2)), 2, 0, 1).b, 2, "want a JSON object"},
		{"a launch of another number", newForge().frame(head{Type: FrameLaunch, Launch: 4}, []byte(`{"type":"launch","id":0}`), nil).b, 0, "another number"},
		{"an index that is its own predecessor", loop.b, 0, "corrupt"},
		{"an index after its own frame", late.close(totals{rows: 2, blocks: 1, launches: 1}), 2, ""},
		{"counts that are not the file's", newForge().launch().block(payload(plain(2)), 2, 0, 1).close(totals{rows: 1 << 60, blocks: 1, launches: 1}), 2, "was closed with"},
		{"an unknown type of frame", newForge().launch().frame(head{Type: 77}, []byte("of tomorrow"), nil).block(payload(plain(2)), 2, 0, 1).close(totals{rows: 2, blocks: 1, launches: 1}), 2, ""},
		{"kept lines that are none", newForge().launch().frame(head{Type: FrameLines, Rows: 3}, uvarints(0, 1<<50), nil).b, 0, "corrupt"},
	}
}

// Hostile files cost an error and no more: no panic, and never much memory.
func TestHostileFiles(t *testing.T) {
	for _, h := range hostileFiles() {
		t.Run(h.name, func(t *testing.T) {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := open(t, h.file)
			rows := 0
			for b, err := range r.Blocks(t.Context(), Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				rows += b.Len()
			}
			must(t, r.Verify(t.Context()))
			must(t, ExportNDJSON(t.Context(), io.Discard, r, Query{}))
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 48<<20 {
				t.Errorf("%d bytes were allocated", n)
			}
			if rows != h.rows {
				t.Errorf("%d rows, want %d", rows, h.rows)
			}
			var say []string
			for _, d := range r.Damage() {
				say = append(say, d.Err.Error())
			}
			if all := strings.Join(say, "; "); !strings.Contains(all, h.say) || strings.Contains(all, "\n") {
				t.Errorf("damage %q, want %q", all, h.say)
			}
		})
	}
}

func TestOverlapsThatAreTooDeep(t *testing.T) {
	f := newForge().launch()
	for range MaxOverlap + 1 {
		f.block(payload(plain(4)), 4, 0, 3)
	}
	r := open(t, f.b)
	for _, err := range r.Blocks(t.Context(), Query{}) {
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "blocks overlap in time") {
			t.Fatalf("%v", err)
		}
	}
}

// The most blocks that a file may have, as many as fit into few bytes: a
// reader of them stays small.
func TestManyTinyBlocks(t *testing.T) {
	f := newForge().launch()
	tiny := newForge().block(payload(plain(2)), 2, 0, 1)
	h := open(t, tiny.b).blocks[0]
	packed := tiny.b[h.data() : h.data()+int64(h.Packed)]
	for i := range MaxBlocks + 100 {
		f.packed(head{Type: FrameEvents, Rows: 2, Raw: h.Raw, Events: newSummary(key{Time: 0, Seq: uint32(i)}, key{Time: 1, Seq: 1}, 0, 0)}, packed, nil)
	}
	began := time.Now()
	r := open(t, f.b)
	if r.NumBlocks() != MaxBlocks || r.Whole() {
		t.Errorf("%d blocks", r.NumBlocks())
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if n := m.HeapAlloc - uint64(cap(f.b)+cap(f.heads)+4*cap(f.seek)); n > 40<<20 {
		t.Errorf("an open reader holds %d bytes", n)
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("opening took %v", d)
	}
	runtime.KeepAlive(r)
}

// A file full of what looks like heads is searched in no more than linear
// time.
func TestFalseHeads(t *testing.T) {
	f := newForge().launch().block(payload(plain(4)), 4, 0, 3)
	f.b = slices.Grow(f.b, 8<<20)
	for len(f.b) < 4<<20 {
		h := head{Type: FrameEvents, Rows: 4, Offset: int64(len(f.b))}
		b := appendHead(nil, &h)
		b[40]++ // not what the checksum says
		f.b = append(f.b, b[:24]...)
	}
	f.b = append(f.b, bytes.Repeat(headTag, 1<<18)...)
	reads := &countingReader{r: bytes.NewReader(f.b)}
	r, err := NewReader(reads, int64(len(f.b)))
	must(t, err)
	if got := len(rowsOf(t, r, Query{})); got != 4 {
		t.Errorf("%d rows", got)
	}
	if reads.bytes > 6*int64(len(f.b)) {
		t.Errorf("%d bytes were read of %d", reads.bytes, len(f.b))
	}
	if d := r.Damage(); len(d) != 1 || !errors.Is(d[0].Err, ErrCorrupt) || d[0].Rows != -1 {
		t.Errorf("%+v", d)
	}
}

// Merging full blocks holds parts of them only, however deep they overlap.
func TestMergingIsBounded(t *testing.T) {
	one := newForge().block(payload(plain(MaxBlockRows)), MaxBlockRows, 0, MaxBlockRows-1)
	h := open(t, one.b).blocks[0]
	packed := one.b[h.data() : h.data()+int64(h.Packed)]
	for _, depth := range []int{3, 4, MaxOverlap} {
		f := newForge().launch()
		for range depth {
			f.packed(head{Type: FrameEvents, Rows: h.Rows, Raw: h.Raw, Events: h.Events}, packed, nil)
		}
		r := open(t, f.b)
		var most uint64
		n := 0
		for b, err := range r.Blocks(t.Context(), Query{}) {
			must(t, err)
			if !slices.IsSorted(b.Time) || b.First != uint64(n) {
				t.Fatalf("depth %d: row %d is out of order", depth, n)
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			if n += b.Len(); n >= 2*MaxBlockRows {
				break
			}
		}
		if most > 40<<20 {
			t.Errorf("depth %d: %d bytes are held", depth, most)
		}
	}
}
