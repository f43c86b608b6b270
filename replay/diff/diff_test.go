package diff

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"btrace/trace"
	"btrace/trace/plain"
)

// step is an operation of lanes of a warp in a test's program.
type step struct {
	cta, warp, lanes uint32
	op               trace.Op
	result           uint32
}

func fields(f ...trace.Field) trace.Fields { return trace.Fields(0).With(f...) }

// written is the trace of the steps, in the order of the times that are given.
func written(t testing.TB, outcome trace.Outcome, steps []step, times []int64) *trace.Reader {
	t.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := trace.Launch{
		Kernel: "k", Program: "k.cu", Arch: "sm_90", Grid: trace.Dim{4, 1, 1}, Block: trace.Dim{128, 1, 1}, Cluster: trace.Dim{1, 1, 1},
	}
	if err := w.Begin(l); err != nil {
		t.Fatal(err)
	}
	seq := map[place]uint32{}
	var events []trace.Event
	for i, s := range steps {
		at := place{s.cta, s.warp}
		e := trace.Event{Time: times[i], CTA: s.cta, Warp: s.warp, Seq: seq[at], Op: s.op, Result: s.result}
		e.Lanes = s.lanes
		seq[at]++
		events = append(events, e)
	}
	slices.SortStableFunc(events, func(a, b trace.Event) int { return cmp.Compare(a.Time, b.Time) })
	if err := w.Write(events); err != nil {
		t.Fatal(err)
	}
	if err := w.End(0, outcome, ""); err != nil {
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

// program draws steps, one warp after the other.
func program(t *rapid.T) []step {
	var out []step
	for cta := range uint32(2) {
		for warp := range uint32(2) {
			n := rapid.IntRange(0, rapid.SampledFrom([]int{5, 60, 1500}).Draw(t, "length")).Draw(t, "n")
			period := rapid.IntRange(1, 7).Draw(t, "period")
			for i := range n {
				s := step{cta: cta, warp: warp, lanes: ^uint32(0)}
				if i%period == 0 {
					s.lanes = 1
				}
				s.op = trace.Op{Kind: trace.KindBarArrive, Bar: uint32(i % 3), Count: 64, Line: uint32(10 + i%4), Has: fields(trace.FieldBar, trace.FieldCount, trace.FieldLine)}
				out = append(out, s)
			}
		}
	}
	return out
}

// times draws a time for each step, so that the steps of a warp keep their
// order and others get any.
func times(t *rapid.T, steps []step, label string) []int64 {
	now := map[place]int64{}
	out := make([]int64, len(steps))
	pace := rapid.SliceOfN(rapid.Int64Range(1, 50), 8, 8).Draw(t, label)
	for i, s := range steps {
		at := place{s.cta, s.warp}
		now[at] += pace[(i+int(s.cta)*3+int(s.warp))%len(pace)]
		out[i] = now[at]
	}
	return out
}

func compared1(t testing.TB, a, b *trace.Reader) *Launch {
	t.Helper()
	rep, err := Compare(context.Background(), a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &rep.Launches[0]
}

// When and in which order warps did things is no difference.
func TestTimesAreNoDifference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := program(rt)
		a := written(t, trace.OutcomeCompleted, steps, times(rt, steps, "a"))
		b := written(t, trace.OutcomeCompleted, steps, times(rt, steps, "b"))
		if l := compared1(t, a, b); !l.Same() || len(l.Divergences) != 0 {
			rt.Fatalf("%d of %d warps differ: %+v", l.Divergent, l.Warps, l.Divergences)
		}
	})
}

// One operation that is changed, left out or added is found where it is, and
// nowhere else.
func TestOneChangeIsFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := program(rt)
		if len(steps) == 0 {
			return
		}
		a := written(t, trace.OutcomeCompleted, steps, times(rt, steps, "a"))
		i := rapid.IntRange(0, len(steps)-1).Draw(rt, "where")
		changed := slices.Clone(steps)
		what := rapid.SampledFrom([]string{"count", "line", "added"}).Draw(rt, "what")
		switch what {
		case "count":
			changed[i].op.Count = 96
		case "line":
			changed[i].op.Line = 99
		case "added":
			extra := changed[i]
			extra.op.Line = 99
			changed = slices.Insert(changed, i, extra)
		}
		b := written(t, trace.OutcomeCompleted, changed, times(rt, changed, "b"))
		index := uint64(0)
		lowest := steps[i].lanes & -steps[i].lanes
		for _, s := range steps[:i] {
			if s.cta == steps[i].cta && s.warp == steps[i].warp && s.lanes&lowest != 0 {
				index++
			}
		}
		l := compared1(t, a, b)
		if l.Divergent != 1 || len(l.Divergences) != 1 {
			rt.Fatalf("%d warps differ, %d divergences", l.Divergent, len(l.Divergences))
		}
		d := l.First()
		if d.CTA != steps[i].cta || d.Warp != steps[i].warp || d.Lanes != steps[i].lanes || d.Index != index || d.Kind != Operation {
			rt.Fatalf("changed %s of step %d of cta %d warp %d lanes %x (operation %d of its lanes), found %+v", what, i, steps[i].cta, steps[i].warp, steps[i].lanes, index, *d)
		}
		if d.A == nil || d.B == nil || d.A.Line != steps[i].op.Line || d.B.Count != changed[i].op.Count || d.B.Line != changed[i].op.Line {
			rt.Fatalf("the operations are %+v and %+v", d.A, d.B)
		}
	})
}

