// Package diff compares two recordings of the same program and finds where
// they part: launch by launch, warp by warp, in the order in which each lane
// did its operations.
//
// Two recordings are the same if every lane did the same operations, with the
// same operands, at the same places, in the same phases and with the same
// answers, and came out of the same waits. When it did so, in which order
// different warps did, and which lanes of a warp acted together, is no
// difference; nor is how often a test failed before it succeeded, which lane
// ran a completion function, or the hardware's state words. Marks are not
// compared.
//
// A trace is read a few times from end to end, and both at once. What is kept
// grows with the warps, not with the events.
//
// The package does not replay: it says where two runs part, not which of them
// is right.
package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"btrace/replay"
	"btrace/trace"
)

// Kind says how two recordings part.
type Kind string

// The kinds, those that explain most first.
const (
	// Operation: the lanes did something else, or the same elsewhere.
	Operation Kind = "operation"
	// Outcome: they did the same, in another phase or with another answer.
	Outcome Kind = "outcome"
	// Ends: one recording of the lanes ends where the other goes on.
	Ends Kind = "ends"
	// Wait: they came out of a wait in one recording and not in the other.
	Wait Kind = "wait"
	// Absent: only one recording has anything of the lanes.
	Absent Kind = "absent"
	// Lost: they differ, but events of them were lost before.
	Lost Kind = "lost"
)

var ranks = map[Kind]int{Operation: 0, Outcome: 1, Ends: 2, Wait: 3, Absent: 4, Lost: 5}

// Divergence is where the recordings of lanes of a warp part.
type Divergence struct {
	CTA, Warp, Lanes uint32
	Kind             Kind
	// Index is how many operations of the lowest of the lanes are the same
	// before.
	Index uint64
	// LastA and LastB are the last operation of that lane that is the same;
	// nil where there is none.
	LastA, LastB *trace.Event
	// A and B are what follows it; nil where nothing does.
	A, B *trace.Event
	// Fields are the operands in which A and B differ. They are empty where
	// already the operations do.
	Fields []trace.Field
}

// Launch is the comparison of the launches of the same number.
type Launch struct {
	A, B *trace.Launch // nil where the trace has no such launch
	// Differs lists what of the launches themselves differs: kernel, grid,
	// block, cluster, outcome.
	Differs []string
	// Operations is how many warp operations were compared, of the trace that
	// has more.
	Operations uint64
	Warps      int // that either has
	Divergent  int // of them, those that differ
	// Divergences has the one that happened first first: what the lanes did
	// differently comes before the waits that never ended because of it.
	Divergences []Divergence
}

// First is the divergence that comes before all others; nil for none.
func (l *Launch) First() *Divergence {
	if len(l.Divergences) == 0 {
		return nil
	}
	return &l.Divergences[0]
}

// Same reports that the launches do not differ.
func (l *Launch) Same() bool {
	return l.A != nil && l.B != nil && len(l.Differs) == 0 && l.Divergent == 0
}

// Report is the comparison of two traces.
type Report struct {
	Launches []Launch
}

// Same reports that the traces do not differ.
func (r *Report) Same() bool {
	return !slices.ContainsFunc(r.Launches, func(l Launch) bool { return !l.Same() })
}

// Options says what is compared. The zero value is everything.
type Options struct {
	Launch *uint32 // only the launches with this id
}

// Compare compares two traces.
func Compare(ctx context.Context, a, b replay.Source, opt Options) (*Report, error) {
	rep := &Report{}
	as, bs := wanted(a, opt), wanted(b, opt)
	for i := range max(len(as), len(bs)) {
		var l Launch
		if i < len(as) {
			l.A = &as[i]
		}
		if i < len(bs) {
			l.B = &bs[i]
		}
		if l.A != nil && l.B != nil {
			l.Differs = different(l.A, l.B)
			c := &comparison{a: side{src: a, id: l.A.ID}, b: side{src: b, id: l.B.ID}, out: &l}
			if err := c.run(ctx); err != nil {
				return nil, fmt.Errorf("launch %d: %w", l.A.ID, err)
			}
		}
		rep.Launches = append(rep.Launches, l)
	}
	return rep, nil
}

func wanted(src replay.Source, opt Options) []trace.Launch {
	var out []trace.Launch
	for _, l := range src.Launches() {
		if opt.Launch == nil || *opt.Launch == l.ID {
			out = append(out, l)
		}
	}
	return out
}

// different lists what two launches differ in. An outcome that is not known is
// not another one.
func different(a, b *trace.Launch) []string {
	var out []string
	add := func(what string, differs bool) {
		if differs {
			out = append(out, what)
		}
	}
	add("kernel", a.Kernel != b.Kernel)
	add("grid", !same(a.Grid, b.Grid))
	add("block", !same(a.Block, b.Block))
	add("cluster", !same(a.Cluster, b.Cluster))
	unknown := func(o trace.Outcome) bool { return o == "" || o == trace.OutcomeUnknown }
	add("outcome", a.Outcome != b.Outcome && !unknown(a.Outcome) && !unknown(b.Outcome))
	return out
}

// same compares extents, of which none and one are the same.
func same(a, b trace.Dim) bool {
	for i := range a {
		if max(a[i], 1) != max(b[i], 1) {
			return false
		}
	}
	return true
}

// classify says how the recordings part, once it is known where.
func (d *Divergence) classify(lost bool) {
	switch {
	case lost:
		d.Kind = Lost
	case d.A != nil && d.B != nil:
		d.Kind, d.Fields = compareOps(d.A, d.B)
	case d.Index == 0:
		d.Kind = Absent
	case d.A == nil && waits(d.LastA) || d.B == nil && waits(d.LastB):
		d.Kind = Wait
	default:
		d.Kind = Ends
	}
}

// waits reports whether an operation is followed by nothing before a wait is
// over.
func waits(e *trace.Event) bool {
	switch e.Kind {
	case trace.KindBarSync, trace.KindBarRed, trace.KindMbarWait, trace.KindClusterWait, trace.KindGroupWait, trace.KindSyncwarp:
		return true
	}
	return false
}

// time is when it shows in the second recording, or else in the first.
func (d *Divergence) time() int64 {
	for _, e := range []*trace.Event{d.B, d.LastB, d.A, d.LastA} {
		if e != nil {
			return e.Time
		}
	}
	return 0
}

func (d *Divergence) compare(o *Divergence) int {
	return cmp.Or(cmp.Compare(ranks[d.Kind], ranks[o.Kind]), cmp.Compare(d.time(), o.time()),
		cmp.Compare(d.CTA, o.CTA), cmp.Compare(d.Warp, o.Warp), cmp.Compare(d.Lanes, o.Lanes))
}
