package trace

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// warpRun is the rows of one warp in a block.
type warpRun struct {
	warp  uint64 // CTA<<32 | warp
	first uint32 // sequence number of its first row
	rows  uint32
	at    uint32 // where the run begins in warp order
}

// cell is what every row has besides its warp.
type cell struct {
	time int64
	seq  uint32
	id   uint16 // of its template
}

// blockEncoder turns rows into the payload of a block. It is reused.
type blockEncoder struct {
	templates templateEncoder
	set       valueSet
	runs      []warpRun
	runOf     []uint16 // by row in stored order
	idOf      []uint16 // template, by row in stored order
	rank      []uint32 // rows of a run, then where its next one belongs
	perm      []uint16 // rows in warp order, as indices in stored order
	cells     []cell   // what every row has, in warp order
	clks      []int64  // in warp order, if the rows have clocks
	local     []uint32 // template of an op, plus 1; by op
	used      []uint32 // op of a template
	lanes     []int    // how many do a template
	threads   int      // thread events
	has       []Fields // operands of a template
	ids       []uint16 // template of a row, in warp order
	deltas    []uint64 // time since the run's row before, in warp order
	values    []uint64
	codes     []uint16
	floor     []uint64 // smallest delta of a template
	last      []uint64 // state of a prediction, by template
	head      []uint64
	seen      []uint32
	col       []byte
}

// encode appends the payload of rows, which are of one launch and in stored
// order, and describes them.
func (e *blockEncoder) encode(b []byte, t *rowTable, ops []Op, extras []string) ([]byte, summary) {
	e.group(t, ops)
	b = appendColumn(b, colTemplates, e.templates.encode(e.col[:0], ops, e.used))
	unit := e.timeDeltas(t.rows[0].time)
	b = appendColumn(b, colWarps, e.warpColumn())
	e.col = appendIndices(e.col[:0], e.ids, len(e.used))
	b = appendColumn(b, colOp, e.col)
	b = appendColumn(b, colTime, e.timeColumn(unit))
	b = appendColumn(b, colSeq, e.seqColumn())
	var has Fields
	for _, h := range e.has {
		has |= h
	}
	if has.Has(FieldPhase) {
		b = appendColumn(b, colPhase, e.phaseColumn(t.phase))
	}
	if has.Has(FieldClk) {
		b = appendColumn(b, colClk, e.clkColumn())
	}
	if has.Has(FieldToken) {
		b = appendColumn(b, colToken, setColumn(e, FieldToken, t.token))
	}
	if has.Has(FieldPred) {
		b = appendColumn(b, colPred, setColumn(e, FieldPred, t.pred))
	}
	if has.Has(FieldResult) {
		b = appendColumn(b, colResult, setColumn(e, FieldResult, t.value))
	}
	if has.Has(FieldExtra) {
		b = appendColumn(b, colExtra, e.extraColumn(t.extra, extras))
	}
	return b, e.summarise(t.rows, ops)
}

// group finds the runs and the warp order: by CTA and warp, and within a
// warp by stored order. What is read row by row later is brought into that
// order here, as the rows themselves are too far apart in memory. It gives
// the operations of the rows numbers of their own: templates.
func (e *blockEncoder) group(t *rowTable, ops []Op) {
	rows := t.rows
	e.local = resize(e.local, len(ops))
	clear(e.local)
	e.used, e.lanes, e.has = e.used[:0], e.lanes[:0], e.has[:0]
	e.set.reset()
	e.runOf, e.idOf, e.rank = resize(e.runOf, len(rows)), resize(e.idOf, len(rows)), e.rank[:0]
	e.threads = 0
	for i := range rows {
		r := &rows[i]
		g := e.set.add(uint64(r.cta)<<32 | uint64(r.warp))
		if int(g) == len(e.rank) {
			e.rank = append(e.rank, 0)
		}
		e.rank[g]++
		id := e.local[r.op]
		if id == 0 {
			e.used, e.has = append(e.used, r.op), append(e.has, ops[r.op].Has)
			e.lanes = append(e.lanes, bits.OnesCount32(ops[r.op].Lanes))
			id = uint32(len(e.used))
			e.local[r.op] = id
		}
		e.threads += e.lanes[id-1]
		e.runOf[i], e.idOf[i] = uint16(g), uint16(id-1)
	}
	e.runs = e.runs[:0]
	for g, n := range e.rank {
		e.runs = append(e.runs, warpRun{warp: e.set.values[g], rows: n, at: uint32(g)})
	}
	slices.SortFunc(e.runs, func(a, b warpRun) int { return cmp.Compare(a.warp, b.warp) })
	at := uint32(0)
	for i := range e.runs {
		r := &e.runs[i]
		e.rank[r.at] = at
		r.at = at
		at += r.rows
	}
	e.perm, e.ids, e.cells = resize(e.perm, len(rows)), resize(e.ids, len(rows)), resize(e.cells, len(rows))
	for i, g := range e.runOf {
		k := e.rank[g]
		e.rank[g]++
		r := &rows[i]
		e.perm[k] = uint16(i)
		e.cells[k] = cell{r.time, r.seq, e.idOf[i]}
	}
	for k := range e.cells {
		e.ids[k] = e.cells[k].id
	}
	e.clks = e.clks[:0]
	if len(t.clk) > 0 {
		e.clks = resize(e.clks, len(rows))
		for k, i := range e.perm {
			e.clks[k] = t.clk[i]
		}
	}
}

