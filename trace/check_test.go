package trace

import (
	"slices"
	"strings"
	"testing"
)

// The validating reader names the event that does not fit.
func TestCheckFindsWhatDoesNotFit(t *testing.T) {
	bar := func(n uint32) Op {
		return Op{Kind: KindBarArrive, Lanes: ^uint32(0), Bar: n, Count: 64, Has: Fields(0).With(FieldBar, FieldCount)}
	}
	at := func(seq, cta, warp uint32, o Op) Event {
		return Event{Time: int64(seq), CTA: cta, Warp: warp, Seq: seq, Op: o}
	}
	evs := []Event{
		at(1, 0, 0, bar(1)),
		at(2, 9, 0, bar(1)),
		at(3, 0, 4, bar(1)),
		at(4, 0, 0, bar(16)),
		at(5, 0, 0, Op{Kind: KindExit}),
		at(6, 0, 1, Op{Kind: KindExit, Lanes: 1 << 8}),
		{Time: 7, Seq: 5, Op: bar(1)},
		at(8, 0, 0, Op{Kind: KindGap, Lost: 3, Has: Fields(0).With(FieldLost)}),
	}
	r := open(t, recorded(t, Options{}, func(w *Writer) {
		must(t, w.Begin(Launch{Grid: Dim{2, 1, 1}, Block: Dim{40, 1, 1}}))
		must(t, w.Write(evs))
	}))
	want := []string{
		"CTA 9, warp 0, seq 2 at 2 ns: the grid has 2 CTAs",
		"CTA 0, warp 4, seq 3 at 3 ns: the CTA has 2 warps",
		"CTA 0, warp 0, seq 4 at 4 ns: named barrier 16: want 0 to 15",
		"CTA 0, warp 0, seq 5 at 5 ns: no lane did it",
		"CTA 0, warp 1, seq 6 at 6 ns: lanes 00000100 of a CTA of 40 threads",
		"CTA 0, warp 0, seq 5 at 7 ns: the warp's event before has sequence number 5",
	}
	var got []string
	for p, err := range r.Check(t.Context()) {
		must(t, err)
		got = append(got, strings.TrimPrefix(p.String(), "launch 0, "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for range r.Check(t.Context()) {
		break
	}
}

// What a writer does not take may still be in a file, and is found too.
func TestCheckFindsMissingOperands(t *testing.T) {
	f := newForge().launch()
	cols := plain(2)
	cols[colTemplates] = append(append(uvarints(1, 11), "mbar.arrive"...), append(uvarints(1, 0), 1, 0, 0, 0, 0)...)
	f.block(payload(cols), 2, 0, 1)
	n := 0
	for p, err := range open(t, f.b).Check(t.Context()) {
		must(t, err)
		if p.What != `mbar.arrive has no "addr"` {
			t.Errorf("%v", p)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d problems", n)
	}
}
