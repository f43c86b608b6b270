package replay

import "btrace/replay/barrier"

// A launch may have a million CTAs of a few dozen events each. To make the
// state of one anew takes longer than to replay those events, so that of CTAs
// which are over is used again.

// maxSpare bounds the scopes that a worker keeps for that.
const maxSpare = 16

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

// begin makes the state that of a CTA that begins, whatever it was.
func (c *cta) begin(id uint32, threads int) {
	c.named.Begin(threads)
	clear(c.mbars)
	*c = cta{id: id, named: c.named, bars: c.bars, warps: c.warps, mbars: c.mbars, live: threads}
	for i := range c.bars {
		c.bars[i] = history{tally: c.bars[i].tally[:0]}
	}
	for i, lanes := range c.named.Live {
		w := c.warps[i]
		*w = warp{
			cta: c, id: uint32(i), all: lanes, live: lanes, strands: w.strands[:0],
			sync: barrier.Warp{Live: lanes, Meetings: w.sync.Meetings[:0]}, parked: parking{rows: w.parked.rows[:0]},
		}
	}
}

// begin makes a scope, of one that is over if there is any.
func (w *worker) begin(number uint32) *scope {
	n := len(w.spare)
	if n == 0 {
		return newScope(&w.r.launch, w.r.layout, number, w.r.opt.lookahead())
	}
	old := w.spare[n-1]
	w.spare = w.spare[:n-1]
	s := newScope(&w.r.launch, w.r.layout, number, w.r.opt.lookahead())
	for _, c := range old.ctas {
		s.spare = append(s.spare, c)
	}
	s.eff, s.landed, s.parting, s.stalled = old.eff, old.landed, old.parting, old.stalled[:0]
	if s.order = old.order; s.order != nil {
		s.order.again(s)
	}
	return s
}

// end keeps the state of a scope that is over, if it can be used again.
func (w *worker) end(s *scope) {
	if len(w.spare) < maxSpare && !s.spent {
		w.spare = append(w.spare, s)
	}
}

// finished is the scopes that are over, in sets of 64: those that follow each
// other are over at about the same time.
type finished map[uint32]uint64

func (f finished) add(scope uint32)      { f[scope/64] |= 1 << (scope % 64) }
func (f finished) has(scope uint32) bool { return f[scope/64]>>(scope%64)&1 != 0 }
