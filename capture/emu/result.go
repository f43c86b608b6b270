package emu

import (
	"fmt"

	"btrace/trace"
)

// Sink takes the events of a launch, in batches that it may not keep. They
// come in stored order (trace.Event.Compare), and from one goroutine at a
// time. A *trace.Writer is a Sink.
type Sink interface {
	Write(events []trace.Event) error
}

// Result is how a launch ended.
type Result struct {
	// Outcome is completed, hung or trap:REASON; unknown if Launch also
	// returned an error.
	Outcome      trace.Outcome
	WarpEvents   uint64
	ThreadEvents uint64
	Steps        uint64 // warp operations, those without an event included
	Time         int64  // virtual ns at the end
	// Stuck lists the lanes that could not go on when the launch was found
	// to hang, by CTA and warp.
	Stuck []Stuck
	// GivenUp is true if the launch is called hung because it used up
	// Config.StepBudget, and not because nobody could go on.
	GivenUp bool
	// Schedule is the choices that were made, as one printable word for
	// Config.Schedule; "rr" for RoundRobin, and "" for a launch of so many
	// choices that they would take more than 4 MiB. It holds those of the
	// scheduler only: the kernel and the rest of the Config have to be the
	// same for the launch to be.
	Schedule string
	// Missed is how many choices of a Config.Schedule that was replayed could
	// not be made and were left out; 0 if the launch went the same way, or
	// was shorter.
	Missed uint64

	globals map[string]any
}

// Stuck is a group of lanes of a warp that wait at one operation.
type Stuck struct {
	CTA, Warp, Lanes uint32
	Op               string        // name of the operation, as in a trace; spin for Thread.Spin
	Barrier          trace.Barrier // what it waits on
	Line             uint32
	File             string // base name
}

// String is one line for people.
func (s Stuck) String() string {
	return fmt.Sprintf("cta %d warp %d lanes %08x: %s %s at %s:%d", s.CTA, s.Warp, s.Lanes, s.Op, s.Barrier, s.File, s.Line)
}

// Output returns the array that the kernel declared with Global under that
// name, or nil if no thread did.
func Output[T any](r Result, name string) []T {
	out, _ := r.globals[name].([]T)
	return out
}

// LaneError reports a kernel that did not come to an end because its Go code
// failed: it panicked, or called runtime.Goexit (as testing's FailNow does).
type LaneError struct {
	CTA, Warp, Lane uint32
	Panic           any    // the panic's value; nil for runtime.Goexit
	Stack           []byte // of the panic
}

func (e *LaneError) Error() string {
	if e.Panic == nil {
		return fmt.Sprintf("kernel called runtime.Goexit in cta %d warp %d lane %d", e.CTA, e.Warp, e.Lane)
	}
	return fmt.Sprintf("kernel panicked in cta %d warp %d lane %d: %v", e.CTA, e.Warp, e.Lane, e.Panic)
}

// Unwrap returns the panic's value, if it is an error.
func (e *LaneError) Unwrap() error {
	err, _ := e.Panic.(error)
	return err
}
