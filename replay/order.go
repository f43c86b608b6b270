package replay

import (
	"fmt"

	"btrace/replay/barrier"
	"btrace/replay/explore"
	"btrace/replay/rules"
	"btrace/trace"
)

// maxAgents is up to how many groups of lanes with a history of their own the
// order of a scope is kept: each has to know of every other.
const maxAgents = 2048

// maxBarriers is up to how many barriers of a scope that is done: each agent
// has to know of every one.
const maxBarriers = 1 << 12

// follower keeps the order of what a scope does, for what another schedule
// could do. A nil follower keeps nothing.
type follower struct {
	*explore.Order
	s     *scope
	exits map[uint32]*explore.Exits // by CTA
	gone  *explore.Exits            // of all of the scope
	over  bool                      // it gave up
	known []*followed               // barriers, and memory for more
	used  int                       // of them
	does  explore.Event             // scratch: what the current row does
}

// followed is a barrier as an Order knows it.
type followed struct {
	ref BarrierRef
	// said is, by kind, the hazard that was filed last. Most come again and
	// again from one place.
	said [explore.NumKinds]*Finding
}

func newFollower(s *scope) *follower {
	f := &follower{s: s, exits: make(map[uint32]*explore.Exits)}
	f.Order = explore.NewOrder(s.threads, f.hazard)
	f.gone = f.NewExits()
	return f
}

// again makes the follower of a scope that is over one of another.
func (f *follower) again(s *scope) {
	clear(f.exits)
	*f = follower{Order: f.Order, s: s, exits: f.exits, known: f.known}
	f.Again(f.hazard)
	f.gone = f.NewExits()
}

// follow is what is remembered of a barrier that an Order gets to know.
func (f *follower) follow(ref BarrierRef) *followed {
	if f.used == len(f.known) {
		f.known = append(f.known, new(followed))
	}
	b := f.known[f.used]
	f.used++
	*b = followed{ref: ref}
	return b
}

// follows reports whether there is anybody to tell.
func (f *follower) follows() bool { return f != nil && !f.over }

// event is what a row does, until the next is asked for.
func (f *follower) event(w *warp, r *row) *explore.Event {
	if w.order == nil {
		w.order = f.Warp(w.cta.id, w.id)
	}
	f.over = f.Agents() > maxAgents || f.Barriers() > maxBarriers
	e := &f.does
	e.CTA, e.Warp, e.Seq, e.Lanes, e.Time = w.cta.id, w.id, r.seq, r.lanes, r.time
	e.Op, e.By = r.op, w.order
	return e
}

func releases(op *trace.Op) bool { return op.Sem != trace.SemRelaxed && op.Sem != trace.SemAcquire }
func acquires(op *trace.Op) bool { return op.Sem != trace.SemRelaxed && op.Sem != trace.SemRelease }

// arrival is lanes that come to a named barrier, whose phases wait for all
// that live if it has no count.
func (f *follower) arrival(w *warp, r *row, id uint32) {
	if !f.follows() {
		return
	}
	h := &w.cta.bars[id]
	if h.order == nil {
		ref := BarrierRef{CTA: w.cta.id, Barrier: trace.Barrier{Kind: trace.BarrierNamed, ID: uint64(id)}}
		h.order = f.NewBarrier(f.follow(ref))
		f.exitsOf(ref.CTA).Holds(h.order)
	}
	e := f.event(w, r)
	f.ArriveWarp(h.order, e, w.live, true)
}

// namedEnded is told when phases of a CTA's named barriers may have ended.
func (f *follower) namedEnded(c *cta) {
	if !f.follows() {
		return
	}
	for id := range c.bars {
		b := c.bars[id].order
		for b != nil && b.Phase() < c.named.Bars[id].Phase {
			f.Complete(b, c.bars[id].implicit)
		}
	}
}

// left is lanes that come out of a named barrier.
func (f *follower) left(w *warp, r *row, id uint32, phase uint64) {
	if b := w.cta.bars[id].order; f.follows() && b != nil {
		e := f.event(w, r)
		f.Leave(b, e, phase, true)
	}
}

func (f *follower) mbar(mb *mbar) *explore.Barrier {
	if mb.order == nil {
		mb.order = f.NewMbarrier(f.follow(mb.ref), mb.ref.CTA)
	}
	return mb.order
}

