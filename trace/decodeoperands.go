package trace

import (
	"errors"
	"math"
	"slices"
)

// operands reads the columns of the operands that some template has.
func (d *blockDecoder) operands(cols [numColumns][]byte, has Fields, extras []string, unit uint64, base int64, b *blockBuffer) error {
	b.Phase, b.Clk, b.Token, b.Pred, b.Result, b.Extra = nil, nil, nil, nil, nil, nil
	d.column = resize(d.column, len(d.perm))
	if has.Has(FieldPhase) {
		if err := d.phases(cols[colPhase]); err != nil {
			return err
		}
		b.phase = gatherColumn(d, b.phase)
		b.Phase = b.phase
	}
	if has.Has(FieldClk) {
		if err := d.clocks(cols[colClk], unit, base); err != nil {
			return err
		}
		b.clk = gatherColumn(d, b.clk)
		b.Clk = b.clk
	}
	if has.Has(FieldToken) {
		if err := d.set(cols[colToken], FieldToken, math.MaxUint64); err != nil {
			return err
		}
		b.token = gatherWords(d, b.token)
		b.Token = b.token
	}
	if has.Has(FieldPred) {
		if err := d.set(cols[colPred], FieldPred, math.MaxUint32); err != nil {
			return err
		}
		b.pred = gatherWords(d, b.pred)
		b.Pred = b.pred
	}
	if has.Has(FieldResult) {
		if err := d.set(cols[colResult], FieldResult, math.MaxUint32); err != nil {
			return err
		}
		b.result = gatherWords(d, b.result)
		b.Result = b.result
	}
	return d.extras(cols[colExtra], has, extras, b)
}

// gatherColumn puts the operand in column into stored order.
func gatherColumn[T int64 | uint64](d *blockDecoder, to []T) []T {
	to = resize(to, len(d.perm))
	for i, k := range d.perm {
		to[i] = T(d.column[k])
	}
	return to
}

// gatherWords puts the operand whose values codes tells into stored order.
func gatherWords[T uint64 | uint32](d *blockDecoder, to []T) []T {
	to = resize(to, len(d.perm))
	words := d.words
	for i, k := range d.perm {
		to[i] = T(words[d.codes[k]])
	}
	return to
}

// count is how many rows have the operand.
func (d *blockDecoder) count(f Field) (n int) {
	for id, has := range d.has {
		if has.Has(f) {
			n += d.uses[id]
		}
	}
	return n
}

func (d *blockDecoder) phases(col []byte) error {
	c := cursor{b: col}
	n := d.count(FieldPhase)
	if n < len(d.perm) {
		clear(d.column)
	}
	values, err := c.narrow(n, d.wide)
	d.wide = values.wide
	if err != nil {
		return err
	}
	templates := len(d.has)
	d.last, d.head, d.seen = resize(d.last, templates), resize(d.head, templates), resize(d.seen, templates)
	clear(d.head)
	clear(d.seen)
	v := 0
	for g := range d.runs {
		run := &d.runs[g]
		ids := d.ids[run.at:][:run.rows]
		column := d.column[run.at:][:len(ids)]
		for i, id := range ids {
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
			d.last[id], column[i] = phase, phase
		}
	}
	return values.end()
}

func (d *blockDecoder) clocks(col []byte, unit uint64, base int64) error {
	c := cursor{b: col}
	rate := c.uvarint()
	if rate > math.MaxUint32 {
		return errors.New("a clock rate that is none")
	}
	n := d.count(FieldClk)
	values, err := c.narrow(n, d.wide)
	d.wide = values.wide
	if err != nil {
		return err
	}
	all := n == len(d.perm)
	if !all {
		clear(d.column)
	}
	var head clockPoint
	v := 0
	for g := range d.runs {
		run := &d.runs[g]
		at, first := head, true
		ids := d.ids[run.at:][:run.rows]
		keys := d.keys[run.at:][:len(ids)]
		column := d.column[run.at:][:len(ids)]
		for i := range keys {
			if !all && !d.has[ids[i]].Has(FieldClk) {
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
			if all && values.hi == nil {
				values.next += addClocks(column, keys, values.lo[v:], values.rest(), unit*rate)
				v += len(column) - 1
				break
			}
		}
	}
	return values.end()
}

// addClocks makes the clocks of rows from the first of them, the rows' times
// and the differences of those that follow it, which have one plane and of
// which n are wide. The rate is for a unit of time.
func addClocks(column, keys []uint64, lo []byte, wide []uint64, rate uint64) (n int) {
	clk, t := column[0], keys[0]>>rowBits
	column, keys = column[1:], keys[1:]
	lo, keys = lo[:len(column)], keys[:len(column)]
	for i, off := range lo {
		by := unzigzag(uint64(off))
		if off == 0xff {
			if n < len(wide) {
				by = unzigzag(0xff + wide[n])
			}
			n++
		}
		now := keys[i] >> rowBits
		clk += uint64(int64((now-t)*rate)>>16) + by
		t, column[i] = now, clk
	}
	return n
}

// set reads a column of few distinct values, none above limit, into words,
// and the number of each row's value into codes.
func (d *blockDecoder) set(col []byte, f Field, limit uint64) error {
	c := cursor{b: col}
	n := d.count(f)
	d.words = c.words(d.words, n)
	if c.bad || len(d.words) > 0 && slices.Max(d.words) > limit {
		return errors.New("a value that its operand cannot have")
	}
	if !d.numbers(&c, f, n, len(d.words)) {
		return errShort
	}
	d.words = append(d.words, 0) // of the rows without
	return c.end()
}

// numbers reads into codes the numbers below limit that the n rows with the
// operand have. The others get the limit.
func (d *blockDecoder) numbers(c *cursor, f Field, n, limit int) bool {
	codes := d.codes[:len(d.perm)]
	if !c.indices(codes[:n], limit) {
		return false
	}
	d.with = resize(d.with, len(d.has))
	for id, has := range d.has {
		d.with[id] = has.Has(f)
	}
	// They are moved to their rows from the last on, so that none is in the
	// way of another.
	with, ids := d.with, d.ids[:len(codes)]
	for k := len(codes) - 1; k >= 0; k-- {
		code := uint16(limit)
		if with[ids[k]] {
			n--
			code = codes[n]
		}
		codes[k] = code
	}
	return true
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
		if !d.numbers(&c, FieldExtra, n, len(texts)) {
			return errShort
		}
		texts = append(texts, "") // of the rows without
		for i, k := range d.perm {
			b.Extra[i] = texts[d.codes[k]]
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
