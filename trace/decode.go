package trace

import (
	"errors"
	"math"
	"math/bits"
	"slices"
)

// blockDecoder turns the payload of a block into a Block. It is reused; what
// it makes belongs to the block's buffer.
type blockDecoder struct {
	has    []Fields // of a template
	ids    []uint16
	deltas []uint64
	floor  []uint64
	gaps   []seqGap
	runs   []warpRun
	recs   []record
	keys   []uint64 // times in units, each with the row's index if both fit
	sorter keySorter
	swap   []uint64
	perm   []uint32 // rows in stored order, as indices in warp order
	order  []uint64 // times in units, in stored order
	values []uint64
	codes  []uint16
	column []uint64 // an operand by row in warp order
	last   []uint64
	head   []uint64
	seen   []uint32
	words  []uint64
}

// blockBuffer is a Block with room for the columns that it may not have.
type blockBuffer struct {
	Block
	pred, result []uint32
	token, phase []uint64
	clk          []int64
	extra        []string
}

// record is what every row has, in warp order.
type record struct {
	seq     uint32
	run, op uint16
}

type seqGap struct {
	row uint32
	by  uint32
}

var (
	errRuns  = errors.New("the warps' rows do not add up to the block's")
	errTimes = errors.New("times beyond those of its head")
	errOrder = errors.New("rows of a warp that are out of order")
)

// decode reads payload, of a block whose head says that it has that many
// rows from first to last, into b.
func (d *blockDecoder) decode(payload []byte, rows int, first, last key, b *blockBuffer) error {
	cols, err := splitColumns(payload)
	if err != nil {
		return err
	}
	var extras []string
	if b.Ops, extras, err = decodeTemplates(cols[colTemplates], b.Ops, rows); err != nil {
		return err
	}
	d.has = resize(d.has, len(b.Ops))
	var has Fields
	for i := range b.Ops {
		d.has[i] = b.Ops[i].Has
		has |= d.has[i]
	}
	c := cursor{b: cols[colOp]}
	if d.ids = c.indices(d.ids, rows, len(b.Ops)); c.end() != nil {
		return c.end()
	}
	if err := d.warps(cols[colWarps], rows); err != nil {
		return err
	}
	if err := d.seqs(cols[colSeq], rows-len(d.runs)); err != nil {
		return err
	}
	unit, err := d.times(cols[colTime], rows, len(b.Ops))
	if err != nil {
		return err
	}
	if err := d.rows(rows, unit, first, last); err != nil {
		return err
	}
	d.gather(&b.Block, unit, first.Time)
	if a, z := b.key(0), b.key(rows-1); a != first || z != last {
		return errTimes
	}
	return d.operands(cols, has, extras, b)
}

// warps reads the runs. Their first fields hold the times of their first
// rows only until times has read the others: those are in floor.
func (d *blockDecoder) warps(col []byte, rows int) error {
	c := cursor{b: col}
	n := c.uvarint()
	if n == 0 || n > uint64(rows) {
		return errRuns
	}
	d.runs = resize(d.runs, int(n))
	d.floor = resize(d.floor, int(n))
	cta := uint64(0)
	for i := range d.runs {
		cta += c.uvarint()
		if cta > math.MaxUint32 {
			return errRuns
		}
		d.runs[i].warp = cta << 32
	}
	for i := range d.runs {
		w := c.uvarint()
		if w > math.MaxUint32 {
			return errRuns
		}
		d.runs[i].warp |= w
		if i > 0 && d.runs[i].warp <= d.runs[i-1].warp {
			return errRuns
		}
	}
	left := uint64(rows)
	for i := range d.runs {
		n := c.uvarint()
		if n == 0 || n > left {
			return errRuns
		}
		d.runs[i].at = uint32(uint64(rows) - left)
		d.runs[i].rows = uint32(n)
		left -= n
	}
	for i := range d.floor {
		d.floor[i] = c.uvarint()
	}
	for i := range d.runs {
		seq := c.uvarint()
		if seq > math.MaxUint32 {
			return errRuns
		}
		d.runs[i].first = uint32(seq)
	}
	if left != 0 {
		return errRuns
	}
	return c.end()
}

// seqs reads the exceptions among the rows that follow the first of a run.
func (d *blockDecoder) seqs(col []byte, rows int) error {
	d.gaps = d.gaps[:0]
	c := cursor{b: col}
	at := uint64(0)
	for len(c.b) > 0 {
		at += c.uvarint()
		by := unzigzag(c.uvarint())
		if at >= uint64(rows) {
			return errOrder
		}
		d.gaps = append(d.gaps, seqGap{uint32(at), uint32(by)})
		at++
	}
	d.gaps = append(d.gaps, seqGap{math.MaxUint32, 0})
	return c.end()
}

