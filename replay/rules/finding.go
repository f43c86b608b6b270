package rules

import (
	"btrace/replay/barrier"
	"btrace/trace"
)

// Lanes is a set of lanes of one warp.
type Lanes struct {
	CTA  uint32
	Warp uint32
	Mask uint32
}

// Location is a place in the source. Line 0 means unknown.
type Location struct {
	File string
	Line uint32
	PC   uint64
}

// EventRef points at a warp event.
type EventRef struct {
	CTA, Warp, Seq uint32
}

// BarrierRef names a barrier and one of its phases.
type BarrierRef struct {
	CTA     uint32 // the CTA that owns it
	Barrier trace.Barrier
	Phase   uint64
}

// Wait is a group of lanes stuck at one barrier behind a root cause.
type Wait struct {
	BarrierRef
	Threads  []Lanes
	Location Location
	Since    int64
}

// Finding is one breach of a rule, or one hang, in a launch.
type Finding struct {
	Rule     barrier.Rule
	Severity Severity
	Root     bool // the cause of a hang, not a wait behind it
	Launch   uint32
	BarrierRef
	Threads  []Lanes // who did it, or who waits
	Missing  []Lanes // who did not come
	Time     int64
	Message  string // one sentence: what happened, with the numbers
	Hint     string // what to change
	Location Location
	Events   []EventRef
	// Cycle lists the barriers of a deadlock-cycle, in wait-for order.
	Cycle []BarrierRef
	// Behind lists the waits that this root holds up.
	Behind []Wait
	// Story tells a hang in a few lines: who arrived, who is missing and
	// where those lanes are.
	Story []string
	// More is how often the same was found again at the same place.
	More int
	// Elsewhere counts the same in CTAs that have no finding of their own. A
	// fault that is in many CTAs is listed for the earliest of them; the first
	// of those findings has the count.
	Elsewhere Elsewhere
	// Unlisted is how many more findings of the rule there are at places that
	// have none in the report, where it was broken at thousands of places; what
	// was found again at one of those may count again.
	Unlisted int
}

// Elsewhere is how many more CTAs have the same fault, at the same barrier and
// place, how often it was found in them, and the time of the latest.
type Elsewhere struct {
	CTAs  int
	Times int
	Last  int64 // ns
}
