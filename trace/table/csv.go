package table

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"btrace/trace"
)

// WriteCSV writes the events of a trace as CSV (RFC 4180) with a line of
// column names. A cell without a value is empty, as is that of an empty text.
func WriteCSV(ctx context.Context, w io.Writer, r *trace.Reader) error {
	cols := Columns()
	out := csv.NewWriter(w)
	cells := make([]string, len(cols))
	for i, c := range cols {
		cells[i] = c.Name
	}
	if err := out.Write(cells); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	err := each(ctx, r, func(e *trace.Event, l *trace.Launch) error {
		for i := range cols {
			cells[i] = cols[i].cell(e, l)
		}
		return out.Write(cells)
	})
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// cell is the value of a row as text.
func (c *Column) cell(e *trace.Event, l *trace.Launch) string {
	n, s, ok := c.of(e, l)
	switch {
	case !ok:
		return ""
	case c.Type == Text:
		return s
	case c.Type == Bool:
		return strconv.FormatBool(n != 0)
	case c.Type == Int64:
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatUint(n, 10)
}
