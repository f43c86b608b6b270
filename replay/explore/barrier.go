package explore

import "slices"

// Barrier is a barrier of the run: what is known of its phases.
type Barrier struct {
	Ref any // the caller's name for it

	id     int
	owner  uint32 // CTA that an mbarrier is in
	remote duties // latest operations from other CTAs
	life   uint32 // initialisations; 0 for a barrier that needs none
	phase  uint64 // that is under way
	// current is what the arrivals of the phase under way know, together; last
	// is that of the phase before, when it ended.
	current, last knowledge
	// Of a barrier whose phases wait for those who have not exited: who has
	// arrived in the phase under way, and what those knew who exited, before
	// it or instead of arriving in it, and after they had.
	here       []bool
	gone, next knowledge
	// laps is, for the end of the phase under way and of the one after it, the
	// waits that have to come before.
	laps [2]duties
	// announced is the announcements of bytes in the phase under way.
	announced []obligation
	// arrived is, by agent, what the arrivals know to have happened that follow
	// an announcement: without the copies, which the phase waits for only if
	// their bytes are announced.
	arrived []uint32
	// balance is the bytes that were announced in the phase under way, less
	// those of the copies issued in it.
	balance int64
	unknown bool     // some of them nobody knows
	late    bool     // asynchronous arrivals of the phase under way come after it
	moved   Event    // the latest of those operations, or of the copies
	uses    []uint32 // by agent: its latest operation here
	halves  map[warpKey]*meeting
}

// obligation is an operation that has to come before something.
type obligation struct {
	agent int
	step  uint32
	event Event
}

// duties is an obligation of each of some agents: its latest operation.
type duties struct {
	list []obligation
	at   []int32 // by agent: its place in the list, counted from 1
}

// add puts the agent's latest operation in the place of an earlier one.
func (d *duties) add(a *agent, e *Event) {
	if a.id < len(d.at) && d.at[a.id] > 0 {
		x := &d.list[d.at[a.id]-1]
		x.step = a.now
		e.copyTo(&x.event)
		return
	}
	n := len(d.list)
	d.list = slices.Grow(d.list, 1)[:n+1]
	x := &d.list[n]
	x.agent, x.step = a.id, a.now
	e.copyTo(&x.event)
	d.at = raise(d.at, a.id, int32(len(d.list)))
}

func (d *duties) clear() {
	for i := range d.list {
		d.at[d.list[i].agent] = 0
	}
	d.list = d.list[:0]
}

// NewBarrier makes a barrier that lanes may use from the beginning.
func (o *Order) NewBarrier(ref any) *Barrier {
	b := o.spare.barrier()
	b.Ref, b.id = ref, len(o.barriers)
	o.barriers = append(o.barriers, b)
	return b
}

// NewMbarrier makes one that lies in a CTA.
func (o *Order) NewMbarrier(ref any, owner uint32) *Barrier {
	b := o.NewBarrier(ref)
	b.owner = owner
	return b
}

// Init is the initialisation of an mbarrier. If there was one before it has to
// come after all that was done with that.
func (o *Order) Init(b *Barrier, e *Event) {
	agents := o.by(e).agents
	for _, a := range agents {
		if a.acts(e) {
			o.last(b, a, e)
		}
	}
	b.life++
	b.phase = 0
	b.current.reset()
	b.last.reset()
	b.laps[0].clear()
	b.laps[1].clear()
	b.arrived, b.announced = b.arrived[:0], b.announced[:0]
	b.balance, b.unknown, b.late = 0, false, false
	clear(b.uses)
	for _, a := range agents {
		if a.lanes&e.Lanes != 0 {
			o.born(b, a)
			b.use(a)
		}
	}
}

// born makes the latest initialisation known to an agent.
func (o *Order) born(b *Barrier, a *agent) {
	a.told(b.id, markOf(b.life, 0))
	a.bear(b.id, b.life)
}

