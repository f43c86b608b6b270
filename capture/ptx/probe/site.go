package probe

import (
	"math/bits"

	"btrace/trace"
)

// The size of a chunk and of what is in it. A lane that takes a chunk waits for
// all its stores to get through to the host, some 10 us on an H100: so chunks
// are large.
const (
	SlotBytes   = 16
	ChunkSlots  = 1024
	HeaderSlots = 2 // that say whose the chunk is
	MaxSlots    = 4 // of a record
)

// Site is a place that writes records. Its fields are plain data, so that a
// process can hand them to another.
type Site struct {
	Number   uint32
	Slots    int    // of a record
	Short    bool   // a record is the first word of its slot: it is of all lanes of a warp
	Function string // the entry or the function that it is in, as in the PTX
	// Op is what is the same in all records: the kind and its constant
	// operands, the line of PTX as PC, and the source (.loc) as File and
	// Line. Has names the operands that come out of the record as well.
	Op    trace.Op
	Takes Takes
}

// Takes says which operands come out of the record.
type Takes uint32

// The operands of a record, and where in it they are: in the operand of its
// first slot (o), or the values of the second (v0, v1).
const (
	TakesBar     Takes = 1 << iota // o: barrier (15 bits), count (16 bits)
	TakesResult                    // o: barrier (15 bits), result (16 bits)
	TakesPred                      // v0: lanes whose predicate is true
	TakesAddr                      // o: address of the mbarrier in shared::cluster
	TakesLocal                     // with TakesAddr: one of rank 0 is the own CTA's
	TakesParity                    // o: bit 0
	TakesToken                     // v0 of the last slot, and bit 0 of its v1 as bit 63
	TakesCount                     // v1, from bit 1 on: 32 bits
	TakesBytes                     // v1, from bit 1 on: 32 bits, signed
	TakesCTAMask                   // v0: 16 bits
	TakesMask                      // v0: 32 bits
	TakesPhase                     // v0
	TakesBegan                     // v1, from bit 1 on: clock64 when a wait began. The record is of the wait and of its end
	TakesSince                     // o, from bit 18 on: the same, as 128 cycles before the end. The address has 18 bits
	TakesEachCTA                   // v0: 16 bits, ranks: an event for each
	TakesYes                       // the answer of a test is yes
	TakesPhases                    // with TakesToken: v1, from bit 1 on: the lanes that arrived in the phase of the token
)

// Record is a record as the ring has it.
type Record struct {
	Site    uint32
	Clock   int64 // clock64, all of it
	Operand uint32
	Lanes   uint32
	Values  [2 * (MaxSlots - 1)]uint64 // of the slots behind the first, without their bit 63
}

// Tail is how many slots of a record, at its end, are written behind the
// operation. If that traps, they never are.
func (s *Site) Tail() int {
	if s.Takes&TakesPhases != 0 {
		return 1
	}
	return 0
}

// Missing is what Values hold of a slot that was not written.
const Missing = valid

// Place is where a chunk was written.
type Place struct {
	CTA           uint32 // linear index in the grid
	Grid, Cluster trace.Dim
}

