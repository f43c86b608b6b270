package trace

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// matches is what a query means, row by row.
func (q *Query) matches(e *Event) bool {
	in := func(list []uint32, v uint32) bool { return len(list) == 0 || slices.Contains(list, v) }
	return (q.Launch == nil || *q.Launch == e.Launch) &&
		(q.From == 0 || e.Time >= q.From) && (q.To == 0 || e.Time < q.To) &&
		in(q.CTAs, e.CTA) && in(q.Warps, e.Warp) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) &&
		(len(q.Barriers) == 0 || slices.Contains(q.Barriers, e.Op.Barrier(e.Warp)))
}

func anyQuery(evs []Event) *rapid.Generator[Query] {
	return rapid.Custom(func(t *rapid.T) Query {
		var q Query
		one := func(label string) *Event {
			if len(evs) == 0 || rapid.IntRange(0, 9).Draw(t, label+"?") == 0 {
				return &Event{Time: 3, CTA: 5, Op: Op{Kind: KindBarSync, Bar: 9}}
			}
			return &evs[rapid.IntRange(0, len(evs)-1).Draw(t, label)]
		}
		has := func(label string) bool { return rapid.IntRange(0, 2).Draw(t, label) == 0 }
		if has("launch") {
			q.Launch = &one("of").Launch
		}
		if has("from") {
			q.From = one("from").Time
		}
		if has("to") {
			q.To = one("to").Time
		}
		if has("ctas") {
			q.CTAs = []uint32{one("cta").CTA, one("cta2").CTA}
		}
		if has("warps") {
			q.Warps = []uint32{one("warp").Warp}
		}
		if has("kinds") {
			q.Kinds = []Kind{one("kind").Kind, one("kind2").Kind}
		}
		if has("barriers") {
			e := one("barrier")
			q.Barriers = []Barrier{e.Op.Barrier(e.Warp)}
		}
		return q
	})
}

// A query gives the rows that match, and no others, however the blocks lie.
func TestQueryGivesWhatMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := anyEvents(2).Draw(t, "events")
		if rapid.Bool().Draw(t, "sorted") {
			evs = inOrder(evs)
		}
		file := recorded(t, Options{BlockRows: rapid.IntRange(1, 9).Draw(t, "rows")}, func(w *Writer) {
			must(t, w.Begin(Launch{ID: 0}))
			must(t, w.Begin(Launch{ID: 1}))
			must(t, w.Write(evs))
		})
		r := open(t, file)
		all := rowsOf(t, r, Query{})
		q := anyQuery(all).Draw(t, "query")
		var stats QueryStats
		q.Stats = &stats
		got := rowsOf(t, r, q)
		want := slices.DeleteFunc(slices.Clone(all), func(e Event) bool { return !q.matches(&e) })
		sameEvents(t, got, want)
		if stats.Blocks != r.NumBlocks() || stats.Rows != len(got) {
			t.Fatalf("stats %+v: %d blocks, %d rows", stats, r.NumBlocks(), len(got))
		}
	})
}

// pipelineFile is a trace of CTAs that run one after the other, four at a
// time, as those of a large grid do.
func pipelineFile(t tb) (*Reader, []Event) {
	t.Helper()
	s := synthetic{CTAs: 4, Stages: 2, Rounds: 6}
	var all []Event
	for wave := range 8 {
		for _, e := range s.events() {
			e.CTA += uint32(4 * wave)
			e.Time += int64(wave) * 40_000
			if wave == 5 && e.Kind == KindMbarCopy {
				e.Addr += 0x1000
			}
			all = append(all, e)
		}
	}
	all = inOrder(all)
	return open(t, recorded(t, Options{BlockRows: 512}, func(w *Writer) {
		must(t, w.Begin(s.launch()))
		must(t, w.Write(all))
	})), all
}

// A query by time, CTA or barrier decodes only the blocks that it needs.
func TestQueryDecodesFewBlocks(t *testing.T) {
	r, all := pipelineFile(t)
	for name, q := range map[string]Query{
		"time":    {From: 80_000, To: 81_000},
		"cta":     {CTAs: []uint32{9}},
		"barrier": {Barriers: []Barrier{{Kind: BarrierMbar, ID: 0x1400}}},
		"nothing": {Barriers: []Barrier{{Kind: BarrierMbar, ID: 0x9999}}},
		"kind":    {Kinds: []Kind{KindGap}},
		"warp":    {Warps: []uint32{40}},
	} {
		var stats QueryStats
		q.Stats = &stats
		rows := rowsOf(t, r, q)
		want := slices.DeleteFunc(slices.Clone(all), func(e Event) bool { return !q.matches(&e) })
		sameEvents(t, rows, want)
		limit := stats.Blocks / 4
		if len(want) == 0 {
			limit = 0
		}
		if stats.Decoded > limit || stats.Blocks < 15 {
			t.Errorf("%s: %d of %d blocks decoded for %d rows", name, stats.Decoded, stats.Blocks, stats.Rows)
		}
	}
}

