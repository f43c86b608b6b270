package pairs

import (
	"slices"
	"strings"

	"btrace/trace"
)

// Fault is something that a recorder does wrong. Apply is given the events of a
// faultless recording, in the order of each warp, and returns what the
// recorder leaves of them, in the same slice where it can.
type Fault struct {
	Name  string // what it is, to follow "the recorder …"
	Cut   bool   // the recording ends before the launch does
	Apply func([]trace.Event) []trace.Event
}

// forgets is a recorder that does not see what one warp, the first that does
// anything of these kinds, does of them.
func forgets(kinds ...trace.Kind) *Fault {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return &Fault{
		Name: "misses one warp's " + strings.Join(names, ", "),
		Apply: func(events []trace.Event) []trace.Event {
			first := find(events, kinds[0])
			return renumber(slices.DeleteFunc(events, func(e trace.Event) bool {
				return slices.Contains(kinds, e.Kind) && sameWarp(&e, &first)
			}))
		},
	}
}

// recordsLate is a recorder that writes the first event of a kind after it
// has had its effect on others.
func recordsLate(kind trace.Kind) *Fault {
	return &Fault{
		Name: "notes the " + kind.String() + " only after others have gone on by it",
		Apply: func(events []trace.Event) []trace.Event {
			first := find(events, kind)
			for i := range events {
				if e := &events[i]; sameWarp(e, &first) && e.Seq >= first.Seq {
					e.Time += 10_000
				}
			}
			return events
		},
	}
}

// wrongResult is a recorder that notes another result of a reduction than
// the barrier gave.
func wrongResult() *Fault {
	return &Fault{
		Name: "notes one more than the barrier returned",
		Apply: func(events []trace.Event) []trace.Event {
			i := index(events, trace.KindBarDone)
			events[i].Result++
			return events
		},
	}
}

// completesTwice is a recording of a barrier that runs its completion
// function a second time in a phase.
func completesTwice() *Fault {
	return &Fault{
		Name: "has the completion function run twice in the first phase",
		Apply: func(events []trace.Event) []trace.Event {
			begin, end := index(events, trace.KindCompletionBegin), index(events, trace.KindCompletionEnd)
			return renumber(slices.Insert(events, end+1, events[begin], events[end]))
		},
	}
}

// completesFirst is a recording of a barrier that runs its completion
// function before the last thread has arrived.
func completesFirst() *Fault {
	return &Fault{
		Name: "has the completion function run before its thread arrives",
		Apply: func(events []trace.Event) []trace.Event {
			begin, end := index(events, trace.KindCompletionBegin), index(events, trace.KindCompletionEnd)
			function := []trace.Event{events[begin], events[end]}
			arrive := index(events, trace.KindMbarArrive)
			for i := range function {
				function[i].Time = events[arrive].Time
			}
			events = slices.Delete(events, begin, end+1)
			return renumber(slices.Insert(events, arrive, function...))
		},
	}
}

// drops is a recorder that lost an event on the way, and says so.
func drops() *Fault {
	return &Fault{
		Name: "lost an event, and says so",
		Apply: func(events []trace.Event) []trace.Event {
			lost := find(events, trace.KindBarSync)
			gap := trace.Event{Time: lost.Time, Launch: lost.Launch, CTA: lost.CTA, Warp: lost.Warp, Seq: lost.Seq}
			gap.Kind, gap.Lanes, gap.Lost = trace.KindGap, lost.Lanes, 1
			gap.Has = gap.Has.With(trace.FieldLost)
			events[index(events, trace.KindBarSync)] = gap
			return events
		},
	}
}

// cut is a recorder that was killed.
func cut() *Fault {
	return &Fault{
		Name: "was killed half way",
		Cut:  true,
		Apply: func(events []trace.Event) []trace.Event {
			return events[:index(events, trace.KindBarDone)]
		},
	}
}

// index is the first event of a kind. A fault is made for kernels that have
// one.
func index(events []trace.Event, kind trace.Kind) int {
	return slices.IndexFunc(events, func(e trace.Event) bool { return e.Kind == kind })
}

func find(events []trace.Event, kind trace.Kind) trace.Event { return events[index(events, kind)] }

func sameWarp(a, b *trace.Event) bool { return a.CTA == b.CTA && a.Warp == b.Warp }

// renumber gives the events of every warp consecutive numbers again, so that
// nothing tells that one is missing or new.
func renumber(events []trace.Event) []trace.Event {
	next := make(map[[2]uint32]uint32)
	for i := range events {
		e := &events[i]
		w := [2]uint32{e.CTA, e.Warp}
		e.Seq = next[w]
		next[w]++
	}
	return events
}
