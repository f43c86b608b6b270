package replay

import "btrace/trace"

// turns is the rows of a block, scope by scope: the rows of a scope stay in
// their order, those of others do not matter to it. To replay many rows of one
// scope together is faster than to go from scope to scope with every row,
// which has to find its state anew.
type turns struct {
	scopes []uint32 // in order of their first rows
	ends   []uint32 // by turn: where its rows end
	rows   []uint32 // turn by turn
	of     []uint32 // by row: its turn
	index  map[uint32]uint32
	near   [nearTurns]turn // of the scopes that are looked up most
}

// turn says where the rows of a scope go.
type turn struct{ scope, turn uint32 }

const nearTurns = 1 << 10

// take sorts the rows of a block.
func (t *turns) take(b *trace.Block, y *layout) {
	t.scopes, t.ends, t.of = t.scopes[:0], t.ends[:0], t.of[:0]
	if t.index == nil {
		t.index = make(map[uint32]uint32)
	}
	clear(t.index)
	for i := range t.near {
		t.near[i] = turn{scope: uint32(i) + 1} // not one that belongs here
	}
	for _, cta := range b.CTA {
		n := t.turn(y.scope(cta))
		t.ends[n]++
		t.of = append(t.of, n)
	}
	at := uint32(0)
	for n, rows := range t.ends {
		t.ends[n] = at
		at += rows
	}
	if cap(t.rows) < len(t.of) {
		t.rows = make([]uint32, len(t.of))
	}
	t.rows = t.rows[:len(t.of)]
	for i, n := range t.of {
		t.rows[t.ends[n]] = uint32(i)
		t.ends[n]++
	}
}

// turn is the turn of a scope.
func (t *turns) turn(scope uint32) uint32 {
	near := &t.near[scope%nearTurns]
	if near.scope == scope {
		return near.turn
	}
	n, ok := t.index[scope]
	if !ok {
		n = uint32(len(t.scopes))
		t.index[scope] = n
		t.scopes = append(t.scopes, scope)
		t.ends = append(t.ends, 0)
	}
	*near = turn{scope, n}
	return n
}

// rowsOf is the rows of a turn.
func (t *turns) rowsOf(n int) []uint32 {
	from := uint32(0)
	if n > 0 {
		from = t.ends[n-1]
	}
	return t.rows[from:t.ends[n]]
}