// initialised is lanes that make an mbarrier.
func (f *follower) initialised(w *warp, r *row, mb *mbar) {
	if f.follows() {
		e := f.event(w, r)
		f.Init(f.mbar(mb), e)
	}
}

// invalidated is lanes that end its life.
func (f *follower) invalidated(w *warp, r *row, mb *mbar) {
	if f.follows() {
		e := f.event(w, r)
		f.Inval(f.mbar(mb), e)
	}
}

// arrives is lanes that arrive on an mbarrier in the phase under way.
func (f *follower) arrives(w *warp, r *row, mb *mbar) {
	if !f.follows() {
		return
	}
	b, e := f.mbar(mb), f.event(w, r)
	f.Arrive(b, e, releases(r.op))
	if r.op.Kind == trace.KindMbarArriveExpectTx || r.op.Bytes != 0 {
		f.bytes(b, e, 1)
	}
}

// spills is an arrive of which a part counts in the next phase.
func (f *follower) spills(w *warp, r *row, mb *mbar) {
	if f.follows() {
		e := f.event(w, r)
		f.Arrive(f.mbar(mb), e, releases(r.op))
	}
}

// bytes books what is announced (sign 1), or comes (-1).
func (f *follower) bytes(b *explore.Barrier, e *explore.Event, sign int64) {
	if !e.Op.Has.Has(trace.FieldBytes) {
		b.Unknown()
		return
	}
	b.Bytes(e, sign*int64(popcount(e.Lanes))*e.Op.Bytes)
}

// transfers is an operation on the bytes of an mbarrier.
func (f *follower) transfers(w *warp, r *row, mb *mbar) {
	if !f.follows() {
		return
	}
	b, e := f.mbar(mb), f.event(w, r)
	switch r.op.Kind {
	case trace.KindMbarExpectTx:
		f.Announce(b, e)
		f.bytes(b, e, 1)
		return
	case trace.KindMbarCpAsyncArrive:
		if !r.op.NoInc {
			f.Announce(b, e)
		}
		b.Bytes(e, 0)
		if r.op.NoInc {
			f.Arrive(b, e, true)
		} else {
			f.Copy(b, e, true)
		}
		return
	}
	f.Copy(b, e, releases(r.op))
	f.bytes(b, e, -1)
}

// mbarEnded is told when phases of an mbarrier have ended.
func (f *follower) mbarEnded(mb *mbar) {
	if !f.follows() {
		return
	}
	for b := mb.order; b != nil && b.Phase() < mb.m.Phase; {
		if mb.async > 0 {
			b.Late()
		}
		f.Complete(b, false)
	}
}

// waited is lanes that have come out of a wait, or were told by a test that
// they may: for a phase by its token, or for a parity.
func (f *follower) waited(w *warp, r *row, mb *mbar, phase int64, byParity bool) {
	if !f.follows() {
		return
	}
	b, e := f.mbar(mb), f.event(w, r)
	if byParity || phase < 0 {
		f.Wait(b, e, uint8(phase&1), acquires(r.op))
		return
	}
	f.WaitPhase(b, e, uint64(phase), acquires(r.op))
}

// runs is lanes that begin or end a completion function.
func (f *follower) runs(w *warp, r *row, mb *mbar) {
	if f.follows() {
		e := f.event(w, r)
		f.Function(f.mbar(mb), e)
	}
}

func (f *follower) collective(c *collective) *explore.Barrier {
	if c.order == nil {
		c.order = f.NewBarrier(f.follow(c.ref))
		f.gone.Holds(c.order)
	}
	return c.order
}

// joins is lanes that arrive on the barrier of a cluster or group.
func (f *follower) joins(w *warp, r *row, c *collective) {
	switch {
	case !f.follows():
	case c.ref.Barrier.Kind == trace.BarrierCluster && r.op.Aligned:
		e := f.event(w, r)
		f.ArriveWarp(f.collective(c), e, w.live, releases(r.op))
	default:
		e := f.event(w, r)
		f.ArriveAll(f.collective(c), e, releases(r.op))
	}
}

// parts is lanes that come out of it.
func (f *follower) parts(w *warp, r *row, c *collective, phase uint64) {
	if f.follows() {
		e := f.event(w, r)
		f.Leave(f.collective(c), e, phase, acquires(r.op))
	}
}

func (f *follower) collectiveEnded(c *collective) {
	if !f.follows() {
		return
	}
	for b := c.order; b != nil && b.Phase() < c.m.Phase; {
		f.Complete(b, c.exitLowers)
	}
}

