package stats

import (
	"cmp"
	"slices"

	"btrace/replay"
	"btrace/trace"
)

// Bounds on what a hostile trace can make a collector keep. What is beyond is
// counted together.
const (
	maxBarriers   = 1 << 15
	maxSites      = 1 << 14
	maxLatecomers = 1 << 12
)

// collector counts what one worker of a replay tells it.
type collector struct {
	launch *trace.Launch
	opt    Options
	ranks  uint32 // CTAs of a cluster

	barriers map[trace.Barrier]*barrierCount
	sites    map[siteKey]*Waits
	stages   map[stageKey]*Stage
	waits    Waits

	ctas, warps, partial uint64
	active, waiting      int64

	live map[uint32]*liveCTA
	last *liveCTA // the one of the last event: most follow one of their own
}

// syncwarps stands for the meetings of all warps: one warp's is nobody else's
// business.
var syncwarps = trace.Barrier{Kind: trace.BarrierWarp, Name: "all"}

// barrierCount is what is known of the barriers of a name.
type barrierCount struct {
	Barrier
	late map[lateKey]*Latecomer
}

type lateKey struct {
	rank, warp uint32
	bytes      bool
}

type siteKey struct {
	at   replay.Location
	kind trace.BarrierKind
}

// liveCTA is a CTA that is not over.
type liveCTA struct {
	id       uint32
	barriers []*liveBarrier // that it owns
	warps    []*liveWarp
}

// liveWarp is when a warp used barriers.
type liveWarp struct {
	id          uint32
	first, last int64
	covered     int64 // up to which its waits are counted
	passed      []passed
}

func newCollector(l *trace.Launch, opt Options) *collector {
	if opt.Phases <= 0 {
		opt.Phases = 10
	}
	return &collector{
		launch: l, opt: opt, ranks: uint32(l.ClusterSize()),
		barriers: make(map[trace.Barrier]*barrierCount), sites: make(map[siteKey]*Waits), stages: make(map[stageKey]*Stage),
		live: make(map[uint32]*liveCTA),
	}
}

func (c *collector) wants(b trace.Barrier) bool { return c.opt.Barrier == nil || *c.opt.Barrier == b }

func (c *collector) cta(id uint32) *liveCTA {
	if c.last != nil && c.last.id == id {
		return c.last
	}
	ct := c.live[id]
	if ct == nil {
		ct = &liveCTA{id: id}
		c.live[id] = ct
	}
	c.last = ct
	return ct
}

func (ct *liveCTA) warp(id uint32, time int64) *liveWarp {
	for _, w := range ct.warps {
		if w.id == id {
			return w
		}
	}
	w := &liveWarp{id: id, first: time, last: time, covered: time}
	ct.warps = append(ct.warps, w)
	return w
}

// seen counts a warp's time up to now.
func (w *liveWarp) seen(from, to int64) {
	w.first = min(w.first, from)
	w.last = max(w.last, to)
}

// count finds the count of the barriers of a name.
func (c *collector) count(b trace.Barrier) *barrierCount {
	x := c.barriers[b]
	if x == nil && len(c.barriers) >= maxBarriers {
		b = trace.Barrier{}
		x = c.barriers[b]
	}
	if x == nil {
		x = &barrierCount{Barrier: Barrier{Barrier: b}, late: make(map[lateKey]*Latecomer)}
		c.barriers[b] = x
	}
	return x
}

// barrier finds a barrier of a CTA.
func (c *collector) barrier(ref replay.BarrierRef) *liveBarrier {
	ct := c.cta(ref.CTA)
	for i, b := range ct.barriers {
		if b.name == ref.Barrier {
			if i > 0 { // what was used last is likely to be used next
				ct.barriers[i-1], ct.barriers[i] = b, ct.barriers[i-1]
			}
			return b
		}
	}
	b := &liveBarrier{name: ref.Barrier, cta: ref.CTA}
	if ref.Barrier.Kind == trace.BarrierWarp && c.opt.Barrier == nil {
		b.count = c.count(syncwarps)
	} else {
		b.count = c.count(ref.Barrier)
	}
	b.count.CTAs++
	ct.barriers = append(ct.barriers, b)
	return b
}

func (c *collector) Arrived(a replay.Arrival) {
	w := c.cta(a.Who.CTA).warp(a.Who.Warp, a.Time)
	w.seen(a.Time, a.Time)
	if !c.wants(a.Barrier) {
		return
	}
	b := c.barrier(a.BarrierRef)
	w.linked(b, a.Who.Mask)
	b.arrived(c, &a)
}

