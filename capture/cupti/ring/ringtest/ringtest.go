// Package ringtest writes to rings as the lanes of a GPU do, for tests. Like
// theirs its lanes share nothing but the ring's memory and its counter of
// tickets, and the writer may be another process than the reader.
//
// It is written against the layout in package ring's documentation and shares
// no code with the reader, so that each is a check of the other.
package ringtest

import (
	"encoding/binary"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	valid      = 1 << 63
	chunkWords = 2048
)

// Context is a CUDA context whose kernels write to a ring.
type Context struct {
	fifo    []uint32
	words   []uint64
	mask    uint64
	shift   int
	drop    bool
	chosen  [4]uint32 // the first and the last CTA and warp that write
	tickets atomic.Uint64
	clock   atomic.Uint64
	// Start is when the clock was 0. It goes at 2 GHz; two readings are at
	// least 40 cycles apart. The zero Start has it go by 40 at each reading instead.
	Start time.Time
	// Stop, if it is not nil, makes lanes that wait for a chunk give up once
	// it is closed: what a test does in place of ending a process.
	Stop <-chan struct{}
}

// New is a context on the ring in mem.
func New(mem []byte) *Context {
	le := binary.LittleEndian
	chosen := [4]uint32{1: math.MaxUint32, 3: math.MaxUint32}
	if le.Uint32(mem[0x14:])&2 != 0 {
		for i := range chosen {
			chosen[i] = le.Uint32(mem[0x28+4*i:])
		}
	}
	chunks := le.Uint32(mem[0x10:])
	fifo, words := le.Uint64(mem[0x18:]), le.Uint64(mem[0x20:])
	return &Context{
		fifo:  unsafe.Slice((*uint32)(unsafe.Pointer(&mem[fifo])), chunks),
		words: unsafe.Slice((*uint64)(unsafe.Pointer(&mem[words])), uint64(chunks)*chunkWords),
		mask:  uint64(chunks - 1),
		shift: bits.TrailingZeros32(chunks),
		drop:  le.Uint32(mem[0x14:])&1 != 0,

		chosen: chosen,
	}
}

// All makes all lanes write, as those do that do not know of a choice.
func (c *Context) All() { c.chosen = [4]uint32{1: math.MaxUint32, 3: math.MaxUint32} }

// Clock reads the GPU's clock.
func (c *Context) Clock() uint64 {
	if c.Start.IsZero() {
		return c.clock.Add(40)
	}
	for {
		old := c.clock.Load()
		now := max(old+40, 2*uint64(time.Since(c.Start)))
		if c.clock.CompareAndSwap(old, now) {
			return now
		}
	}
}

// Ticket takes a ticket, as a lane does that ends before it has its chunk.
func (c *Context) Ticket() { c.tickets.Add(1) }

// Nanoseconds is %globaltimer at a clock: 2 GHz, in steps of 32 ns.
func Nanoseconds(clock uint64) uint64 { return 1<<60 + clock/2&^31 }

// Lane writes the records that one lane is the leader of.
type Lane struct {
	c          *Context
	grid       uint64
	cta        uint32
	warp, lane uint8
	sm         uint16
	words      []uint64 // of its chunk
	word       int
	lost       uint32
	off        bool // it is not chosen
}

// Lane is a lane that has no chunk yet.
func (c *Context) Lane(grid uint64, cta uint32, warp, lane uint8, sm uint16) *Lane {
	w := uint32(warp)
	off := cta < c.chosen[0] || cta > c.chosen[1] || w < c.chosen[2] || w > c.chosen[3]
	return &Lane{c: c, grid: grid, cta: cta, warp: warp, lane: lane, sm: sm, off: off}
}

// Record writes a record whose clock is read now. It reports whether there was
// a chunk for it.
func (l *Lane) Record(site, operand, lanes uint32, values ...uint64) bool {
	return l.RecordAt(l.c.Clock(), site, operand, lanes, values...)
}

// RecordAt writes a record of which the clock was read before.
func (l *Lane) RecordAt(clock uint64, site, operand, lanes uint32, values ...uint64) bool {
	if l.off {
		return false
	}
	if !l.room(2+len(values), clock) {
		return false
	}
	l.align()
	l.put(valid|uint64(site)<<40|clock&(1<<40-1), valid|uint64(operand)<<32|uint64(lanes))
	for i := 0; i < len(values); i += 2 {
		l.put(valid|values[i], valid|values[i+1])
	}
	return true
}

// Short writes a record of one word.
func (l *Lane) Short(site uint32) bool {
	clock := l.c.Clock()
	if l.off || !l.room(1, clock) {
		return false
	}
	l.put(valid | uint64(site)<<40 | clock&(1<<40-1))
	return true
}

// room takes another chunk if there are not so many words left in this one, and
// two for a blank and to close it. In a new one it says what was lost.
func (l *Lane) room(words int, clock uint64) bool {
	if l.words != nil && l.word+words+2 <= chunkWords {
		return true
	}
	l.Close()
	if !l.take() {
		l.lost++
		return false
	}
	if l.lost > 0 {
		l.put(valid|1<<40|clock&(1<<40-1), valid|uint64(l.lost)<<32|1<<l.lane)
		l.lost = 0
	}
	return true
}

// align writes a blank where a record of slots would begin in the middle of
// one.
func (l *Lane) align() {
	if l.word%2 == 1 {
		l.put(valid | 1<<40)
	}
}

// Torn writes one of the two words of a record.
func (l *Lane) Torn(site uint32) {
	if l.off || !l.room(2, l.c.Clock()) {
		return
	}
	l.align()
	atomic.StoreUint64(&l.words[l.word], valid|uint64(site)<<40)
}

// Close says that the lane writes no more.
func (l *Lane) Close() {
	if l.words != nil {
		l.put(valid)
	}
	l.words = nil
}

func (l *Lane) put(words ...uint64) {
	for _, w := range words {
		atomic.StoreUint64(&l.words[l.word], w)
		l.word++
	}
}

// take waits for a chunk, or finds that there is none.
func (l *Lane) take() bool {
	c := l.c
	if _, ok := c.chunk(c.tickets.Load()); c.drop && !ok {
		return false
	}
	ticket := c.tickets.Add(1) - 1
	number, ok := c.chunk(ticket)
	for ; !ok; number, ok = c.chunk(ticket) {
		select {
		case <-c.Stop:
			return false
		default:
			runtime.Gosched()
		}
	}
	if ticket > c.mask {
		atomic.StoreUint32(&c.fifo[ticket&c.mask], 0)
	}
	l.words = c.words[number*chunkWords:][:chunkWords]
	l.word = 0
	l.put(valid|l.grid, valid|uint64(l.sm)<<43|uint64(l.lane)<<38|uint64(l.warp)<<32|uint64(l.cta))
	clock := c.Clock()
	l.put(valid|clock, valid|Nanoseconds(clock))
	return true
}

// chunk is the one of a ticket, if it is there.
func (c *Context) chunk(ticket uint64) (uint64, bool) {
	if ticket <= c.mask {
		return ticket, true
	}
	entry := atomic.LoadUint32(&c.fifo[ticket&c.mask])
	if entry&(1<<20-1) == 0 || uint64(entry>>20) != ticket>>c.shift&0xfff {
		return 0, false
	}
	return uint64(entry&(1<<20-1)) - 1, true
}
