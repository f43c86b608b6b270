package ring

import (
	"math"
	"slices"
	"sync/atomic"
)

// Reader reads a ring while it is written. Whatever stands in the memory, it
// reads only what lies in it, and hands out records of known sites only.
//
// Its methods are for one goroutine.
type Reader struct {
	view
	numbers []uint32 // chunk of each entry of the fifo
	// Tickets, in the order read <= head <= tail: those before read have had
	// their chunk read at least once, those before head were seen taken,
	// those before tail have a chunk.
	read, head, tail uint64
	open             []chunk // that were read, and will be written to further
	latest           uint64  // when the latest of the chunks before read was asked for
	// Where lanes may drop records, a lane may give its ticket up: then nobody
	// takes its chunk. Absent are those tickets before head.
	absent map[uint64]bool
	ending []ending
	sizes  []RecordSize // as of the last Poll
	broken int
	last   bool
}

// ending is a grid that has ended, and the ticket before which all of its
// lanes took theirs.
type ending struct {
	grid, before uint64
	again        bool
}

// chunk is one that a lane has.
type chunk struct {
	head   Run    // without its records
	clock  uint64 // of the record before, if there is one
	number uint32
	next   uint16 // the word to read next
	begun  bool   // a record was read
	broken bool   // what is there makes no sense
}

// NewReader reads the ring in mem, from its beginning: nobody has read it
// before.
func NewReader(mem []byte) (*Reader, error) {
	v, err := open(mem)
	if err != nil {
		return nil, err
	}
	r := &Reader{view: v, tail: v.mask + 1, numbers: make([]uint32, v.mask+1), absent: make(map[uint64]bool)}
	for i := range r.numbers {
		r.numbers[i] = uint32(i)
	}
	return r, nil
}

// Chunks is how many chunks the ring has.
func (r *Reader) Chunks() int { return int(r.mask + 1) }

// Drops reports whether lanes drop records when there is no free chunk.
func (r *Reader) Drops() bool { return r.flags&FlagDrop != 0 }

// Taken is how many chunks lanes have, as of the last Poll: if that is all of
// them, lanes wait.
func (r *Reader) Taken() int { return len(r.open) + int(r.head-r.read) }

// Full reports whether lanes have all chunks by now: those that need another
// wait, or drop records.
func (r *Reader) Full() bool {
	r.take()
	return r.head == r.tail
}

// Broken is how many chunks held what no lane writes.
func (r *Reader) Broken() int { return r.broken }

// near is how far lanes may be behind others whose tickets are later.
const near = 4096

// EndGrid tells that the lanes of a grid have ended. Once all that they wrote
// has been handed out, the grid is in a batch's Ended, and chunks that they did
// not close are recycled: unless the grid may run again, as those of a graph do
// under one number, and may have them for that.
func (r *Reader) EndGrid(grid uint64, again bool) {
	r.ending = append(r.ending, ending{grid &^ valid, r.taken(), again})
}

// taken is a ticket before which are all that lanes have by now. They may take
// their chunks in another order than their tickets, but not by much.
func (r *Reader) taken() uint64 {
	end := r.head
	for at := r.head; at < r.tail && at < end+near; at++ {
		if r.isTaken(at) {
			end = at + 1
		}
	}
	return end
}

// Last tells that all lanes are gone. From now on nothing is recycled, and
// lanes that had a ticket and took no chunk keep nobody waiting.
func (r *Reader) Last() { r.last = true }

// Poll appends what was written since the last one, and recycles what can be.
// Of the chunks that were not read before it reads, in the order in which
// lanes took them, only until there are as many records as the limit: it
// returns true if some are left. Sizes has the sizes of the records of each
// site, by its number.
func (r *Reader) Poll(sizes []RecordSize, b *Batch, limit int) (more bool) {
	r.sizes = sizes
	r.take()
	full := r.head == r.tail
	kept := r.open[:0]
	for i := range r.open {
		if c := &r.open[i]; r.readChunk(c, b) {
			r.recycle(c)
		} else {
			kept = append(kept, *c)
		}
	}
	r.open = kept
	for ; r.read < r.head; r.read++ {
		if b.Len() >= limit {
			break
		}
		if r.absent[r.read] || r.last && !r.isTaken(r.read) {
			continue
		}
		r.latest = max(r.latest, r.first(r.read, b))
	}
	for ticket := range r.absent {
		if ticket < r.read && r.isTaken(ticket) { // its lane was slow
			delete(r.absent, ticket)
			r.first(ticket, b)
		}
	}
	b.Bound = math.MaxUint64
	if more = r.read < r.head; more {
		c := chunk{number: r.numbers[r.read&r.mask]}
		c.open(r.wordsOf(&c))
		b.Bound = max(r.latest, r.asked(&c))
	}
	b.Asked, b.Dropped = r.latest, r.Drops() && full
	b.Waits = !r.Drops() && (full || slices.ContainsFunc(r.open, func(c chunk) bool { return !c.begun && !c.broken }))
	r.end(b)
	return more
}