// Append appends the events of a record to events: mostly one, but two for a
// wait that was over at once, of which the first has the earlier clock, two for
// lanes that arrived together in two phases, and as many for an arrival at
// several CTAs. Of the token of lanes in the other phase than the first only
// bit 63 is their own. Append sets the operation, its operands and
// Clk, and leaves time, launch, CTA, warp and sequence number to the caller.
// Only the growth of events allocates.
func (s *Site) Append(events []trace.Event, r *Record, at *Place) []trace.Event {
	e := trace.Event{Op: s.Op, Clk: r.Clock}
	e.Lanes, e.Has = r.Lanes, e.Has.With(trace.FieldClk)
	v0, v1, x := r.Values[0], r.Values[1], uint32(r.Values[1]>>1)
	takes := func(t Takes) bool { return s.Takes&t != 0 }
	rank := at.rank()
	if takes(TakesBar) {
		e.Bar, e.Count = r.Operand&0x7fff, r.Operand>>15
	}
	if takes(TakesResult) {
		e.Bar, e.Result = r.Operand&0x7fff, r.Operand>>15
	}
	if takes(TakesPred) {
		e.Pred = uint32(v0) & r.Lanes
	}
	if takes(TakesAddr) {
		addr := r.Operand
		if takes(TakesSince) {
			addr &= 1<<sinceShift - 1
		}
		of := addr >> rankShift
		e.Addr = uint64(addr & (1<<rankShift - 1))
		if of == 0 && takes(TakesLocal|TakesSince) {
			of = rank
		}
		rank = of
	}
	if takes(TakesParity) {
		e.Parity = uint8(e.Addr & 1)
		e.Addr &^= 1
	}
	var phases uint32
	if takes(TakesToken) {
		t0, t1 := r.Values[max(2*s.Slots-4, 0)], r.Values[max(2*s.Slots-3, 1)]
		e.Token, phases = t0|t1<<63, uint32(t1>>1)
		if t0 == Missing {
			e.Token, e.Has = 0, e.Has&^trace.Fields(0).With(trace.FieldToken)
			phases = r.Lanes
		}
	}
	if takes(TakesCount) {
		e.Count = x
		if x == 0 && e.Kind == trace.KindGroupArrive { // not known
			e.Has &^= trace.Fields(0).With(trace.FieldCount)
		}
	}
	if takes(TakesBytes) {
		e.Bytes = int64(int32(x))
	}
	if takes(TakesMask) {
		e.Mask = uint32(v0)
	}
	if takes(TakesYes) {
		e.Result = 1
	}
	if takes(TakesPhase) {
		e.Phase = v0
	}
	ranks := uint32(v0) & (1<<min(at.Cluster.Size(), 16) - 1)
	if takes(TakesCTAMask) {
		if ranks == 0 {
			return events // it goes to nobody
		}
		e.CTAMask = ranks
	}
	if takes(TakesEachCTA) {
		for ; ranks != 0; ranks &= ranks - 1 {
			e := e
			at.own(&e, uint32(bits.TrailingZeros32(ranks)))
			events = append(events, e)
		}
		return events
	}
	if takes(TakesAddr) {
		at.own(&e, rank)
	}
	if takes(TakesBegan | TakesSince) {
		wait := e
		wait.Kind, wait.Clk = trace.KindMbarWait, int64(v1>>1)
		if takes(TakesSince) {
			wait.Clk = r.Clock - int64(r.Operand>>sinceShift)<<sinceUnit
		}
		events = append(events, wait)
	}
	if other := r.Lanes &^ phases; takes(TakesPhases) && other != 0 {
		first := e
		first.Lanes = r.Lanes & phases
		events = append(events, first)
		e.Lanes, e.Token = other, e.Token^valid
	}
	return append(events, e)
}

// A wait that was over at once has its duration behind the address, which is
// less than 256 KiB: a CTA has no more shared memory. One of more than a
// million cycles seems to have begun later.
const (
	sinceShift = 18
	sinceUnit  = 7 // binary digits of a cycle count that are cut
	maxSince   = 1<<(31-sinceShift) - 1
)

// rankShift is where an address in shared::cluster has the rank of its CTA on
// sm_90 and later.
const rankShift = 24

// own says whose an mbarrier is, if it is another CTA's.
func (p *Place) own(e *trace.Event, rank uint32) {
	if rank == p.rank() {
		return
	}
	e.Owner, e.Has = p.ctaOf(rank), e.Has.With(trace.FieldOwnerCTA)
}

// index is a CTA's place in the grid.
func (p *Place) index() trace.Dim {
	x, y := max(p.Grid[0], 1), max(p.Grid[1], 1)
	return trace.Dim{p.CTA % x, p.CTA / x % y, p.CTA / x / y}
}

// rank is the CTA's rank in its cluster (PTX ISA, "%cluster_ctarank").
func (p *Place) rank() uint32 {
	at, rank := p.index(), uint32(0)
	for i := range at {
		n := max(p.Cluster[2-i], 1)
		rank = rank*n + at[2-i]%n
	}
	return rank
}

// ctaOf is the linear index in the grid of the CTA of a rank of the cluster.
func (p *Place) ctaOf(rank uint32) uint32 {
	at := p.index()
	for i := range at {
		n := max(p.Cluster[i], 1)
		at[i] += rank%n - at[i]%n
		rank /= n
	}
	return at[0] + max(p.Grid[0], 1)*(at[1]+max(p.Grid[1], 1)*at[2])
}
