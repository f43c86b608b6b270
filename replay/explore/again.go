package explore

// spare is what an Order was made of before it began again. Most runs are of
// a few dozen operations: to make the memory for each takes longer than to
// follow it.
type spare struct {
	warps    []*Warp
	barriers []*Barrier
	exits    []*Exits
}

// Again makes the Order one for other lanes, which have just begun: those of a
// CTA or cluster like the one before. What it said before must not be used any
// more.
func (o *Order) Again(report func(Hazard)) {
	for _, w := range o.warps {
		o.spare.warps = append(o.spare.warps, w)
	}
	o.spare.barriers = append(o.spare.barriers, o.barriers...)
	o.spare.exits = append(o.spare.exits, o.exits...)
	clear(o.warps)
	*o = Order{Report: report, threads: o.threads, warps: o.warps, barriers: o.barriers[:0], exits: o.exits[:0], spare: o.spare}
}

// pop takes the last element, if there is one.
func pop[T any](of *[]*T) *T {
	n := len(*of)
	if n == 0 {
		return nil
	}
	x := (*of)[n-1]
	*of = (*of)[:n-1]
	return x
}

// warp is a warp of one agent.
func (s *spare) warp() *Warp {
	w := pop(&s.warps)
	if w == nil {
		return &Warp{agents: []*agent{{}}}
	}
	a := w.agents[0]
	*a = agent{knowledge: a.emptied()}
	*w = Warp{agents: w.agents[:1], meets: w.meets[:0]}
	return w
}

func (s *spare) barrier() *Barrier {
	b := pop(&s.barriers)
	if b == nil {
		return new(Barrier)
	}
	b.remote.clear()
	b.laps[0].clear()
	b.laps[1].clear()
	*b = Barrier{
		remote: b.remote, laps: b.laps, current: b.current.emptied(), last: b.last.emptied(), gone: b.gone.emptied(), next: b.next.emptied(),
		here: b.here[:0], announced: b.announced[:0], arrived: b.arrived[:0], uses: b.uses[:0],
	}
	return b
}

func (s *spare) newExits() *Exits {
	x := pop(&s.exits)
	if x == nil {
		return new(Exits)
	}
	*x = Exits{knowledge: x.emptied(), barriers: x.barriers[:0]}
	return x
}

// emptied is no knowledge, in the memory of some.
func (k *knowledge) emptied() knowledge {
	return knowledge{seen: k.seen[:0], done: k.done[:0], over: elements{k.over.agents[:0], k.over.barriers[:0]}}
}