func op(kind trace.Kind, line uint32) trace.Op {
	return trace.Op{Kind: kind, Addr: 64, Line: line, Has: fields(trace.FieldAddr, trace.FieldLine)}
}

// in makes the steps of warp 0 of CTA 0.
func in(ops ...trace.Op) (out []step, at []int64) {
	for i, o := range ops {
		out = append(out, step{lanes: ^uint32(0), op: o})
		at = append(at, int64(i))
	}
	return out, at
}

func TestKinds(t *testing.T) {
	phase := op(trace.KindMbarWait, 5)
	phase.Has = phase.Has.With(trace.FieldPhase)
	tests := map[string]struct {
		a, b []trace.Op
		want Kind
		says string
	}{
		"a wait that never ends": {
			[]trace.Op{op(trace.KindMbarWait, 5), op(trace.KindMbarDone, 5)}, []trace.Op{op(trace.KindMbarWait, 5)},
			Wait, "B does not come out of its wait",
		},
		"in the first": {
			[]trace.Op{op(trace.KindMbarWait, 5)}, []trace.Op{op(trace.KindMbarWait, 5), op(trace.KindMbarDone, 5)},
			Wait, "A does not come out of its wait",
		},
		"the end": {
			[]trace.Op{op(trace.KindMbarArrive, 5), op(trace.KindMbarArrive, 6)}, []trace.Op{op(trace.KindMbarArrive, 5)},
			Ends, "B ends here",
		},
		"nothing": {
			[]trace.Op{op(trace.KindMbarArrive, 5)}, nil,
			Absent, "they are not in B",
		},
		"something else": {
			[]trace.Op{op(trace.KindMbarArrive, 5)}, []trace.Op{op(trace.KindMbarWait, 5)},
			Operation, "another operation",
		},
		"elsewhere": {
			[]trace.Op{op(trace.KindMbarArrive, 5)}, []trace.Op{op(trace.KindMbarArrive, 6)},
			Operation, "another line",
		},
		"lost events": {
			[]trace.Op{op(trace.KindMbarArrive, 5)},
			[]trace.Op{{Kind: trace.KindGap, Lost: 3, Has: fields(trace.FieldLost)}, op(trace.KindMbarArrive, 6)},
			Lost, "events were lost before",
		},
	}
	for name, x := range tests {
		a, ta := in(x.a...)
		b, tb := in(x.b...)
		l := compared1(t, written(t, trace.OutcomeCompleted, a, ta), written(t, trace.OutcomeCompleted, b, tb))
		if l.Divergent != 1 || l.First().Kind != x.want {
			t.Errorf("%s: %d warps differ, %+v", name, l.Divergent, l.Divergences)
			continue
		}
		if !strings.Contains(l.First().what(), x.says) {
			t.Errorf("%s: it says %q", name, l.First().what())
		}
	}
}

// A test that failed, a mark, who ran the completion function and in how many
// parts a warp did something are no difference.
func TestWhatIsNoDifference(t *testing.T) {
	test := op(trace.KindMbarTest, 5)
	test.Has = test.Has.With(trace.FieldResult)
	mark := trace.Op{Kind: trace.KindMark, Text: "here", Has: fields(trace.FieldText)}
	arrive := op(trace.KindMbarArrive, 6)
	all := ^uint32(0)
	a := []step{{lanes: all, op: test, result: 1}, {lanes: all, op: arrive}}
	b := []step{
		{lanes: all, op: test}, {lanes: all, op: mark}, {lanes: all, op: test}, {lanes: all, op: test, result: 1},
		{lanes: 2, op: op(trace.KindCompletionBegin, 1)}, {lanes: 2, op: op(trace.KindCompletionEnd, 1)},
		{lanes: 0xffff, op: arrive}, {lanes: 0xffff0000, op: arrive},
	}
	at := []int64{1, 2, 3, 4, 5, 6, 7, 8}
	if l := compared1(t, written(t, trace.OutcomeCompleted, a, at), written(t, trace.OutcomeUnknown, b, at)); !l.Same() {
		t.Errorf("they differ: %v %+v", l.Differs, l.Divergences)
	}
	if l := compared1(t, written(t, trace.OutcomeCompleted, a, at), written(t, trace.OutcomeHung, b, at)); l.Same() || l.Divergent != 0 {
		t.Errorf("another outcome is no difference: %+v", l)
	}
}