// Rows keep their numbers in the launch, whatever is asked for.
func TestQueryNumbersRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	evs := make([]Event, 3000)
	for i := range evs {
		evs[i] = Event{Time: int64(i), CTA: uint32(i % 3), Seq: uint32(i), Op: Op{Kind: KindEnter, Lanes: 1}}
	}
	shuffled := slices.Clone(evs)
	for i := range shuffled { // a disorder of a few hundred rows: blocks overlap
		j := min(len(shuffled)-1, i+rng.IntN(300))
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	}
	for name, in := range map[string][]Event{"sorted": evs, "unsorted": shuffled} {
		r := open(t, recorded(t, Options{BlockRows: 40}, func(w *Writer) {
			must(t, w.Begin(Launch{}))
			must(t, w.Write(in))
		}))
		for _, q := range []Query{{}, {From: 1000, To: 2000}, {CTAs: []uint32{2}}, {From: 777, Warps: []uint32{0}}} {
			n := 0
			for b, err := range r.Blocks(t.Context(), q) {
				must(t, err)
				if b.First != uint64(b.Time[0]) {
					t.Fatalf("%s: row %d is numbered %d", name, b.Time[0], b.First)
				}
				n += b.Len()
			}
			if n == 0 {
				t.Errorf("%s: nothing for %+v", name, q)
			}
		}
	}
}

// Events in any order are put in order, as deep as blocks may overlap; what
// is further out of order is refused when it is written.
func TestDeepDisorder(t *testing.T) {
	write := func(blocks int) (*Reader, error) {
		var err error
		file := recordedWith(t, Options{BlockRows: 8}, func(w *Writer) {
			for i := 0; i < blocks && err == nil; i++ {
				for k := range 8 { // every block spans the whole time
					e := Event{Time: int64(k*10_000 + i), Warp: uint32(i), Seq: uint32(k), Op: Op{Kind: KindEnter, Lanes: 1}}
					if err = w.Write([]Event{e}); err != nil {
						return
					}
				}
				err = w.Flush()
			}
		})
		if err != nil {
			return nil, err
		}
		return open(t, file), nil
	}
	for _, n := range []int{2, 3, 4, 30, MaxOverlap} {
		r, err := write(n)
		must(t, err)
		rows := rowsOf(t, r, Query{})
		if len(rows) != 8*n || !slices.IsSortedFunc(rows, func(a, b Event) int { return a.Compare(&b) }) {
			t.Errorf("%d blocks: %d rows", n, len(rows))
		}
	}
	if _, err := write(MaxOverlap + 1); err == nil || !strings.Contains(err.Error(), "sort them by time") {
		t.Errorf("deeper: %v", err)
	}
}

// recordedWith is recorded for a writer that may fail: then it is not closed.
func recordedWith(t tb, o Options, fill func(w *Writer)) []byte {
	t.Helper()
	b := &limitedBuffer{limit: 1 << 30}
	o.MaxAge = -1
	w, err := NewWriter(b, o)
	must(t, err)
	must(t, w.Begin(Launch{}))
	fill(w)
	w.Close()
	return b.bytes()
}

func TestBlocksStopsWhenAsked(t *testing.T) {
	r, _ := pipelineFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range r.Blocks(ctx, Query{}) {
		if last = err; err != nil {
			break
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if n != 3 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d blocks, then %v", n, last)
	}
	var stats QueryStats
	for range r.Blocks(t.Context(), Query{Stats: &stats}) {
		break
	}
	if stats.Decoded != 1 {
		t.Errorf("%d blocks decoded for the first", stats.Decoded)
	}
}

// Several goroutines may read at once.
func TestConcurrentReaders(t *testing.T) {
	r, all := pipelineFile(t)
	done := make(chan int)
	for i := range 4 {
		go func() {
			n := 0
			for b, err := range r.Blocks(context.Background(), Query{}) {
				if err != nil {
					break
				}
				n += b.Len()
				if _, err := r.ReadBlock(i); err != nil {
					break
				}
			}
			done <- n
		}()
	}
	for range 4 {
		if n := <-done; n != len(all) {
			t.Errorf("%d rows of %d", n, len(all))
		}
	}
}
