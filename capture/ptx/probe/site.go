package probe

import (
	"btrace/trace"
)

// Slots of a chunk, in bytes.
const (
	SlotBytes  = 16
	ChunkSlots = 64
	MaxSlots   = 4 // of a record; a chunk with less room than that is full
)

// Site is a place that writes records. Its fields are plain data, so that a
// process can hand them to another.
type Site struct {
	Number   uint32
	Slots    int    // of a record
	Function string // the entry or the function that it is in, as in the PTX
	// Op is what is the same in all records: the kind and its constant
	// operands, the line of PTX as PC, and the source (.loc) as File and Line.
	Op    trace.Op
	Takes Takes
}

// Takes says which operands come out of the record.
type Takes uint16

// The operands of a record, and where in it they are: in the operand of its
// first slot (o), or the values of the second (v0, v1).
const (
	TakesBar     Takes = 1 << iota // o: barrier (15 bits), count (16 bits)
	TakesBarDone                   // o: barrier (15 bits), result (16 bits)
	TakesPred                      // v0: lanes whose predicate is true
	TakesAddr                      // o: shared::cluster address of the mbarrier
	TakesLocal                     // with TakesAddr: it is the own CTA's if it names rank 0
	TakesParity                    // o: bit 0
	TakesToken                     // v0, and bit 0 of v1 as bit 63
	TakesCount                     // v1, from bit 1 on: 32 bits
	TakesBytes                     // v1, from bit 1 on: 32 bits, signed
	TakesCTAMask                   // v0: 16 bits
	TakesMask                      // v0: 32 bits
	TakesPhase                     // v0
	TakesBegan                     // v1, from bit 1 on: clock64 when the wait began. The record stands for a wait and a done
	TakesEachCTA                   // one event for each CTA of the mask
)

// Record is a record as the ring has it.
type Record struct {
	Site    uint32
	Clock   int64 // clock64, all of it
	Operand uint32
	Lanes   uint32
	Values  [2 * (MaxSlots - 1)]uint64 // of the slots behind the first, without their bit 63
}

// Place is where a chunk was written.
type Place struct {
	CTA           uint32 // linear index in the grid
	Grid, Cluster trace.Dim
}

// Append appends the events of a record to events: one for most, two for a
// wait that was over at once, of which the first has the earlier clock. It sets
// the operation, its operands and Clk, and leaves time, launch, CTA, warp and
// number alone. Only the growth of events allocates.
func (s *Site) Append(events []trace.Event, r *Record, at *Place) []trace.Event {
	return append(events, trace.Event{Op: s.Op})
}