// last reports an operation that has to come after all others on the object,
// and is not ordered after them. Those of the same lane are; where several do
// it together, each has to come after those of the others.
func (o *Order) last(b *Barrier, a *agent, e *Event) {
	for i, step := range b.uses {
		if step > at(a.seen, i) && (i != a.id || a.lanes&(a.lanes-1) != 0) {
			o.Report(Hazard{Kind: Init, Barrier: b, Phase: b.phase, Event: *e})
			return
		}
	}
}

func (b *Barrier) use(a *agent) { b.uses = raise(b.uses, a.id, a.now) }

// knows is how many phases the agent knows to be complete. A use that is not
// ordered after the initialisation is reported.
func (o *Order) knows(b *Barrier, a *agent, e *Event) (complete uint64) {
	b.use(a)
	if b.life > 0 && e.CTA != b.owner {
		b.remote.add(a, e)
	}
	k := at(a.done, b.id)
	if k.life() < b.life {
		o.Report(Hazard{Kind: Init, Barrier: b, Phase: b.phase, Event: *e})
		// From here on as if it knew: it is said once.
		o.born(b, a)
		return 0
	}
	if b.life > 0 && a.fresh.at(b.id) < b.life {
		o.Relaxed = true
	}
	return k.complete()
}

// inPhase reports an operation of the phase under way that is not ordered
// after the end of the one before.
func (o *Order) inPhase(b *Barrier, a *agent, e *Event) {
	if o.knows(b, a, e) < b.phase {
		o.Report(Hazard{Kind: Recycle, Barrier: b, Phase: b.phase, Event: *e})
	}
}

// Arrive is lanes that arrive in the phase under way: it cannot end before.
// With release, what they know of memory is known to those who wait for it.
func (o *Order) Arrive(b *Barrier, e *Event, release bool) {
	for _, a := range o.by(e).agents {
		if !a.acts(e) {
			continue
		}
		o.inPhase(b, a, e)
		b.current.gather(a, release)
		if len(b.announced) > 0 { // nobody knows of what comes later
			b.arrived = raise(joined(b.arrived, a.seen), a.id, a.now)
		}
	}
}

// Copy is asynchronous work that lanes begin and that the phase under way
// waits for, as long as it is accounted for.
func (o *Order) Copy(b *Barrier, e *Event, release bool) {
	for _, a := range o.by(e).agents {
		if a.acts(e) {
			o.inPhase(b, a, e)
			b.current.gather(a, release)
		}
	}
}

// ArriveAll is Arrive on a barrier whose phases wait for all lanes that have
// not exited.
func (o *Order) ArriveAll(b *Barrier, e *Event, release bool) {
	for _, a := range o.by(e).agents {
		if !a.acts(e) {
			continue
		}
		o.inPhase(b, a, e)
		b.current.gather(a, release)
		b.came(a.id)
	}
}

// came books an agent that has arrived in the phase under way.
func (b *Barrier) came(agent int) {
	for len(b.here) <= agent {
		b.here = append(b.here, false)
	}
	b.here[agent] = true
}

// ArriveWarp is ArriveAll on a barrier at which the lanes of a warp meet: when
// live, its lanes that have not exited, are all there, each knows what they do
// together.
func (o *Order) ArriveWarp(b *Barrier, e *Event, live uint32, release bool) {
	agents := o.by(e).agents
	k := warpKey{e.CTA, e.Warp}
	switch {
	case len(agents) == 1:
		o.ArriveAll(b, e, release)
		a := agents[0]
		a.seen = raise(a.seen, a.id, a.now)
	case live&^e.Lanes == 0 && b.halves[k] == nil:
		o.arriveTogether(b, e, release)
	default:
		o.ArriveAll(b, e, release)
		o.meet(b, e, k, live)
	}
}

// arriveTogether is all lanes of a warp that arrive at once: they meet, and
// then they arrive. Who knows of the arrival knows all that they learn there.
func (o *Order) arriveTogether(b *Barrier, e *Event, release bool) {
	m, agents := &o.whole, o.by(e).agents
	for _, a := range agents {
		if a.acts(e) {
			o.inPhase(b, a, e)
			m.gather(a, true)
		}
	}
	for _, a := range agents {
		if a.lanes&e.Lanes != 0 {
			a.learn(&m.knowledge, true)
			a.learnt = a.now
			b.current.gather(a, release)
			b.came(a.id)
		}
	}
	m.reset()
}

