package trace

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A query that groups gives the same blocks, each group by group, and the rows
// of a group as they come without.
func TestQueryGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := anyEvents(2).Draw(t, "events")
		if rapid.Bool().Draw(t, "sorted") {
			evs = inOrder(evs)
		}
		file := recorded(t, Options{BlockRows: rapid.IntRange(1, 40).Draw(t, "rows")}, func(w *Writer) {
			must(t, w.Begin(Launch{ID: 0}))
			must(t, w.Begin(Launch{ID: 1}))
			must(t, w.Write(evs))
		})
		r := open(t, file)
		q := anyQuery(evs).Draw(t, "query")
		if rapid.Bool().Draw(t, "all") {
			q = Query{Launch: q.Launch}
		}
		grouped := q
		grouped.Group = rapid.SampledFrom([]func(uint32) uint32{
			func(cta uint32) uint32 { return cta },
			func(cta uint32) uint32 { return ^cta },
			func(cta uint32) uint32 { return cta % 2 },
			func(uint32) uint32 { return 7 },
		}).Draw(t, "group")
		next, stop := iter.Pull2(r.Blocks(context.Background(), grouped))
		defer stop()
		for b, err := range r.Blocks(context.Background(), q) {
			must(t, err)
			g, err, ok := next()
			must(t, err)
			if !ok || g.First != b.First || g.Launch != b.Launch || len(b.Groups) > 0 {
				t.Fatalf("block of launch %d from row %d: %v, launch %d, from row %d; %d groups without asking", b.Launch, b.First, ok, g.Launch, g.First, len(b.Groups))
			}
			want := rowsIn(b)
			slices.SortStableFunc(want, func(x, y Event) int { return cmp.Compare(grouped.Group(x.CTA), grouped.Group(y.CTA)) })
			sameEvents(t, rowsIn(g), want)
			var groups []Group
			for i := range want {
				if n := grouped.Group(want[i].CTA); len(groups) == 0 || groups[len(groups)-1].Number != n {
					groups = append(groups, Group{Number: n})
				}
				groups[len(groups)-1].End = i + 1
			}
			if !slices.Equal(g.Groups, groups) {
				t.Fatalf("groups %v, want %v", g.Groups, groups)
			}
		}
		if _, _, ok := next(); ok {
			t.Fatal("more blocks than without groups")
		}
	})
}

func rowsIn(b *Block) []Event {
	all := make([]Event, b.Len())
	for i := range all {
		b.Event(i, &all[i])
	}
	return all
}
