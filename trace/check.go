package trace

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
)

// Problem is an event that does not fit its launch or the event table.
type Problem struct {
	Launch, CTA, Warp, Seq uint32
	Time                   int64
	What                   string
}

func (p Problem) String() string {
	return fmt.Sprintf("launch %d, CTA %d, warp %d, seq %d at %d ns: %s", p.Launch, p.CTA, p.Warp, p.Seq, p.Time, p.What)
}

// checkWarps is how many warps' sequence numbers are followed at once. Of a
// launch with more, a number that goes backwards may be missed.
const checkWarps = 1 << 17

// Check is the validating reader: where Blocks hands out whatever the file
// has, Check holds every event against its launch (grid, block, lanes), the
// event table (operands that must be there, and their ranges) and the warp's
// events before it (sequence numbers go up). It returns what is wrong, in
// stored order.
func (r *Reader) Check(ctx context.Context) iter.Seq2[Problem, error] {
	return func(yield func(Problem, error) bool) {
		var c checker
		var e Event
		for b, err := range r.Blocks(ctx, Query{}) {
			if err != nil {
				yield(Problem{}, err)
				return
			}
			c.begin(&r.launches[r.byID[b.Launch]], b)
			for i := range b.Len() {
				what := c.row(b, i)
				if what == "" {
					continue
				}
				b.Event(i, &e)
				if !yield(Problem{e.Launch, e.CTA, e.Warp, e.Seq, e.Time, what}, nil) {
					return
				}
			}
		}
	}
}

type checker struct {
	launch *Launch
	ctas   uint64
	warps  uint64
	ops    []string // what is wrong with an operation
	seqs   map[uint64]uint32
}

func (c *checker) begin(l *Launch, b *Block) {
	if c.launch != l {
		c.launch, c.ctas, c.warps = l, l.CTAs(), l.Warps()
		c.seqs = map[uint64]uint32{}
	}
	c.ops = c.ops[:0]
	for i := range b.Ops {
		c.ops = append(c.ops, checkOp(&b.Ops[i]))
	}
}

func checkOp(o *Op) string {
	if err := o.check(); err != nil {
		return err.Error()
	}
	switch {
	case o.Has.Has(FieldBar) && o.Bar > 15:
		return fmt.Sprintf("named barrier %d: want 0 to 15", o.Bar)
	case o.Lanes == 0 && o.Kind != KindMark && o.Kind != KindGap && o.Kind != KindUnknown:
		return "no lane did it"
	case o.Lanes == 0 && o.Kind == KindMark && o.Implied&ImpliedLanes == 0:
		return "no lane did it"
	}
	return ""
}

func (c *checker) row(b *Block, i int) string {
	op := b.Op[i]
	cta, warp, seq := b.CTA[i], b.Warp[i], b.Seq[i]
	key := uint64(cta)<<32 | uint64(warp)
	before, known := c.seqs[key]
	if !known && len(c.seqs) >= checkWarps {
		clear(c.seqs)
	}
	o := &b.Ops[op]
	if o.Implied&ImpliedSeq == 0 {
		c.seqs[key] = seq
	}
	switch {
	case c.ops[op] != "":
		return c.ops[op]
	case c.launch.Grid != Dim{} && uint64(cta) >= c.ctas:
		return fmt.Sprintf("the grid has %d CTAs", c.ctas)
	case c.launch.Block != Dim{} && uint64(warp) >= c.warps:
		return fmt.Sprintf("the CTA has %d warps", c.warps)
	case c.launch.Block != Dim{} && lanesBeyond(o.Lanes, uint64(warp), c.launch.Threads()):
		return fmt.Sprintf("lanes %08x of a CTA of %d threads", o.Lanes, c.launch.Threads())
	case known && seq <= before && o.Implied&ImpliedSeq == 0:
		return fmt.Sprintf("the warp's event before has sequence number %d", before)
	}
	return ""
}

// lanesBeyond reports whether the lanes of a warp go beyond the CTA.
func lanesBeyond(lanes uint32, warp, threads uint64) bool {
	return lanes != 0 && warp*32+uint64(bits.Len32(lanes)) > threads
}
