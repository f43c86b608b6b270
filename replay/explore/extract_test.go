package explore

import (
	"testing"

	"btrace/trace"
)

// What an event does in another schedule, by kind: an operation of the
// program, or nothing, since it tells of another or of what the schedule
// decides. A kind that is missing here is one that Extract and Machine do not
// know of.
var operations = map[trace.Kind]bool{
	trace.KindUnknown: false, trace.KindEnter: false, trace.KindExit: false, trace.KindTrap: false, trace.KindMark: false, trace.KindGap: false,
	trace.KindBarArrive: true, trace.KindBarSync: true, trace.KindBarRed: true, trace.KindBarDone: false,
	trace.KindMbarInit: true, trace.KindMbarInval: true, trace.KindMbarArrive: true, trace.KindMbarArriveDrop: true,
	trace.KindMbarArriveNoComplete: true, trace.KindMbarArriveExpectTx: true, trace.KindMbarExpectTx: true, trace.KindMbarCompleteTx: true,
	trace.KindMbarCopy: true, trace.KindMbarCpAsyncArrive: true, trace.KindMbarWait: true, trace.KindMbarTest: true, trace.KindMbarDone: false,
	trace.KindCompletionBegin: true, trace.KindCompletionEnd: true,
	trace.KindClusterArrive: true, trace.KindClusterWait: true, trace.KindClusterDone: false,
	trace.KindGroupArrive: true, trace.KindGroupWait: true, trace.KindGroupDone: false,
	trace.KindSyncwarp: true, trace.KindSyncwarpDone: false,
}

func TestEveryOperationIsKnown(t *testing.T) {
	for _, k := range trace.Kinds() {
		want, known := operations[k.Kind]
		if !known {
			t.Errorf("%s: say in Extract, and in Machine, what it does in another schedule", k.Name)
			continue
		}
		x := &extraction{p: &Program{Threads: 32, CTAs: 1, Functions: make(map[uint64]bool)}, ctas: []uint32{5}}
		x.begin()
		e := trace.Event{CTA: 5, Result: 1, Op: trace.Op{Kind: k.Kind, Lanes: ^uint32(0), Count: 1, Mask: ^uint32(0), Addr: 64, Owner: 5, Group: "block"}}
		e.Has = e.Has.With(k.Required...).With(trace.FieldResult) // a test that fails decides nothing
		if got := x.row(&e) == 1; got != want {
			t.Errorf("%s: an operation of the program: %v, want %v", k.Name, got, want)
		}
	}
}

// TestEveryOperationDoesSomething: a Machine that does not know an operation
// goes on as if nothing had happened.
func TestEveryOperationDoesSomething(t *testing.T) {
	init := Op{Op: trace.Op{Kind: trace.KindMbarInit, Addr: 64, Count: 2}}
	for kind, is := range operations {
		switch {
		case !is, kind == trace.KindMbarWait, kind == trace.KindMbarTest, kind == trace.KindCompletionBegin:
			continue // these only wait for others
		}
		op := Op{Op: trace.Op{Kind: kind, Addr: 64, Count: 1, Bytes: 16, Mask: ^uint32(0), Group: "block", Has: trace.Fields(0).With(trace.FieldBytes)}}
		if kind == trace.KindBarSync || kind == trace.KindBarRed || kind == trace.KindBarArrive {
			op.Count = 64
		}
		p := &Program{Threads: 64, CTAs: 1, Functions: make(map[uint64]bool)}
		p.Strands = []Strand{{Lanes: 1, Ops: []Op{init, op}}, {Warp: 1, Lanes: ^uint32(0)}}
		if kind == trace.KindCompletionEnd {
			p.Functions[64] = true
			arrive := Op{Op: trace.Op{Kind: trace.KindMbarArrive, Addr: 64, Count: 2}}
			begin := Op{Op: trace.Op{Kind: trace.KindCompletionBegin, Addr: 64}}
			p.Strands[0].Ops = []Op{init, arrive, begin, op}
		}
		m := NewMachine(p)
		for range len(p.Strands[0].Ops) - 1 {
			m.Do(0)
		}
		before := m.Key()
		m.strands[0].pc++ // as if it were done, but for what it does
		idle := m.Key()
		m.strands[0].pc--
		m.Do(0)
		if after := m.Key(); after == before || after == idle && m.Bad == "" {
			t.Errorf("%s changes nothing", kind)
		}
	}
}
