package explore

// part makes an agent two: these lanes of it, and the others.
//
// Up to now they have done the same, so that whoever knows how far the one was
// knows it of the other, and each knows of the other what it knew of itself
// from what it had waited for. That is what it would be had they been two from
// the beginning.
func (o *Order) part(w *Warp, a *agent, lanes uint32) {
	b := &agent{id: o.agents, lanes: a.lanes &^ lanes, now: a.now}
	o.agents++
	b.join(&a.knowledge, true)
	a.lanes = lanes
	if a.alone == a.now && a.now > at(a.seen, a.id) { // they are to come out of it yet
		m := w.newMeeting()
		m.mask, m.came, m.inside = a.mask, a.lanes|b.lanes, a.lanes|b.lanes
		m.gather(a, true)
		w.meets = append(w.meets, m)
	}
	w.agents = append(w.agents, b)
	s := split{a.id, b.id}
	for _, w := range o.warps {
		for _, a := range w.agents {
			s.knowledge(&a.knowledge)
		}
		for _, m := range w.meets {
			s.knowledge(&m.knowledge)
		}
	}
	a.learnt, b.learnt = a.now+1, a.now+1
	for _, x := range o.exits {
		s.knowledge(&x.knowledge)
	}
	for _, x := range o.barriers {
		s.barrier(x)
	}
}

// split is an agent that became two: all that is by agent is alike for both.
type split struct{ from, to int }

func (s split) barrier(b *Barrier) {
	for _, k := range []*knowledge{&b.current, &b.last, &b.gone, &b.next} {
		s.knowledge(k)
	}
	for _, m := range b.halves {
		s.knowledge(&m.knowledge)
	}
	b.arrived = alike(b.arrived, s)
	b.uses = alike(b.uses, s)
	if s.from < len(b.here) && b.here[s.from] {
		b.came(s.to)
	}
	for _, d := range []*duties{&b.remote, &b.laps[0], &b.laps[1]} {
		if s.from < len(d.at) && d.at[s.from] > 0 {
			x := d.list[d.at[s.from]-1]
			x.agent = s.to
			d.list = append(d.list, x)
			d.at = raise(d.at, s.to, int32(len(d.list)))
		}
	}
	for _, x := range b.announced {
		if x.agent == s.from && len(b.announced) < maxAnnounced {
			x.agent = s.to
			b.announced = append(b.announced, x)
		}
	}
}

// knowledge of the one is of the other too: what was named does not say so.
func (s split) knowledge(k *knowledge) {
	k.seen = alike(k.seen, s)
	k.forget()
}

func alike(v []uint32, s split) []uint32 {
	if n := at(v, s.from); n > 0 {
		v = raise(v, s.to, n)
	}
	return v
}
