package explore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"btrace/trace"
)

// MaxOps is the most operations of a program that is looked at closely.
const MaxOps = 1 << 20

// ErrTooLarge is wrapped by the error of Extract about a scope with too many
// operations.
var ErrTooLarge = errors.New("too many operations to look at other schedules")

// Source is what a program is taken from; *trace.Reader is one.
type Source interface {
	Blocks(ctx context.Context, q trace.Query) iter.Seq2[*trace.Block, error]
}

// Extract takes the program of some CTAs, a cluster, out of a launch: what
// every lane did, in its order. CTA i of the program is ctas[i]. With more than
// limit operations it is ErrTooLarge.
func Extract(ctx context.Context, src Source, l *trace.Launch, ctas []uint32, limit int) (*Program, error) {
	x := &extraction{p: &Program{Threads: int(l.Threads()), CTAs: len(ctas), Functions: make(map[uint64]bool)}, ctas: ctas}
	x.begin()
	n := 0
	q := trace.Query{Launch: &l.ID, CTAs: ctas}
	for b, err := range src.Blocks(ctx, q) {
		if err != nil {
			return nil, err
		}
		var e trace.Event
		for i := range b.Len() {
			if slices.Contains(ctas, b.CTA[i]) {
				b.Event(i, &e)
				if n += x.row(&e); n > limit {
					return nil, fmt.Errorf("%w: more than %d in CTA %d", ErrTooLarge, limit, ctas[0])
				}
			}
		}
	}
	x.p.forgetFunctions()
	return x.p, nil
}

// forgetFunctions leaves out the completion functions of barriers of which the
// recording has nothing else: nobody is known to wait for them.
func (p *Program) forgetFunctions() {
	if len(p.Functions) == 0 {
		return
	}
	function := func(op *Op) bool {
		return op.Kind == trace.KindCompletionBegin || op.Kind == trace.KindCompletionEnd
	}
	mbarriers := make(map[uint64]bool)
	for i := range p.Strands {
		for j := range p.Strands[i].Ops {
			if op := &p.Strands[i].Ops[j]; !function(op) && op.Kind.Spec().Family == trace.FamilyMbar {
				mbarriers[op.Addr] = true
			}
		}
	}
	maps.DeleteFunc(p.Functions, func(addr uint64, _ bool) bool { return !mbarriers[addr] })
	for i := range p.Strands {
		st := &p.Strands[i]
		st.Ops = slices.DeleteFunc(st.Ops, func(op Op) bool { return function(&op) && !mbarriers[op.Addr] })
	}
}

// extraction is a program that grows.
type extraction struct {
	p    *Program
	ctas []uint32
	warp map[warpKey][]int // its strands
}

func (x *extraction) begin() {
	x.warp = make(map[warpKey][]int)
	for c := range x.ctas {
		for w := 0; 32*w < x.p.Threads; w++ {
			lanes := ^uint32(0)
			if n := x.p.Threads - 32*w; n < 32 {
				lanes = 1<<n - 1
			}
			k := warpKey{uint32(c), uint32(w)}
			x.warp[k] = []int{len(x.p.Strands)}
			x.p.Strands = append(x.p.Strands, Strand{CTA: k.cta, Warp: k.warp, Lanes: lanes})
		}
	}
}

// row adds an event to the strands whose lanes did it, and returns to how many.
// A strand of which only some lanes did becomes two.
func (x *extraction) row(e *trace.Event) (n int) {
	op, ok := x.operation(e)
	if !ok {
		return 0
	}
	k := warpKey{uint32(slices.Index(x.ctas, e.CTA)), e.Warp}
	for _, i := range slices.Clone(x.warp[k]) {
		s := &x.p.Strands[i]
		both := s.Lanes & e.Lanes
		if both == 0 {
			continue
		}
		if rest := s.Lanes &^ both; rest != 0 {
			other := *s
			other.Lanes, other.Ops = rest, slices.Clone(s.Ops)
			s.Lanes = both
			x.p.Strands = append(x.p.Strands, other)
			x.warp[k] = append(x.warp[k], len(x.p.Strands)-1)
			s = &x.p.Strands[i]
		}
		s.Ops = append(s.Ops, op)
		n++
	}
	return n
}

// operation is what an event does; ok is false for one that only tells of
// another.
func (x *extraction) operation(e *trace.Event) (op Op, ok bool) {
	op = Op{Op: e.Op, Pred: e.Pred, Seq: e.Seq}
	op.Lanes = 0
	if op.Has.Has(trace.FieldOwnerCTA) {
		rank := slices.Index(x.ctas, op.Owner)
		if rank < 0 {
			return op, false
		}
		op.Owner = uint32(rank)
	}
	switch e.Kind {
	case trace.KindBarArrive, trace.KindBarSync, trace.KindBarRed, trace.KindClusterArrive, trace.KindClusterWait,
		trace.KindGroupArrive, trace.KindGroupWait, trace.KindSyncwarp, trace.KindMbarInit, trace.KindMbarInval, trace.KindMbarExpectTx,
		trace.KindMbarCompleteTx, trace.KindMbarCopy, trace.KindMbarCpAsyncArrive, trace.KindMbarArrive, trace.KindMbarArriveDrop,
		trace.KindMbarArriveNoComplete, trace.KindMbarArriveExpectTx:
		return op, true
	case trace.KindCompletionBegin:
		x.p.Functions[op.Addr] = true
		return op, true
	case trace.KindCompletionEnd:
		return op, true
	case trace.KindMbarWait:
		x.token(e, &op)
		return op, true
	case trace.KindMbarTest:
		op.Kind, op.Test = trace.KindMbarWait, true
		x.token(e, &op)
		return op, e.Has.Has(trace.FieldResult) && e.Result != 0
	}
	return op, false
}

// token makes a wait by a token one for the phase of the strand's latest
// arrive.
func (x *extraction) token(e *trace.Event, op *Op) {
	if op.Has.Has(trace.FieldToken) {
		op.Has = op.Has.With(trace.FieldPhase) &^ trace.Fields(0).With(trace.FieldToken)
	}
	if op.Has.Has(trace.FieldPhase) {
		op.Parity = uint8(e.Phase & 1)
	}
}
