package explore

import "btrace/trace"

// Event is an operation by lanes of a warp.
type Event struct {
	CTA, Warp, Seq uint32
	Lanes          uint32
	Time           int64
	Op             *trace.Op
	// By is the warp, as Order.Warp gave it; nil has it looked up.
	By *Warp
}

// copyTo copies it field by field: a copy as a whole waits for the fields,
// which have just been written.
func (e *Event) copyTo(to *Event) {
	to.CTA, to.Warp, to.Seq, to.Lanes, to.Time = e.CTA, e.Warp, e.Seq, e.Lanes, e.Time
	to.Op, to.By = e.Op, e.By
}

// Kind is the kind of a hazard.
type Kind uint8

// The kinds of hazards.
const (
	// Recycle: an operation in a phase that is not ordered after the end of
	// the phase before. In another schedule it may count in that.
	Recycle Kind = iota
	// Lap: a wait for a phase by its parity, or by a token, which is not
	// ordered before the end of the phase that follows. In another schedule
	// the barrier may be two phases on, and the wait miss it.
	Lap
	// Init: a use that is not ordered after the initialisation, or an
	// initialisation that is not ordered after the last use of what was there.
	Init
	// Exit: a use from another CTA that is not ordered before the exit of the
	// CTA that the object is in.
	Exit
	// Tx: an announcement of bytes that is not ordered before an arrival of
	// its phase. In another schedule the phase may end without it.
	Tx

	NumKinds = iota
)

// Hazard is a place where a program depends on the schedule.
type Hazard struct {
	Kind    Kind
	Barrier *Barrier
	Phase   uint64
	Event   Event // the operation that is not ordered
}

// Order follows one run of the lanes that can synchronise with each other.
// Its methods are called in the order of the run.
type Order struct {
	// Report is told of hazards, every one as often as it occurs.
	Report func(h Hazard)

	threads  int
	agents   int
	warps    map[warpKey]*Warp
	barriers []*Barrier
	exits    []*Exits
	spare    spare
	ends     uint64  // of phases, of all barriers
	whole    meeting // of the lanes of a warp at a barrier, for a moment
	// Relaxed is true once a use of a barrier was ordered after its
	// initialisation by execution only: whether the memory is, too, depends on
	// fences, which nobody recorded.
	Relaxed bool
	// Polled is true once a test failed: what the program did then may depend
	// on when it asked.
	Polled bool
}

type warpKey struct{ cta, warp uint32 }

// Warp is the agents of a warp.
type Warp struct {
	agents []*agent
	meets  []*meeting // the syncwarps that lanes are in, oldest first
	spare  []*meeting
}

// agent is lanes of a warp that have done everything together so far: they
// have one history in every schedule. What it has seen of its own operations
// is what its lanes know of each other's, by what they have waited for.
type agent struct {
	id    int
	lanes uint32
	now   uint32 // number of its latest operation
	// learnt is the number of the first operation that comes after all that it
	// has learnt from others. Who has seen that one knows as much as the agent.
	learnt uint32
	// alone is its latest syncwarp, while its warp had no other agent, and the
	// mask of that.
	alone, mask uint32
	knowledge
}

// meeting is lanes that wait for each other.
type meeting struct {
	mask   uint32
	came   uint32 // lanes
	inside uint32 // of them, those that have yet to come out
	knowledge
}

// NewOrder makes one for lanes that have just begun; threads is how many a CTA
// has.
func NewOrder(threads int, report func(Hazard)) *Order {
	return &Order{Report: report, threads: threads, warps: make(map[warpKey]*Warp)}
}

// Warp is a warp, for the events of its lanes.
func (o *Order) Warp(cta, warp uint32) *Warp {
	k := warpKey{cta, warp}
	w := o.warps[k]
	if w == nil {
		lanes := ^uint32(0)
		if n := o.threads - 32*int(warp); n < 32 {
			lanes = 1<<max(n, 0) - 1
		}
		w = o.spare.warp()
		w.agents[0].id, w.agents[0].lanes = o.agents, lanes
		o.agents++
		o.warps[k] = w
	}
	return w
}

