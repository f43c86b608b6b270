package table

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"btrace/trace"
)

func samples(t *testing.T) map[string]*trace.Reader {
	t.Helper()
	files, err := filepath.Glob("../../sample-traces/*.zst")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	out := map[string]*trace.Reader{}
	for _, f := range files {
		r, err := trace.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		out[filepath.Base(f)] = r
	}
	return out
}

func asCSV(t testing.TB, r *trace.Reader) [][]string {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteCSV(context.Background(), &buf, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// lines is the trace in the interchange form, events only.
func lines(t *testing.T, r *trace.Reader) []map[string]any {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.ExportNDJSON(t.Context(), &buf, r, trace.Query{}); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for line := range strings.Lines(buf.String()) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		switch m["type"] {
		case "event", "mark", "gap":
			out = append(out, m)
		}
	}
	return out
}

// The table has what the interchange form has, key by key.
func TestCSVHasWhatNDJSONHas(t *testing.T) {
	cols := Columns()
	for name, r := range samples(t) {
		rows, want := asCSV(t, r), lines(t, r)
		if len(rows) != len(want)+1 {
			t.Errorf("%s: %d rows for %d events", name, len(rows)-1, len(want))
			continue
		}
		for i, m := range want {
			for k, c := range cols {
				v, ok := m[c.Name]
				if !ok {
					if c.Null && rows[i+1][k] != "" && !slices.Contains([]string{"barrier", "barrier_cta", "file"}, c.Name) {
						t.Fatalf("%s: event %d has no %s, its row has %q", name, i, c.Name, rows[i+1][k])
					}
					continue
				}
				text := fmt.Sprint(v)
				if s, isText := v.(string); isText && c.Type != Text { // a mask in hexadecimal
					n, err := strconv.ParseUint(s, 16, 64)
					if err != nil {
						t.Fatal(err)
					}
					text = strconv.FormatUint(n, 10)
				}
				if b, isBool := v.(bool); isBool && c.Type != Bool { // the answer of a test
					text = strconv.FormatUint(bit(b), 10)
				}
				if rows[i+1][k] != text {
					t.Fatalf("%s: %s of event %d is %s, the row has %q", name, c.Name, i, text, rows[i+1][k])
				}
			}
		}
	}
}

// A Parquet file has the same values as the CSV.
func TestParquetHasWhatCSVHas(t *testing.T) {
	for name, r := range samples(t) {
		compareParquet(t, name, r)
	}
}

// Texts that are long and all different, more of them than a dictionary may
// hold, and several row groups come through as well.
func TestParquetOfManyTexts(t *testing.T) {
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin(trace.Launch{Kernel: "k"}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 4000)
	for i := range rowGroup + 10_000 {
		e := trace.Event{Time: int64(i), Seq: uint32(i)}
		e.Kind, e.Lanes = trace.KindEnter, 1
		if i%150 == 0 {
			e.Extra = fmt.Sprintf(`"k":"%s%d"`, long, i)
			e.Has = e.Has.With(trace.FieldExtra)
		}
		if err := w.Write([]trace.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	compareParquet(t, "texts", r)
}

func compareParquet(t *testing.T, name string, r *trace.Reader) {
	t.Helper()
	cols := Columns()
	var buf bytes.Buffer
	if err := WriteParquet(context.Background(), &buf, r); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want := asCSV(t, r)
	var names []string
	for _, c := range f.Schema().Columns() {
		names = append(names, strings.Join(c, "."))
	}
	if !slices.Equal(names, want[0]) {
		t.Fatalf("%s: columns %v", name, names)
	}
	n := 1
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		batch := make([]parquet.Row, 100)
		for {
			k, err := rows.ReadRows(batch)
			for _, row := range batch[:k] {
				for i, v := range row {
					if got := cellOf(v, cols[i].Type); got != want[n][i] {
						t.Fatalf("%s: row %d has %s %q, the CSV %q", name, n, names[i], got, want[n][i])
					}
				}
				n++
			}
			if err != nil {
				break
			}
		}
		rows.Close()
	}
	if n != len(want) {
		t.Errorf("%s: %d rows, the CSV has %d", name, n-1, len(want)-1)
	}
}

func cellOf(v parquet.Value, t Type) string {
	switch {
	case v.IsNull():
		return ""
	case t == Bool:
		return strconv.FormatBool(v.Boolean())
	case t == Text:
		return string(v.ByteArray())
	case t == Uint32:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case t == Uint64:
		return strconv.FormatUint(v.Uint64(), 10)
	}
	return strconv.FormatInt(v.Int64(), 10)
}

// An operation that this version does not know, extremes and hostile texts
// come through.
func TestOddValues(t *testing.T) {
	in := `{"type":"launch","id":7,"kernel":"a,\"b\"","program":"p.cu","recorder":"test","grid":[1,1,1],"block":[32,1,1],"cluster":[1,1,1]}
{"type":"event","launch":7,"ns":-5,"cta":4294967295,"warp":0,"seq":0,"lanes":"ffffffff","op":"mbar.new","addr":18446744073709551615,"weird":"x"}
{"type":"event","launch":7,"ns":9223372036854775807,"cta":0,"warp":1,"seq":0,"lanes":"80000000","op":"mbar.expect_tx","addr":64,"bytes":-1,"owner_cta":3,"line":4,"k":"\u001b\n"}
{"type":"mark","launch":7,"ns":9223372036854775807,"cta":0,"warp":1,"seq":1,"lanes":"80000000","text":"two\nlines"}
`
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.ImportNDJSON(strings.NewReader(in), w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	rows := asCSV(t, r)
	col := func(row int, name string) string { return rows[row][slices.Index(rows[0], name)] }
	for _, x := range []struct {
		row        int
		name, want string
	}{
		{1, "kernel", `a,"b"`}, {1, "ns", "-5"}, {1, "cta", "4294967295"}, {1, "op", "mbar.new"}, {1, "barrier", ""},
		{2, "barrier", "mbar:0x40"}, {2, "barrier_cta", "3"}, {2, "lanes", "2147483648"}, {2, "bytes", "-1"}, {2, "file", "p.cu"}, {2, "extra", `{"k":"\u001b\n"}`},
		{3, "op", "mark"}, {3, "text", "two\nlines"}, {3, "ns", "9223372036854775807"},
	} {
		if got := col(x.row, x.name); got != x.want {
			t.Errorf("%s of row %d is %q, want %q", x.name, x.row, got, x.want)
		}
	}
	if err := WriteParquet(context.Background(), new(bytes.Buffer), r); err != nil {
		t.Error(err)
	}
}

// COLUMNS.md is made from the table. UPDATE_DOCS=1 writes it.
func TestColumnsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Columns\n\nWhat `btrace export --to parquet` and `--to csv` write: a row for every warp event, sorted by launch and time. Made from the code.\n\n| column | type | null | meaning |\n|---|---|---|---|\n")
	for _, c := range Columns() {
		null := ""
		if c.Null {
			null = "yes"
		}
		if c.Doc == "" {
			t.Errorf("the column %s has no description", c.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, c.Type, null, c.Doc)
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile("COLUMNS.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("COLUMNS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Error("COLUMNS.md is not what the columns are (UPDATE_DOCS=1 writes it)")
	}
}

// full has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrInvalid }

func TestNoRoom(t *testing.T) {
	for _, r := range samples(t) {
		if err := WriteCSV(context.Background(), full{}, r); err == nil {
			t.Error("CSV was written to nowhere")
		}
		if err := WriteParquet(context.Background(), full{}, r); err == nil {
			t.Error("Parquet was written to nowhere")
		}
		break
	}
}

func TestStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for _, r := range samples(t) {
		if err := WriteParquet(ctx, new(bytes.Buffer), r); err == nil {
			t.Error("an export that was stopped was written")
		}
		break
	}
}
