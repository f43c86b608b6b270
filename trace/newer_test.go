package trace

import (
	"slices"
	"strings"
	"testing"
)

// newerTemplates is what a writer of a later minor version may store: a kind
// and operands that this version does not know, in every form.
func newerTemplates() []byte {
	strs := []string{"mbar.peek", "depth", "skew", "mode", "fast", "wide", "mbar.arrive", "addr", "sem", "seq_cst", "extra"}
	b := uvarints(uint64(len(strs)))
	for _, s := range strs {
		b = append(append(b, uvarints(uint64(len(s)))...), s...)
	}
	b = append(b, uvarints(2)...)
	b = append(append(b, uvarints(0)...), 1, 0, 0, 0)
	b = append(b, uvarints(5, 1, uint64(formUint), 7, 2, uint64(formNeg), 9, 3, uint64(formText), 4, 4, uint64(formTrue), 5, uint64(formFalse))...)
	b = append(append(b, uvarints(6)...), 1, 0, 0, 0)
	return append(b, uvarints(3, 7, uint64(formUint), 64, 8, uint64(formText), 9, 10, uint64(formColumn))...)
}

// What a later minor version writes is read: frames and ends of heads that
// are unknown are passed over, kinds and operands are kept by name.
func TestNewerMinorVersion(t *testing.T) {
	cols := plain(4)
	cols[colTemplates] = newerTemplates()
	cols[colOp] = []byte{0, 1, 0, 1}
	cols[colTime] = append(append(uvarints(1, 1, 1), 1), 0, 0, 0)
	cols[colExtra] = append(append(append(uvarints(2), uvarints(5)...), `"a":1`...), append(append(uvarints(5), `"b":2`...), 0, 1)...)
	f := newForge().launch().frame(head{Type: 50, Own: []byte("of tomorrow")}, []byte("data"), nil)
	f.block(payload(cols), 4, 0, 3)
	f.frame(head{Type: FrameLaunchEnd, Own: make([]byte, 16)}, []byte(`{"type":"launch_end","launch":0,"outcome":"completed","by":"x"}`), nil)
	r := open(t, f.close(totals{rows: 4, blocks: 1, launches: 1, threads: 0}))
	if !r.Whole() {
		t.Fatalf("%v", r.Damage())
	}
	want := []string{
		`"op":"mbar.peek","depth":7,"skew":-9,"mode":"fast","fast":true,"wide":false}`,
		`"op":"mbar.arrive","addr":64,"a":1,"sem":"seq_cst"}`,
		`"op":"mbar.peek","depth":7,"skew":-9,"mode":"fast","fast":true,"wide":false}`,
		`"op":"mbar.arrive","addr":64,"b":2,"sem":"seq_cst"}`,
	}
	var got []string
	for _, e := range rowsOf(t, r, Query{}) {
		line := string(AppendNDJSON(nil, &e))
		got = append(got, line[strings.Index(line, `"op"`):])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if l := r.Launches()[0]; l.Outcome != OutcomeCompleted || l.EndExtra != `"by":"x"` {
		t.Errorf("%+v", l)
	}
}
