package explore

import (
	"math/bits"

	"btrace/trace"
)

// Program is what the lanes of a scope do, each in its own order: a run
// without its interleaving.
type Program struct {
	Threads int // of a CTA
	CTAs    int
	Strands []Strand
	// Functions is the addresses of the mbarriers that have a completion
	// function.
	Functions map[uint64]bool
}

// Strand is lanes of a warp that do everything together. Every lane of the
// scope is in one; at the end of its operations it exits.
type Strand struct {
	CTA, Warp, Lanes uint32
	Ops              []Op // no enter, exit or done
}

// Op is an operation of a strand.
type Op struct {
	trace.Op
	Pred uint32 // of a reduction
	Seq  uint32 // of the event that it was, in the recording of its warp
	// Test is true for a test that said yes: in another schedule it may say
	// no, and the program go another way.
	Test bool
}

// lanes is how many threads the strand is.
func (s *Strand) lanes() int { return bits.OnesCount32(s.Lanes) }

// owner is the CTA whose mbarrier an operation is on.
func (s *Strand) owner(op *trace.Op) uint32 { return op.OwnerCTA(s.CTA) }
