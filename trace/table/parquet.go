package table

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"btrace/trace"
)

const (
	// rowGroup is how many rows a row group of a Parquet file has at least,
	// the last excepted, and what a reader can skip. A writer holds one in
	// memory, compressed.
	rowGroup = 1 << 17
	// batch is how many values are handed to a column at once. Pages end
	// between batches, so that many more would make them too large.
	batch = 1 << 10
	// maxDictionary is how many bytes of different values a column keeps in
	// memory: rows with texts of their own must not fill it.
	maxDictionary = 1 << 20
)

// WriteParquet writes the events of a trace as a Parquet file, compressed with
// zstd. The file is sorted by launch and time.
func WriteParquet(ctx context.Context, w io.Writer, r *trace.Reader) error {
	cols := Columns()
	options := []parquet.WriterOption{schema(cols), parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("btrace", "", ""),
		parquet.DictionaryMaxBytes(maxDictionary),
		parquet.DataPageStatistics(false), // they are in the column index, and those of row groups in the footer
	}
	for i := range cols {
		// Bounds let a reader pass over what it does not look for; every part
		// of a trace has most of these texts.
		if cols[i].Type == Text && cols[i].Name != "kernel" {
			options = append(options, parquet.SkipPageBounds(cols[i].Name))
		}
	}
	out := parquet.NewGenericWriter[any](w, options...)
	g := &groupWriter{out: out}
	for i, c := range out.ColumnWriters() {
		g.cols = append(g.cols, columnWriter{Column: &cols[i], index: i, out: c})
	}
	err := each(ctx, r, g.block)
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// groupWriter writes blocks column by column.
type groupWriter struct {
	out    *parquet.GenericWriter[any]
	cols   []columnWriter
	rows   int // of the row group
	values [batch]parquet.Value
}

// columnWriter writes a column.
type columnWriter struct {
	*Column
	index int
	out   *parquet.ColumnWriter
	cells []cell          // what the rows of an operation have, by operation of the block
	ops   []parquet.Value // the same in Parquet's terms, of the cells that do not vary
}

// block writes the rows of a block.
func (g *groupWriter) block(b *trace.Block, l *trace.Launch) error {
	for k := range g.cols {
		if err := g.column(&g.cols[k], b, l); err != nil {
			return err
		}
	}
	if g.rows += b.Len(); g.rows < rowGroup {
		return nil
	}
	g.rows = 0
	return g.out.Flush()
}

// column writes the values that the rows of a block have in a column.
func (g *groupWriter) column(c *columnWriter, b *trace.Block, l *trace.Launch) error {
	same, varies := c.template(b, l)
	var rows numbers
	if varies && c.numbers != nil {
		rows = c.numbers(b)
	}
	if same { // once is enough for all batches
		for i := range g.values {
			g.values[i] = c.ops[0]
		}
	}
	for from := 0; from < b.Len(); from += batch {
		ops := b.Op[from:min(from+batch, b.Len())]
		values := g.values[:len(ops)]
		if !same {
			for i, op := range ops {
				values[i] = c.ops[op]
			}
		}
		if varies {
			c.vary(values, ops, &rows, b, from)
		}
		if _, err := c.out.WriteRowValues(values); err != nil {
			return err
		}
	}
	return nil
}

// template finds what the operations of a block have in the column, whether
// all have the same, and whether that of any varies.
func (c *columnWriter) template(b *trace.Block, l *trace.Launch) (same, varies bool) {
	c.cells, c.ops = c.cells[:0], c.ops[:0]
	same = true
	for i := range b.Ops {
		x := c.of(&b.Ops[i], l)
		v := parquet.Value{}
		switch {
		case i > 0 && x == c.cells[i-1]:
			v = c.ops[i-1]
		case x.has && !x.varies:
			v = c.value(x.n, x.s)
		}
		c.cells, c.ops = append(c.cells, x), append(c.ops, v)
		same, varies = same && x == c.cells[0], varies || x.varies
	}
	return same, varies
}

// vary puts the rows' own values in, of the operations that have such. ops
// are those of the rows, the first of which is row from of the block.
func (c *columnWriter) vary(values []parquet.Value, ops []uint32, rows *numbers, b *trace.Block, from int) {
	switch {
	case c.Type == Text:
		for i, op := range ops {
			if c.cells[op].varies {
				values[i] = c.value(0, c.text(b, from+i))
			}
		}
	case c.Null && rows.u32 != nil:
		for i, n := range rows.u32[from : from+len(ops)] {
			if c.cells[ops[i]].varies {
				values[i] = parquet.Int32Value(int32(n)).Level(0, 1, c.index)
			}
		}
	case c.Null:
		for i, op := range ops {
			if c.cells[op].varies {
				values[i] = parquet.Int64Value(int64(rows.at(from+i))).Level(0, 1, c.index)
			}
		}
	case rows.u32 != nil: // every row has one: levels are not looked at
		for i, n := range rows.u32[from : from+len(ops)] {
			values[i] = parquet.Int32Value(int32(n))
		}
	default:
		for i, n := range rows.i64[from : from+len(ops)] {
			values[i] = parquet.Int64Value(n)
		}
	}
}

// value is a value in Parquet's terms.
func (c *columnWriter) value(n uint64, s string) (v parquet.Value) {
	switch c.Type {
	case Bool:
		v = parquet.BooleanValue(n != 0)
	case Uint32:
		v = parquet.Int32Value(int32(uint32(n)))
	case Text:
		v = parquet.ByteArrayValue([]byte(s))
	default:
		v = parquet.Int64Value(int64(n))
	}
	if c.Null {
		return v.Level(0, 1, c.index)
	}
	return v.Level(0, 0, c.index)
}

// schema is that of the columns, in their order.
func schema(cols []Column) *parquet.Schema {
	types := [...]reflect.Type{
		Int64: reflect.TypeFor[int64](), Uint32: reflect.TypeFor[uint32](), Uint64: reflect.TypeFor[uint64](),
		Bool: reflect.TypeFor[bool](), Text: reflect.TypeFor[string](),
	}
	var fields []reflect.StructField
	for _, c := range cols {
		tag := c.Name
		if c.Null {
			tag += ",optional"
		}
		switch {
		case c.Name == "ns" || c.Name == "clk":
			tag += ",delta"
		case c.Type != Bool && c.Name != "seq":
			tag += ",dict" // few of them differ
		}
		fields = append(fields, reflect.StructField{
			Name: strings.ToUpper(c.Name[:1]) + c.Name[1:], Type: types[c.Type], Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		})
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}
