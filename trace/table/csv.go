package table

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"btrace/trace"
)

// WriteCSV writes the events of a trace as CSV (RFC 4180) with a line of
// column names. A cell without a value is empty, as is that of an empty text.
func WriteCSV(ctx context.Context, w io.Writer, r *trace.Reader) error {
	out := newLineWriter(w)
	err := out.names()
	if err == nil {
		err = each(ctx, r, out.block)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// lineBatch is how many bytes of lines are collected before they are written.
const lineBatch = 64 << 10

// lineWriter writes rows as lines. What the rows of an operation have in
// common is made into text once a block.
type lineWriter struct {
	w     io.Writer
	cols  []Column
	lines []byte
	quote csvQuote
	rows  []numbers // by column
	ops   []opLine  // by operation of the block
	parts []part
	fixed []byte
}

// opLine is the parts of an operation's lines.
type opLine struct{ from, to int }

// part is a piece of text that all lines of an operation have, followed by
// the value of a column that changes from row to row; there is none after the
// last part.
type part struct {
	from, to int // in fixed
	col      int // -1: none
}

func newLineWriter(w io.Writer) *lineWriter { return &lineWriter{w: w, cols: Columns()} }

func (o *lineWriter) names() error {
	var names []byte
	for i := range o.cols {
		if i > 0 {
			names = append(names, ',')
		}
		names = append(names, o.cols[i].Name...)
	}
	_, err := o.w.Write(append(names, '\n'))
	return err
}

// block writes the rows of a block.
func (o *lineWriter) block(b *trace.Block, l *trace.Launch) error {
	o.rows, o.ops, o.parts, o.fixed = o.rows[:0], o.ops[:0], o.parts[:0], o.fixed[:0]
	for i := range o.cols {
		var n numbers
		if f := o.cols[i].numbers; f != nil {
			n = f(b)
		}
		o.rows = append(o.rows, n)
	}
	for i := range b.Ops {
		o.op(&b.Ops[i], l)
	}
	for i, op := range b.Op {
		for _, p := range o.parts[o.ops[op].from:o.ops[op].to] {
			o.lines = append(o.lines, o.fixed[p.from:p.to]...)
			if p.col >= 0 {
				o.lines = o.value(o.lines, p.col, b, i)
			}
		}
		if len(o.lines) >= lineBatch {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	return o.flush()
}

func (o *lineWriter) flush() error {
	_, err := o.w.Write(o.lines)
	o.lines = o.lines[:0]
	return err
}

// op lays out the lines of an operation.
func (o *lineWriter) op(op *trace.Op, l *trace.Launch) {
	first, from := len(o.parts), len(o.fixed)
	for i := range o.cols {
		if i > 0 {
			o.fixed = append(o.fixed, ',')
		}
		switch c := o.cols[i].of(op, l); {
		case !c.has:
		case c.varies:
			o.parts = append(o.parts, part{from, len(o.fixed), i})
			from = len(o.fixed)
		case o.cols[i].Type == Text:
			o.fixed = o.quote.append(o.fixed, c.s)
		default:
			o.fixed = appendNumber(o.fixed, o.cols[i].Type, c.n)
		}
	}
	o.fixed = append(o.fixed, '\n')
	o.parts = append(o.parts, part{from, len(o.fixed), -1})
	o.ops = append(o.ops, opLine{first, len(o.parts)})
}

// value appends what row i has in a column.
func (o *lineWriter) value(to []byte, col int, b *trace.Block, i int) []byte {
	c := &o.cols[col]
	if c.Type == Text {
		return o.quote.append(to, c.text(b, i))
	}
	return appendNumber(to, c.Type, o.rows[col].at(i))
}

func appendNumber(to []byte, t Type, n uint64) []byte {
	switch t {
	case Bool:
		return strconv.AppendBool(to, n != 0)
	case Int64:
		return strconv.AppendInt(to, int64(n), 10)
	}
	return strconv.AppendUint(to, n, 10)
}

// special finds the characters for whose sake a text may need quotes. Most
// texts have none.
func special(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != ':' && r != '_'
}

// csvQuote quotes texts where CSV needs it.
type csvQuote struct {
	buf  bytes.Buffer
	w    *csv.Writer
	cell []string
}

func (q *csvQuote) append(to []byte, s string) []byte {
	if !strings.ContainsFunc(s, special) {
		return append(to, s...)
	}
	if q.w == nil {
		q.w, q.cell = csv.NewWriter(&q.buf), make([]string, 1)
	}
	q.buf.Reset()
	q.cell[0] = s
	q.w.Write(q.cell) // a buffer takes all: no error can come
	q.w.Flush()
	return append(to, bytes.TrimSuffix(q.buf.Bytes(), []byte{'\n'})...)
}