// first reads the chunk of a ticket for the first time, and returns when it was
// asked for, if that is known.
func (r *Reader) first(ticket uint64, b *Batch) (asked uint64) {
	c := chunk{number: r.numbers[ticket&r.mask]}
	over := r.readChunk(&c, b)
	asked = r.asked(&c)
	if over {
		r.recycle(&c)
	} else {
		r.open = append(r.open, c)
	}
	return asked
}

// asked is the %globaltimer at which the lane of a chunk that is open asked for
// it: about when it read the clock of its first record. A cycle is counted as
// a nanosecond, which is more than it takes. 0 if that is not known yet.
func (r *Reader) asked(c *chunk) uint64 {
	w0 := atomic.LoadUint64(&r.wordsOf(c)[headWords])
	if c.next < headWords || w0&valid == 0 {
		return 0
	}
	return c.head.Time - min(c.head.Time, uint64(max(c.back(w0), 0)))
}

// end hands out the grids of which everything has been read.
func (r *Reader) end(b *Batch) {
	var over []uint64
	r.ending = slices.DeleteFunc(r.ending, func(e ending) bool {
		if e.before > r.read {
			return false
		}
		b.Ended = append(b.Ended, e.grid)
		if !e.again {
			over = append(over, e.grid)
		}
		return true
	})
	if len(over) == 0 {
		return
	}
	r.open = slices.DeleteFunc(r.open, func(c chunk) bool {
		if c.next < headWords || !slices.Contains(over, c.head.Grid) {
			return false
		}
		r.torn(&c, b)
		r.recycle(&c)
		return true
	})
}

// take finds the chunks that lanes have taken, in the order of the tickets.
func (r *Reader) take() {
	for r.head < r.tail && (r.last || r.isTaken(r.head) || r.isAbsent(r.head)) {
		r.head++
	}
}

// isAbsent reports whether a ticket was given up, and notes that: others have
// taken chunks since.
func (r *Reader) isAbsent(ticket uint64) bool {
	if !r.Drops() || r.taken() == ticket {
		return false
	}
	r.absent[ticket] = true
	return true
}

// isTaken reports whether a lane has taken the chunk of a ticket that is not
// read yet.
func (r *Reader) isTaken(ticket uint64) bool {
	if ticket > r.mask {
		return atomic.LoadUint32(&r.fifo[ticket&r.mask]) == 0
	}
	return atomic.LoadUint64(&r.words[ticket*(ChunkBytes/8)])&valid != 0
}

// recycle makes a chunk free again. The entry of the next ticket is 0, or of a
// ticket that was given up: as many tickets were seen as chunks come back.
func (r *Reader) recycle(c *chunk) {
	if r.last {
		return
	}
	// Behind the word that was read last may be a close, or a record that is
	// not whole.
	used := chunkWords
	if !c.broken {
		used = min(used, int(c.next)+2*MaxRecordSlots)
	}
	clear(r.wordsOf(c)[:used])
	r.publish(c.number)
}

// publish gives a chunk to the next ticket. If nobody took the chunk of the
// ticket before in the same place, that comes back, too.
func (r *Reader) publish(number uint32) {
	at, before := r.tail&r.mask, r.tail-r.mask-1
	left, isLeft := r.numbers[at], r.absent[before]
	delete(r.absent, before)
	r.numbers[at] = number
	atomic.StoreUint32(&r.fifo[at], uint32(r.tail>>r.shift&lapMask)<<entryBits|(number+1))
	r.tail++
	if isLeft {
		r.publish(left)
	}
}

func (r *Reader) wordsOf(c *chunk) []uint64 {
	return r.words[int(c.number)*ChunkBytes/8:][:ChunkBytes/8]
}

// readChunk appends what is new in a chunk. It returns true if nothing more
// will be written to it.
func (r *Reader) readChunk(c *chunk, b *Batch) (over bool) {
	words := r.wordsOf(c)
	if c.next < headWords && !c.open(words) || c.broken {
		return false
	}
	first, firstWord := b.Len(), len(b.Value)
	at := int(c.next)
read:
	for at < chunkWords {
		w0 := atomic.LoadUint64(&words[at])
		if w0&valid == 0 {
			break
		}
		site, odd := uint32(w0>>clockBits)&(MaxSites-1), at%2 == 1
		size := r.size(site)
		switch {
		case site == SiteClose:
			over = true
			break read
		case odd && site == SiteGap: // a blank
			at++
			continue
		case size.Short:
			c.record(b, w0, math.MaxUint32)
			at++
			continue
		case odd || size.Slots < 1 || int(size.Slots) > min(MaxRecordSlots, (chunkWords-at)/2):
			r.breaks(c, b)
			break read
		}
		next := at + 2*int(size.Slots)
		if !written(words[at+1 : next]) {
			break
		}
		for _, w := range words[at+2 : next] {
			b.Value = append(b.Value, w&^valid)
		}
		c.record(b, w0, atomic.LoadUint64(&words[at+1]))
		at = next
	}
	c.next = uint16(at)
	c.run(b, first, firstWord)
	return over
}

