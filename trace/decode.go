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
	uses   []int    // rows of a template
	ids    []uint16
	deltas narrow   // times since the warp's row before, in warp order
	least  []uint64 // smallest delta of a template
	starts []uint64 // times of the runs' first rows
	gaps   []seqGap
	runs   []warpRun
	recs   []record
	keys   []uint64 // times in units and indices of rows, in warp order
	sorter keySorter
	perm   []uint16 // rows in stored order, as indices in warp order
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
	d.uses = resize(d.uses, len(b.Ops))
	clear(d.uses)
	for _, id := range d.ids {
		d.uses[id]++
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
	sorted, err := d.rows(rows, unit, first, last)
	if err != nil {
		return err
	}
	d.gather(&b.Block, sorted, unit, first.Time)
	if a, z := b.key(0), b.key(rows-1); a != first || z != last {
		return errTimes
	}
	return d.operands(cols, has, extras, unit, first.Time, b)
}

// warps reads the runs.
func (d *blockDecoder) warps(col []byte, rows int) error {
	c := cursor{b: col}
	n := c.uvarint()
	if n == 0 || n > uint64(rows) {
		return errRuns
	}
	d.runs = resize(d.runs, int(n))
	d.starts = resize(d.starts, int(n))
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
	for i := range d.starts {
		d.starts[i] = c.uvarint()
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

// times begins to read the time column: deltas gives, in units, each row's
// distance from its warp's row before, less the least of its template.
func (d *blockDecoder) times(col []byte, rows, templates int) (unit uint64, err error) {
	c := cursor{b: col}
	unit = c.uvarint()
	if unit == 0 {
		return 0, errTimes
	}
	d.least = resize(d.least, templates)
	for i := range d.least {
		d.least[i] = c.uvarint()
	}
	if d.deltas = c.narrow(rows - len(d.runs)); c.bad {
		return 0, errShort
	}
	return unit, nil
}

// rows fills recs, and returns the keys in stored order.
func (d *blockDecoder) rows(n int, unit uint64, first, last key) (sorted []uint64, err error) {
	d.recs = resize(d.recs, n)
	d.keys = resize(d.keys, n)
	span := uint64(last.Time) - uint64(first.Time)
	if last.Time < first.Time || span%unit != 0 || span/unit > maxSpan {
		return nil, errTimes
	}
	span /= unit
	inOrder, before, k := true, uint64(0), 0
	gaps := d.gaps
	for g := range d.runs {
		run := &d.runs[g]
		t, seq := d.starts[g], run.first
		ids := d.ids[run.at : run.at+run.rows]
		recs := d.recs[run.at:][:len(ids)]
		keys := d.keys[run.at:][:len(ids)]
		for i, id := range ids {
			if i > 0 {
				least := d.least[id]
				by := d.deltas.at(k) + least
				if by < least || by > span {
					return nil, errTimes
				}
				t += by
				next := seq + 1
				if gaps[0].row == uint32(k) {
					next += gaps[0].by
					gaps = gaps[1:]
				}
				if by == 0 && next < seq {
					return nil, errOrder
				}
				seq = next
				k++
			}
			if t > span {
				return nil, errTimes
			}
			recs[i] = record{seq, uint16(g), id}
			keys[i] = t<<rowBits | uint64(int(run.at)+i)
			inOrder = inOrder && t >= before
			before = t
		}
	}
	if err := d.deltas.c.end(); err != nil {
		return nil, err
	}
	if inOrder {
		return d.keys, nil
	}
	return d.sorter.sort(d.keys, bits.Len64(span)+rowBits), nil
}

// gather puts what every row has into the block, in stored order.
func (d *blockDecoder) gather(b *Block, sorted []uint64, unit uint64, base int64) {
	n := len(sorted)
	b.Time, b.CTA, b.Warp = resize(b.Time, n), resize(b.CTA, n), resize(b.Warp, n)
	b.Seq, b.Op = resize(b.Seq, n), resize(b.Op, n)
	times, ctas, warps, seqs, ops := b.Time[:n], b.CTA[:n], b.Warp[:n], b.Seq[:n], b.Op[:n]
	for i, v := range sorted {
		r := d.recs[v&(1<<rowBits-1)]
		w := d.runs[r.run].warp
		times[i] = base + int64(v>>rowBits*unit)
		ctas[i], warps[i] = uint32(w>>32), uint32(w)
		seqs[i], ops[i] = r.seq, uint32(r.op)
	}
	d.perm = resize(d.perm, n)
	for i, v := range sorted {
		d.perm[i] = uint16(v)
	}
}

// operands reads the columns of the operands that some template has.
func (d *blockDecoder) operands(cols [numColumns][]byte, has Fields, extras []string, unit uint64, base int64, b *blockBuffer) error {
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
		note(d.clocks(cols[colClk], unit, base))
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
	for id, has := range d.has {
		if has.Has(f) {
			n += d.uses[id]
		}
	}
	d.column = resize(d.column, len(d.ids))
	if n < len(d.ids) {
		clear(d.column)
	}
	return n
}

func (d *blockDecoder) phases(col []byte) error {
	c := cursor{b: col}
	values := c.narrow(d.count(FieldPhase))
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
			phase := want + unzigzag(values.at(v))
			v++
			if d.seen[id] != uint32(g)+1 {
				d.seen[id], d.head[id] = uint32(g)+1, phase
			}
			d.last[id], d.column[k] = phase, phase
		}
	}
	return values.c.end()
}

func (d *blockDecoder) clocks(col []byte, unit uint64, base int64) error {
	c := cursor{b: col}
	rate := c.uvarint()
	if rate > math.MaxUint32 {
		return errors.New("a clock rate that is none")
	}
	n := d.count(FieldClk)
	values, all := c.narrow(n), n == len(d.ids)
	var head clockPoint
	v := 0
	for g := range d.runs {
		run := &d.runs[g]
		at, first := head, true
		ids := d.ids[run.at : run.at+run.rows]
		keys := d.keys[run.at:][:len(ids)]
		column := d.column[run.at:][:len(ids)]
		for i, id := range ids {
			if !all && !d.has[id].Has(FieldClk) {
				continue
			}
			time := base + int64(keys[i]>>rowBits*unit)
			clk := at.predict(time, uint32(rate)) + unzigzag(values.at(v))
			v++
			at = clockPoint{time, int64(clk)}
			column[i] = clk
			if first {
				head, first = at, false
			}
		}
	}
	return values.c.end()
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
