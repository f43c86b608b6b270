package trace

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The benchmarks answer what a warp event costs: bytes in the file, and time
// to write and to read, beside what else one might store. All run on one
// goroutine; bytes/event counts the whole file.

type variant struct {
	name string
	synthetic
}

func variants() []variant {
	clk, tokens := h100, h100
	clk.Clk = true
	tokens.Clk, tokens.Tokens = true, true
	return []variant{{"plain", h100}, {"clk", clk}, {"clk+token", tokens}}
}

var memo sync.Map // of benchmarks' inputs

func eventsOf(s synthetic) []Event {
	if v, ok := memo.Load(s); ok {
		return v.([]Event)
	}
	memo.Clear() // one is enough memory
	evs := s.events()
	memo.Store(s, evs)
	return evs
}

func write(tb testing.TB, w io.Writer, l Launch, evs []Event, o Options, best *fastest) {
	tb.Helper()
	o.MaxAge = -1
	t, err := NewWriter(w, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := t.Begin(l); err != nil {
		tb.Fatal(err)
	}
	for at := 0; at < len(evs); at += 4096 {
		if err := t.Write(evs[at:min(len(evs), at+4096)]); err != nil {
			tb.Fatal(err)
		}
		if at >= 2*MaxBlockRows { // until then the buffer takes them all
			best.lap(at, MaxBlockRows)
		}
	}
	if err := t.Close(); err != nil {
		tb.Fatal(err)
	}
}

// fastest keeps the shortest time that a block's worth of events took: on a
// busy machine the only time that says what the code needs.
type fastest struct {
	from  int
	since time.Time
	best  time.Duration
}

// lap is told how many events are done, and takes the time every n.
func (f *fastest) lap(done, n int) {
	if f == nil || !f.since.IsZero() && done-f.from < n && done > f.from {
		return
	}
	now := time.Now()
	if !f.since.IsZero() && done-f.from == n {
		if d := now.Sub(f.since); f.best == 0 || d < f.best {
			f.best = d
		}
	}
	f.from, f.since = done, now
}

func (f *fastest) report(b *testing.B, n int) {
	b.ReportMetric(float64(n)/f.best.Seconds()/1e6, "best-Mevents/s")
}

type counter int64

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

// report gives the cost of events. Speed is by processor time, all threads
// of the process counted: on a machine that does other work too, that is what
// one core does in a second.
func report(b *testing.B, events int, size int64, began time.Duration) {
	b.ReportMetric(float64(events)*float64(b.N)/(cpuTime()-began).Seconds()/1e6, "Mevents/cpu-s")
	b.ReportMetric(float64(size)/float64(events), "bytes/event")
}

func BenchmarkEncode(b *testing.B) {
	for _, v := range variants() {
		for _, fast := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/fast=%v", v.name, fast), func(b *testing.B) {
				evs := eventsOf(v.synthetic)
				var n counter
				var best fastest
				b.ReportAllocs()
				b.ResetTimer()
				began := cpuTime()
				for range b.N {
					n = 0
					write(b, &n, v.launch(), evs, Options{Fast: fast}, &best)
				}
				report(b, len(evs), int64(n), began)
				best.report(b, MaxBlockRows)
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, v := range variants() {
		b.Run(v.name, func(b *testing.B) {
			evs := eventsOf(v.synthetic)
			rows := len(evs)
			var file bytes.Buffer
			write(b, &file, v.launch(), evs, Options{}, nil)
			evs = nil
			memo.Clear() // or the collector would go on counting it
			runtime.GC()
			r, err := NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
			if err != nil {
				b.Fatal(err)
			}
			var best fastest
			b.ReportAllocs()
			b.ResetTimer()
			began := cpuTime()
			for range b.N {
				n := 0
				best.since = time.Time{}
				best.lap(0, MaxBlockRows)
				for blk, err := range r.Blocks(context.Background(), Query{}) {
					if err != nil {
						b.Fatal(err)
					}
					n += blk.Len()
					best.lap(n, MaxBlockRows)
				}
				if n != rows {
					b.Fatalf("%d rows of %d", n, rows)
				}
			}
			report(b, rows, int64(file.Len()), began)
			best.report(b, MaxBlockRows)
		})
	}
}

// stored is a way to store events, for comparison: a chunk of them is made
// into bytes, compressed as a block is, and read again.
type stored struct {
	name   string
	append func(b []byte, e *Event) []byte
	read   func(b []byte) (n int)
}

func peers() []stored {
	return []stored{
		{"fixed32", appendFixed, readFixed},
		{"ndjson", func(b []byte, e *Event) []byte { return append(AppendNDJSON(b, e), '\n') }, readNDJSON},
	}
}

// appendFixed makes a record of 32 bytes, which holds what the synthetic
// trace has.
func appendFixed(b []byte, e *Event) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
	b = binary.LittleEndian.AppendUint32(b, e.CTA)
	b = append(b, byte(e.Warp), byte(e.Kind), e.Parity, byte(e.Bar))
	b = binary.LittleEndian.AppendUint32(b, e.Seq)
	b = binary.LittleEndian.AppendUint32(b, e.Lanes)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Addr)|e.Line<<16)
	return binary.LittleEndian.AppendUint32(b, uint32(e.Bytes)|e.Count<<24)
}

