package replay

// Activity is what lanes are doing at a moment.
type Activity uint8

// The activities, mildest first: a picture that has room for one of several
// shows the last in this order.
const (
	Absent     Activity = iota // not seen yet
	Exited                     // ended the kernel
	Running                    // between barrier operations
	Arrived                    // arrived on a barrier, has not begun to wait for that phase
	Released                   // the phase it waits for is complete, its way out is not recorded yet
	Completing                 // runs a barrier's completion function
	Waiting                    // waits for a phase to complete
	Trapped                    // ended by a trap
	Hung                       // waits, and the recording ends so

	NumActivities = int(iota)
)

// String is the word that users see.
func (a Activity) String() string {
	return [NumActivities]string{"absent", "exited", "running", "arrived", "released", "completing", "waiting", "trapped", "hung"}[a]
}

// Strand is a group of lanes of one warp with a common history.
type Strand struct {
	Lanes    uint32
	Activity Activity
	// On and its phase are the barrier that the strand waits on, arrived on,
	// or completes; On.Barrier.Kind is BarrierNone for none.
	On    BarrierRef
	Since int64  // when the activity began
	Op    string // name of its last event
	Seq   uint32 // number of its last event
	Location
}

// WarpState is a warp at a moment.
type WarpState struct {
	CTA, Warp uint32
	Strands   []Strand
}

// BarrierState is a barrier at a moment.
type BarrierState struct {
	BarrierRef
	Live bool // an mbarrier that is initialised; other barriers always
	// Expected and Pending count arrivals (for named barriers threads).
	// Expected is 0 while a named barrier is at rest.
	Expected, Pending uint64
	Tx                int64 // announced and not yet completed bytes
	InFlight          int64 // bytes of issued copies that are not known to have completed
	TxUnknown         bool  // bytes of some copy are unknown
	Arrived, Waiting  []Lanes
	Init              Location // of an mbarrier
}

// State is the state of a launch at a moment: what every warp does and how
// every barrier stands, after all events up to and at Time that could have
// happened by then.
type State struct {
	Launch   uint32
	Time     int64
	Warps    []WarpState    // by CTA and warp
	Barriers []BarrierState // by CTA, kind and id
}