func (c *collector) Completed(e replay.PhaseEnd) {
	if c.wants(e.Barrier) {
		c.barrier(e.BarrierRef).completed(c, &e)
	}
}

func (c *collector) Waited(x replay.WaitSpan) {
	w := c.cta(x.Who.CTA).warp(x.Who.Warp, x.From)
	w.seen(x.From, x.From)
	if x.Ended {
		w.seen(x.From, x.To)
	}
	if !c.wants(x.Barrier) {
		return
	}
	if x.Ended {
		c.waiting = sum(c.waiting, difference(x.To, max(x.From, w.covered)))
		w.covered = max(w.covered, x.To)
	}
	b := c.barrier(x.BarrierRef)
	w.passedBy(b, &x)
	b.waited(c, &x)
	b.count.Waits.add(&x)
	c.waits.add(&x)
	c.site(siteKey{x.At, x.Barrier.Kind}).add(&x)
}

func (c *collector) site(k siteKey) *Waits {
	s := c.sites[k]
	if s == nil && len(c.sites) >= maxSites {
		k = siteKey{}
		s = c.sites[k]
	}
	if s == nil {
		s = &Waits{}
		c.sites[k] = s
	}
	return s
}

func (c *collector) Over(ctas []uint32, whole bool) {
	c.last = nil
	for _, id := range ctas {
		if !whole {
			c.partial++
		}
		ct := c.live[id]
		if ct == nil {
			continue
		}
		for _, b := range ct.barriers {
			b.close(c)
		}
		c.pair(ct)
		c.ctas++
		for _, w := range ct.warps {
			c.warps++
			c.active = sum(c.active, difference(w.last, w.first))
		}
		delete(c.live, id)
	}
}

// merge takes over what another worker counted.
func (c *collector) merge(o *collector) {
	c.ctas, c.warps, c.partial = c.ctas+o.ctas, c.warps+o.warps, c.partial+o.partial
	c.active, c.waiting = sum(c.active, o.active), sum(c.waiting, o.waiting)
	c.waits.merge(&o.waits)
	for k, s := range o.sites {
		c.site(k).merge(s)
	}
	for k, s := range o.stages {
		c.stage(k).merge(s)
	}
	for name, b := range o.barriers {
		to := c.count(name)
		to.CTAs, to.Phases = to.CTAs+b.CTAs, to.Phases+b.Phases
		to.Waits.merge(&b.Waits)
		to.Spread.merge(&b.Spread)
		for k, l := range b.late {
			to.latecomer(k).add(l)
		}
		for _, p := range b.Costly {
			to.costly(p, c.opt.Phases)
		}
	}
}

// report puts what was counted in order.
func (c *collector) report() Launch {
	out := Launch{
		Launch: *c.launch, CTAs: c.ctas, Warps: c.warps, Active: c.active, Waiting: min(c.waiting, c.active), Waits: c.waits, Partial: c.partial,
	}
	for _, b := range c.barriers {
		for k, l := range b.late {
			if k == others {
				b.Others = *l
				continue
			}
			b.Late = append(b.Late, *l)
		}
		slices.SortFunc(b.Late, func(x, y Latecomer) int {
			return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(y.Times, x.Times), cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Warp, y.Warp))
		})
		out.Barriers = append(out.Barriers, b.Barrier)
	}
	slices.SortFunc(out.Barriers, func(x, y Barrier) int {
		return cmp.Or(compareWaits(&x.Waits, &y.Waits), compareBarriers(x.Barrier, y.Barrier))
	})
	for k, w := range c.sites {
		if k.at.File == "" && k.at.Line > 0 {
			k.at.File = c.launch.Program
		}
		out.Sites = append(out.Sites, Site{Location: k.at, Kind: k.kind, Waits: *w})
	}
	slices.SortFunc(out.Sites, func(x, y Site) int {
		return cmp.Or(compareWaits(&x.Waits, &y.Waits), cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.PC, y.PC), cmp.Compare(x.Kind, y.Kind))
	})
	for _, s := range c.stages {
		out.Stages = append(out.Stages, *s)
	}
	slices.SortFunc(out.Stages, func(x, y Stage) int {
		return cmp.Or(compareBarriers(x.Full, y.Full), compareBarriers(x.Empty, y.Empty))
	})
	return out
}

func compareWaits(x, y *Waits) int {
	return cmp.Or(cmp.Compare(y.Open, x.Open), cmp.Compare(y.Total, x.Total), cmp.Compare(y.Count, x.Count))
}

func compareBarriers(x, y trace.Barrier) int {
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Name, y.Name))
}
