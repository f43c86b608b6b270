package kernels

import (
	"slices"

	"btrace/capture/emu"
	"btrace/replay/barrier"
)

// Twin is a clean kernel of the gallery with one line changed, added, left out
// or moved. Under emu.RoundRobin it comes to its end, with the right results
// and without breaking a rule, but only by luck: nothing makes the barriers'
// phases what they were in that run. It is launched as its original.
type Twin struct {
	Of      string       // the kernel's name
	What    string       // what is different
	Rule    barrier.Rule // the hazard that a replay of the run finds
	Barrier string       // on which, as trace.Barrier writes it
	Wrong   Wrong        // what another schedule does to it
	Run     func(*emu.Thread)
}

// Wrong is how a run goes wrong.
type Wrong string

// The ways.
const (
	Hangs   Wrong = "hangs"
	Errs    Wrong = "errs"    // it breaks a rule of the specification
	Results Wrong = "results" // it completes, with wrong results
	// Nothing is what the emulator's schedules do to it: the phases mix, and
	// nobody is the worse for it; or it takes lanes that the emulator keeps
	// together to part.
	Nothing Wrong = ""
)

// Twins has one for every clean kernel.
func Twins() []Twin {
	return slices.Concat(namedTwins(), mbarrierTwins(), ringTwins())
}