// by is the warp of an event, in which the lanes of the event are agents.
func (o *Order) by(e *Event) *Warp {
	w := e.By
	if w == nil {
		w = o.Warp(e.CTA, e.Warp)
	}
	for i := 0; i < len(w.agents); i++ {
		if a := w.agents[i]; a.lanes&e.Lanes != 0 && a.lanes&^e.Lanes != 0 {
			o.part(w, a, a.lanes&e.Lanes)
		}
	}
	return w
}

// acts counts an operation of the agent, if it is of the event.
func (a *agent) acts(e *Event) bool {
	if a.lanes&e.Lanes == 0 {
		return false
	}
	a.now++
	return true
}

// learn adds what another knows to what the agent does. Where that is in the
// other all the same, it takes it over.
func (a *agent) learn(k *knowledge, memory bool) {
	switch {
	case k.id != 0 && k.id == a.base: // it is known
	case !k.within(a.base) && at(k.seen, a.id) >= a.learnt:
		a.take(k)
		a.learnt = a.now + 1
	default:
		a.join(k, false)
		a.learnt = a.now + 1
	}
	if memory {
		a.see(k.fresh)
	}
}

// take makes the agent know what another does, and what it knows of itself.
func (a *agent) take(k *knowledge) {
	own := at(a.seen, a.id)
	a.seen = append(a.seen[:0], k.seen...)
	if own > at(a.seen, a.id) {
		a.seen = raise(a.seen, a.id, own)
	}
	a.done = append(a.done[:0], k.done...)
	a.base, a.whole = k.id, k.id != 0
	a.over.agents, a.over.barriers = a.over.agents[:0], a.over.barriers[:0]
}

// told makes a phase known to be complete that the agent found to be.
func (a *agent) told(id int, m mark) {
	if at(a.done, id) < m {
		a.finds(id, m)
		a.learnt = a.now + 1
	}
}

// Agents is how many agents there are.
func (o *Order) Agents() int { return o.agents }

// Barriers is how many barriers there are.
func (o *Order) Barriers() int { return len(o.barriers) }

// Syncwarp is lanes that come to meet those of a mask. With memory, what they
// know of it is known to the others then.
func (o *Order) Syncwarp(e *Event, mask uint32, memory bool) {
	w := o.by(e)
	if len(w.agents) == 1 { // its lanes meet each other
		a := w.agents[0]
		a.acts(e)
		a.alone, a.mask = a.now, mask
		return
	}
	w.out(e.Lanes)
	var m *meeting
	for _, x := range w.meets {
		if x.mask == mask && x.came&e.Lanes == 0 { // else that was the one before
			m = x
			break
		}
	}
	if m == nil {
		m = w.newMeeting()
		m.mask = mask
		w.meets = append(w.meets, m)
	}
	for _, a := range w.agents {
		if a.acts(e) {
			m.gather(a, memory)
		}
	}
	m.came |= e.Lanes
	m.inside |= e.Lanes
}

// out takes lanes out of what they are in.
func (w *Warp) out(lanes uint32) {
	keep := w.meets[:0]
	for _, m := range w.meets {
		if m.inside &^= lanes; m.inside != 0 {
			keep = append(keep, m)
			continue
		}
		m.reset()
		m.came = 0
		w.spare = append(w.spare, m)
	}
	w.meets = keep
}

func (w *Warp) newMeeting() *meeting {
	if n := len(w.spare); n > 0 {
		m := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return m
	}
	return new(meeting)
}

// Met is lanes that come out of it.
func (o *Order) Met(e *Event, mask uint32) {
	w := o.by(e)
	if len(w.agents) == 1 {
		a := w.agents[0]
		a.acts(e)
		a.seen = raise(a.seen, a.id, a.alone)
		return
	}
	for _, m := range w.meets {
		if m.mask != mask || m.inside&e.Lanes == 0 {
			continue
		}
		for _, a := range w.agents {
			if a.acts(e) {
				a.learn(&m.knowledge, true)
			}
		}
		w.out(e.Lanes)
		return
	}
}
