package trace

import (
	"errors"
	"math"
	"slices"
)

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