// meet is lanes of a warp that come to a barrier one after the other.
func (o *Order) meet(b *Barrier, e *Event, k warpKey, live uint32) {
	m := b.halves[k]
	if m == nil {
		m = new(meeting)
		if b.halves == nil {
			b.halves = make(map[warpKey]*meeting)
		}
		b.halves[k] = m
	}
	agents := o.by(e).agents
	m.came |= e.Lanes
	for _, a := range agents {
		if a.lanes&e.Lanes != 0 {
			m.gather(a, true)
		}
	}
	if live&^m.came != 0 {
		return
	}
	for _, a := range agents {
		if a.lanes&m.came != 0 {
			a.learn(&m.knowledge, true)
		}
	}
	delete(b.halves, k)
}

// maxAnnounced bounds the announcements in a phase that are looked after. More
// than these are said to be hazards.
const maxAnnounced = 1 << 16

// Announce is an announcement of bytes: the phase under way must have an
// arrival to come that follows it.
func (o *Order) Announce(b *Barrier, e *Event) {
	for _, a := range o.by(e).agents {
		if a.acts(e) {
			o.inPhase(b, a, e)
			if len(b.announced) == maxAnnounced {
				o.Report(Hazard{Kind: Tx, Barrier: b, Phase: b.phase, Event: *e})
				continue
			}
			b.announced = append(b.announced, obligation{a.id, a.now, *e})
		}
	}
}

// Inval is lanes that end an mbarrier's life.
func (o *Order) Inval(b *Barrier, e *Event) {
	for _, a := range o.by(e).agents {
		if !a.acts(e) {
			continue
		}
		if a.lanes&(a.lanes-1) != 0 { // each does, and the others use what is gone
			o.Report(Hazard{Kind: Init, Barrier: b, Phase: b.phase, Event: *e})
		} else {
			o.last(b, a, e)
		}
		o.knows(b, a, e)
	}
}

// Function is lanes that run the barrier's completion function: all that have
// arrived come before it, and the end of the phase after it.
func (o *Order) Function(b *Barrier, e *Event) {
	for _, a := range o.by(e).agents {
		if a.acts(e) {
			a.learn(&b.current, true)
			b.current.gather(a, true)
		}
	}
}

// Bytes books bytes that are announced, or with less than 0 that come, in the
// phase under way.
func (b *Barrier) Bytes(e *Event, n int64) {
	b.balance += n
	e.copyTo(&b.moved)
}

// Late says that the phase under way ends before all asynchronous arrivals
// that were begun in it have come: which of them count in it is luck.
func (b *Barrier) Late() { b.late = true }

// Unknown says that bytes are announced or come whose number is not known.
func (b *Barrier) Unknown() { b.unknown = true }

// Wait is lanes that have come out of a wait for the parity of a phase, or of
// a test that said so. What they have waited for is not the phase that
// happened to be complete but the first of that parity that they did not know
// to be; and it only works if the phase after that cannot end before.
func (o *Order) Wait(b *Barrier, e *Event, parity uint8, acquire bool) {
	for _, a := range o.by(e).agents {
		if !a.acts(e) {
			continue
		}
		n := o.knows(b, a, e)
		if (n+1)&1 == uint64(parity) { // the phase before has that parity: it passes by that
			o.due(b, a, e, n)
		} else {
			o.ended(b, a, n, acquire)
			o.due(b, a, e, n+1)
		}
	}
}

// WaitPhase is Wait by the token of a phase.
func (o *Order) WaitPhase(b *Barrier, e *Event, phase uint64, acquire bool) {
	for _, a := range o.by(e).agents {
		if !a.acts(e) {
			continue
		}
		if phase >= o.knows(b, a, e) {
			o.ended(b, a, phase, acquire)
		}
		o.due(b, a, e, phase+1)
	}
}

