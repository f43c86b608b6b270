package stats

import (
	"cmp"
	"math"
	"slices"

	"btrace/replay"
	"btrace/trace"
)

// openPhases is how many phases of a barrier are followed at once. A lane that
// comes out of a wait when its barrier is further on than that is counted, but
// not in its phase: an mbarrier's waiters alias two phases on, and the others
// meet again every phase.
const openPhases = 4

// liveBarrier is a barrier of a CTA that is not over.
type liveBarrier struct {
	name  trace.Barrier
	cta   uint32
	count *barrierCount
	open  []openPhase // the one that began first first
	stage use
}

// openPhase is a phase of which more may be heard.
type openPhase struct {
	Phase
	first, last int64 // times of the first and the last arrival
	prev        int64 // of the last one by another warp
	hasPrev     bool
	waitFrom    int64 // when the first wait began; MaxInt64: none did
	waitTo      int64 // when the first wait ended; MaxInt64: none did
	end         int64 // when it was found complete
	grid        bool  // any CTA can arrive
}

// phase finds a phase, or begins it.
func (b *liveBarrier) phase(c *collector, n uint64, time int64) *openPhase {
	for i := len(b.open) - 1; i >= 0; i-- {
		if b.open[i].Phase.Phase == n {
			p := &b.open[i]
			p.First = min(p.First, time)
			return p
		}
	}
	if len(b.open) == openPhases {
		b.finish(c, &b.open[0])
		b.open = slices.Delete(b.open, 0, 1)
	}
	b.open = append(b.open, b.begun(n, time))
	return &b.open[len(b.open)-1]
}

// begun is a phase that begins.
func (b *liveBarrier) begun(n uint64, time int64) openPhase {
	return openPhase{
		Phase: Phase{CTA: b.cta, Phase: n, First: time}, waitFrom: math.MaxInt64, waitTo: math.MaxInt64,
		grid: b.name.Kind == trace.BarrierGroup && b.name.Name == "grid",
	}
}

func (b *liveBarrier) arrived(c *collector, a *replay.Arrival) {
	p := b.phase(c, a.Phase, a.Time)
	if p.Completed { // an mbarrier that was initialised again counts from 0
		b.finish(c, p)
		*p = b.begun(a.Phase, a.Time)
	}
	same := p.Last.CTA == a.Who.CTA && p.Last.Warp == a.Who.Warp
	switch {
	case p.Arrivals == 0:
		p.first, p.last, p.Last = a.Time, a.Time, a.Who
	case a.Time >= p.last:
		if !same {
			p.prev, p.hasPrev = p.last, true
		}
		p.last, p.Last = a.Time, a.Who
	default:
		if !same && (!p.hasPrev || a.Time > p.prev) {
			p.prev, p.hasPrev = a.Time, true
		}
	}
	p.first = min(p.first, a.Time)
	p.Arrivals += a.Count
	p.Expected = max(p.Expected, a.Expected)
}

func (b *liveBarrier) completed(c *collector, e *replay.PhaseEnd) {
	p := b.phase(c, e.Phase, e.Time)
	p.Completed, p.Bytes, p.end = true, e.Bytes, e.Time
}

func (b *liveBarrier) waited(c *collector, x *replay.WaitSpan) {
	if x.Passed || x.Barrier.Kind == trace.BarrierWarp {
		return // for no phase that anybody arrives in
	}
	p := b.phase(c, x.Phase, x.From)
	p.waitFrom = min(p.waitFrom, x.From)
	if !x.Ended {
		p.Open++
		return
	}
	ns := difference(x.To, x.From)
	p.Waits++
	p.Total = sum(p.Total, ns)
	p.Max = max(p.Max, ns)
	p.waitTo = min(p.waitTo, x.To)
}

// close ends all phases of the barrier.
func (b *liveBarrier) close(c *collector) {
	for i := range b.open {
		b.finish(c, &b.open[i])
	}
	b.open = nil
}

// finish counts a phase of which no more is to be heard.
func (b *liveBarrier) finish(c *collector, p *openPhase) {
	n := b.count
	if p.Arrivals > 0 {
		p.Spread = difference(p.last, p.first)
	}
	if p.Completed {
		n.Phases++
		b.stage.completed(p, p.late())
		if p.Arrivals > 0 {
			n.Spread.add(p.Spread)
		}
		if p.Arrivals > 0 || p.Bytes {
			n.latecomer(c.lateKey(p)).add(&Latecomer{Times: 1, Total: p.Late, Max: p.Late})
		}
	}
	n.costly(p.Phase, c.opt.Phases)
}

// late finds how long somebody waited for nothing but the last to come, and
// when that came.
func (p *openPhase) late() (ready int64) {
	ready = p.last
	alone := p.waitFrom // since when only the last is waited for
	switch {
	case p.Bytes || p.Arrivals == 0:
		if ready = p.end; p.waitTo != math.MaxInt64 {
			ready = p.waitTo
		}
		if p.Arrivals > 0 {
			alone = max(alone, p.last)
		}
	case p.hasPrev:
		alone = max(alone, p.prev)
	}
	if p.waitFrom != math.MaxInt64 {
		p.Late = difference(ready, alone)
	}
	return ready
}

// lateKey is who came last in a phase.
func (c *collector) lateKey(p *openPhase) lateKey {
	switch {
	case p.Bytes:
		return lateKey{bytes: true}
	case p.grid:
		return lateKey{rank: p.Last.CTA, warp: p.Last.Warp}
	}
	return lateKey{rank: c.rank(p.Last.CTA), warp: p.Last.Warp}
}

// rank tells the CTAs apart that can arrive on one barrier.
func (c *collector) rank(cta uint32) uint32 {
	g, k := c.launch.Grid, c.launch.Cluster
	for i := range 3 {
		g[i], k[i] = max(g[i], 1), max(k[i], 1)
	}
	x, y, z := cta%g[0]%k[0], cta/g[0]%g[1]%k[1], cta/g[0]/g[1]%k[2]
	return (z*k[1]+y)*k[0] + x
}

// others is the key of the latecomers that are too many to tell apart.
var others = lateKey{rank: math.MaxUint32, warp: math.MaxUint32}

func (b *barrierCount) latecomer(k lateKey) *Latecomer {
	l := b.late[k]
	if l == nil && len(b.late) >= maxLatecomers {
		k = others
		l = b.late[k]
	}
	if l == nil {
		l = &Latecomer{Rank: k.rank, Warp: k.warp, Bytes: k.bytes}
		b.late[k] = l
	}
	return l
}

func (l *Latecomer) add(o *Latecomer) {
	l.Times += o.Times
	l.Total = sum(l.Total, o.Total)
	l.Max = max(l.Max, o.Max)
}

// costly keeps a phase if it is among the costliest.
func (b *barrierCount) costly(p Phase, most int) {
	if p.Waits+p.Open == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(b.Costly, p, comparePhases)
	if i == most {
		return
	}
	b.Costly = slices.Insert(b.Costly, i, p)
	b.Costly = b.Costly[:min(len(b.Costly), most)]
}

func comparePhases(x, y Phase) int {
	return cmp.Or(cmp.Compare(y.Open, x.Open), cmp.Compare(y.Total, x.Total), cmp.Compare(x.CTA, y.CTA), cmp.Compare(x.Phase, y.Phase))
}
