package perfetto

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"btrace/replay"
	"btrace/replay/rules"
	"btrace/trace"
)

// exporter writes what it observes of a launch.
type exporter struct {
	out    *writer
	launch *trace.Launch
	base   uint64 // time at which the launch stands, ns
	first  int64  // its first event
	ctas   map[uint32]*cta
}

// cta is a CTA that is not over.
type cta struct {
	pid      int32
	uuid     uint64
	warps    map[uint32]*warp
	barriers map[trace.Barrier]*barrier
}

// warp is a warp's tracks: the first is the thread's, others hold waits of
// lanes that overlap.
type warp struct {
	tracks []track
}

type track struct {
	uuid uint64
	busy int64 // until when
}

// barrier is a barrier of a CTA.
type barrier struct {
	name    string
	counter uint64
	phases  []phase // the one that began first first
}

// phase is a phase of which more may be heard.
type phase struct {
	n        uint64
	pending  uint64
	expected uint64
	last     *replay.Arrival // not yet written
	done     bool
	flows    []uint64 // that begin at the last arrival
}

// openPhases is how many phases of a barrier are followed at once.
const openPhases = 4

func newExporter(out *writer, l *trace.Launch, base uint64, first int64) *exporter {
	return &exporter{out: out, launch: l, base: base, first: first, ctas: make(map[uint32]*cta)}
}

func (x *exporter) cta(id uint32) *cta {
	c := x.ctas[id]
	if c == nil {
		x.out.pids++
		c = &cta{pid: x.out.pids, warps: make(map[uint32]*warp), barriers: make(map[trace.Barrier]*barrier)}
		c.uuid = x.out.process(c.pid, fmt.Sprintf("%s, launch %d, CTA %d", clean(x.launch.Kernel), x.launch.ID, id))
		x.ctas[id] = c
	}
	return c
}

func (x *exporter) warp(ctaID, id uint32) *warp {
	c := x.cta(ctaID)
	w := c.warps[id]
	if w == nil {
		w = &warp{tracks: []track{{x.out.thread(c.pid, fmt.Sprintf("warp %d", id)), math.MinInt64}}}
		c.warps[id] = w
	}
	return w
}

// free is a track of the warp on which nothing lies over a span.
func (x *exporter) free(w *warp, from, to int64) uint64 {
	for i := range w.tracks {
		if t := &w.tracks[i]; t.busy <= from {
			t.busy = to
			return t.uuid
		}
	}
	w.tracks = append(w.tracks, track{x.out.track(w.tracks[0].uuid, "lanes apart"), to})
	return w.tracks[len(w.tracks)-1].uuid
}

func (x *exporter) barrier(ref replay.BarrierRef) *barrier {
	c := x.cta(ref.CTA)
	b := c.barriers[ref.Barrier]
	if b == nil {
		b = &barrier{name: clean(ref.Barrier.String())}
		c.barriers[ref.Barrier] = b
		if ref.Barrier.Kind != trace.BarrierWarp {
			b.counter = x.out.counter(c.uuid, "pending on "+b.name)
		}
	}
	return b
}

// phase finds a phase of a barrier, or begins it.
func (x *exporter) phase(b *barrier, n uint64) *phase {
	for i := range b.phases {
		if b.phases[i].n == n {
			return &b.phases[i]
		}
	}
	if len(b.phases) == openPhases {
		x.close(b, &b.phases[0])
		b.phases = slices.Delete(b.phases, 0, 1)
	}
	b.phases = append(b.phases, phase{n: n})
	return &b.phases[len(b.phases)-1]
}

func (x *exporter) Arrived(a replay.Arrival) {
	b := x.barrier(a.BarrierRef)
	p := x.phase(b, a.Phase)
	if p.done { // an mbarrier that was initialised again counts from 0
		x.close(b, p)
		*p = phase{n: a.Phase}
	}
	if p.expected == 0 && a.Expected > 0 {
		p.expected, p.pending = a.Expected, a.Expected
	}
	p.pending -= min(p.pending, a.Count)
	x.count(b, a.Time, p.pending)
	late := &a
	if p.last == nil || a.Time >= p.last.Time {
		late, p.last = p.last, &a
	}
	if late != nil {
		x.arrival(b, late, nil)
	}
}

