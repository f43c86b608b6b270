package replay

import (
	"context"

	"btrace/replay/diagnose"
	"btrace/trace"
)

// Row is a warp's row in a picture of a launch.
type Row struct {
	CTA, Warp uint32
}

// Cell is one cell of a row: the worst that happened to the warp in a slice
// of time.
type Cell struct {
	Activity Activity
	Severity uint8 // 0 none, 1 note, 2 warning, 3 error: of findings in it
	Mixed    bool  // lanes did different things, or several things happened
	Events   bool  // an event lies in it
}

// Phase is one phase of a barrier, as a span of time.
type Phase struct {
	Phase      uint64
	From, To   int64 // first arrival or wait, completion; To < 0: not completed
	Arrivals   uint64
	Expected   uint64
	Violations uint8 // as Cell.Severity
}

// Lane is a barrier's lane in a picture of a launch.
type Lane struct {
	CTA     uint32
	Barrier trace.Barrier
	Phases  uint64 // completed
}

// Timeline answers what a viewer asks of a launch. It may be used by one
// goroutine at a time.
type Timeline interface {
	Launch() trace.Launch
	// Span is the time of the first and of the last event.
	Span() (from, to int64)
	Rows() []Row
	Lanes() []Lane
	// Cells fills cells with len(cells) equal slices of [from, to).
	Cells(ctx context.Context, row Row, from, to int64, cells []Cell) error
	// Phases returns the phases that touch [from, to), at most limit of them
	// spread over the span.
	Phases(ctx context.Context, lane Lane, from, to int64, limit int) ([]Phase, error)
	// State is the state of one CTA's cluster at a time.
	State(ctx context.Context, cta uint32, t int64) (*State, error)
	// Event finds the event of the row at or before t (dir <= 0), or the
	// first after it (dir > 0).
	Event(ctx context.Context, row Row, t int64, dir int) (ev trace.Event, ok bool, err error)
	// Events hands out the events that a query selects, in stored order, until
	// each returns false; the event is valid until then.
	Events(ctx context.Context, q trace.Query, each func(*trace.Event) bool) error
	// Blocked lists the barriers that lanes of one CTA's cluster wait at at a
	// time, with who has not come and where those are.
	Blocked(ctx context.Context, cta uint32, t int64) ([]diagnose.Stuck, error)
	Findings() []Finding
}
