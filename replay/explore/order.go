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
	meets  map[uint32][]*meeting // by mask: the syncwarps that lanes are in, oldest first
}

// agent is lanes of a warp with one history.
type agent struct {
	id    int
	lanes uint32
	knowledge
}

// meeting is lanes that wait for each other.
type meeting struct {
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
		w = &Warp{meets: make(map[uint32][]*meeting)}
		live := ^uint32(0)
		if n := o.threads - 32*int(warp); n < 32 {
			live = 1<<max(n, 0) - 1
		}
		for _, lanes := range o.classes.of(warp) {
			if lanes &= live; lanes != 0 {
				w.agents = append(w.agents, &agent{id: o.agents, lanes: lanes})
				o.agents++
			}
		}
		o.warps[k] = w
	}
	return w
}

// each calls f for the agents that the lanes of an event are.
func (o *Order) each(e *Event, f func(a *agent)) {
	for _, a := range o.by(e).agents {
		if a.lanes&e.Lanes != 0 {
			o.Parted = o.Parted || a.lanes&^e.Lanes != 0
			a.step()
			f(a)
		}
	}
}

// step counts an operation of the agent.
func (a *agent) step() { a.seen = raise(a.seen, a.id, at(a.seen, a.id)+1) }

// now is the number of the agent's latest operation.
func (a *agent) now() uint32 { return a.seen[a.id] }

// Agents is how many agents there are.
func (o *Order) Agents() int { return o.agents }

// Syncwarp is lanes that come to meet those of a mask.
func (o *Order) Syncwarp(e *Event, mask uint32) {
	w := o.by(e)
	list := w.meets[mask]
	i := 0
	for i < len(list) && list[i].came&e.Lanes != 0 { // that was the one before
		i++
	}
	if i == len(list) {
		list = append(list, new(meeting))
		w.meets[mask] = list
	}
	m := list[i]
	o.each(e, func(a *agent) { m.join(&a.knowledge, true) })
	m.came |= e.Lanes
	m.inside |= e.Lanes
}

// Met is lanes that come out of it.
func (o *Order) Met(e *Event, mask uint32) {
	w := o.by(e)
	list := w.meets[mask]
	for i, m := range list {
		if m.inside&e.Lanes == 0 {
			continue
		}
		o.each(e, func(a *agent) { a.join(&m.knowledge, true) })
		if m.inside &^= e.Lanes; m.inside == 0 {
			w.meets[mask] = append(list[:i], list[i+1:]...)
		}
		return
	}
}
