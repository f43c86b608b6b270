package trace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever events are written, in whatever order and in blocks of whatever
// size, come out in full and in stored order.
func TestEventsComeBackInStoredOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := anyEvents(3).Draw(t, "events")
		if rapid.Bool().Draw(t, "sorted") {
			evs = inOrder(evs)
		}
		o := Options{BlockRows: rapid.SampledFrom([]int{0, 1, 2, 7, 64}).Draw(t, "rows"), Fast: rapid.Bool().Draw(t, "fast")}
		flushes := rapid.SliceOf(rapid.IntRange(0, 80)).Draw(t, "flushes")
		file := recorded(t, o, func(w *Writer) {
			for id := range uint32(3) {
				must(t, w.Begin(Launch{ID: id, Kernel: "k"}))
			}
			for i := range evs {
				must(t, w.Write(evs[i:i+1]))
				if slices.Contains(flushes, i) {
					must(t, w.Flush())
				}
			}
		})
		r := open(t, file)
		must(t, r.Verify(t.Context()))
		if !r.Whole() {
			t.Fatalf("damage: %v", r.Damage())
		}
		// Events with one key may change places when blocks are merged.
		got, want := rowsOf(t, r, Query{}), inOrder(evs)
		if !slices.IsSortedFunc(got, func(a, b Event) int { return a.Compare(&b) }) {
			t.Fatalf("not in stored order:\n%s", lines(got))
		}
		byLine := func(a, b Event) int {
			if c := a.Compare(&b); c != 0 {
				return c
			}
			return strings.Compare(lines([]Event{a}), lines([]Event{b}))
		}
		slices.SortFunc(got, byLine)
		slices.SortFunc(want, byLine)
		sameEvents(t, got, want)
	})
}

// What is exported and imported again is the same trace.
func TestLinesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := inOrder(anyEvents(2).Draw(t, "events"))
		for i := range evs {
			evs[i].Implied = 0
		}
		file := recorded(t, Options{}, func(w *Writer) {
			must(t, w.Begin(Launch{ID: 0, Kernel: "a", Grid: Dim{3, 2, 1}, Observes: []string{}, Extra: `"sms":132`}))
			must(t, w.Begin(Launch{ID: 1, Kernel: "b", Mangled: "_Z1b", Shared: 49152, Cluster: Dim{2, 1, 1}}))
			must(t, w.Write(evs))
			must(t, w.End(1, "trap:illegal instruction", `"took":5`))
		})
		first := exported(t, open(t, file), Query{})
		again := open(t, imported(t, first, Options{}))
		if second := exported(t, again, Query{}); first != second {
			t.Fatalf("exported\n%s\nimported and exported\n%s", first, second)
		}
		got, want := rowsOf(t, again, Query{}), rowsOf(t, open(t, file), Query{})
		sameEvents(t, got, want)
	})
}

// Recordings of real launches come out of a trace byte for byte.
func TestRecordingsComeBackByteForByte(t *testing.T) {
	paths, err := filepath.Glob("testdata/h100/*.ndjson")
	must(t, err)
	if len(paths) < 8 {
		t.Fatalf("%d recordings", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in, err := os.ReadFile(path)
			must(t, err)
			for _, rows := range []int{0, 5} {
				r := open(t, imported(t, string(in), Options{BlockRows: rows}))
				if out := exported(t, r, Query{}); out != string(in) {
					t.Errorf("blocks of %d rows: the export differs", rows)
				}
				if n := strings.Count(string(in), "\n") - 2; r.Info().Rows != uint64(n) {
					t.Errorf("%d rows of %d", r.Info().Rows, n)
				}
				for p, err := range r.Check(t.Context()) {
					t.Errorf("%v %v", p, err)
				}
			}
		})
	}
}

func TestBlockSaysWhereItStands(t *testing.T) {
	file := recorded(t, Options{BlockRows: 10}, func(w *Writer) {
		for id := range uint32(2) {
			must(t, w.Begin(Launch{ID: id}))
			for i := range 35 {
				must(t, w.Write([]Event{{Launch: id, Time: int64(i), Seq: uint32(i), Op: Op{Kind: KindEnter, Lanes: 1}}}))
			}
		}
	})
	r := open(t, file)
	if r.NumBlocks() < 8 {
		t.Fatalf("%d blocks", r.NumBlocks())
	}
	next := map[uint32]uint64{}
	for b, err := range r.Blocks(t.Context(), Query{}) {
		must(t, err)
		if b.First != next[b.Launch] || b.Seq[0] != uint32(b.First) {
			t.Errorf("block %d of launch %d begins with row %d, want %d", b.Index, b.Launch, b.First, next[b.Launch])
		}
		next[b.Launch] += uint64(b.Len())
		same, err := r.ReadBlock(b.Index)
		must(t, err)
		if same.First != b.First || same.Launch != b.Launch || !slices.Equal(same.Time, b.Time) {
			t.Errorf("block %d read alone differs", b.Index)
		}
	}
	if next[0] != 35 || next[1] != 35 {
		t.Errorf("rows: %v", next)
	}
	if _, err := r.ReadBlock(r.NumBlocks()); err == nil {
		t.Error("there is a block after the last")
	}
}

func TestInfoCounts(t *testing.T) {
	file := recorded(t, Options{BlockRows: 4}, func(w *Writer) {
		must(t, w.Begin(Launch{ID: 7, Kernel: "k"}))
		for i := range 9 {
			must(t, w.Write([]Event{{Launch: 7, Time: int64(100 + i), Seq: uint32(i), Op: Op{Kind: KindEnter, Lanes: 0xff}}}))
		}
		must(t, w.End(7, OutcomeHung, ""))
		must(t, w.Begin(Launch{ID: 8}))
	})
	r := open(t, file)
	in := r.Info()
	if in.Major != 1 || in.Size != int64(len(file)) || in.Rows != 9 || in.ThreadEvents != 72 || !in.Whole || in.Blocks != r.NumBlocks() {
		t.Errorf("%+v", in)
	}
	if len(in.Launches) != 2 || in.Launches[0].First != 100 || in.Launches[0].Last != 108 || in.Launches[1].Rows != 0 {
		t.Errorf("%+v", in.Launches)
	}
	ls := r.Launches()
	if ls[0].Outcome != OutcomeHung || !ls[0].Ended || ls[1].Outcome != OutcomeUnknown || ls[1].Ended {
		t.Errorf("%+v", ls)
	}
}