// timeDeltas fills deltas, and returns the unit of which all the block's
// times are multiples: GPU timers move in steps.
func (e *blockEncoder) timeDeltas(base int64) (unit uint64) {
	e.deltas = resize(e.deltas, len(e.cells))
	for _, g := range e.runs {
		before := base
		for k := g.at; k < g.at+g.rows; k++ {
			t := e.cells[k].time
			d := uint64(t) - uint64(before)
			e.deltas[k] = d
			before = t
			if unit != 1 && (unit == 0 || d%unit != 0) {
				unit = gcd(unit, d)
			}
		}
	}
	if unit == 0 {
		return 1
	}
	if unit > 1 {
		for k := range e.deltas {
			e.deltas[k] /= unit
		}
	}
	return unit
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// warpColumn is the runs, one number after the other of each: so all CTAs,
// then all warps, and so on.
func (e *blockEncoder) warpColumn() []byte {
	b := binary.AppendUvarint(e.col[:0], uint64(len(e.runs)))
	cta := uint64(0)
	for _, g := range e.runs {
		b = binary.AppendUvarint(b, g.warp>>32-cta)
		cta = g.warp >> 32
	}
	for _, g := range e.runs {
		b = binary.AppendUvarint(b, g.warp&math.MaxUint32)
	}
	for _, g := range e.runs {
		b = binary.AppendUvarint(b, uint64(g.rows))
	}
	for _, g := range e.runs {
		b = binary.AppendUvarint(b, e.deltas[g.at])
	}
	for _, g := range e.runs {
		b = binary.AppendUvarint(b, uint64(e.cells[g.at].seq))
	}
	e.col = b
	return b
}

// timeColumn is the unit, each template's smallest delta, and the deltas of
// all rows but the first of each run, less that.
func (e *blockEncoder) timeColumn(unit uint64) []byte {
	e.floor = resize(e.floor, len(e.used))
	for i := range e.floor {
		e.floor[i] = math.MaxUint64
	}
	for _, g := range e.runs {
		for k := g.at + 1; k < g.at+g.rows; k++ {
			f := &e.floor[e.ids[k]]
			*f = min(*f, e.deltas[k])
		}
	}
	b := binary.AppendUvarint(e.col[:0], unit)
	for i, f := range e.floor {
		if f == math.MaxUint64 {
			e.floor[i] = 0
		}
		b = binary.AppendUvarint(b, e.floor[i])
	}
	e.values = e.values[:0]
	for _, g := range e.runs {
		for k := g.at + 1; k < g.at+g.rows; k++ {
			e.values = append(e.values, e.deltas[k]-e.floor[e.ids[k]])
		}
	}
	e.col = appendNarrow(b, e.values)
	return e.col
}

// seqColumn is the rows whose sequence number is not that of the warp's row
// before plus one: how many rows after the exception before, counting all
// rows but the first of each run, and by how much.
func (e *blockEncoder) seqColumn() []byte {
	b := e.col[:0]
	gap := uint64(0)
	for _, g := range e.runs {
		want := e.cells[g.at].seq + 1
		for k := g.at + 1; k < g.at+g.rows; k++ {
			seq := e.cells[k].seq
			if d := int32(seq - want); d != 0 {
				b = binary.AppendUvarint(b, gap)
				b = binary.AppendUvarint(b, zigzag(uint64(int64(d))))
				gap = 0
			} else {
				gap++
			}
			want = seq + 1
		}
	}
	e.col = b
	return b
}

// predict readies the state that predictions by template use.
func (e *blockEncoder) predict() {
	e.last, e.head, e.seen = resize(e.last, len(e.used)), resize(e.head, len(e.used)), resize(e.seen, len(e.used))
	clear(e.head)
	clear(e.seen)
	e.values = e.values[:0]
}

// phaseColumn is the phases as differences from what is expected: one more
// than the warp's row before of the same template had; for the first such
// row of a warp, what it was in the warp before.
func (e *blockEncoder) phaseColumn(phases []uint64) []byte {
	e.predict()
	for n, g := range e.runs {
		for k := g.at; k < g.at+g.rows; k++ {
			id := e.ids[k]
			if !e.has[id].Has(FieldPhase) {
				continue
			}
			phase := phases[e.perm[k]]
			want := e.last[id] + 1
			if e.seen[id] != uint32(n)+1 {
				want = e.head[id]
				e.seen[id], e.head[id] = uint32(n)+1, phase
			}
			e.last[id] = phase
			e.values = append(e.values, zigzag(phase-want))
		}
	}
	e.col = appendNarrow(e.col[:0], e.values)
	return e.col
}

// clkColumn is the clock rate, in cycles a nanosecond times 65536, and the
// clocks as differences from what that rate gives after the warp's row
// before; for the first row of a warp, after the first of the warp before.
func (e *blockEncoder) clkColumn() []byte {
	rate := e.clockRate()
	b := binary.AppendUvarint(e.col[:0], uint64(rate))
	e.values = e.values[:0]
	var head clockPoint
	for _, g := range e.runs {
		at := head
		first := true
		for k := g.at; k < g.at+g.rows; k++ {
			if !e.has[e.ids[k]].Has(FieldClk) {
				continue
			}
			time, clk := e.cells[k].time, e.clks[k]
			e.values = append(e.values, zigzag(uint64(clk)-at.predict(time, rate)))
			at = clockPoint{time, clk}
			if first {
				head, first = at, false
			}
		}
	}
	e.col = appendNarrow(b, e.values)
	return e.col
}

// clockPoint is a time on both clocks.
type clockPoint struct{ time, clk int64 }

func (p clockPoint) predict(time int64, rate uint32) uint64 {
	return uint64(p.clk) + uint64((time-p.time)*int64(rate)>>16)
}

// clockRate measures the clock over the run that shows the most of it.
func (e *blockEncoder) clockRate() uint32 {
	var dt, dclk int64
	for _, g := range e.runs {
		first, last := g.at, g.at+g.rows-1
		if !e.has[e.ids[first]].Has(FieldClk) || !e.has[e.ids[last]].Has(FieldClk) {
			continue
		}
		if t, c := e.cells[last].time-e.cells[first].time, e.clks[last]-e.clks[first]; t > dt && c > 0 {
			dt, dclk = t, c
		}
	}
	if dt == 0 {
		return 0
	}
	rate := float64(dclk) / float64(dt) * 65536
	if rate > math.MaxUint32 {
		return 0
	}
	return uint32(rate)
}

// setColumn is a column of few distinct values: those, and for each row that
// has the operand the number of its value.
func setColumn[T uint32 | uint64](e *blockEncoder, f Field, values []T) []byte {
	number(e, f, values)
	e.col = appendWords(e.col[:0], e.set.values)
	e.col = appendIndices(e.col, e.codes, len(e.set.values))
	return e.col
}

// number fills codes with the numbers of the values of the rows that have the
// operand.
func number[T uint32 | uint64](e *blockEncoder, f Field, values []T) {
	e.set.reset()
	e.codes = e.codes[:0]
	for k, id := range e.ids {
		if e.has[id].Has(f) {
			e.codes = append(e.codes, uint16(e.set.add(uint64(values[e.perm[k]]))))
		}
	}
}

// extraColumn is as setColumn, of texts.
func (e *blockEncoder) extraColumn(numbers []uint32, extras []string) []byte {
	number(e, FieldExtra, numbers)
	b := binary.AppendUvarint(e.col[:0], uint64(len(e.set.values)))
	for _, v := range e.set.values {
		b = binary.AppendUvarint(b, uint64(len(extras[v])))
		b = append(b, extras[v]...)
	}
	e.col = appendIndices(b, e.codes, len(e.set.values))
	return e.col
}

// summarise describes the rows for the block's head.
func (e *blockEncoder) summarise(rows []row, ops []Op) summary {
	s := newSummary(rows[0].key(), rows[len(rows)-1].key(), uint32(e.runs[0].warp>>32), uint32(e.runs[len(e.runs)-1].warp>>32))
	for _, g := range e.runs {
		s.addWarp(uint32(g.warp>>32), uint32(g.warp))
	}
	s.Threads = uint64(e.threads)
	sync := false
	for _, op := range e.used {
		o := &ops[op]
		s.addOp(o)
		sync = sync || o.Kind == KindSyncwarp || o.Kind == KindSyncwarpDone
	}
	if sync {
		for _, g := range e.runs {
			s.addWarpBarrier(uint32(g.warp))
		}
	}
	return s
}
