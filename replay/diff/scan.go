package diff

import (
	"context"
	"slices"

	"btrace/replay"
	"btrace/trace"
)

// side is one of the two launches.
type side struct {
	src replay.Source
	id  uint32
}

// rowOf is a row as a comparison sees it: lanes that did one operation.
type rowOf struct {
	at    place
	lanes uint32
	hash  uint64
	gap   bool // events of the lanes were lost here
	block *trace.Block
	i     int
}

// place is a warp of a launch.
type place struct{ cta, warp uint32 }

// rows calls f for every operation of the launch that is compared. The row is
// f's for the time of the call.
func (s *side) rows(ctx context.Context, f func(r *rowOf)) error {
	var hashes []uint64
	var buf []byte
	var r rowOf
	for b, err := range s.src.Blocks(ctx, trace.Query{Launch: &s.id}) {
		if err != nil {
			return err
		}
		hashes = hashes[:0]
		for i := range b.Ops {
			var h uint64
			h, buf = template(buf, &b.Ops[i])
			hashes = append(hashes, h)
		}
		for i := range b.Len() {
			op := &b.Ops[b.Op[i]]
			r = rowOf{at: place{b.CTA[i], b.Warp[i]}, lanes: op.Lanes, hash: hashes[b.Op[i]], block: b, i: i}
			if skipped(op) {
				if r.gap = op.Kind == trace.KindGap; r.gap {
					r.lanes = ^uint32(0)
					f(&r)
				}
				continue
			}
			if op.Has.Has(trace.FieldResult) {
				if failed(op, b.Result[i]) {
					continue
				}
				r.hash = mix(r.hash, uint64(b.Result[i])+1)
			} else if failed(op, 0) {
				continue
			}
			if op.Has.Has(trace.FieldPhase) {
				r.hash = mix(r.hash, b.Phase[i]+2)
			}
			if !op.Has.Has(trace.FieldPred) {
				f(&r)
				continue
			}
			for _, lanes := range [...]uint32{op.Lanes & b.Pred[i], op.Lanes &^ b.Pred[i]} {
				if lanes != 0 {
					hash := r.hash
					r.lanes, r.hash = lanes, mix(hash, bit(lanes&b.Pred[i] != 0))
					f(&r)
					r.hash = hash
				}
			}
		}
	}
	return nil
}

// history is what lanes of a warp that did everything together have done: a
// hash of all of it, and one after every 1<<shift operations.
type history struct {
	lanes uint32
	n     uint64
	hash  uint64
	shift uint8
	marks [marks]uint64
	lost  bool
	gap   uint64 // operations before the first gap
}

// marks is how many hashes a history keeps on the way. When there is no room
// for another, every second one goes.
const marks = 16

func (h *history) add(x uint64) {
	h.hash = mix(h.hash, x)
	h.n++
	if h.n&(1<<h.shift-1) != 0 {
		return
	}
	k := h.n >> h.shift
	if k > marks {
		for i := range marks / 2 {
			h.marks[i] = h.marks[2*i+1]
		}
		h.shift++
		if h.n&(1<<h.shift-1) != 0 {
			return
		}
		k = h.n >> h.shift
	}
	h.marks[k-1] = h.hash
}

// histories reads a launch and returns the histories of every warp's lanes, and
// how many operations there were.
func (s *side) histories(ctx context.Context) (map[place][]history, uint64, error) {
	warps := make(map[place]*[]history)
	ops := uint64(0)
	err := s.rows(ctx, func(r *rowOf) {
		of := warps[r.at]
		if of == nil {
			of = new([]history)
			warps[r.at] = of
		}
		list := *of
		if !r.gap {
			ops++
		}
		left := r.lanes
		for i := range list { // what is appended meanwhile has none of the lanes
			h := &list[i]
			both := h.lanes & left
			if both == 0 {
				continue
			}
			left &^= both
			if rest := h.lanes &^ both; rest != 0 {
				other := *h
				other.lanes = rest
				h.lanes = both
				list = append(list, other)
				h = &list[i]
			}
			h.take(r)
		}
		if left != 0 {
			h := history{lanes: left}
			h.take(r)
			list = append(list, h)
		}
		*of = list
	})
	all := make(map[place][]history, len(warps))
	for at, list := range warps {
		all[at] = *list
	}
	return all, ops, err
}

