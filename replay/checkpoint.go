package replay

import (
	"btrace/replay/barrier"
	"btrace/trace"
)

// appendCheckpoint writes a checkpoint: the whole state of a scope that the
// replay of later events depends on. What only findings need is left out: a
// scope that was restored answers what the state is, not what is wrong.
func appendCheckpoint(b []byte, s *scope) []byte {
	c := &codec{buf: b}
	c.scope(s)
	return c.buf
}

// restore makes a scope from a checkpoint.
func restore(l *trace.Launch, y layout, number uint32, b []byte) (*scope, error) {
	s := newScope(l, y, number, DefaultLookahead)
	c := &codec{buf: b, reading: true}
	c.scope(s)
	if c.err == nil && len(c.buf) > 0 {
		c.fail("bytes left over")
	}
	return s, c.err
}

func (c *codec) scope(s *scope) {
	c.bools(&s.mute, &s.spent)
	c.str(&s.trap)
	c.u64(&s.exited)
	c.u64(&s.step)
	ctas := s.sortedCTAs()
	n := len(ctas)
	c.length(&n)
	for i := 0; i < n && c.err == nil; i++ {
		var id uint32
		if !c.reading {
			id = ctas[i].id
		}
		c.u32(&id)
		if !s.has(id) {
			c.fail("CTA outside the scope")
			return
		}
		c.cta(s, s.cta(id))
	}
	list(c, &s.collectives, func(p **collective) {
		if c.reading {
			*p = &collective{m: &barrier.Collective{}}
		}
		c.collective(s, *p)
	})
	// Strands refer to the barriers, so they come after them.
	for _, ct := range s.sortedCTAs() {
		for _, w := range ct.warps {
			c.warp(s, w)
		}
	}
	list(c, &s.stalled, func(p **warp) {
		var cta, id uint32
		if !c.reading {
			cta, id = (*p).cta.id, (*p).id
		}
		c.u32(&cta)
		c.u32(&id)
		if c.reading {
			*p = c.warpAt(s, cta, id)
		}
	})
	if c.reading && c.err == nil {
		for _, w := range s.stalled {
			if w == nil || w.parked.len() == 0 {
				c.fail("a stalled warp has nothing parked")
				return
			}
		}
	}
}

func (c *codec) warpAt(s *scope, cta, id uint32) *warp {
	ct := s.ctas[cta]
	if ct == nil || id >= uint32(len(ct.warps)) {
		c.fail("no such warp")
		return nil
	}
	return ct.warps[id]
}

func (c *codec) cta(s *scope, ct *cta) {
	ct.live = 0
	for i, w := range ct.warps {
		c.u32(&w.live)
		w.live &= w.all
		ct.named.Live[i], w.sync.Live = w.live, w.live
		ct.live += popcount(w.live)
	}
	for i := range ct.named.Bars {
		b := &ct.named.Bars[i]
		used := b.Active || b.Phase > 0
		c.bools(&used, &b.Active)
		if !used {
			continue
		}
		c.u64(&b.Phase)
		if !b.Active {
			continue
		}
		c.u32(&b.Count)
		as(c, &b.Kind)
		c.u32(&b.Opener)
		c.u32(&b.Arrived)
		list(c, &b.Parts, func(p *barrier.NamedPart) {
			c.u32(&p.Warp)
			if p.Warp >= uint32(len(ct.warps)) {
				c.fail("no such warp")
				p.Warp = 0
			}
			c.u32(&p.Lanes)
			c.u32(&p.Waits)
			c.u32(&p.Pred)
			c.u64(&p.Site)
			c.bools(&p.Aligned, &p.Counted)
		})
	}
	ct.named.Recount()
	mbars := sortedMbars(ct)
	n := len(mbars)
	c.length(&n)
	for i := 0; i < n && c.err == nil; i++ {
		var addr uint64
		if !c.reading {
			addr = mbars[i].ref.Barrier.ID
		}
		c.u64(&addr)
		c.mbar(s.mbar(ct.id, addr))
	}
}

func (c *codec) mbar(mb *mbar) {
	m := &mb.m
	as(c, &m.Life)
	c.u64(&m.Phase)
	c.u32(&m.Expected)
	c.u32(&m.Pending)
	c.i64(&m.Tx)
	c.bools(&m.Function, &m.Completing, &mb.unknown, &mb.adopted, &mb.forced)
	c.u32(&mb.async)
	c.i64(&mb.fnPhase)
	c.u64(&mb.moved)
	c.loc(&mb.init)
	list(c, &mb.copies, c.i64)
	list(c, (*[]Lanes)(&mb.arrived), c.lanes)
	list(c, &mb.words, func(w *word) {
		c.u64(&w.word)
		c.u64(&w.phase)
	})
}

func (c *codec) lanes(l *Lanes) {
	c.u32(&l.CTA)
	c.u32(&l.Warp)
	c.u32(&l.Mask)
}

func (c *codec) loc(l *Location) {
	c.str(&l.File)
	c.u32(&l.Line)
	c.u64(&l.PC)
}

