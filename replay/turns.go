package replay

import (
	"slices"
	"sync/atomic"

	"btrace/trace"
)

// batch is the rows of a block, scope by scope: the rows of a scope stay in
// their order, those of others do not matter to it. To replay many rows of one
// scope together is faster than to go from scope to scope with every row,
// which has to find its state anew.
type batch struct {
	scopes []uint32     // in order of their first rows
	ends   []uint32     // by turn: where its rows end
	rows   []packed     // turn by turn
	left   atomic.Int32 // workers that have yet to replay their rows

	first    uint64 // number of the block's first row in the launch
	ops      []trace.Op
	operands []operands // by row of the block; empty if none has any
}

// packed is a row of a batch: what is written and read again of each row is
// kept small.
type packed struct {
	time           int64
	at             uint32 // row of the block
	op             uint32
	cta, warp, seq uint32
}

// operands are what a row brings itself.
type operands struct {
	token, phase uint64
	pred, result uint32
}

// turn is the rows of a turn.
func (b *batch) turn(n int) []packed {
	from := uint32(0)
	if n > 0 {
		from = b.ends[n-1]
	}
	return b.rows[from:b.ends[n]]
}

// sorter makes batches.
type sorter struct {
	of    []uint32 // by row of the block: its turn
	index map[uint32]uint32
	near  [nearTurns]turn // of the scopes that are looked up most
}

// turn says where the rows of a scope go.
type turn struct{ scope, turn uint32 }

const nearTurns = 1 << 10

// sort fills a batch with the rows of a block, which may be gone afterwards.
func (t *sorter) sort(b *trace.Block, y *layout, to *batch) {
	to.scopes, to.ends, t.of = to.scopes[:0], to.ends[:0], t.of[:0]
	if t.index == nil {
		t.index = make(map[uint32]uint32)
	}
	clear(t.index)
	for i := range t.near {
		t.near[i] = turn{scope: uint32(i) + 1} // not one that belongs here
	}
	for _, cta := range b.CTA {
		n := t.turn(y.scope(cta), to)
		to.ends[n]++
		t.of = append(t.of, n)
	}
	at := uint32(0)
	for n, rows := range to.ends {
		to.ends[n] = at
		at += rows
	}
	if cap(to.rows) < len(t.of) {
		to.rows = make([]packed, len(t.of))
	}
	to.rows = to.rows[:len(t.of)]
	for i, n := range t.of {
		to.rows[to.ends[n]] = packed{b.Time[i], uint32(i), b.Op[i], b.CTA[i], b.Warp[i], b.Seq[i]}
		to.ends[n]++
	}
	to.first = b.First
	to.ops = slices.Clone(b.Ops) // those of parked rows outlive the batch
	to.bring(b)
}

// rowFields are the operands that a row brings itself.
const rowFields = trace.Fields(1<<trace.FieldPred | 1<<trace.FieldResult | 1<<trace.FieldToken | 1<<trace.FieldPhase)

// bring takes over the operands of the rows.
func (b *batch) bring(from *trace.Block) {
	b.operands = b.operands[:0]
	if !slices.ContainsFunc(from.Ops, func(op trace.Op) bool { return op.Has&rowFields != 0 }) {
		return
	}
	b.operands = slices.Grow(b.operands, from.Len())[:from.Len()]
	for i, op := range from.Op {
		o := &b.operands[i]
		*o = operands{}
		has := from.Ops[op].Has
		if has&rowFields == 0 {
			continue
		}
		if has.Has(trace.FieldPred) {
			o.pred = from.Pred[i]
		}
		if has.Has(trace.FieldResult) {
			o.result = from.Result[i]
		}
		if has.Has(trace.FieldToken) {
			o.token = from.Token[i]
		}
		if has.Has(trace.FieldPhase) {
			o.phase = from.Phase[i]
		}
	}
}

// unpack makes a row of a packed one. Field by field: as a whole it would be
// made elsewhere, and copied.
func (b *batch) unpack(p *packed, r *row) {
	op := &b.ops[p.op]
	r.time, r.op, r.num, r.cta, r.warp, r.seq, r.lanes = p.time, op, b.first+uint64(p.at), p.cta, p.warp, p.seq, op.Lanes
	r.operands = operands{}
	if op.Has&rowFields != 0 {
		r.operands = b.operands[p.at]
	}
}

// turn is the turn of a scope.
func (t *sorter) turn(scope uint32, to *batch) uint32 {
	near := &t.near[scope%nearTurns]
	if near.scope == scope {
		return near.turn
	}
	n, ok := t.index[scope]
	if !ok {
		n = uint32(len(to.scopes))
		t.index[scope] = n
		to.scopes = append(to.scopes, scope)
		to.ends = append(to.ends, 0)
	}
	*near = turn{scope, n}
	return n
}
