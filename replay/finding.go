package replay

import (
	"btrace/replay/rules"
	"btrace/trace"
)

// The parts of a finding are the catalogue's.
type (
	Finding    = rules.Finding
	Lanes      = rules.Lanes
	Location   = rules.Location
	EventRef   = rules.EventRef
	BarrierRef = rules.BarrierRef
	Wait       = rules.Wait
	Elsewhere  = rules.Elsewhere
)

// Verdict is what a launch, or a file, is found to be.
type Verdict string

// The verdicts. Deadlock outranks violation; only findings of severity error
// count.
const (
	Clean      Verdict = "clean"
	Violation  Verdict = "violation"
	Deadlock   Verdict = "deadlock"
	Incomplete Verdict = "incomplete"
)

// Counts are the sizes of what was replayed.
type Counts struct {
	WarpEvents   uint64
	ThreadEvents uint64
	Phases       uint64 // completed phases of all barriers that have phases; a syncwarp has none
}

func (c *Counts) add(o Counts) {
	c.WarpEvents += o.WarpEvents
	c.ThreadEvents += o.ThreadEvents
	c.Phases += o.Phases
}

// LaunchReport is the verdict of one launch.
type LaunchReport struct {
	Launch  trace.Launch
	Verdict Verdict
	Counts  Counts
	// Incomplete is true if events are known to be missing, whatever the
	// verdict.
	Incomplete bool
	// Schedules says what is known of other schedules of the same program
	// orders.
	Schedules Schedules
}

// Schedules is what one run says about all others in which every lane does
// the same operations.
type Schedules struct {
	// Proved is true if all of them go as this one did.
	Proved bool
	// Why says why that is not known, where no hazard is the reason.
	Why []string
}

// Report is what a replay of a trace found. Findings are ordered by launch,
// roots first, then time, CTA, barrier and rule. The same fault is listed for
// the 16 earliest CTAs of a launch that have it; Finding.Elsewhere counts the
// others. So a report grows with the faults of a kernel, not with its grid.
type Report struct {
	Verdict  Verdict
	Launches []LaunchReport
	Counts   Counts
	Findings []Finding
}
