//go:build linux

package cupti

import (
	"math"
	"math/bits"
	"time"

	"btrace/capture/cupti/ring"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// merger puts the events of a ring in order. Those of one SM are ordered by
// its clock; each gets its number in its warp and its time when everything
// before it is known to have come.
//
// A record is on its way from when its lane reads the clock until the reader
// finds it. So what is younger than wallSlack is held back, and, while chunks
// wait to be read, or lanes for chunks, what is not older than they by
// takeSlack. If a record comes later all the same, and its lanes have done
// something since, there is a gap in its place.
type merger struct {
	sms    map[uint16]*smQueue
	newest uint64 // %globaltimer
	// The least difference between our clock and %globaltimer seen lately:
	// the true one, as records are found a little later than written.
	least  [2]time.Duration
	turned time.Time
	epoch  time.Time
	waited time.Time // when lanes may last have been waiting for chunks

	perCycle float64
	late     uint64 // records that came too late
	queued   int
	scratch  []trace.Event
}

const (
	wallSlack = 50 * time.Millisecond
	takeSlack = 200 * time.Microsecond
	// leastTurn is how long a difference counts: the two clocks drift.
	leastTurn = 10 * time.Second
)

// smQueue is the events of an SM that are held back: a heap by clock.
type smQueue struct {
	clock clockMap
	heap  []queuedKey
	slab  []*[slabPage]queued
	used  uint32 // of the slab
	free  []uint32
	order uint32
}

type queuedKey struct {
	clock uint64
	order uint32 // of events at one clock, in which they came
	slot  uint32
}

// queued is an event whose turn has not come: a record, or one of the two
// events that it stands for.
type queued struct {
	l       *launch
	cta     *ctaState
	warp    *warpState
	clock   uint64 // of the record
	site    uint32
	operand uint32
	lanes   uint32
	inCTA   uint32 // index of the CTA
	inWarp  uint8
	part    uint8 // which event of the record it is; or all
	values  [2 * (ring.MaxRecordSlots - 1)]uint64
}

// all is the part of a record whose events have one clock.
const all = 255

// slabPage is how many events are allocated at once.
const slabPage = 1024

// ctaState and warpState are what has been emitted.
type ctaState struct {
	time  int64
	warps []*warpState
	left  int  // warps that are recorded and have not exited
	told  bool // which warps are not recorded

	dropped bool // it is said that records may be lost
}

type warpState struct {
	seq     uint32
	clock   uint64      // of the latest event
	whole   uint64      // of the latest event of all lanes
	lanes   *[32]uint64 // of the latest event of each lane, where lanes part
	entered uint32
	exited  uint32
	parked  uint32 // lanes that wait
}

func newMerger(clockKHz uint32, now time.Time) *merger {
	m := &merger{sms: make(map[uint16]*smQueue), epoch: now, turned: now, perCycle: 0.6}
	if clockKHz > 0 {
		m.perCycle = 1e6 / float64(clockKHz)
	}
	m.least = [2]time.Duration{math.MaxInt64, math.MaxInt64}
	return m
}

// see learns the time from a batch.
func (m *merger) see(d *drained) {
	newest := uint64(0)
	for i := range d.b.Runs {
		r := &d.b.Runs[i]
		q := m.sm(r.SM)
		q.clock.add(r.Clock, r.Time)
		newest = max(newest, r.Time)
	}
	if newest == 0 {
		return
	}
	m.newest = max(m.newest, newest)
	if d.end.Sub(m.turned) > leastTurn {
		m.least[0], m.least[1], m.turned = m.least[1], math.MaxInt64, d.end
	}
	diff := d.end.Sub(m.epoch) - time.Duration(newest)
	for i := range m.least {
		m.least[i] = min(m.least[i], diff)
	}
}

func (m *merger) sm(n uint16) *smQueue {
	q := m.sms[n]
	if q == nil {
		q = &smQueue{clock: clockMap{perCycle: m.perCycle}}
		m.sms[n] = q
	}
	return q
}

// bound is the %globaltimer up to which everything has come.
func (m *merger) bound(d *drained) uint64 {
	if m.newest == 0 {
		return 0
	}
	bound := min(less(m.now(d.begin), uint64(wallSlack)), less(d.b.Bound, uint64(takeSlack)))
	if d.b.Waits {
		m.waited = d.end
	}
	// One that waited may have its chunk by now, and not have written to it.
	if d.begin.Sub(m.waited) < wallSlack {
		bound = min(bound, less(d.b.Asked, uint64(takeSlack)))
	}
	return bound
}

// now is the %globaltimer at a moment, or a little before it.
func (m *merger) now(at time.Time) uint64 {
	return uint64(at.Sub(m.epoch) - min(m.least[0], m.least[1]))
}

func less(x, by uint64) uint64 { return x - min(x, by) }

// add takes the records of a run for a launch.
func (m *merger) add(l *launch, warps Range, sites *siteSnapshot, b *ring.Batch, r *ring.Run) {
	cta := l.cta(r.CTA, warps)
	warp := cta.warp(int(r.Warp))
	q := m.sm(r.SM)
	if len(q.clock.nodes) == 0 {
		q.clock.add(r.Clock, r.Time)
	}
	word := r.FirstWord
	for i := r.First; i < r.First+r.N; i++ {
		site := b.Site[i]
		e := queued{l: l, cta: cta, warp: warp, clock: b.Clock[i], site: site, operand: b.Operand[i], lanes: b.Lanes[i], inCTA: r.CTA, inWarp: r.Warp, part: all}
		if n := 2 * (int(sites.sizes[site].Slots) - 1); n > 0 {
			copy(e.values[:], b.Value[word:word+n])
			word += n
		}
		if site == ring.SiteGap || sites.sites[site].Takes&(probe.TakesBegan|probe.TakesSince) == 0 {
			m.push(q, e.clock, &e)
			continue
		}
		// It stands for a wait and its end, each with a clock of its own.
		m.scratch = e.decode(m.scratch[:0], sites)
		for j := range m.scratch {
			e.part = uint8(j)
			m.push(q, uint64(m.scratch[j].Clk), &e)
		}
	}
}

// decode appends the events of the record.
func (e *queued) decode(to []trace.Event, sites *siteSnapshot) []trace.Event {
	if e.site == ring.SiteGap {
		return append(to, gap(uint64(e.operand), e.lanes, int64(e.clock)))
	}
	rec := probe.Record{Site: e.site, Clock: int64(e.clock), Operand: e.operand, Lanes: e.lanes, Values: e.values}
	return sites.sites[e.site].Append(to, &rec, &probe.Place{CTA: e.inCTA, Grid: e.l.info.Grid, Cluster: e.l.info.Cluster})
}

// gap is the event of records that are lost.
func gap(lost uint64, lanes uint32, clock int64) trace.Event {
	e := trace.Event{Clk: clock}
	e.Kind, e.Lost, e.Lanes = trace.KindGap, max(lost, 1), lanes
	e.Has = trace.Fields(0).With(trace.FieldLost, trace.FieldClk)
	return e
}

func (m *merger) push(q *smQueue, clock uint64, e *queued) {
	e.l.queued++
	m.queued++
	slot := q.used
	if n := len(q.free); n > 0 {
		slot, q.free = q.free[n-1], q.free[:n-1]
	} else if q.used++; slot%slabPage == 0 {
		q.slab = append(q.slab, new([slabPage]queued))
	}
	*q.at(slot) = *e
	q.order++
	q.heap = append(q.heap, queuedKey{clock, q.order, slot})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *smQueue) at(slot uint32) *queued { return &q.slab[slot/slabPage][slot%slabPage] }

func (k queuedKey) before(o queuedKey) bool {
	return k.clock < o.clock || k.clock == o.clock && int32(k.order-o.order) < 0
}

func (q *smQueue) pop() queuedKey {
	top, n := q.heap[0], len(q.heap)-1
	q.heap[0] = q.heap[n]
	q.heap = q.heap[:n]
	for i := 0; ; {
		next := 2*i + 1
		if next >= n {
			break
		}
		if next+1 < n && q.heap[next+1].before(q.heap[next]) {
			next++
		}
		if !q.heap[next].before(q.heap[i]) {
			break
		}
		q.heap[i], q.heap[next] = q.heap[next], q.heap[i]
		i = next
	}
	return top
}

// emit hands over the events up to a %globaltimer, those of each SM in order.
func (m *merger) emit(bound uint64, to func(e *queued, clock, time uint64) error) error {
	for _, q := range m.sms {
		if len(q.heap) == 0 {
			continue
		}
		clock := uint64(math.MaxUint64)
		if bound != math.MaxUint64 {
			clock = q.clock.clock(bound)
		}
		for len(q.heap) > 0 && q.heap[0].clock <= clock {
			k := q.pop()
			m.queued--
			if err := to(q.at(k.slot), k.clock, q.clock.time(k.clock)); err != nil {
				return err
			}
			q.free = append(q.free, k.slot)
		}
	}
	return nil
}

// after reports whether lanes of the warp have done something after a clock.
func (w *warpState) after(clock uint64, lanes uint32) bool {
	switch {
	case clock >= w.clock:
		return false
	case w.whole > clock:
		return true
	case w.lanes == nil:
		return false
	}
	for ; lanes != 0; lanes &= lanes - 1 {
		if w.lanes[bits.TrailingZeros32(lanes)] > clock {
			return true
		}
	}
	return false
}

// did notes that lanes did something at a clock.
func (w *warpState) did(clock uint64, lanes uint32) {
	w.clock = max(w.clock, clock)
	if lanes == math.MaxUint32 {
		w.whole = max(w.whole, clock)
		return
	}
	if w.lanes == nil {
		w.lanes = new([32]uint64)
	}
	for ; lanes != 0; lanes &= lanes - 1 {
		i := bits.TrailingZeros32(lanes)
		w.lanes[i] = max(w.lanes[i], clock)
	}
}

func (c *ctaState) warp(n int) *warpState {
	for len(c.warps) <= n {
		c.warps = append(c.warps, nil)
	}
	if c.warps[n] == nil {
		c.warps[n] = new(warpState)
	}
	return c.warps[n]
}