func (h *history) take(r *rowOf) {
	if !r.gap {
		h.add(r.hash)
	} else if !h.lost {
		h.lost, h.gap = true, h.n
	}
}

// probe looks for the first operation in which lanes of a warp differ: it is
// in [lo, hi), or, unless it is sure to be there, hi. Both have at least hi.
type probe struct {
	at     place
	lanes  uint32
	lo, hi uint64
	sure   bool
	lost   uint64 // operations before a gap
	step   uint64 // of the marks that are taken
}

func (p *probe) found() bool { return p.lo == p.hi || p.sure && p.hi-p.lo == 1 }

// newProbe narrows the search down to between two marks.
func newProbe(at place, lanes uint32, a, b *history) probe {
	p := probe{at: at, lanes: lanes, hi: min(a.n, b.n), lost: ^uint64(0)}
	for _, h := range []*history{a, b} {
		if h.lost {
			p.lost = min(p.lost, h.gap)
		}
	}
	shift := max(a.shift, b.shift)
	for k := uint64(1); k<<shift <= p.hi; k++ {
		n := k << shift
		if a.marks[n>>a.shift-1] == b.marks[n>>b.shift-1] {
			p.lo = n
			continue
		}
		p.hi, p.sure = n, true
		break
	}
	return p
}

// narrowed is the search after both sides took marks.
func (p *probe) narrowed(a, b []uint64) {
	for i := range a {
		n := min(p.lo+p.step*uint64(i+1), p.hi)
		if a[i] != b[i] {
			p.lo, p.hi, p.sure = p.lo+p.step*uint64(i), n, true
			return
		}
	}
	p.lo = p.hi
}

// cursor follows the lowest lane of a probe through a side.
type cursor struct {
	*probe
	n     uint64
	hash  uint64
	marks []uint64
	// last and next are the operations before and at the divergence.
	last, next *trace.Event
}

// follow reads a launch with a cursor for each probe and calls f for every
// operation of the probe's lanes.
func (s *side) follow(ctx context.Context, probes []probe, f func(c *cursor, r *rowOf)) ([]cursor, error) {
	cursors := make([]cursor, len(probes))
	at := make(map[place][]*cursor)
	for i := range probes {
		cursors[i].probe = &probes[i]
		at[probes[i].at] = append(at[probes[i].at], &cursors[i])
	}
	err := s.rows(ctx, func(r *rowOf) {
		if r.gap {
			return
		}
		for _, c := range at[r.at] {
			if lowest := c.lanes & -c.lanes; r.lanes&lowest != 0 {
				f(c, r)
				c.n++
			}
		}
	})
	return cursors, err
}

// mark takes hashes of the operations in a probe's window.
func mark(c *cursor, r *rowOf) {
	if c.n < c.lo || c.n >= c.hi {
		return
	}
	c.hash = mix(c.hash, r.hash)
	if done := c.n + 1 - c.lo; done%c.step == 0 || c.n+1 == c.hi {
		c.marks = append(c.marks, c.hash)
	}
}

// keep copies the operations at the divergence.
func keep(c *cursor, r *rowOf) {
	var to **trace.Event
	switch c.n {
	case c.lo - 1:
		to = &c.last
	case c.lo:
		to = &c.next
	default:
		return
	}
	e := new(trace.Event)
	r.block.Event(r.i, e)
	*to = e
}

// places lists the warps of both sides, in order.
func places(a, b map[place][]history) []place {
	var out []place
	for p := range a {
		out = append(out, p)
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(x, y place) int {
		if x.cta != y.cta {
			return int(int64(x.cta) - int64(y.cta))
		}
		return int(int64(x.warp) - int64(y.warp))
	})
	return out
}
