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
	trace.Block              // its groups are scopes
	left        atomic.Int32 // workers that have yet to replay their rows
	kept        trace.Block  // memory for what outlives the block
}

// operands are what a row brings itself.
type operands struct {
	token, phase uint64
	pred, result uint32
}

// borrow makes the batch one of a block for as long as that is there. Of its
// operations it has copies, since parked rows outlive it.
func (b *batch) borrow(from *trace.Block) {
	b.Block = *from
	b.Ops = slices.Clone(from.Ops)
}

// keep makes the batch one of a block that may be gone afterwards.
func (b *batch) keep(from *trace.Block) {
	b.borrow(from)
	k := &b.kept
	k.Groups = append(k.Groups[:0], from.Groups...)
	k.Time, k.CTA, k.Warp = append(k.Time[:0], from.Time...), append(k.CTA[:0], from.CTA...), append(k.Warp[:0], from.Warp...)
	k.Seq, k.Op = append(k.Seq[:0], from.Seq...), append(k.Op[:0], from.Op...)
	k.Pred, k.Result = append(k.Pred[:0], from.Pred...), append(k.Result[:0], from.Result...)
	k.Token, k.Phase = append(k.Token[:0], from.Token...), append(k.Phase[:0], from.Phase...)
	b.Groups, b.Time, b.CTA, b.Warp, b.Seq, b.Op = k.Groups, k.Time, k.CTA, k.Warp, k.Seq, k.Op
	b.Pred, b.Result, b.Token, b.Phase = k.Pred, k.Result, k.Token, k.Phase
}

// turn is the rows of one scope in a batch.
type turn struct {
	b     *batch
	first int // of its rows in the batch
	time  []int64
	cta   []uint32
	warp  []uint32
	seq   []uint32
	op    []uint32
}

// turn is the rows of a group.
func (b *batch) turn(n int) turn {
	from, end := 0, b.Groups[n].End
	if n > 0 {
		from = b.Groups[n-1].End
	}
	t := turn{b: b, first: from, time: b.Time[from:end]}
	rows := len(t.time) // which all have, and the compiler is to know it
	t.cta, t.warp, t.seq, t.op = b.CTA[from:][:rows], b.Warp[from:][:rows], b.Seq[from:][:rows], b.Op[from:][:rows]
	return t
}

// rowFields are the operands that a row brings itself.
const rowFields = trace.Fields(1<<trace.FieldPred | 1<<trace.FieldResult | 1<<trace.FieldToken | 1<<trace.FieldPhase)

// row makes row i of the turn. Field by field: as a whole it would be made
// elsewhere, and copied.
func (t *turn) row(i int, r *row) {
	op := &t.b.Ops[t.op[i]]
	r.time, r.op, r.num, r.cta, r.warp, r.seq, r.lanes = t.time[i], op, t.b.First+uint64(t.first+i), t.cta[i], t.warp[i], t.seq[i], op.Lanes
	r.operands = operands{}
	if op.Has&rowFields != 0 {
		t.b.bring(t.first+i, op.Has, &r.operands)
	}
}

// bring reads the operands of a row.
func (b *batch) bring(i int, has trace.Fields, o *operands) {
	if has.Has(trace.FieldPred) {
		o.pred = b.Pred[i]
	}
	if has.Has(trace.FieldResult) {
		o.result = b.Result[i]
	}
	if has.Has(trace.FieldToken) {
		o.token = b.Token[i]
	}
	if has.Has(trace.FieldPhase) {
		o.phase = b.Phase[i]
	}
}
