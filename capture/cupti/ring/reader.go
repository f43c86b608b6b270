package ring

import "sync/atomic"

// Reader reads a ring while it is written. Whatever stands in the memory, it
// reads only what lies in it, and hands out records of known sites only.
//
// Its methods are for one goroutine.
type Reader struct {
	view
	numbers []uint32 // chunk of each entry of the fifo
	head    uint64   // tickets that were seen taken, all before it
	tail    uint64   // tickets that have a chunk
	active  []chunk
	ended   map[uint64]bool // grids that have ended lately
	order   []uint64        // of them, in the order of their ends
	broken  int
}

// endedGrids is how many grids that have ended are remembered. A chunk of one
// is seen in the Poll that follows, unless a lane of another grid is between
// its ticket and its chunk just then.
const endedGrids = 4096

// chunk is one that a lane has.
type chunk struct {
	head   Run    // without its records
	clock  uint64 // of the record before, if there is one
	number uint32
	next   uint8 // the slot to read next
	begun  bool  // a record was read
	broken bool  // what is there makes no sense
}

// NewReader reads the ring in mem, from its beginning: nobody has read it
// before.
func NewReader(mem []byte) (*Reader, error) {
	v, err := open(mem)
	if err != nil {
		return nil, err
	}
	r := &Reader{view: v, tail: v.mask + 1, ended: make(map[uint64]bool), numbers: make([]uint32, v.mask+1)}
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
func (r *Reader) Taken() int { return len(r.active) }

// Broken is how many chunks held what no lane writes.
func (r *Reader) Broken() int { return r.broken }

// EndGrid tells that no lane of the grid will write any more: its chunks are
// recycled once they have been read.
func (r *Reader) EndGrid(grid uint64) {
	grid &^= valid
	if r.ended[grid] {
		return
	}
	if len(r.order) == endedGrids {
		delete(r.ended, r.order[0])
		r.order = append(r.order[:0], r.order[1:]...)
	}
	r.ended[grid] = true
	r.order = append(r.order, grid)
}

// Poll appends what was written since the last one, some limit of records or
// a chunk's more, and recycles what can be. Sizes is the number of slots (1 to
// MaxRecordSlots) of a record of each site; 0 is no site.
//
// It returns true if the limit ended it: there may be more to read.
func (r *Reader) Poll(sizes []uint8, b *Batch, limit int) (more bool) {
	r.take()
	end := b.Len() + limit
	for i := 0; i < len(r.active); {
		if b.Len() >= end {
			r.rotate(i)
			return true
		}
		c := &r.active[i]
		if !r.read(c, sizes, b) {
			if c.next < 2 || !r.ended[c.head.Grid] {
				i++
				continue
			}
			r.torn(c, b)
		}
		r.recycle(c.number)
		last := len(r.active) - 1
		r.active[i] = r.active[last]
		r.active = r.active[:last]
	}
	return false
}

// rotate puts the first n active chunks behind the others, so that these are
// read first the next time.
func (r *Reader) rotate(n int) {
	r.active = append(r.active, r.active[:n]...)
	r.active = r.active[:copy(r.active, r.active[n:])]
}

// take finds the chunks that lanes have taken, in the order of the tickets.
func (r *Reader) take() {
	for r.head < r.tail {
		at := r.head & r.mask
		if atomic.LoadUint32(&r.fifo[at]) != 0 {
			return
		}
		r.active = append(r.active, chunk{number: r.numbers[at]})
		r.head++
	}
}

// recycle makes a chunk free again. Its position in the fifo is 0: as many
// tickets were seen taken as chunks come back.
func (r *Reader) recycle(number uint32) {
	clear(r.words[int(number)*ChunkBytes/8:][:ChunkBytes/8])
	at := r.tail & r.mask
	r.numbers[at] = number
	atomic.StoreUint32(&r.fifo[at], number+1)
	r.tail++
}

// read appends what is new in a chunk. It returns true if nothing more will
// be written to it.
func (r *Reader) read(c *chunk, sizes []uint8, b *Batch) (over bool) {
	words := r.words[int(c.number)*ChunkBytes/8:][:ChunkBytes/8]
	if c.next < 2 && !c.open(words) || c.broken {
		return false
	}
	first, firstWord := b.Len(), len(b.Value)
	slot := int(c.next)
	for slot < fullSlots {
		w0, w1 := atomic.LoadUint64(&words[2*slot]), atomic.LoadUint64(&words[2*slot+1])
		if w0&w1&valid == 0 {
			break
		}
		site := uint32(w0>>clockBits) & (MaxSites - 1)
		if site == SiteClose {
			over = true
			break
		}
		n := 0
		if site == SiteGap {
			n = 1
		} else if int(site) < len(sizes) {
			n = int(sizes[site])
		}
		if n < 1 || n > MaxRecordSlots {
			r.breaks(c, b)
			break
		}
		if !written(words[2*slot+2 : 2*(slot+n)]) {
			break
		}
		for _, w := range words[2*slot+2 : 2*(slot+n)] {
			b.Value = append(b.Value, w&^valid)
		}
		c.clock = c.advance(w0)
		b.add(site, c.clock, uint32(w1>>32)&^(1<<31), uint32(w1))
		slot += n
	}
	c.next = uint8(slot)
	c.run(b, first, firstWord)
	return over || slot >= fullSlots
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
	c.next = 2
	return true
}

// advance gives the clock of a record whose low bits are known. The first
// record of a chunk read its clock before the lane took the chunk; the others
// follow the record before them.
func (c *chunk) advance(w0 uint64) uint64 {
	const mask = 1<<clockBits - 1
	if !c.begun {
		c.begun = true
		back := int64((c.head.Clock-w0)<<(64-clockBits)) >> (64 - clockBits)
		return (c.head.Clock - uint64(back)) &^ valid
	}
	return (c.clock + (w0-c.clock)&mask) &^ valid
}

// breaks gives a chunk up: nobody knows where its next record begins.
func (r *Reader) breaks(c *chunk, b *Batch) {
	c.broken = true
	r.broken++
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

// Finish appends a gap for each chunk in which a record began and did not end:
// the writers are gone, and the last Poll read all that was whole. It returns
// how many records that are.
func (r *Reader) Finish(b *Batch) (torn int) {
	for i := range r.active {
		if r.torn(&r.active[i], b) {
			torn++
		}
	}
	return torn
}

// torn appends a gap if a record of the chunk was begun and is not whole.
func (r *Reader) torn(c *chunk, b *Batch) bool {
	if c.next < 2 || c.broken || int(c.next) >= fullSlots {
		return false
	}
	at := int(c.number)*ChunkBytes/8 + 2*int(c.next)
	if (atomic.LoadUint64(&r.words[at])|atomic.LoadUint64(&r.words[at+1]))&valid == 0 {
		return false
	}
	first := b.Len()
	b.add(SiteGap, max(c.clock, c.head.Clock), 1, 1<<c.head.Lane)
	c.run(b, first, len(b.Value))
	return true
}