// times reads the time column: deltas gets each row's distance in units from
// its warp's row before, or for the first of a run from the block's first.
func (d *blockDecoder) times(col []byte, rows, templates int) (unit uint64, err error) {
	c := cursor{b: col}
	unit = c.uvarint()
	if unit == 0 {
		return 0, errTimes
	}
	d.words = resize(d.words, templates)
	for i := range d.words {
		d.words[i] = c.uvarint()
	}
	d.deltas = c.narrow(d.deltas, rows-len(d.runs))
	return unit, c.end()
}

// rows fills recs and, in perm, their stored order.
func (d *blockDecoder) rows(n int, unit uint64, first, last key) error {
	d.recs = resize(d.recs, n)
	d.keys = resize(d.keys, n)
	span := uint64(last.Time) - uint64(first.Time)
	if last.Time < first.Time || span%unit != 0 {
		return errTimes
	}
	span /= unit
	packed := bits.Len64(span) <= 64-rowBits
	sorted, before, gap, k := true, uint64(0), 0, 0
	for g := range d.runs {
		run := &d.runs[g]
		t, seq := d.floor[g], run.first
		for i := run.at; ; {
			if t > span {
				return errTimes
			}
			d.recs[i] = record{seq, uint16(g), d.ids[i]}
			d.keys[i] = t
			if packed {
				d.keys[i] = t<<rowBits | uint64(i)
			}
			sorted = sorted && t >= before
			before = t
			if i++; i == run.at+run.rows {
				break
			}
			by := d.deltas[k] + d.words[d.ids[i]]
			if by < d.deltas[k] || t+by < t {
				return errTimes
			}
			t += by
			next := seq + 1
			if d.gaps[gap].row == uint32(k) {
				next += d.gaps[gap].by
				gap++
			}
			if by == 0 && next < seq {
				return errOrder
			}
			seq = next
			k++
		}
	}
	d.sort(sorted, packed, span)
	return nil
}

// gather puts what every row has into the block, in stored order.
func (d *blockDecoder) gather(b *Block, unit uint64, base int64) {
	n := len(d.recs)
	b.Time, b.CTA, b.Warp = resize(b.Time, n), resize(b.CTA, n), resize(b.Warp, n)
	b.Seq, b.Op = resize(b.Seq, n), resize(b.Op, n)
	times, ctas, warps, seqs, ops := b.Time[:n], b.CTA[:n], b.Warp[:n], b.Seq[:n], b.Op[:n]
	for i, t := range d.order[:n] {
		times[i] = base + int64(t*unit)
	}
	for i, k := range d.perm[:n] {
		r := d.recs[k]
		w := d.runs[r.run].warp
		ctas[i], warps[i] = uint32(w>>32), uint32(w)
		seqs[i], ops[i] = r.seq, uint32(r.op)
	}
}

// operands reads the columns of the operands that some template has.
func (d *blockDecoder) operands(cols [numColumns][]byte, has Fields, extras []string, b *blockBuffer) error {
	var err error
	note := func(e error) {
		if err == nil {
			err = e
		}
	}
	b.Phase, b.Clk, b.Token, b.Pred, b.Result, b.Extra = nil, nil, nil, nil, nil, nil
	if has.Has(FieldPhase) {
		note(d.phases(cols[colPhase]))
		b.phase = gatherColumn(d, b.phase)
		b.Phase = b.phase
	}
	if has.Has(FieldClk) {
		note(d.clocks(cols[colClk], b.Time))
		b.clk = gatherColumn(d, b.clk)
		b.Clk = b.clk
	}
	if has.Has(FieldToken) {
		note(d.set(cols[colToken], FieldToken, math.MaxUint64))
		b.token = gatherColumn(d, b.token)
		b.Token = b.token
	}
	if has.Has(FieldPred) {
		note(d.set(cols[colPred], FieldPred, math.MaxUint32))
		b.pred = gatherColumn(d, b.pred)
		b.Pred = b.pred
	}
	if has.Has(FieldResult) {
		note(d.set(cols[colResult], FieldResult, math.MaxUint32))
		b.result = gatherColumn(d, b.result)
		b.Result = b.result
	}
	note(d.extras(cols[colExtra], has, extras, b))
	return err
}

// gatherColumn puts an operand into stored order.
func gatherColumn[T int64 | uint64 | uint32](d *blockDecoder, to []T) []T {
	to = resize(to, len(d.perm))
	for i, k := range d.perm {
		to[i] = T(d.column[k])
	}
	return to
}

// count is how many rows have the operand, and column is made ready.
func (d *blockDecoder) count(f Field) (n int) {
	d.column = resize(d.column, len(d.ids))
	clear(d.column)
	for _, id := range d.ids {
		n += int(d.has[id] >> f & 1)
	}
	return n
}

