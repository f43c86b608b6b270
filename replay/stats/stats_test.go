package stats

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"btrace/replay"
	"btrace/trace"
	"btrace/trace/plain"
)

// read imports lines of the interchange form.
func read(t *testing.T, lines ...string) *trace.Reader {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.ImportNDJSON(strings.NewReader(strings.Join(lines, "\n")+"\n"), w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func launchLine(block int) string {
	return fmt.Sprintf(`{"type":"launch","id":0,"kernel":"k","program":"k.cu","recorder":"test","device":"none","arch":"sm_90","grid":[1,1,1],"block":[%d,1,1],"cluster":[1,1,1]}`, block)
}

// event is a line of an event; the sequence numbers go up by warp.
type recording struct {
	lines []string
	seq   map[int]int
}

func (r *recording) add(ns, warp int, rest string) {
	if r.seq == nil {
		r.seq = map[int]int{}
	}
	r.lines = append(r.lines, fmt.Sprintf(`{"type":"event","launch":0,"ns":%d,"cta":0,"warp":%d,"seq":%d,"lanes":"ffffffff",%s}`, ns, warp, r.seq[warp], rest))
	r.seq[warp]++
}

func collect(t *testing.T, src replay.Source, opt Options) *Launch {
	t.Helper()
	rep, err := Collect(context.Background(), src, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Launches) != 1 {
		t.Fatalf("%d launches", len(rep.Launches))
	}
	return &rep.Launches[0]
}

// Three warps meet twice: the first time warp 2 keeps the others for 60 ns, 40
// of them alone; the second time warp 0 is late by 5.
func TestWhoIsLate(t *testing.T) {
	var r recording
	r.lines = []string{launchLine(96)}
	const sync, done = `"op":"bar.sync","bar":1,"count":96,"line":5`, `"op":"bar.done","bar":1,"line":5`
	r.add(100, 0, sync)
	r.add(120, 1, sync)
	r.add(160, 2, sync)
	for w := range 3 {
		r.add(161+w, w, done)
	}
	r.add(200, 2, sync)
	r.add(200, 1, sync)
	r.add(205, 0, sync)
	for w := range 3 {
		r.add(210, w, done)
	}
	l := collect(t, read(t, r.lines...), Options{})
	if len(l.Barriers) != 1 {
		t.Fatalf("barriers %+v", l.Barriers)
	}
	b := l.Barriers[0]
	want := []Latecomer{{Warp: 2, Times: 1, Total: 40, Max: 40}, {Warp: 0, Times: 1, Total: 5, Max: 5}}
	if !reflect.DeepEqual(b.Late, want) {
		t.Errorf("late %+v, want %+v", b.Late, want)
	}
	if b.Phases != 2 || b.Spread.Max != 60 || b.Spread.Total != 65 {
		t.Errorf("%d phases, arrivals %d apart at most, %d in all", b.Phases, b.Spread.Max, b.Spread.Total)
	}
	if b.Waits.Count != 6 || b.Waits.Total != 61+42+3+10+10+5 || b.Waits.Max != 61 || b.Waits.Open != 0 {
		t.Errorf("waits %+v", b.Waits)
	}
	if p := b.Costly[0]; p.Phase != 0 || p.Total != 106 || p.Late != 40 || p.Last.Warp != 2 {
		t.Errorf("costliest phase %+v", p)
	}
	if len(l.Sites) != 1 || l.Sites[0].File != "k.cu" || l.Sites[0].Line != 5 || l.Sites[0].Waits.Total != b.Waits.Total {
		t.Errorf("sites %+v", l.Sites)
	}
	if l.Waiting != b.Waits.Total || l.Active != 110+90+50 {
		t.Errorf("waiting %d of %d", l.Waiting, l.Active)
	}
}

// A stage is filled at 100 and 300, and emptied at 150 and 400: it is full for
// 150 ns of the 300 between the first and the last of these.
func TestOccupancyOfAStage(t *testing.T) {
	var r recording
	r.lines = []string{launchLine(64)}
	r.add(10, 0, `"op":"mbar.init","addr":64,"count":32,"line":1`)
	r.add(11, 0, `"op":"mbar.init","addr":128,"count":32,"line":2`)
	for i, at := range []int{100, 300} {
		empty := []int{150, 400}[i]
		r.add(at-9, 0, fmt.Sprintf(`"op":"mbar.wait","addr":128,"parity":%d,"line":3`, 1-i))
		r.add(at-8, 0, fmt.Sprintf(`"op":"mbar.done","addr":128,"parity":%d,"line":3`, 1-i))
		r.add(at-20, 1, fmt.Sprintf(`"op":"mbar.wait","addr":64,"parity":%d,"line":4`, i))
		r.add(at, 0, `"op":"mbar.arrive","addr":64,"line":5`)
		r.add(at+5, 1, fmt.Sprintf(`"op":"mbar.done","addr":64,"parity":%d,"line":4`, i))
		r.add(empty, 1, `"op":"mbar.arrive","addr":128,"line":6`)
	}
	slices.SortStableFunc(r.lines[1:], func(a, b string) int { return at(a) - at(b) })
	l := collect(t, read(t, r.lines...), Options{})
	mbar := func(addr uint64) trace.Barrier { return trace.Barrier{Kind: trace.BarrierMbar, ID: addr} }
	want := []Stage{{Full: mbar(64), Empty: mbar(128), CTAs: 1, Fills: 2, Busy: 150, Span: 300}}
	if !reflect.DeepEqual(l.Stages, want) {
		t.Errorf("stages %+v, want %+v", l.Stages, want)
	}
	if full, of := l.Mean(); full != .5 || of != 1 {
		t.Errorf("%v of %d stages are full", full, of)
	}
	// Warp 0 keeps warp 1 waiting for it alone, since nobody else arrives.
	for _, b := range l.Barriers {
		if b.ID == 64 && !reflect.DeepEqual(b.Late, []Latecomer{{Warp: 0, Times: 2, Total: 40, Max: 20}}) {
			t.Errorf("late on full: %+v", b.Late)
		}
	}
}

func at(line string) (ns int) {
	var e struct{ NS int }
	json.Unmarshal([]byte(line), &e)
	return e.NS
}

func sample(t testing.TB, name string) *trace.Reader {
	t.Helper()
	r, err := trace.Open(filepath.Join("../../sample-traces", name+".zst"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func samples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../sample-traces/*.zst")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".zst")
	}
	return files
}

func text(rep *Report, file string, top int) string {
	var b strings.Builder
	p := plain.NewPrinter(&b)
	WriteText(p, file, rep, top)
	p.Flush()
	return b.String()
}

// What is said does not depend on how many cores say it, and fits a terminal
// of 80 columns.
func TestSameOnAllCores(t *testing.T) {
	for _, name := range samples(t) {
		src := sample(t, name)
		one, err := Collect(context.Background(), src, Options{Workers: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		many, err := Collect(context.Background(), src, Options{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		a, b := text(one, name, 1000), text(many, name, 1000)
		if a != b {
			t.Errorf("%s: one core says\n%s\nthree say\n%s", name, a, b)
		}
		var x, y bytes.Buffer
		if err := WriteJSON(&x, name, one, 0); err != nil {
			t.Fatal(err)
		}
		if err := WriteJSON(&y, name, many, 0); err != nil || x.String() != y.String() {
			t.Errorf("%s: JSON differs: %v", name, err)
		}
		for line := range strings.Lines(a) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		// One screen is enough for the question that people come with.
		if short := text(one, name, 5); strings.Count(short, "\n") > 40 {
			t.Errorf("%s: %d lines", name, strings.Count(short, "\n"))
		}
	}
}

func TestOnlyOneBarrier(t *testing.T) {
	b, err := trace.ParseBarrier("mbar:0x1420")
	if err != nil {
		t.Fatal(err)
	}
	src := sample(t, "tma_pipeline")
	all, one := collect(t, src, Options{}), collect(t, src, Options{Barrier: &b})
	if len(one.Barriers) != 1 || one.Barriers[0].Barrier != b {
		t.Fatalf("barriers %+v", one.Barriers)
	}
	i := slices.IndexFunc(all.Barriers, func(x Barrier) bool { return x.Barrier == b })
	if !reflect.DeepEqual(all.Barriers[i], one.Barriers[0]) {
		t.Errorf("alone it is\n%+v\namong all\n%+v", one.Barriers[0], all.Barriers[i])
	}
	if one.Waits.Total != one.Barriers[0].Waits.Total {
		t.Errorf("%d ns of waits in all", one.Waits.Total)
	}
}

// Every row of the table has every column, and the rows of kind barrier add up
// to the launch.
func TestCSV(t *testing.T) {
	rep, err := Collect(context.Background(), sample(t, "tma_pipeline_count"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := WriteCSV(&buf, rep, 0); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	col := func(name string) int { return slices.Index(rows[0], name) }
	var total, sum, open, sumOpen int64
	kinds := map[string]int{}
	for _, r := range rows[1:] {
		kinds[r[col("row")]]++
		var ns, n int64
		fmt.Sscan(r[col("total_ns")], &ns)
		fmt.Sscan(r[col("without_end")], &n)
		switch r[col("row")] {
		case "launch":
			total, open = ns, n
		case "barrier":
			sum, sumOpen = sum+ns, sumOpen+n
		}
	}
	if total == 0 || total != sum || open != 5 || sumOpen != 5 {
		t.Errorf("the launch has %d ns and %d without end, its barriers %d and %d", total, open, sum, sumOpen)
	}
	for _, k := range []string{"launch", "barrier", "late", "phase", "site", "stage"} {
		if kinds[k] == 0 {
			t.Errorf("no row of kind %s in %v", k, kinds)
		}
	}
}

// Quantiles are within what the documentation says, and two halves merged are
// the whole.
func TestDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64/1000), 1, 300).Draw(t, "ns")
		small := rapid.Int64Range(1, 1<<40).Draw(t, "divisor")
		var whole, a, b Distribution
		for i := range ns {
			ns[i] /= small
			whole.add(ns[i])
			if i%3 == 0 {
				a.add(ns[i])
			} else {
				b.add(ns[i])
			}
		}
		a.merge(&b)
		slices.Sort(ns)
		for _, q := range []float64{0, .01, .5, .9, .99, 1} {
			exact := ns[max(0, int(math.Ceil(q*float64(len(ns))))-1)]
			got := whole.Quantile(q)
			if math.Abs(float64(got-exact)) > .016*float64(exact) {
				t.Fatalf("quantile %v is %d, exactly %d", q, got, exact)
			}
			if m := a.Quantile(q); m != got {
				t.Fatalf("quantile %v of the merged is %d, of the whole %d", q, m, got)
			}
		}
		if a.Count != whole.Count || a.Total != whole.Total || a.Max != whole.Max {
			t.Fatalf("merged %+v, whole %+v", a, whole)
		}
	})
}

// Absurd times give absurd figures, not negative ones.
func TestExtremeTimes(t *testing.T) {
	var r recording
	r.lines = []string{launchLine(64)}
	const far = math.MaxInt64 / 2
	r.add(-far, 0, `"op":"bar.sync","bar":1,"count":64`)
	r.add(far, 1, `"op":"bar.sync","bar":1,"count":64`)
	r.add(far, 0, `"op":"bar.done","bar":1`)
	r.add(far, 1, `"op":"bar.done","bar":1`)
	l := collect(t, read(t, r.lines...), Options{})
	if b := l.Barriers[0]; b.Waits.Max < far || b.Waits.Total < far || b.Spread.Max < far || b.Late[0].Total < far {
		t.Errorf("barrier %+v", b)
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", 1000: "1.00 µs", 12345: "12.3 µs", 999_499: "999 µs", 999_500: "1.00 ms", 1_500_000_000: "1.50 s", -5: "-5 ns",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%d) = %q, want %q", ns, got, want)
		}
	}
}
