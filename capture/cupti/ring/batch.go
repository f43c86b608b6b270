package ring

// Batch is records, in columns: those of one chunk after the other, each
// chunk's in their order. A lane's chunks may come in any order: clocks tell.
// A recorder fills the same one again and again.
type Batch struct {
	Runs []Run

	// One row a record. Site SiteGap has the records that were lost in
	// Operand.
	Site    []uint32
	Clock   []uint64 // all 63 bits
	Operand []uint32
	Lanes   []uint32
	// Value is the words of the slots after the first, two a slot: as many
	// as the sites of the records say. Missing are both words of a slot that
	// was not written when the record's lanes ended.
	Value []uint64

	// Ended is grids of which this is all.
	Ended []uint64
	// Bound is the %globaltimer before which the chunks were asked for that
	// have been read; its greatest value if they all were. A lane that had read
	// its clock and not written its record yet may be later than that.
	Bound uint64
	// Waits is true if lanes may be waiting for chunks, with a record whose
	// clock they have read: none of them asked before Asked, but for those that
	// were a little slow to take their ticket.
	Waits bool
	Asked uint64
	// Dropped is true if lanes found no chunk, and dropped records, or may have.
	Dropped bool
}

// Run is consecutive records of one chunk.
type Run struct {
	Grid      uint64 // %gridid
	CTA       uint32 // linear
	Warp      uint8  // in the CTA
	Lane      uint8  // that the chunk belongs to
	SM        uint16
	Clock     uint64 // the SM's clock, and
	Time      uint64 // %globaltimer, at one moment: when the lane took the chunk
	First, N  int    // its records
	FirstWord int    // in Value
}

// Len is the number of records.
func (b *Batch) Len() int { return len(b.Site) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Runs, b.Site, b.Clock = b.Runs[:0], b.Site[:0], b.Clock[:0]
	b.Operand, b.Lanes, b.Value = b.Operand[:0], b.Lanes[:0], b.Value[:0]
	b.Ended, b.Bound, b.Waits, b.Asked, b.Dropped = b.Ended[:0], 0, false, 0, false
}

func (b *Batch) add(site uint32, clock uint64, operand, lanes uint32) {
	b.Site = append(b.Site, site)
	b.Clock = append(b.Clock, clock)
	b.Operand = append(b.Operand, operand)
	b.Lanes = append(b.Lanes, lanes)
}