// readFixed reads the records of a chunk into columns.
func readFixed(b []byte) int {
	n := len(b) / 32
	blk := Block{Time: make([]int64, n), CTA: make([]uint32, n), Warp: make([]uint32, n), Seq: make([]uint32, n), Op: make([]uint32, n)}
	for i := range n {
		r := b[32*i : 32*i+32]
		blk.Time[i], blk.CTA[i] = int64(binary.LittleEndian.Uint64(r)), binary.LittleEndian.Uint32(r[8:])
		blk.Warp[i], blk.Seq[i], blk.Op[i] = uint32(r[12]), binary.LittleEndian.Uint32(r[16:]), uint32(r[13])
	}
	return blk.Len()
}

// readNDJSON reads the lines of a chunk as an import does, and writes nothing.
func readNDJSON(b []byte) (n int) {
	im := &importer{clocks: map[uint32]*launchClock{}, texts: map[string]string{}}
	for line := range bytes.Lines(b) {
		typ, members, err := parseLine(line, im.members[:0])
		if err != nil {
			panic(err)
		}
		im.members = members
		if _, err := im.parse(typ); err != nil {
			panic(err)
		}
		n++
	}
	return n
}

func BenchmarkPeerEncode(b *testing.B) {
	for _, p := range peers() {
		b.Run(p.name, func(b *testing.B) {
			evs := eventsOf(h100)
			size := 0
			b.ResetTimer()
			began := cpuTime()
			for range b.N {
				size = 0
				for _, packed := range p.store(b, evs) {
					size += len(packed)
				}
			}
			report(b, len(evs), int64(size), began)
		})
	}
}

func (p *stored) store(b *testing.B, evs []Event) (chunks [][]byte) {
	z, err := newEncoder(false)
	if err != nil {
		b.Fatal(err)
	}
	var raw []byte
	for at := 0; at < len(evs); at += MaxBlockRows {
		raw = raw[:0]
		for i := range evs[at:min(len(evs), at+MaxBlockRows)] {
			raw = p.append(raw, &evs[at+i])
		}
		chunks = append(chunks, z.EncodeAll(raw, nil))
	}
	return chunks
}

func BenchmarkPeerDecode(b *testing.B) {
	for _, p := range peers() {
		b.Run(p.name, func(b *testing.B) {
			chunks := p.store(b, eventsOf(h100))
			memo.Clear()
			runtime.GC()
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
			if err != nil {
				b.Fatal(err)
			}
			defer z.Close()
			var raw []byte
			n, size := 0, 0
			b.ResetTimer()
			began := cpuTime()
			for range b.N {
				n, size = 0, 0
				for _, packed := range chunks {
					if raw, err = z.DecodeAll(packed, raw[:0]); err != nil {
						b.Fatal(err)
					}
					n += p.read(raw)
					size += len(packed)
				}
			}
			report(b, n, int64(size), began)
		})
	}
}

// BenchmarkQuery reads a hundredth of the time, one CTA, and one barrier,
// and says how much of the file that took.
func BenchmarkQuery(b *testing.B) {
	var file bytes.Buffer
	evs := eventsOf(h100)
	end := evs[len(evs)-1].Time
	write(b, &file, h100.launch(), evs, Options{}, nil)
	evs = nil
	memo.Clear()
	r, err := NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]Query{
		"time":    {From: end / 2, To: end/2 + end/100},
		"cta":     {CTAs: []uint32{66}},
		"barrier": {Barriers: []Barrier{{Kind: BarrierNamed, ID: 0}}},
		"all":     {},
	} {
		b.Run(name, func(b *testing.B) {
			var stats QueryStats
			q.Stats = &stats
			for range b.N {
				for _, err := range r.Blocks(context.Background(), q) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(stats.Decoded), "blocks-decoded")
			b.ReportMetric(float64(stats.Blocks), "blocks")
			b.ReportMetric(float64(stats.Rows), "rows")
		})
	}
}

// BenchmarkOpen opens the file, as its reader finds it and cut in the middle.
func BenchmarkOpen(b *testing.B) {
	var file bytes.Buffer
	write(b, &file, h100.launch(), eventsOf(h100), Options{BlockRows: 2048}, nil)
	for name, size := range map[string]int{"whole": file.Len(), "cut": file.Len() / 2} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				r, err := NewReader(bytes.NewReader(file.Bytes()), int64(size))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.NumBlocks()), "blocks")
			}
		})
	}
}
