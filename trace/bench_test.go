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

func write(tb testing.TB, w io.Writer, l Launch, evs []Event, o Options) {
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
	}
	if err := t.Close(); err != nil {
		tb.Fatal(err)
	}
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
				b.ReportAllocs()
				b.ResetTimer()
				began := cpuTime()
				for range b.N {
					n = 0
					write(b, &n, v.launch(), evs, Options{Fast: fast})
				}
				report(b, len(evs), int64(n), began)
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
			write(b, &file, v.launch(), evs, Options{})
			evs = nil
			memo.Clear() // or the collector would go on counting it
			runtime.GC()
			r, err := NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			began := cpuTime()
			for range b.N {
				n := 0
				for blk, err := range r.Blocks(context.Background(), Query{}) {
					if err != nil {
						b.Fatal(err)
					}
					n += blk.Len()
				}
				if n != rows {
					b.Fatalf("%d rows of %d", n, rows)
				}
			}
			report(b, rows, int64(file.Len()), began)
		})
	}
}

// BenchmarkFixedEncode stores what Encode does in records of 32 bytes.
func BenchmarkFixedEncode(b *testing.B) {
	evs := eventsOf(h100)
	z, err := newEncoder(false)
	if err != nil {
		b.Fatal(err)
	}
	var n int
	var raw, packed []byte
	b.ResetTimer()
	began := cpuTime()
	for range b.N {
		n = 0
		for at := 0; at < len(evs); at += MaxBlockRows {
			raw = raw[:0]
			for i := range evs[at:min(len(evs), at+MaxBlockRows)] {
				raw = appendFixed(raw, &evs[at+i])
			}
			packed = z.EncodeAll(raw, packed[:0])
			n += len(packed)
		}
	}
	report(b, len(evs), int64(n), began)
}

func appendFixed(b []byte, e *Event) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
	b = binary.LittleEndian.AppendUint32(b, e.CTA)
	b = append(b, byte(e.Warp), byte(e.Kind), e.Parity, byte(e.Bar))
	b = binary.LittleEndian.AppendUint32(b, e.Seq)
	b = binary.LittleEndian.AppendUint32(b, e.Lanes)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Addr)|e.Line<<16)
	return binary.LittleEndian.AppendUint32(b, uint32(e.Bytes)|e.Count<<24)
}
