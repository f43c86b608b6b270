package diff

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"btrace/trace"
)

// comparison is that of two launches.
type comparison struct {
	a, b   side
	out    *Launch
	probes []probe
}

// maxProbes bounds the divergences that are looked at closely.
const maxProbes = 1 << 16

// maxMarks bounds the hashes that a pass takes, beyond a few for each probe.
const maxMarks = 1 << 22

func (c *comparison) run(ctx context.Context) error {
	if err := c.first(ctx); err != nil {
		return err
	}
	for slices.ContainsFunc(c.probes, func(p probe) bool { return !p.found() }) {
		if err := c.narrow(ctx); err != nil {
			return err
		}
	}
	if len(c.probes) == 0 {
		return nil
	}
	return c.last(ctx)
}

// both does something with both sides at once.
func both[T any](f func(s *side) (T, error), a, b *side) (x, y T, err error) {
	var wg sync.WaitGroup
	var errA, errB error
	wg.Go(func() { x, errA = f(a) })
	wg.Go(func() { y, errB = f(b) })
	wg.Wait()
	return x, y, cmp.Or(errA, errB)
}

// first finds the warps that differ.
func (c *comparison) first(ctx context.Context) error {
	type result struct {
		all map[place][]history
		ops uint64
	}
	a, b, err := both(func(s *side) (result, error) {
		all, ops, err := s.histories(ctx)
		return result{all, ops}, err
	}, &c.a, &c.b)
	if err != nil {
		return err
	}
	c.out.Operations = max(a.ops, b.ops)
	for _, at := range places(a.all, b.all) {
		c.out.Warps++
		before := len(c.probes)
		if c.compare(at, a.all[at], b.all[at]) {
			c.out.Divergent++
		}
		if len(c.probes) > maxProbes {
			c.probes = c.probes[:max(before, 1)]
		}
	}
	return nil
}

// compare adds probes for the lanes of a warp that differ.
func (c *comparison) compare(at place, as, bs []history) (differ bool) {
	restA, restB := lanesOf(as), lanesOf(bs)
	none := &history{}
	pair := func(lanes uint32, a, b *history) {
		if lanes == 0 || a.n == b.n && a.hash == b.hash {
			return
		}
		differ = true
		c.probes = append(c.probes, newProbe(at, lanes, a, b))
	}
	for i := range as {
		for k := range bs {
			pair(as[i].lanes&bs[k].lanes, &as[i], &bs[k])
		}
		pair(as[i].lanes&^restB, &as[i], none)
	}
	for k := range bs {
		pair(bs[k].lanes&^restA, none, &bs[k])
	}
	return differ
}

func lanesOf(list []history) (lanes uint32) {
	for i := range list {
		lanes |= list[i].lanes
	}
	return lanes
}

// narrow reads both sides once more and makes every search smaller.
func (c *comparison) narrow(ctx context.Context) error {
	sum := uint64(0)
	for i := range c.probes {
		if p := &c.probes[i]; !p.found() {
			sum += p.hi - p.lo
		}
	}
	for i := range c.probes {
		p := &c.probes[i]
		p.step = max(min((p.hi-p.lo+marks-1)/marks, (sum+maxMarks-1)/maxMarks), 1)
	}
	a, b, err := both(func(s *side) ([]cursor, error) { return s.follow(ctx, c.probes, mark) }, &c.a, &c.b)
	if err != nil {
		return err
	}
	for i := range c.probes {
		if p := &c.probes[i]; !p.found() {
			n := min(len(a[i].marks), len(b[i].marks))
			p.narrowed(a[i].marks[:n], b[i].marks[:n])
		}
	}
	return nil
}

// last fetches the operations at every divergence.
func (c *comparison) last(ctx context.Context) error {
	a, b, err := both(func(s *side) ([]cursor, error) { return s.follow(ctx, c.probes, keep) }, &c.a, &c.b)
	if err != nil {
		return err
	}
	for i, p := range c.probes {
		d := Divergence{
			CTA: p.at.cta, Warp: p.at.warp, Lanes: p.lanes, Index: p.lo,
			LastA: a[i].last, LastB: b[i].last, A: a[i].next, B: b[i].next,
		}
		if d.A == nil && d.B == nil {
			continue
		}
		if joined(c.out.Divergences, &d) {
			continue
		}
		d.classify(p.lost <= p.lo)
		c.out.Divergences = append(c.out.Divergences, d)
	}
	slices.SortFunc(c.out.Divergences, func(x, y Divergence) int { return x.compare(&y) })
	return nil
}

// joined adds the lanes of a divergence to one of its warp, if it is the same.
func joined(list []Divergence, d *Divergence) bool {
	for i := len(list) - 1; i >= 0 && list[i].CTA == d.CTA && list[i].Warp == d.Warp; i-- {
		if list[i].joins(d) {
			return true
		}
	}
	return false
}

// joins takes over the lanes of another divergence of the warp, if they part
// at the same operations.
func (d *Divergence) joins(o *Divergence) bool {
	if d.CTA != o.CTA || d.Warp != o.Warp || !one(d.A, o.A) || !one(d.B, o.B) {
		return false
	}
	if o.Lanes&-o.Lanes < d.Lanes&-d.Lanes {
		d.Index, d.LastA, d.LastB = o.Index, o.LastA, o.LastB
	}
	d.Lanes |= o.Lanes
	return true
}

// one reports whether two events of a warp are one, or none.
func one(a, b *trace.Event) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Seq == b.Seq)
}
