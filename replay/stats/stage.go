package stats

import (
	"btrace/replay"
	"btrace/trace"
)

// use is what tells the two barriers of a pipeline's stage from others. A
// producer waits until a stage is empty and next arrives on the barrier that
// says that it is full, so the one leads to the other; consumers do the same
// the other way round, or release the stage before the one that they are at.
type use struct {
	passed bool // a wait passed while it was fresh: empty, not full
	bytes  bool // copies complete it: full
	leads  []lead

	phases      uint64
	times       uint64 // sum of the times of completion, modulo 2^64
	first, last int64  // completion
}

// lead is how often a wait on a barrier was followed by an arrival on another.
type lead struct {
	to *liveBarrier
	n  uint64
}

// maxLeads bounds the barriers that one can lead to: a real one leads to few.
const maxLeads = 4

// passed is the mbarrier that lanes of a warp have waited on last.
type passed struct {
	lanes uint32
	b     *liveBarrier
}

// passedBy remembers a wait on an mbarrier.
func (w *liveWarp) passedBy(b *liveBarrier, x *replay.WaitSpan) {
	if x.Barrier.Kind != trace.BarrierMbar {
		return
	}
	b.stage.passed = b.stage.passed || x.Passed
	keep := w.passed[:0]
	for _, p := range w.passed {
		if p.lanes &^= x.Who.Mask; p.lanes != 0 {
			keep = append(keep, p)
		}
	}
	w.passed = append(keep, passed{x.Who.Mask, b})
}

// linked counts an arrival on an mbarrier that follows a wait on another of
// the same CTA.
func (w *liveWarp) linked(b *liveBarrier, lanes uint32) {
	if b.name.Kind != trace.BarrierMbar {
		return
	}
	for _, p := range w.passed {
		if p.lanes&lanes != 0 && p.b != b && p.b.cta == b.cta {
			p.b.stage.leadsTo(b)
			return
		}
	}
}

func (u *use) leadsTo(b *liveBarrier) {
	for i := range u.leads {
		if u.leads[i].to == b {
			u.leads[i].n++
			return
		}
	}
	if len(u.leads) < maxLeads {
		u.leads = append(u.leads, lead{b, 1})
	}
}

// next is the barrier that it leads to most often; nil for none.
func (u *use) next() *liveBarrier {
	var best lead
	for _, l := range u.leads {
		if l.n > best.n {
			best = l
		}
	}
	return best.to
}

func (u *use) completed(p *openPhase, time int64) {
	u.bytes = u.bytes || p.Bytes
	if u.phases == 0 {
		u.first = time
	}
	u.first, u.last = min(u.first, time), max(u.last, time)
	u.phases++
	u.times += uint64(time)
}

type stageKey struct{ full, empty trace.Barrier }

// pair finds the stages of a CTA that is over.
func (c *collector) pair(ct *liveCTA) {
	for _, empty := range ct.barriers {
		full := empty.stage.next()
		if full == nil || full.name.Kind != trace.BarrierMbar {
			continue
		}
		e, f := &empty.stage, &full.stage
		sure := (e.passed || f.bytes) && !f.passed && !e.bytes
		mutual := f.next() == empty && f.phases > 0 && (e.phases == 0 || f.first < e.first)
		if !sure && (!mutual || e.bytes || f.passed) {
			continue
		}
		c.stage(stageKey{full.name, empty.name}).occupied(f, e)
	}
}

func (c *collector) stage(k stageKey) *Stage {
	s := c.stages[k]
	if s == nil && len(c.stages) >= maxBarriers {
		k = stageKey{}
		s = c.stages[k]
	}
	if s == nil {
		s = &Stage{Full: k.full, Empty: k.empty}
		c.stages[k] = s
	}
	return s
}

// occupied adds the use of a stage by a CTA. Every fill but the last is
// followed by the stage becoming empty, so the sums of the times tell for how
// long it was full altogether.
func (s *Stage) occupied(full, empty *use) {
	if full.phases == 0 {
		return
	}
	end := max(full.last, empty.last)
	if empty.phases == 0 {
		end = full.last
	}
	busy := int64(empty.times - full.times)
	switch full.phases - empty.phases {
	case 0:
	case 1: // full in the end
		busy += end
	case ^uint64(0): // consumers said first that it is empty
		busy -= empty.first
	default:
		return // no such order of turns
	}
	span := difference(end, full.first)
	s.CTAs++
	s.Fills += full.phases
	s.Busy = sum(s.Busy, min(max(busy, 0), span))
	s.Span = sum(s.Span, span)
}

func (s *Stage) merge(o *Stage) {
	s.CTAs += o.CTAs
	s.Fills += o.Fills
	s.Busy, s.Span = sum(s.Busy, o.Busy), sum(s.Span, o.Span)
}

// Mean is how many of the stages of a pipeline were full on average, and how
// many there are.
func (l *Launch) Mean() (full float64, of int) {
	for _, s := range l.Stages {
		if s.Span > 0 {
			full += float64(s.Busy) / float64(s.Span)
			of++
		}
	}
	return full, of
}
