package trace

import (
	"errors"
	"math"
	"math/bits"
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
	gap    int // the next of them
	follow int // rows so far that follow another of their run
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
	inOrder, before := true, uint64(0)
	d.follow, d.gap = 0, 0
	for g := range d.runs {
		t := d.starts[g]
		if t > span {
			return nil, errTimes
		}
		inOrder = inOrder && t >= before
		if before, err = d.run(g, t, span); err != nil {
			return nil, err
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

// run fills recs and keys of a run that begins at time t, and returns the time
// of its last row. No time is beyond span. This is where a reader spends most
// of its time, so what can be is done once a run.
func (d *blockDecoder) run(g int, t, span uint64) (end uint64, err error) {
	run := &d.runs[g]
	ids := d.ids[run.at : run.at+run.rows]
	recs := d.recs[run.at:][:len(ids)]
	keys := d.keys[run.at:][:len(ids)]
	seq, at := run.first, uint64(run.at)
	recs[0] = record{seq, uint16(g), ids[0]}
	keys[0] = t<<rowBits | at
	deltas, k := &d.deltas, d.follow // rows so far that follow another of their run
	d.follow += len(ids) - 1
	lo, hi := deltas.lo[k:d.follow], deltas.hi
	if hi != nil {
		hi = hi[k:d.follow]
	}
	gap, least, wide := d.gaps[d.gap].row, d.least, deltas.wide
	for i := 1; i < len(ids); i++ {
		id := ids[i]
		by := uint64(lo[i-1])
		if hi != nil {
			by |= uint64(hi[i-1]) << 8
		}
		if by == wide {
			by += deltas.c.uvarint()
		}
		// A sum that wraps is below its parts.
		if by += least[id]; by > span-t || by < least[id] {
			return 0, errTimes
		}
		t += by
		next := seq + 1
		if gap == uint32(k+i-1) {
			next += d.gaps[d.gap].by
			d.gap++
			gap = d.gaps[d.gap].row
		}
		if next < seq && by == 0 {
			return 0, errOrder
		}
		seq = next
		recs[i] = record{seq, uint16(g), id}
		keys[i] = t<<rowBits | (at + uint64(i))
	}
	return t, nil
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
