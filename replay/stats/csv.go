package stats

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"btrace/trace/plain"
)

// columns are those of the CSV form. A row has what its kind has.
var columns = [...]string{
	"launch", "row", "barrier", "cta", "phase", "who", "where", "waits", "without_end",
	"total_ns", "p50_ns", "p99_ns", "max_ns", "phases", "spread_p50_ns", "spread_max_ns", "late_ns", "late_max_ns", "full_share",
}

// WriteCSV writes the statistics as one table. The column "row" says what a
// row is: launch, barrier, late (a latecomer of a barrier), phase (a costly
// one of a barrier), site, or stage. top bounds the rows of each, 0 does not.
func WriteCSV(w io.Writer, rep *Report, top int) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns[:]); err != nil {
		return err
	}
	for i := range rep.Launches {
		for _, r := range tableOf(&rep.Launches[i], top) {
			if err := out.Write(r.cells()); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// record is a row of the table; cells that are nil are empty.
type record map[string]any

func (r record) cells() []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		switch v := r[c].(type) {
		case nil:
		case string:
			out[i] = plain.Text(v)
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return out
}

// with adds cells.
func (r record) with(o record) record {
	for k, v := range o {
		r[k] = v
	}
	return r
}

func (w *Waits) cells() record {
	return record{
		"waits": w.Count, "without_end": w.Open, "total_ns": w.Total,
		"p50_ns": w.Quantile(.5), "p99_ns": w.Quantile(.99), "max_ns": w.Max,
	}
}

func tableOf(l *Launch, top int) []record {
	rows := []record{l.Waits.cells().with(record{"row": "launch"})}
	for _, b := range first(l.Barriers, top) {
		id := name(b.Barrier)
		rows = append(rows, b.Waits.cells().with(record{
			"row": "barrier", "barrier": id, "phases": b.Phases, "spread_p50_ns": b.Spread.Quantile(.5), "spread_max_ns": b.Spread.Max,
		}))
		for _, x := range first(b.Late, top) {
			rows = append(rows, record{
				"row": "late", "barrier": id, "who": x.who(l, b.Barrier), "phases": x.Times, "late_ns": x.Total, "late_max_ns": x.Max,
			})
		}
		for _, p := range first(b.Costly, top) {
			rows = append(rows, record{
				"row": "phase", "barrier": id, "cta": p.CTA, "phase": p.Phase, "who": strings.Join(p.last(l), " "),
				"waits": p.Waits, "without_end": p.Open, "total_ns": p.Total, "max_ns": p.Max, "spread_max_ns": p.Spread, "late_ns": p.Late,
			})
		}
	}
	for _, s := range first(l.Sites, top) {
		rows = append(rows, s.Waits.cells().with(record{"row": "site", "where": place(&s)}))
	}
	for _, s := range first(l.Stages, top) {
		share := ""
		if s.Span > 0 {
			share = strconv.FormatFloat(float64(s.Busy)/float64(s.Span), 'f', 4, 64)
		}
		rows = append(rows, record{"row": "stage", "barrier": name(s.Full), "who": name(s.Empty), "phases": s.Fills, "full_share": share})
	}
	for _, r := range rows {
		r["launch"] = l.ID
	}
	return rows
}
