package trace

import (
	"slices"
)

// row is what every warp event has, as a writer buffers it. op is a number in
// the writer's table.
type row struct {
	time int64
	cta  uint32
	warp uint32
	seq  uint32
	op   uint32
}

func (r *row) key() key { return key{r.time, r.cta, r.warp, r.seq} }

func (r *row) before(o *row) bool {
	return r.time < o.time || r.time == o.time && r.key().less(o.key())
}

// rowTable is warp events as a writer buffers them. The operands that change
// from row to row are in columns, which end after the last row that has the
// operand: most traces have few of them, and what is not there costs nothing.
type rowTable struct {
	rows  []row
	phase []uint64
	clk   []int64
	token []uint64
	pred  []uint32
	value []uint32 // FieldResult
	extra []uint32 // number of a text in the writer's table
}

// rowFields are the operands that have columns.
var rowFields = Fields(0).With(FieldPhase, FieldClk, FieldToken, FieldPred, FieldResult, FieldExtra)

// add appends an event, whose operation and text have these numbers.
func (t *rowTable) add(e *Event, op, extra uint32) {
	n := len(t.rows)
	t.rows = append(t.rows, row{time: e.Time, cta: e.CTA, warp: e.Warp, seq: e.Seq, op: op})
	has := e.Has
	if has&rowFields == 0 {
		return
	}
	if has.Has(FieldPhase) {
		t.phase = append(pad(t.phase, n), e.Phase)
	}
	if has.Has(FieldClk) {
		t.clk = append(pad(t.clk, n), e.Clk)
	}
	if has.Has(FieldToken) {
		t.token = append(pad(t.token, n), e.Token)
	}
	if has.Has(FieldPred) {
		t.pred = append(pad(t.pred, n), e.Pred)
	}
	if has.Has(FieldResult) {
		t.value = append(pad(t.value, n), e.Result)
	}
	if has.Has(FieldExtra) {
		t.extra = append(pad(t.extra, n), extra)
	}
}

// pad makes a column n values long.
func pad[T any](col []T, n int) []T {
	if len(col) >= n {
		return col
	}
	had := len(col)
	col = slices.Grow(col, n-had)[:n]
	clear(col[had:])
	return col
}

// whole makes all columns that are there as long as the rows.
func (t *rowTable) whole() {
	n := len(t.rows)
	t.phase, t.clk, t.token = padAny(t.phase, n), padAny(t.clk, n), padAny(t.token, n)
	t.pred, t.value, t.extra = padAny(t.pred, n), padAny(t.value, n), padAny(t.extra, n)
}

func padAny[T any](col []T, n int) []T {
	if len(col) == 0 {
		return col
	}
	return pad(col, n)
}

// part is rows from to end of a table that is whole.
func (t *rowTable) part(from, end int) rowTable {
	return rowTable{t.rows[from:end], cut(t.phase, from, end), cut(t.clk, from, end), cut(t.token, from, end),
		cut(t.pred, from, end), cut(t.value, from, end), cut(t.extra, from, end)}
}

func cut[T any](col []T, from, end int) []T {
	if len(col) == 0 {
		return nil
	}
	return col[from:end]
}

// drop removes the first n rows of a table that is whole.
func (t *rowTable) drop(n int) {
	t.rows = drop(t.rows, n)
	t.phase, t.clk, t.token = drop(t.phase, n), drop(t.clk, n), drop(t.token, n)
	t.pred, t.value, t.extra = drop(t.pred, n), drop(t.value, n), drop(t.extra, n)
}

func drop[T any](col []T, n int) []T {
	return col[:copy(col, col[min(n, len(col)):])]
}