// size is that of the records of a site.
func (r *Reader) size(site uint32) RecordSize {
	if site == SiteGap {
		return RecordSize{Slots: 1}
	}
	if int(site) < len(r.sizes) {
		return r.sizes[site]
	}
	return RecordSize{}
}

// record appends the record whose first slot that is.
func (c *chunk) record(b *Batch, w0, w1 uint64) {
	c.clock = c.advance(w0)
	b.add(uint32(w0>>clockBits)&(MaxSites-1), c.clock, uint32(w1>>32)&^(1<<31), uint32(w1))
}

// open reads the head of a chunk, once it is written.
func (c *chunk) open(words []uint64) bool {
	var w [4]uint64
	for i := range w {
		if w[i] = atomic.LoadUint64(&words[i]); w[i]&valid == 0 {
			return false
		}
		w[i] &^= valid
	}
	c.head = Run{
		Grid: w[0],
		CTA:  uint32(w[1]),
		Warp: uint8(w[1] >> 32 & 63), Lane: uint8(w[1] >> 38 & 31), SM: uint16(w[1] >> 43),
		Clock: w[2], Time: w[3],
	}
	c.next = headWords
	return true
}

// advance gives the clock of a record whose low bits are known. The first
// record of a chunk read its clock before the lane took the chunk; the others
// follow the record before them.
func (c *chunk) advance(w0 uint64) uint64 {
	const mask = 1<<clockBits - 1
	if !c.begun {
		c.begun = true
		return (c.head.Clock - uint64(c.back(w0))) &^ valid
	}
	return (c.clock + (w0-c.clock)&mask) &^ valid
}

// back is how many cycles before the lane got the chunk it read the clock of
// its first record.
func (c *chunk) back(w0 uint64) int64 {
	return int64((c.head.Clock-w0)<<(64-clockBits)) >> (64 - clockBits)
}

// breaks gives a chunk up: nobody knows where its next record begins.
func (r *Reader) breaks(c *chunk, b *Batch) {
	c.broken = true
	r.broken++
	c.gap(b)
}

func (c *chunk) gap(b *Batch) {
	b.add(SiteGap, max(c.clock, c.head.Clock), 1, 1<<c.head.Lane)
}

// run makes the batch's new rows a run of the chunk's.
func (c *chunk) run(b *Batch, first, firstWord int) {
	n := b.Len() - first
	if n == 0 {
		return
	}
	run := c.head
	run.First, run.N, run.FirstWord = first, n, firstWord
	b.Runs = append(b.Runs, run)
}

// written reports whether all words are.
func written(words []uint64) bool {
	for i := range words {
		if atomic.LoadUint64(&words[i])&valid == 0 {
			return false
		}
	}
	return true
}

// Finish appends what is left of records that began and did not end: the
// writers are gone, and the last Poll read all that was whole. That is a
// record without some of its slots, if it lacks what only is written behind
// its operation, and otherwise a gap. It returns how many records that are.
func (r *Reader) Finish(b *Batch) (torn int) {
	for i := range r.open {
		if r.torn(&r.open[i], b) {
			torn++
		}
	}
	return torn
}

// torn appends what is left of a record of the chunk that is not whole.
func (r *Reader) torn(c *chunk, b *Batch) bool {
	if c.next < headWords || c.broken || int(c.next) > chunkWords-2 {
		return false
	}
	w := r.wordsOf(c)[c.next:]
	w0, w1 := atomic.LoadUint64(&w[0]), atomic.LoadUint64(&w[1])
	if (w0|w1)&valid == 0 {
		return false
	}
	first, firstWord := b.Len(), len(b.Value)
	size := r.size(uint32(w0>>clockBits) & (MaxSites - 1))
	if size.Head > 0 && size.Head < size.Slots && int(size.Slots) <= min(MaxRecordSlots, len(w)/2) && written(w[:2*size.Head]) {
		for i := 2; i < 2*int(size.Slots); i += 2 {
			v0, v1 := atomic.LoadUint64(&w[i]), atomic.LoadUint64(&w[i+1])
			if v0&v1&valid == 0 {
				v0, v1 = 0, 0 // Missing, once bit 63 is turned over
			}
			b.Value = append(b.Value, v0^valid, v1^valid)
		}
		c.record(b, w0, w1)
	} else {
		c.gap(b)
	}
	c.run(b, first, firstWord)
	return true
}
