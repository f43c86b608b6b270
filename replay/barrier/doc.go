// Package barrier holds the state machines of the GPU's barriers: named
// barriers, mbarriers, the collective barriers of clusters and cooperative
// groups, and syncwarp.
//
// Every machine is pure and deterministic: an operation goes in, and an
// Effect comes out that says what the silicon does (phases completed, lanes
// released, a trap) and, apart from that, which rules of the specification
// the operation breaks. An undefined program gets both. The silicon's side is
// held to the litmus table that was measured on an H100; the specification's
// side follows the PTX ISA (barrier, barrier.cluster, mbarrier, bar.warp.sync)
// and the CUDA programming guide (asynchronous barriers, cooperative groups).
//
// The machines know nothing of time, of traces, or of who waits for an
// mbarrier: pollers ask. The emulator and the replay both run on them.
//
// All state is in exported fields, so that a checkpoint can store it.
package barrier

// Violation is one breach of the specification by one operation.
type Violation struct {
	Rule  Rule
	Phase uint64 // the barrier's phase in which it happened
	// Escalated raises a rule that is a warning in the catalogue to an error.
	Escalated bool
	// Got and Want are the two numbers that disagree, where the rule is about
	// numbers: counts, ids, phases, bytes.
	Got, Want int64
	// Other is the warp that set Want, or NoWarp.
	Other uint32
}

// NoWarp stands for no warp in particular.
const NoWarp = ^uint32(0)

// Release says that lanes may leave an operation that blocked them.
type Release struct {
	CTA    uint32 // of a collective barrier; 0 otherwise
	Warp   uint32
	Lanes  uint32
	Bar    uint32 // of a named barrier
	Phase  uint64
	Result uint32 // of a reduction: the count, or 0 / 1
}

// Effect is what operations did. It is an accumulator: the caller resets it
// before an operation and reads it after, so that no operation allocates.
type Effect struct {
	Completed  int // phases completed
	Released   []Release
	Violations []Violation
	// Trap is the error with which the silicon ends the launch; "" for none.
	Trap string
	// MayTrap is true where the silicon ended the launch in some runs, and went
	// on in others.
	MayTrap bool
}

// The traps that were seen on silicon.
const (
	TrapIllegalInstruction = "illegal instruction"
	TrapLaunchFailure      = "unspecified launch failure"
)

// Reset empties the effect and keeps its memory.
func (e *Effect) Reset() {
	e.Completed, e.Trap, e.MayTrap = 0, "", false
	e.Released, e.Violations = e.Released[:0], e.Violations[:0]
}

func (e *Effect) violate(r Rule, phase uint64, got, want int64) {
	e.Violations = append(e.Violations, Violation{Rule: r, Phase: phase, Got: got, Want: want, Other: NoWarp})
}

// lanesOf is the mask of the lanes that warp w of a CTA of so many threads
// has.
func lanesOf(threads, w int) uint32 {
	n := threads - 32*w
	if n >= 32 {
		return ^uint32(0)
	}
	return 1<<n - 1
}
