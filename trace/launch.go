package trace

import "strings"

// Outcome is how a launch ended: "completed", "hung" (the host gave up
// waiting), "trap:REASON", or "unknown".
type Outcome string

// The outcomes. A trap is "trap:" and its reason.
const (
	OutcomeUnknown   Outcome = "unknown"
	OutcomeCompleted Outcome = "completed"
	OutcomeHung      Outcome = "hung"
)

// Trap returns the reason of a trap, and whether the launch trapped.
func (o Outcome) Trap() (reason string, ok bool) { return strings.CutPrefix(string(o), "trap:") }

// Dim is a three-dimensional extent: x, y, z.
type Dim [3]uint32

// Size is the number of elements; a zero extent counts as one.
func (d Dim) Size() uint64 {
	n := uint64(1)
	for _, x := range d {
		if x > 1 {
			n *= uint64(x)
		}
	}
	return n
}

// Launch is one kernel launch of a trace.
type Launch struct {
	ID      uint32
	Kernel  string // readable name
	Mangled string // name in the binary, where it differs
	Program string // source file of the kernel
	// Recorder is what made the recording: emulator, ptx, cupti, sanitizer,
	// or what an import said.
	Recorder string
	Device   string
	Arch     string // sm_90
	Grid     Dim
	Block    Dim
	Cluster  Dim
	Shared   uint32 // dynamic shared memory, bytes
	// Observes lists the families that the recorder sees. Of the others,
	// absence proves nothing. Nil means that the recording does not say:
	// then everything is taken to be seen.
	Observes []string
	Outcome  Outcome
	// Extra and EndExtra are unknown keys of the launch and launch_end
	// lines, as the inside of a JSON object.
	Extra, EndExtra string
	// Ended is true once a launch_end was read or written.
	Ended bool
}

// CTAs is the number of CTAs in the grid.
func (l *Launch) CTAs() uint64 { return l.Grid.Size() }

// Threads is the number of threads in a CTA.
func (l *Launch) Threads() uint64 { return l.Block.Size() }

// Warps is the number of warps in a CTA.
func (l *Launch) Warps() uint64 { return (l.Threads() + 31) / 32 }

// ClusterSize is the number of CTAs in a cluster; 1 without clusters.
func (l *Launch) ClusterSize() uint64 { return l.Cluster.Size() }

// Sees reports whether the recorder observes the family.
func (l *Launch) Sees(f Family) bool {
	if f == FamilyOther || l.Observes == nil {
		return true
	}
	for _, o := range l.Observes {
		if o == string(f) {
			return true
		}
	}
	return false
}