// arrival writes an arrival as an instant.
func (x *exporter) arrival(b *barrier, a *replay.Arrival, flows []uint64) {
	w := x.warp(a.Who.CTA, a.Who.Warp)
	m := event(instant, w.tracks[0].uuid)
	m.named("arrive", "arrive "+b.name)
	m.note("phase", a.Phase)
	m.note("lanes", x.lanes(a.Who))
	m.note("arrivals", a.Count)
	m.source(x.launch, a.At)
	for _, f := range flows {
		m.fixed(eventFlows, f)
	}
	x.out.packet(x.at(a.Time), packetTrackEvent, m)
}

func (x *exporter) count(b *barrier, time int64, pending uint64) {
	m := event(counterSet, b.counter)
	m.uint(eventCounter, pending)
	x.out.packet(x.at(time), packetTrackEvent, m)
}

func (x *exporter) Completed(e replay.PhaseEnd) {
	b := x.barrier(e.BarrierRef)
	p := x.phase(b, e.Phase)
	p.done = true
	if e.Barrier.Kind == trace.BarrierMbar { // the next phase waits from now on
		x.count(b, e.Time, p.expected)
	}
}

func (x *exporter) Waited(s replay.WaitSpan) {
	b := x.barrier(s.BarrierRef)
	w := x.warp(s.Who.CTA, s.Who.Warp)
	to := s.To
	if !s.Ended {
		to = s.From
	}
	uuid := x.free(w, s.From, to)
	m := event(sliceBegin, uuid)
	name := "wait " + b.name
	if !s.Ended {
		name += " (no end)"
	}
	m.named("wait", name)
	m.note("phase", s.Phase)
	m.note("lanes", x.lanes(s.Who))
	m.source(x.launch, s.At)
	x.out.packet(x.at(s.From), packetTrackEvent, m)
	if !s.Ended {
		// Perfetto shows a slice that does not end up to the end of the trace;
		// nothing may follow on its track.
		for i := range w.tracks {
			if w.tracks[i].uuid == uuid {
				w.tracks[i].busy = math.MaxInt64
			}
		}
		return
	}
	x.out.packet(x.at(s.To), packetTrackEvent, event(sliceEnd, uuid))
	if s.Passed || s.Barrier.Kind == trace.BarrierWarp {
		return
	}
	p := x.phase(b, s.Phase)
	if p.last == nil || p.last.Time >= s.To || !p.done {
		return // an arrow leads forward in time
	}
	x.out.flows++
	p.flows = append(p.flows, x.out.flows)
	r := event(instant, uuid)
	r.named("release", "released from "+b.name)
	r.note("phase", s.Phase)
	r.fixed(eventTerminatingFlows, x.out.flows)
	x.out.packet(x.at(s.To), packetTrackEvent, r)
}

// close writes what was held back of a phase: its last arrival.
func (x *exporter) close(b *barrier, p *phase) {
	if p.last != nil {
		x.arrival(b, p.last, p.flows)
	}
}

func (x *exporter) Over(ctas []uint32, _ bool) {
	for _, id := range ctas {
		c := x.ctas[id]
		if c == nil {
			continue
		}
		names := make([]trace.Barrier, 0, len(c.barriers))
		for b := range c.barriers {
			names = append(names, b)
		}
		slices.SortFunc(names, func(a, b trace.Barrier) int { return strings.Compare(a.String(), b.String()) })
		for _, n := range names {
			b := c.barriers[n]
			for i := range b.phases {
				x.close(b, &b.phases[i])
			}
		}
	}
	for _, id := range ctas { // an arrival may be by a warp of another of them
		delete(x.ctas, id)
	}
}

// lanes names who did something.
func (x *exporter) lanes(who replay.Lanes) string {
	return strings.Join(rules.Threads([]rules.Lanes{who}, who.CTA, x.launch), " ")
}

// clean makes a text of a trace valid UTF-8, which protobuf wants.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