func (c *codec) collective(s *scope, co *collective) {
	c.u32(&co.ref.CTA)
	as(c, &co.ref.Barrier.Kind)
	c.str(&co.ref.Barrier.Name)
	c.bools(&co.known, &co.exitLowers)
	if c.reading {
		if !s.has(co.ref.CTA) {
			c.fail("a barrier outside the scope")
			return
		}
		co.ctas = s.participants(co.ref)
	}
	m := co.m
	as(c, &m.Kind)
	c.u64(&m.Phase)
	c.u64(&m.Size)
	c.u64(&m.Count)
	c.u64(&m.Need)
	list(c, &m.Warps, func(w *barrier.CollectiveWarp) {
		c.u32(&w.CTA)
		c.u32(&w.Warp)
		if !s.has(w.CTA) || w.Warp >= uint32(s.launch.Warps()) {
			c.fail("no such warp")
		}
		c.u32(&w.Live)
		c.u32(&w.Arrived)
		c.u32(&w.Owed)
		c.u32(&w.Waiting)
	})
}

func (c *codec) warp(s *scope, w *warp) {
	c.u32(&w.seen)
	if w.live != w.all {
		c.i64(&w.gone.since)
		c.event(&w.gone)
	}
	c.u32(&w.rows)
	c.u32(&w.maxSeq)
	c.bools(&w.lost)
	c.u64(&w.sync.Phase)
	list(c, &w.sync.Meetings, func(m *barrier.Meeting) {
		c.u32(&m.Mask)
		c.u32(&m.Lanes)
	})
	list(c, &w.strands, func(st *strand) { c.strand(s, st) })
	var queue []row
	for _, r := range w.parked.rows {
		if r.op != nil { // a taken row is gone
			queue = append(queue, r)
		}
	}
	list(c, &queue, func(r *row) { c.row(w, r) })
	if c.reading {
		for _, r := range queue {
			w.parked.put(r)
			s.parked++
		}
	}
}

func (c *codec) strand(s *scope, st *strand) {
	c.u32(&st.lanes)
	as(c, &st.wait)
	c.bools(&st.free, &st.parity, &st.split, &st.late)
	c.u32(&st.bar)
	if st.bar >= barrier.NumNamed {
		c.fail("no such named barrier")
		st.bar = 0
	}
	c.u64(&st.phase)
	c.u32(&st.result)
	c.i64(&st.since)
	c.u64(&st.step)
	c.event(st)
	var ref BarrierRef
	switch {
	case c.reading:
	case st.mb != nil:
		ref = st.mb.ref
	case st.co != nil:
		ref = st.co.ref
	}
	as(c, &ref.Barrier.Kind)
	if ref.Barrier.Kind == trace.BarrierNone {
		if c.reading && (st.wait == waitMbar || st.wait == passedMbar || st.wait == waitCollective) {
			c.fail("a wait without a barrier")
			st.wait = running
		}
		return
	}
	c.u32(&ref.CTA)
	c.u64(&ref.Barrier.ID)
	c.str(&ref.Barrier.Name)
	if !c.reading {
		return
	}
	if ref.Barrier.Kind == trace.BarrierMbar {
		if ct := s.ctas[ref.CTA]; ct != nil {
			st.mb = ct.mbars[ref.Barrier.ID]
		}
	} else {
		st.co = s.collectiveAt(ref)
	}
	if st.wait == waitMbar && st.mb == nil || st.wait == waitCollective && st.co == nil {
		c.fail("a wait on no barrier")
		st.wait = running
	}
}

// event is what a checkpoint holds of a strand's last event: what it was, and
// where.
func (c *codec) event(st *strand) {
	kind, loc := st.kind(), st.loc()
	as(c, &kind)
	c.u32(&st.seq)
	c.loc(&loc)
	if !c.reading {
		return
	}
	if int(kind) >= trace.NumKinds {
		c.fail("no such kind")
		kind = trace.KindUnknown
	}
	st.op = &trace.Op{Kind: kind, File: loc.File, Line: loc.Line, PC: loc.PC}
}

func (c *codec) row(w *warp, r *row) {
	if c.reading {
		r.op, r.cta, r.warp = new(trace.Op), w.cta.id, w.id
	}
	c.i64(&r.time)
	c.u64(&r.num)
	c.u32(&r.seq)
	c.u32(&r.lanes)
	c.u32(&r.pred)
	c.u32(&r.result)
	c.u64(&r.token)
	c.u64(&r.phase)
	o := r.op
	as(c, &o.Kind)
	if int(o.Kind) >= trace.NumKinds {
		c.fail("no such kind")
	}
	as(c, &o.Red)
	c.u8(&o.Parity)
	c.bools(&o.Aligned, &o.NoInc)
	has := uint32(o.Has)
	if c.u32(&has); c.reading {
		o.Has = trace.Fields(has)
	}
	for _, x := range []*uint32{&o.Lanes, &o.Bar, &o.Count, &o.Owner, &o.CTAMask, &o.Mask, &o.Line} {
		c.u32(x)
	}
	c.u64(&o.Addr)
	c.u64(&o.PC)
	c.u64(&o.Lost)
	c.i64(&o.Bytes)
	c.str(&o.Group)
	c.str(&o.File)
	c.str(&o.Text)
}