// The answer of a reduction is an outcome; the operation is the same.
func TestOutcome(t *testing.T) {
	done := trace.Op{Kind: trace.KindBarDone, Bar: 1, Line: 3, Has: fields(trace.FieldBar, trace.FieldLine, trace.FieldResult)}
	at := []int64{1}
	l := compared1(t, written(t, "", []step{{lanes: 1, op: done, result: 4}}, at), written(t, "", []step{{lanes: 1, op: done, result: 5}}, at))
	d := l.First()
	if d == nil || d.Kind != Outcome || !slices.Equal(d.Fields, []trace.Field{trace.FieldResult}) {
		t.Errorf("divergence %+v", d)
	}
}

// What lanes did differently comes before the waits that hang because of it,
// even where those began earlier.
func TestTheCauseComesFirst(t *testing.T) {
	wait, done, arrive := op(trace.KindMbarWait, 5), op(trace.KindMbarDone, 5), op(trace.KindMbarArrive, 7)
	all := ^uint32(0)
	a := []step{{0, 0, all, wait, 0}, {0, 0, all, done, 0}, {0, 1, all, op(trace.KindEnter, 1), 0}, {0, 1, all, arrive, 0}, {0, 1, all, op(trace.KindExit, 9), 0}}
	b := []step{{0, 0, all, wait, 0}, {0, 1, all, op(trace.KindEnter, 1), 0}, {0, 1, all, op(trace.KindExit, 9), 0}}
	l := compared1(t, written(t, trace.OutcomeCompleted, a, []int64{1, 50, 2, 40, 41}), written(t, trace.OutcomeHung, b, []int64{1, 2, 41}))
	if l.Divergent != 2 || len(l.Divergences) != 2 || l.First().Warp != 1 || l.First().Kind != Operation || l.Divergences[1].Kind != Wait {
		t.Errorf("divergences %+v", l.Divergences)
	}
	var buf strings.Builder
	p := plain.NewPrinter(&buf)
	WriteText(p, "a.zst", "b.zst", &Report{Launches: []Launch{*l}}, 10)
	p.Flush()
	want := `A a.zst: launch 0, k, completed
B b.zst: launch 0, k, hung
the launches differ in: outcome
2 of 2 warps differ: 5 operations compared
first: CTA 0, w1, after 1 operation that are the same: another operation
  both enter k.cu:1 at 2 ns in A, 2 ns in B
  A    mbar.arrive mbar:0x40 k.cu:7 at 40 ns
  B    exit k.cu:9 at 41 ns
then: CTA 0, w0, after 1 operation that are the same: B does not come out of its wait
  both mbar.wait mbar:0x40 k.cu:5 at 1 ns in A, 1 ns in B
  A    mbar.done mbar:0x40 k.cu:5 at 50 ns
`
	if buf.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", buf.String(), want)
	}
}

// A launch that only one of them has is a difference.
func TestMissingLaunch(t *testing.T) {
	a, at := in(op(trace.KindMbarArrive, 5))
	with := written(t, trace.OutcomeCompleted, a, at)
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	without, err := trace.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]*trace.Reader{{with, without}, {without, with}} {
		rep, err := Compare(context.Background(), pair[0], pair[1], Options{})
		if err != nil || rep.Same() {
			t.Errorf("%+v, %v", rep, err)
		}
	}
	rep, err := Compare(context.Background(), without, without, Options{})
	if err != nil || !rep.Same() {
		t.Errorf("two empty traces: %+v, %v", rep, err)
	}
}

// BenchmarkCompare compares half a million operations with themselves, and with
// a recording that lacks the last.
func BenchmarkCompare(b *testing.B) {
	var steps []step
	var at []int64
	for i := range 500_000 {
		s := step{cta: uint32(i % 4), warp: uint32(i / 4 % 4), lanes: ^uint32(0)}
		s.op = op(trace.KindMbarArrive, uint32(i/16%9))
		steps, at = append(steps, s), append(at, int64(i))
	}
	whole := written(b, trace.OutcomeCompleted, steps, at)
	for name, other := range map[string]*trace.Reader{"same": whole, "other": written(b, trace.OutcomeHung, steps[:len(steps)-1], at)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if l := compared1(b, whole, other); l.Same() != (name == "same") {
					b.Fatal(fmt.Sprint(l.Divergences))
				}
			}
			b.ReportMetric(float64(len(steps))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
