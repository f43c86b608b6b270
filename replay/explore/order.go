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
	classes  *Classes
	agents   int
	warps    map[warpKey]*Warp
	barriers int
	ends     uint64  // of phases, of all barriers
	whole    meeting // of the lanes of a warp at a barrier, for a moment
	// Relaxed is true once a use of a barrier was ordered after its
	// initialisation by execution only: whether the memory is, too, depends on
	// fences, which nobody recorded.
	Relaxed bool
	// Polled is true once a test failed: what the program did then may depend
	// on when it asked.
	Polled bool
	// Parted is true if lanes did something that a class of theirs did not all
	// do: nothing that was said then holds.
	Parted bool
}

type warpKey struct{ cta, warp uint32 }

// Warp is the agents of a warp: lanes that have done everything together so
// far.
type Warp struct {
	agents []*agent
	meets  []*meeting // the syncwarps that lanes are in, oldest first
	spare  []*meeting
}

// agent is lanes of a warp with one history. Its own operations are counted in
// what it has seen, too.
type agent struct {
	id    int
	lanes uint32
	now   uint32 // number of its latest operation
	// learnt is the number of the first operation that comes after all that it
	// has learnt from others. Who has seen that one knows as much as the agent.
	learnt uint32
	knowledge
}

// meeting is lanes that wait for each other.
type meeting struct {
	mask   uint32
	came   uint32 // lanes
	inside uint32 // of them, those that have yet to come out
	knowledge
}

// NewOrder makes one for lanes that have just begun, of which these do
// everything together; threads is how many a CTA has.
func NewOrder(threads int, classes *Classes, report func(Hazard)) *Order {
	return &Order{Report: report, threads: threads, classes: classes, warps: make(map[warpKey]*Warp)}
}

// by is the warp of an event.
func (o *Order) by(e *Event) *Warp {
	if e.By != nil {
		return e.By
	}
	return o.Warp(e.CTA, e.Warp)
}

// Warp is a warp, for the events of its lanes.
func (o *Order) Warp(cta, warp uint32) *Warp {
	k := warpKey{cta, warp}
	w := o.warps[k]
	if w == nil {
		w = new(Warp)
		live := ^uint32(0)
		if n := o.threads - 32*int(warp); n < 32 {
			live = 1<<max(n, 0) - 1
		}
		for _, lanes := range o.classes.of(warp) {
			if lanes &= live; lanes != 0 {
				w.agents = append(w.agents, &agent{id: o.agents, lanes: lanes, knowledge: knowledge{seen: make([]uint32, o.agents+1)}})
				o.agents++
			}
		}
		o.warps[k] = w
	}
	return w
}

// acts counts an operation of the agent, if the lanes of the event are its.
func (o *Order) acts(a *agent, e *Event) bool {
	if a.lanes&e.Lanes == 0 {
		return false
	}
	if a.lanes&^e.Lanes != 0 {
		o.Parted = true
	}
	a.now++
	a.seen[a.id] = a.now
	return true
}

// learn adds what another knows to what the agent does. Where that is in the
// other all the same, it takes it over.
func (a *agent) learn(k *knowledge, memory bool) {
	if k.id == 0 || k.id != a.base { // else it is known
		if at(k.seen, a.id) >= a.learnt {
			a.take(k)
		} else {
			a.seen = joined(a.seen, k.seen)
			a.done = joined(a.done, k.done)
			a.base = 0
		}
		a.learnt = a.now + 1
	}
	if memory {
		a.see(k.fresh)
	}
}

// take makes the agent know what another does, and its own operations.
func (a *agent) take(k *knowledge) {
	a.seen = append(a.seen[:0], k.seen...)
	for a.id >= len(a.seen) {
		a.seen = append(a.seen, 0)
	}
	a.seen[a.id] = a.now
	a.done = append(a.done[:0], k.done...)
	a.base = k.id
}

// finds makes a phase known to be complete that the agent found to be.
func (a *agent) finds(id int, m mark) {
	if at(a.done, id) < m {
		a.done = raise(a.done, id, m)
		a.base, a.learnt = 0, a.now+1
	}
}

// Agents is how many agents there are.
func (o *Order) Agents() int { return o.agents }

// Barriers is how many barriers there are.
func (o *Order) Barriers() int { return o.barriers }

// Syncwarp is lanes that come to meet those of a mask. With memory, what they
// know of it is known to the others then.
func (o *Order) Syncwarp(e *Event, mask uint32, memory bool) {
	w := o.by(e)
	if len(w.agents) == 1 { // it has nobody to meet
		o.acts(w.agents[0], e)
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
		if o.acts(a, e) {
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
		o.acts(w.agents[0], e)
		return
	}
	for _, m := range w.meets {
		if m.mask != mask || m.inside&e.Lanes == 0 {
			continue
		}
		for _, a := range w.agents {
			if o.acts(a, e) {
				a.learn(&m.knowledge, true)
			}
		}
		w.out(e.Lanes)
		return
	}
}
