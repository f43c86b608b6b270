package replay

import "btrace/replay/barrier"

// A launch may have a million CTAs of a few dozen events each. To make the
// state of one anew takes longer than to replay those events, so that of CTAs
// which are over is used again.

// maxSpare bounds the CTAs whose state a worker keeps for that: those that a
// GPU holds at once end at about the same time.
const maxSpare = 256

// newCTA makes the state of a CTA that begins.
func newCTA(id uint32, threads int) *cta {
	c := &cta{named: barrier.NewNamed(threads), mbars: make(map[uint64]*mbar)}
	warps, strands := make([]warp, len(c.named.Live)), make([]strand, len(c.named.Live))
	for i := range warps {
		w := &warps[i]
		w.strands = strands[i : i : i+1] // most are of one strand
		c.warps = append(c.warps, w)
	}
	c.begin(id, threads)
	return c
}

// begin makes the state that of a CTA that begins, whatever it was. What is
// large is emptied where it is: to make it anew and copy it takes longer.
func (c *cta) begin(id uint32, threads int) {
	c.named.Begin(threads)
	clear(c.mbars)
	clear(c.near[:])
	c.id, c.live, c.collective = id, threads, nil
	for i := range c.bars {
		h := &c.bars[i]
		tally := h.tally.emptied()
		*h = history{}
		h.tally = tally
	}
	for i, lanes := range c.named.Live {
		c.warps[i].begin(c, uint32(i), lanes)
	}
}

func (w *warp) begin(c *cta, id, lanes uint32) {
	strands, meetings, parked := w.strands[:0], w.sync.Meetings[:0], w.parked.rows[:0]
	*w = warp{}
	w.cta, w.id, w.all, w.live = c, id, lanes, lanes
	w.strands, w.parked.rows = strands, parked
	w.sync.Live, w.sync.Meetings = lanes, meetings
}

// begin makes a scope, of one that is over if there is any.
func (w *worker) begin(number uint32) *scope {
	n := len(w.spare)
	if n == 0 {
		return newScope(&w.r.launch, w.r.layout, number, w.r.opt.lookahead())
	}
	s := w.spare[n-1]
	w.spare = w.spare[:n-1]
	old := *s
	*s = scope{
		launch: old.launch, layout: old.layout, number: number, members: s.layout.membersIn(number, old.members[:0]), threads: old.threads, arch: old.arch,
		limit: old.limit, ctas: old.ctas, spare: old.spare, sorted: old.sorted[:0],
	}
	s.beginFindings()
	for _, c := range s.ctas {
		s.spare = append(s.spare, c)
	}
	clear(s.ctas)
	s.eff, s.landed, s.parting, s.stalled = old.eff, old.landed, old.parting, old.stalled[:0]
	if s.order = old.order; s.order != nil {
		s.order.again(s)
	}
	return s
}

// end keeps the state of a scope that is over, if it can be used again.
func (w *worker) end(s *scope) {
	if len(w.spare)*len(s.ctas) < maxSpare && !s.spent {
		w.spare = append(w.spare, s)
	}
}

// finished is the scopes that are over, in sets of 64: those that follow each
// other are over at about the same time.
type finished map[uint32]uint64

func (f finished) add(scope uint32)      { f[scope/64] |= 1 << (scope % 64) }
func (f finished) has(scope uint32) bool { return f[scope/64]>>(scope%64)&1 != 0 }
