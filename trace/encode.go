package trace

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// row is a warp event as a writer buffers it. op and extra are numbers in
// the writer's tables.
type row struct {
	time   int64
	cta    uint32
	warp   uint32
	seq    uint32
	op     uint32
	pred   uint32
	result uint32
	extra  uint32
	_      uint32
	token  uint64
	phase  uint64
	clk    int64
}

func (r *row) key() key { return key{r.time, r.cta, r.warp, r.seq} }

// warpRun is the rows of one warp in a block.
type warpRun struct {
	warp  uint64 // CTA<<32 | warp
	first uint32 // sequence number of its first row
	rows  uint32
	at    uint32 // where the run begins in warp order
}

// cell is what every row has besides its warp.
type cell struct {
	time    int64
	seq, op uint32
}

// blockEncoder turns rows into the payload of a block. It is reused.
type blockEncoder struct {
	templates templateEncoder
	set       valueSet
	runs      []warpRun
	runOf     []uint32 // by row in stored order
	rank      []uint32 // place of a run in warp order
	perm      []uint32 // rows in warp order, as indices in stored order
	cells     []cell   // what every row has, in warp order
	clks      []int64  // of the rows that have one, in warp order
	local     []uint32 // template of an op, plus 1; by op
	used      []uint32 // op of a template
	uses      []uint32 // rows of a template
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
func (e *blockEncoder) encode(b []byte, rows []row, ops []Op, extras []string) ([]byte, summary) {
	var has Fields // of all operations, perhaps more than those of the rows
	for i := range ops {
		has |= ops[i].Has
	}
	e.group(rows, has.Has(FieldClk))
	e.number(ops)
	b = appendColumn(b, colTemplates, e.templates.encode(e.col[:0], ops, e.used))
	unit := e.timeDeltas(rows[0].time)
	b = appendColumn(b, colWarps, e.warpColumn())
	e.col = appendIndices(e.col[:0], e.ids, len(e.used))
	b = appendColumn(b, colOp, e.col)
	b = appendColumn(b, colTime, e.timeColumn(unit))
	b = appendColumn(b, colSeq, e.seqColumn())
	has = 0
	for _, h := range e.has {
		has |= h
	}
	if has.Has(FieldPhase) {
		b = appendColumn(b, colPhase, e.phaseColumn(rows))
	}
	if has.Has(FieldClk) {
		b = appendColumn(b, colClk, e.clkColumn())
	}
	b = e.setColumn(b, colToken, FieldToken, rows, has, func(r *row) uint64 { return r.token })
	b = e.setColumn(b, colPred, FieldPred, rows, has, func(r *row) uint64 { return uint64(r.pred) })
	b = e.setColumn(b, colResult, FieldResult, rows, has, func(r *row) uint64 { return uint64(r.result) })
	if has.Has(FieldExtra) {
		b = appendColumn(b, colExtra, e.extraColumn(rows, extras))
	}
	return b, e.summarise(rows, ops)
}

// group finds the runs and the warp order: by CTA and warp, and within a
// warp by stored order. What is read row by row later is brought into that
// order here, as the rows themselves are too far apart in memory.
func (e *blockEncoder) group(rows []row, clks bool) {
	e.set.reset(len(rows))
	e.runs = e.runs[:0]
	e.runOf = resize(e.runOf, len(rows))
	for i := range rows {
		r := &rows[i]
		w := uint64(r.cta)<<32 | uint64(r.warp)
		g := e.set.add(w)
		if int(g) == len(e.runs) {
			e.runs = append(e.runs, warpRun{warp: w, at: g})
		}
		e.runs[g].rows++
		e.runOf[i] = g
	}
	slices.SortFunc(e.runs, func(a, b warpRun) int { return cmp.Compare(a.warp, b.warp) })
	e.rank = resize(e.rank, len(e.runs))
	at := uint32(0)
	for i := range e.runs {
		r := &e.runs[i]
		e.rank[r.at] = at
		r.at = at
		at += r.rows
	}
	e.perm, e.cells, e.clks = resize(e.perm, len(rows)), resize(e.cells, len(rows)), resize(e.clks, len(rows))
	for i, g := range e.runOf {
		k := e.rank[g]
		e.rank[g]++
		r := &rows[i]
		e.perm[k] = uint32(i)
		e.cells[k] = cell{r.time, r.seq, r.op}
		if clks {
			e.clks[k] = r.clk
		}
	}
}

// number gives the operations of the rows numbers of their own: templates.
func (e *blockEncoder) number(ops []Op) {
	e.local = resize(e.local, len(ops))
	clear(e.local)
	e.used, e.uses, e.has = e.used[:0], e.uses[:0], e.has[:0]
	e.ids = resize(e.ids, len(e.cells))
	for k := range e.cells {
		op := e.cells[k].op
		if e.local[op] == 0 {
			e.used, e.uses, e.has = append(e.used, op), append(e.uses, 0), append(e.has, ops[op].Has)
			e.local[op] = uint32(len(e.used))
		}
		id := e.local[op] - 1
		e.uses[id]++
		e.ids[k] = uint16(id)
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
func (e *blockEncoder) phaseColumn(rows []row) []byte {
	e.predict()
	for n, g := range e.runs {
		for k := g.at; k < g.at+g.rows; k++ {
			id := e.ids[k]
			if !e.has[id].Has(FieldPhase) {
				continue
			}
			phase := rows[e.perm[k]].phase
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
func (e *blockEncoder) setColumn(b []byte, id columnID, f Field, rows []row, has Fields, value func(*row) uint64) []byte {
	if !has.Has(f) {
		return b
	}
	e.set.reset(len(rows))
	e.codes = e.codes[:0]
	for k, id := range e.ids {
		if e.has[id].Has(f) {
			e.codes = append(e.codes, uint16(e.set.add(value(&rows[e.perm[k]]))))
		}
	}
	e.col = appendWords(e.col[:0], e.set.values)
	e.col = appendIndices(e.col, e.codes, len(e.set.values))
	return appendColumn(b, id, e.col)
}

// extraColumn is as setColumn, of texts.
func (e *blockEncoder) extraColumn(rows []row, extras []string) []byte {
	e.set.reset(len(rows))
	e.codes = e.codes[:0]
	for k, id := range e.ids {
		if e.has[id].Has(FieldExtra) {
			e.codes = append(e.codes, uint16(e.set.add(uint64(rows[e.perm[k]].extra))))
		}
	}
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
	sync := false
	for i, op := range e.used {
		o := &ops[op]
		s.addOp(o)
		s.Threads += uint64(e.uses[i]) * uint64(bits.OnesCount32(o.Lanes))
		sync = sync || o.Kind == KindSyncwarp || o.Kind == KindSyncwarpDone
	}
	if sync {
		for _, g := range e.runs {
			s.addWarpBarrier(uint32(g.warp))
		}
	}
	return s
}
