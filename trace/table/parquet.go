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

// rowGroup is how many rows a row group of a Parquet file has at most: what a
// writer holds in memory, and a reader can skip.
const rowGroup = 1 << 17

// batch is how many rows are handed to the Parquet writer at once.
const batch = 256

// WriteParquet writes the events of a trace as a Parquet file, compressed with
// zstd. The file is sorted by launch and time.
func WriteParquet(ctx context.Context, w io.Writer, r *trace.Reader) error {
	cols := Columns()
	out := parquet.NewGenericWriter[any](w, schema(cols),
		parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(rowGroup), parquet.CreatedBy("btrace", "", ""))
	b := &rowBatch{out: out, values: make([]parquet.Value, 0, batch*len(cols))}
	err := each(ctx, r, func(e *trace.Event, l *trace.Launch) error {
		for i := range cols {
			b.values = append(b.values, cols[i].value(i, e, l))
		}
		return b.end(len(cols))
	})
	if err == nil {
		err = b.flush()
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// rowBatch collects rows for a writer.
type rowBatch struct {
	out    *parquet.GenericWriter[any]
	values []parquet.Value
	rows   []parquet.Row
}

func (b *rowBatch) end(width int) error {
	b.rows = append(b.rows, b.values[len(b.values)-width:])
	if len(b.rows) < batch {
		return nil
	}
	return b.flush()
}

func (b *rowBatch) flush() error {
	_, err := b.out.WriteRows(b.rows)
	b.rows, b.values = b.rows[:0], b.values[:0]
	return err
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
		case c.Type == Text:
			tag += ",dict" // few of them differ
		case c.Name == "ns" || c.Name == "clk":
			tag += ",delta"
		}
		fields = append(fields, reflect.StructField{
			Name: strings.ToUpper(c.Name[:1]) + c.Name[1:], Type: types[c.Type], Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		})
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// value is the value of a row in Parquet's terms.
func (c *Column) value(column int, e *trace.Event, l *trace.Launch) parquet.Value {
	n, s, ok := c.of(e, l)
	if !ok {
		return parquet.NullValue().Level(0, 0, column)
	}
	var v parquet.Value
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
		return v.Level(0, 1, column)
	}
	return v.Level(0, 0, column)
}
