package emu

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"btrace/trace"
)

// Machines have nothing in common but what the kernel does with Atomic, so
// they may run at the same time. A round lets each of them run for a window of
// virtual time; what it does in a round depends on nothing that another does
// in the same. Between rounds the machines that are through are replaced, in
// the order of their ends, and the events that nobody can precede any more
// are handed over in stored order. None of this depends on how many run at
// the same time.
//
// An operation on an Atomic of global memory stops its machine, until no other
// is behind it in time. Then it has a round for itself.

const (
	firstWindow = 1024
	leastWindow = 64
	mostWindow  = 1 << 40
	// A round should be long enough to be worth it, but what is recorded in
	// it has to be kept.
	fewSteps  = 4096
	manySteps = 16384
)

// moment orders what machines do: at one time each does one thing, in one
// CTA.
type moment struct {
	time int64
	cta  uint64
}

var lastMoment = moment{math.MaxInt64, math.MaxUint64}

func (a moment) before(b moment) bool {
	return a.time < b.time || a.time == b.time && a.cta < b.cta
}

// byTime compares machines by the time of what they do next.
func byTime(a, b *machine) int {
	return cmp.Or(cmp.Compare(a.next(), b.next()), cmp.Compare(a.unit, b.unit))
}

// round lets the machines run.
func (l *launch) round(ctx context.Context) {
	slices.SortFunc(l.resident, byTime)
	left := l.cfg.StepBudget - l.steps
	first := l.resident[0]
	if first.waiting != nil {
		first.runAlone(ctx, l.untilNext(), min(left, manySteps))
		return
	}
	horizon := later(first.next(), l.window)
	var ready []*machine
	for _, m := range l.resident {
		if m.waiting == nil && m.next() <= horizon {
			ready = append(ready, m)
		}
	}
	ready = ready[:min(uint64(len(ready)), left)]
	most := max(manySteps/uint64(len(l.resident)), 256)
	most = min(most, max(left/uint64(len(ready)), 1))
	l.parallel(ready, func(m *machine) { m.run(ctx, horizon, most) })

	sum, full := uint64(0), false
	for _, m := range ready {
		n := m.steps - m.counted
		sum += n
		full = full || n == most
	}
	switch {
	case full:
		l.window = max(l.window/2, leastWindow)
	case sum < fewSteps:
		l.window = min(l.window*2, mostWindow)
	}
}

// untilNext is how far the first machine can go until it is the turn of the
// second.
func (l *launch) untilNext() int64 {
	if len(l.resident) == 1 {
		return lastMoment.time
	}
	first, second := l.resident[0], l.resident[1]
	if first.unit < second.unit {
		return second.next()
	}
	return second.next() - 1
}

// parallel runs machines, as many at the same time as the configuration
// allows.
func (l *launch) parallel(ms []*machine, run func(*machine)) {
	var taken atomic.Int64
	work := func() {
		for i := taken.Add(1) - 1; i < int64(len(ms)); i = taken.Add(1) - 1 {
			run(ms[i])
		}
	}
	var others sync.WaitGroup
	for range min(l.cfg.Workers, len(ms)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// later is a time plus a span, as far as there are such times.
func later(t, span int64) int64 {
	const end = math.MaxInt64 / 2
	return min(t, end) + min(span, end)
}

// frontier is the moment before which nothing can happen any more.
func (l *launch) frontier() moment {
	f := lastMoment.time
	for _, m := range l.resident {
		f = min(f, m.next())
	}
	if l.begun < l.units() {
		for _, s := range l.starts {
			f = min(f, s)
		}
	}
	return moment{time: f}
}

// handOver gives the recorder the events before a moment, in stored order.
func (l *launch) handOver(until moment) error {
	var h eventHeap
	for _, ms := range [][]*machine{l.resident, l.draining} {
		for _, m := range ms {
			if m.pending(until) {
				h = append(h, m)
			}
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		m := h[0]
		bound := until
		for _, i := range []int{1, 2} { // one of them is the next
			if i < len(h) && h[i].head().before(bound) {
				bound = h[i].head()
			}
		}
		n := m.sent
		for n < len(m.events) && eventMoment(&m.events[n]).before(bound) {
			n++
		}
		l.out.add(m.events[m.sent:n])
		if m.sent = n; m.pending(until) {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	for _, m := range l.resident {
		m.events, m.sent = append(m.events[:0], m.events[m.sent:]...), 0
	}
	l.draining = slices.DeleteFunc(l.draining, func(m *machine) bool { return m.sent == len(m.events) })
	return l.out.err
}

func eventMoment(e *trace.Event) moment { return moment{e.Time, uint64(e.CTA)} }

// head is the moment of the first event that is not handed over yet.
func (m *machine) head() moment { return eventMoment(&m.events[m.sent]) }

func (m *machine) pending(until moment) bool {
	return m.sent < len(m.events) && m.head().before(until)
}

// eventHeap has the machine on top whose first event is the earliest.
type eventHeap []*machine

func (h eventHeap) Len() int           { return len(h) }
func (h eventHeap) Less(i, j int) bool { return h[i].head().before(h[j].head()) }
func (h eventHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)        { *h = append(*h, x.(*machine)) }
func (h *eventHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	*h = old[:len(old)-1]
	return m
}