// exit is lanes that exit.
func (f *follower) exit(w *warp, r *row) {
	if !f.follows() {
		return
	}
	e := f.event(w, r)
	x := f.exitsOf(w.cta.id)
	f.Exit(e, x, f.gone)
	if w.cta.live > popcount(r.lanes&w.live) {
		return
	}
	for _, mb := range w.cta.mbars {
		if mb.order != nil {
			f.Gone(mb.order, x)
		}
	}
}

// exitsOf is the exits of a CTA.
func (f *follower) exitsOf(cta uint32) *explore.Exits {
	x := f.exits[cta]
	if x == nil {
		x = f.NewExits()
		f.exits[cta] = x
	}
	return x
}

func (f *follower) meets(w *warp, r *row) {
	if f.follows() {
		e := f.event(w, r)
		f.Syncwarp(e, r.op.Mask, releases(r.op))
	}
}

func (f *follower) met(w *warp, r *row) {
	if f.follows() {
		e := f.event(w, r)
		f.Met(e, r.op.Mask)
	}
}

// polled is a test that failed.
func (f *follower) polled() {
	if f.follows() {
		f.Polled = true
	}
}

// hazard files what the order does not forbid.
func (f *follower) hazard(h explore.Hazard) {
	b := h.Barrier.Ref.(*followed)
	e := &h.Event
	loc := Location{File: e.Op.File, Line: e.Op.Line, PC: e.Op.PC}
	if x := b.said[h.Kind]; x != nil && x.Location.Line == loc.Line && x.Location.PC == loc.PC {
		x.More++
		return
	}
	ref, rule := b.ref, hazardRule(h.Kind)
	ref.Phase = h.Phase
	if b.said[h.Kind] = f.s.hazards.again(rule, ref, loc); b.said[h.Kind] != nil {
		return
	}
	who := Lanes{CTA: e.CTA, Warp: e.Warp, Mask: e.Lanes}
	x := Finding{
		Rule: rule, BarrierRef: ref, Threads: []Lanes{who}, Time: e.Time,
		Location: loc, Events: []EventRef{{CTA: e.CTA, Warp: e.Warp, Seq: e.Seq}},
	}
	name, does := f.s.text(who, ref.CTA), e.Op.Kind.String()
	switch h.Kind {
	case explore.Recycle:
		x.Message = fmt.Sprintf("%s does %s on %s in phase %d, and nothing orders that after the end of phase %d: in another schedule it counts in that",
			name, does, ref.Barrier, h.Phase, int64(h.Phase)-1)
	case explore.Lap:
		x.Message = fmt.Sprintf("%s waits on %s, and nothing keeps phase %d from ending before it has looked: in another schedule it misses that, or takes another phase for it",
			name, ref.Barrier, h.Phase)
	case explore.Init:
		x.Message = fmt.Sprintf("%s does %s on %s, and nothing orders that with the initialisation: in another schedule it comes first", name, does, ref.Barrier)
		if e.Op.Kind == trace.KindMbarInit {
			x.Message = fmt.Sprintf("%s initialises %s again, and nothing orders that after its last use", name, ref.Barrier)
		}
		if e.Op.Kind == trace.KindMbarInval {
			x.Message = fmt.Sprintf("%s ends the life of %s, and nothing orders that after its last use", name, ref.Barrier)
		}
	case explore.Exit:
		x.Message = fmt.Sprintf("%s does %s on %s, and nothing orders that before the exit of CTA %d: in another schedule the barrier is gone by then",
			name, does, ref.Barrier, ref.CTA)
	case explore.Tx:
		x.Message = fmt.Sprintf("the bytes that %s announces or moves for phase %d of %s (%s) do not have to be there when it ends: in another schedule they count in the next",
			name, h.Phase, ref.Barrier, does)
		if e.Op.Kind == trace.KindMbarCpAsyncArrive {
			x.Message = fmt.Sprintf("phase %d of %s ends without all arrivals of the copies that were begun in it (%s of %s): how soon they are done says which count",
				h.Phase, ref.Barrier, does, name)
		}
	}
	b.said[h.Kind] = f.s.hazards.add(x)
}

func hazardRule(k explore.Kind) barrier.Rule {
	switch k {
	case explore.Recycle:
		return rules.HazardRecycle
	case explore.Lap:
		return rules.HazardLap
	case explore.Init, explore.Exit:
		return rules.HazardInit
	}
	return rules.HazardTx
}