// ended makes a phase known to be complete, with all that its arrivals knew.
func (o *Order) ended(b *Barrier, a *agent, phase uint64, memory bool) {
	if phase+1 == b.phase {
		a.learn(&b.last, memory)
	}
	if phase < b.phase {
		a.told(b.id, markOf(b.life, phase+1))
	}
}

// due demands that a phase ends after the agent's latest operation.
func (o *Order) due(b *Barrier, a *agent, e *Event, phase uint64) {
	switch {
	case phase < b.phase: // it has ended
		o.Report(Hazard{Kind: Lap, Barrier: b, Phase: phase, Event: *e})
	case phase-b.phase < 2:
		b.laps[phase&1].add(a, e)
	}
}

// Leave is lanes that come out of a barrier which lets nobody go before the
// phase that they arrived in is complete.
func (o *Order) Leave(b *Barrier, e *Event, phase uint64, acquire bool) {
	for _, a := range o.by(e).agents {
		if a.acts(e) {
			o.ended(b, a, phase, acquire)
			b.use(a)
		}
	}
}

// Complete is the end of the phase under way. all is true if it waited for
// those who have not exited.
func (o *Order) Complete(b *Barrier, all bool) {
	c := &b.current
	if all && len(b.gone.seen) > 0 {
		c.join(&b.gone, true)
	}
	if len(b.next.seen) > 0 {
		b.gone.join(&b.next, true)
		b.next.reset()
	}
	clear(b.here)
	laps := &b.laps[b.phase&1]
	for i := range laps.list {
		if x := &laps.list[i]; at(c.seen, x.agent) < x.step {
			o.Report(Hazard{Kind: Lap, Barrier: b, Phase: b.phase, Event: x.event})
		}
	}
	for i := range b.announced {
		if x := &b.announced[i]; at(b.arrived, x.agent) < x.step {
			o.Report(Hazard{Kind: Tx, Barrier: b, Phase: b.phase, Event: x.event})
		}
	}
	if b.late || b.balance != 0 && !b.unknown {
		o.Report(Hazard{Kind: Tx, Barrier: b, Phase: b.phase, Event: b.moved})
	}
	b.balance, b.unknown, b.late = 0, false, false
	laps.clear()
	b.arrived, b.announced = b.arrived[:0], b.announced[:0]
	b.phase++
	// Who learns of this learns that the phase is complete.
	c.finds(b.id, markOf(b.life, b.phase))
	o.ends++
	c.id = o.ends
	b.current, b.last = b.last, b.current
	b.current.reset()
}

// Phase is the phase under way.
func (b *Barrier) Phase() uint64 { return b.phase }

// Exits is the exits of the lanes of a CTA, or of a cluster.
type Exits struct {
	knowledge            // what they knew
	barriers  []*Barrier // whose phases wait for those who have not exited
}

// NewExits makes the exits of lanes of which none has exited yet.
func (o *Order) NewExits() *Exits {
	x := o.spare.newExits()
	o.exits = append(o.exits, x)
	return x
}

// Holds says that phases of a barrier wait for the lanes that have not exited.
func (x *Exits) Holds(b *Barrier) {
	x.barriers = append(x.barriers, b)
	b.gone.join(&x.knowledge, true)
}

// Exit is lanes that exit. A phase that they have arrived in does not wait for
// their exit as well.
func (o *Order) Exit(e *Event, of ...*Exits) {
	for _, a := range o.by(e).agents {
		if !a.acts(e) {
			continue
		}
		for _, x := range of {
			x.gather(a, true)
			for _, b := range x.barriers {
				if a.id < len(b.here) && b.here[a.id] {
					b.next.gather(a, true)
				} else {
					b.gone.gather(a, true)
				}
			}
		}
	}
}

// Gone is told that all lanes of the CTA have exited that an mbarrier is in:
// what others do with it has to come before.
func (o *Order) Gone(b *Barrier, x *Exits) {
	for i := range b.remote.list {
		if u := &b.remote.list[i]; at(x.seen, u.agent) < u.step {
			o.Report(Hazard{Kind: Exit, Barrier: b, Phase: b.phase, Event: u.event})
		}
	}
}
