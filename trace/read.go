package trace

import "errors"

// The ways in which a file can be unreadable. A caller that wants to go on
// with what is left asks with errors.Is.
var (
	// ErrNotTrace: the file is something else.
	ErrNotTrace = errors.New("not a btrace trace")
	// ErrVersion: a newer major version wrote the file.
	ErrVersion = errors.New("trace of a newer format version")
	// ErrTorn: the file ends inside a block, as after a crash or a cut copy.
	ErrTorn = errors.New("cut inside a block")
	// ErrCorrupt: bytes of the file have changed.
	ErrCorrupt = errors.New("corrupt")
)

// Query selects rows. The zero Query selects all of them; every field that
// is set, and every list that is not empty, narrows it.
type Query struct {
	Launch   *uint32
	From, To int64 // From <= time < To, ns; From 0 = no beginning, To 0 = no end
	CTAs     []uint32
	Warps    []uint32
	Barriers []Barrier
	Kinds    []Kind
	// Group, where not nil, gives every CTA a number. The rows of a block then
	// come group by group, those of a group in stored order: Block.Groups says
	// where each begins and ends.
	Group func(cta uint32) uint32
	Stats *QueryStats // filled in while the query runs, where not nil
}

// QueryStats counts what a query cost.
type QueryStats struct {
	Blocks  int // blocks of events in the file
	Decoded int // of them decoded
	Rows    int // rows handed out
}

// Damage is one stretch of a file that could not be read.
type Damage struct {
	Offset int64 // where it begins in the file
	Bytes  int64 // its length; 0 if unknown
	Err    error // ErrTorn or ErrCorrupt, wrapped with what is wrong
	// Rows is the number of warp events lost, where the file still says so;
	// -1 where it does not.
	Rows int64
}
