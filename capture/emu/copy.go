package emu

import (
	"unsafe"

	"btrace/replay/barrier"
	"btrace/trace"
)

// Asynchronous copies are agents of their own: they move their data, and tell
// the barrier, some time after the instruction that issued them.

// BulkCopy is cp.async.bulk: it copies src to dst, which has the same length,
// and then completes as many bytes of transaction on b. What src holds at the
// end of the copy is what arrives.
//
//go:noinline
func BulkCopy[T any](dst, src []T, b Mbarrier) {
	b.t.here()
	n := min(len(dst), len(src))
	b.copy(int64(n)*elemSize[T](), 0, func(int) { copy(dst, src) })
}

// BulkCopyMulticast is cp.async.bulk with .multicast::cluster: every CTA of
// the cluster whose rank is in ranks receives src at dst(rank), and its bytes
// of transaction on its own barrier at the address of b.
//
//go:noinline
func BulkCopyMulticast[T any](dst func(rank int) []T, src []T, b Mbarrier, ranks uint32) {
	b.t.here()
	to := make(map[int][]T)
	for r := range b.t.ClusterSize() {
		if ranks>>r&1 != 0 {
			to[r] = dst(r)
		}
	}
	b.copy(int64(len(src))*elemSize[T](), ranks, func(r int) { copy(to[r], src) })
}

func (b Mbarrier) copy(bytes int64, ranks uint32, move func(rank int)) {
	b.t.move = move
	o := b.op(trace.KindMbarCopy)
	o.bytes, o.mask = bytes, ranks
	b.t.do(o)
	b.t.move = nil
}

func elemSize[T any]() int64 { return int64(unsafe.Sizeof(*new(T))) }

// bulkCopy issues a copy for each of the lanes.
func (m *machine) bulkCopy(w *warp, lanes uint32, o *op) {
	e := m.recordMbar(w, lanes, o)
	size := int64(0)
	if o.bytes != UnknownBytes {
		e.Bytes, e.Has = o.bytes, e.Has.With(trace.FieldBytes)
		size = o.bytes
	}
	if o.mask != 0 {
		e.CTAMask, e.Has = o.mask, e.Has.With(trace.FieldCTAMask)
	}
	w.each(lanes, func(t *Thread) {
		move, o := t.move, *o
		to := t.cta.receivers(&o)
		if o.bytes == UnknownBytes {
			for _, c := range to {
				m.object(c.id, o.addr).coming++
			}
		}
		m.agent(later(m.now, copyLatency+size/copyRate), func() {
			for _, c := range to {
				move(c.rank)
				m.completeTx(c.id, &o)
			}
		})
	})
}

func (m *machine) completeTx(cta uint32, o *op) {
	b := m.object(cta, o.addr)
	m.eff.Reset()
	if o.bytes == UnknownBytes {
		b.coming--
		b.moved++
		b.account(&m.eff)
	} else {
		b.CompleteTx(o.bytes, &m.eff)
	}
	m.wake(b)
}

// account completes what is outstanding, if copies of unknown size have moved
// that much and no other is under way.
func (b *mbar) account(eff *barrier.Effect) {
	if b.moved > 0 && b.coming == 0 && b.Tx > 0 {
		b.moved = 0
		b.CompleteTx(b.Tx, eff)
	}
}

// receivers is the CTAs that a copy of c goes to.
func (c *cta) receivers(o *op) []*cta {
	if o.mask == 0 {
		return []*cta{c.m.ctas[o.owner]}
	}
	var to []*cta
	for r, peer := range c.cluster.ctas {
		if o.mask>>r&1 != 0 {
			to = append(to, peer)
		}
	}
	return to
}

// CpAsync is cp.async: it copies src to dst. The copies of a thread complete
// in order; Mbarrier.CpAsyncArrive tells when. It is no event.
func CpAsync[T any](t *Thread, dst, src []T) {
	t.own("cp.async")
	t.queue(func() { copy(dst, src) })
}

// queue adds a step to what the lane's copies have yet to do.
func (t *Thread) queue(step func()) {
	t.copies = append(t.copies, step)
	if len(t.copies) == 1 {
		t.m.agent(t.m.now+copyLatency, t.copied)
	}
}

// copied does the first step of the queue, and has the next done later.
func (t *Thread) copied() {
	t.copies[0]()
	t.copies = t.copies[1:]
	if len(t.copies) > 0 {
		t.m.agent(t.m.now+latency, t.copied)
	}
}

// cpAsyncArrive has every lane's earlier copies arrive for it once they have
// completed.
func (m *machine) cpAsyncArrive(w *warp, lanes uint32, o *op, b *mbar) {
	e := m.recordMbar(w, lanes, o)
	e.NoInc, e.Has = o.noInc, e.Has.With(trace.FieldNoInc)
	w.each(lanes, func(t *Thread) {
		b.CpAsyncIssue(o.noInc, &m.eff)
		move := t.move
		t.queue(func() {
			if move != nil {
				move(t.cta.rank)
			}
			m.eff.Reset()
			b.CpAsyncDone(&m.eff)
			if m.eff.Trap != "" {
				m.endTrap(w, 1<<t.lane, o, m.eff.Trap)
				return
			}
			m.wake(b)
		})
	})
}