func (d *blockDecoder) phases(col []byte) error {
	c := cursor{b: col}
	n := d.count(FieldPhase)
	d.values = c.narrow(d.values, n)
	templates := len(d.has)
	d.last, d.head, d.seen = resize(d.last, templates), resize(d.head, templates), resize(d.seen, templates)
	clear(d.head)
	clear(d.seen)
	v := 0
	for g := range d.runs {
		run := &d.runs[g]
		for k := run.at; k < run.at+run.rows; k++ {
			id := d.ids[k]
			if !d.has[id].Has(FieldPhase) {
				continue
			}
			want := d.last[id] + 1
			if d.seen[id] != uint32(g)+1 {
				want = d.head[id]
			}
			phase := want + unzigzag(d.values[v])
			v++
			if d.seen[id] != uint32(g)+1 {
				d.seen[id], d.head[id] = uint32(g)+1, phase
			}
			d.last[id], d.column[k] = phase, phase
		}
	}
	return c.end()
}

func (d *blockDecoder) clocks(col []byte, times []int64) error {
	c := cursor{b: col}
	rate := c.uvarint()
	if rate > math.MaxUint32 {
		return errors.New("a clock rate that is none")
	}
	d.values = c.narrow(d.values, d.count(FieldClk))
	// The times are in the block already, in stored order.
	d.swap = resize(d.swap, len(d.perm))
	for i, k := range d.perm {
		d.swap[k] = uint64(times[i])
	}
	var head clockPoint
	v := 0
	for g := range d.runs {
		run := &d.runs[g]
		at, first := head, true
		for k := run.at; k < run.at+run.rows; k++ {
			if !d.has[d.ids[k]].Has(FieldClk) {
				continue
			}
			time := int64(d.swap[k])
			clk := at.predict(time, uint32(rate)) + unzigzag(d.values[v])
			v++
			at = clockPoint{time, int64(clk)}
			d.column[k] = clk
			if first {
				head, first = at, false
			}
		}
	}
	return c.end()
}

// set reads a column of few distinct values, none above limit.
func (d *blockDecoder) set(col []byte, f Field, limit uint64) error {
	c := cursor{b: col}
	n := d.count(f)
	d.words = c.words(d.words, n)
	if c.bad || len(d.words) > 0 && slices.Max(d.words) > limit {
		return errors.New("a value that its operand cannot have")
	}
	d.codes = c.indices(d.codes, n, len(d.words))
	if c.bad {
		return errShort
	}
	v := 0
	for k, id := range d.ids {
		if d.has[id].Has(f) {
			d.column[k] = d.words[d.codes[v]]
			v++
		}
	}
	return c.end()
}

// extras reads the unknown keys of rows, and adds to them the operands of
// templates that this version does not know.
func (d *blockDecoder) extras(col []byte, has Fields, extras []string, b *blockBuffer) error {
	if !has.Has(FieldExtra) && extras == nil {
		return nil
	}
	b.extra = resize(b.extra, len(d.perm))
	clear(b.extra)
	b.Extra = b.extra
	if has.Has(FieldExtra) {
		c := cursor{b: col}
		n := d.count(FieldExtra)
		texts, err := c.texts(n)
		if err != nil {
			return err
		}
		d.codes = c.indices(d.codes, n, len(texts))
		if c.bad {
			return errShort
		}
		v := 0
		for k, id := range d.ids {
			if d.has[id].Has(FieldExtra) {
				d.column[k] = uint64(d.codes[v])
				v++
			}
		}
		for i, k := range d.perm {
			if d.has[d.ids[k]].Has(FieldExtra) {
				b.Extra[i] = texts[d.column[k]]
			}
		}
		if err := c.end(); err != nil {
			return err
		}
	}
	if extras == nil {
		return nil
	}
	joined := map[[2]string]string{} // few templates have any
	budget := 2 * MaxLine
	for i, op := range b.Op {
		if extras[op] == "" {
			continue
		}
		k := [2]string{b.Extra[i], extras[op]}
		if _, ok := joined[k]; !ok {
			joined[k] = joinExtra(k[0], k[1])
			if budget -= len(k[0]) + len(k[1]); budget < 0 {
				return errors.New("more unknown operands than a block may have")
			}
		}
		b.Extra[i] = joined[k]
	}
	for op := range b.Ops {
		if extras[op] != "" {
			b.Ops[op].Has |= 1 << FieldExtra
		}
	}
	return nil
}

// texts reads a list of no more than limit texts, each the inside of a JSON
// object.
func (c *cursor) texts(limit int) ([]string, error) {
	n := c.uvarint()
	if n > uint64(limit) {
		return nil, errShort
	}
	texts := make([]string, 0, n)
	for range n {
		s := c.take(c.uvarint())
		if c.bad || len(s) > MaxLine || !validExtra(s) {
			return nil, errors.New("unknown operands that are no JSON")
		}
		texts = append(texts, string(s))
	}
	return texts, nil
}
