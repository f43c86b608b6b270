package stats

import (
	"context"
	"math"

	"btrace/replay"
	"btrace/trace"
)

// Options says what is wanted. The zero value is everything.
type Options struct {
	Launch  *uint32        // only this launch
	Barrier *trace.Barrier // only this barrier, in every CTA
	Phases  int            // how many of the costliest phases of a barrier are kept; 0 means 10
	Workers int            // as in replay.Options
}

// Report is the statistics of a trace.
type Report struct {
	Launches []Launch
}

// Launch is the statistics of a launch.
type Launch struct {
	trace.Launch
	CTAs, Warps uint64 // that used a barrier
	// Active is the time of all warps between the first and the last barrier
	// operation of each, ns; Waiting is how much of it they were in a wait.
	Active, Waiting int64
	Waits           Waits
	Barriers        []Barrier // those with waits without end first, then by the time waited
	Sites           []Site    // in the same order
	Stages          []Stage   // by their full barrier
	// Partial is how many CTAs could not be replayed to their end: their
	// events cannot be put in order.
	Partial uint64
}

// Waits are the waits of a barrier, a phase or a site.
type Waits struct {
	Distribution        // those that ended
	Open         uint64 // those whose end is not recorded
	Since        int64  // when the first of those began
}

// Barrier is the statistics of the barriers of one name.
type Barrier struct {
	// Barrier is the name. The warps' own (syncwarp) are counted as one, of
	// Kind BarrierWarp, unless one was asked for; Kind is BarrierNone for those
	// that were too many to tell apart.
	trace.Barrier
	CTAs   uint64 // that own one; for the warps' own: warps
	Waits  Waits
	Phases uint64 // completed
	// Spread is the time between the first and the last arrival in a phase.
	Spread Distribution
	// Late is who arrived last in the phases, the costliest first. Others is
	// the same of those that are too many to list.
	Late   []Latecomer
	Others Latecomer
	// Costly is the phases that were waited for the longest, those with waits
	// without end first.
	Costly []Phase
}

// Latecomer is a warp that was the last to arrive in phases.
type Latecomer struct {
	Rank uint32 // of its CTA in its cluster; the CTA, for a barrier of the grid
	Warp uint32
	// Bytes is true where the bytes of asynchronous copies came last, not a
	// warp.
	Bytes bool
	Times uint64 // phases
	// Total and Max are the times, in ns, in which somebody waited for nothing
	// else any more.
	Total, Max int64
}

// Phase is one phase of a barrier.
type Phase struct {
	CTA       uint32 // that owns the barrier
	Phase     uint64
	Completed bool
	Waits     uint64 // those that ended
	Open      uint64 // those whose end is not recorded
	Total     int64  // time waited, ns
	Max       int64  // the longest wait, ns
	First     int64  // time of the first arrival or wait
	Spread    int64  // from the first to the last arrival, ns
	Arrivals  uint64
	Expected  uint64       // arrivals that it needs; 0: not known
	Last      replay.Lanes // who arrived last
	Bytes     bool         // bytes came last
	Late      int64        // time in which somebody waited for nothing else, ns
}

// Site is a place in the source, or in the binary, at which warps wait.
type Site struct {
	replay.Location
	Kind  trace.BarrierKind // of the barriers that are waited on there
	Waits Waits
}

// Stage is a stage of a pipeline: a pair of mbarriers by which a producer says
// that it is full and the consumers that it is empty again.
type Stage struct {
	Full, Empty trace.Barrier
	CTAs        uint64
	Fills       uint64
	// Busy is the time from the completion of a phase of Full to that of
	// Empty; Span is the time that the stage was in use, from the first to
	// the last completion. Both are sums over the CTAs, in ns.
	Busy, Span int64
}

// Collect replays a trace and counts.
func Collect(ctx context.Context, src replay.Source, opt Options) (*Report, error) {
	rep := &Report{}
	for _, l := range src.Launches() {
		if opt.Launch != nil && *opt.Launch != l.ID {
			continue
		}
		var all []*collector
		err := replay.Observe(ctx, src, l.ID, replay.Options{Workers: opt.Workers}, func() replay.Observer {
			c := newCollector(&l, opt)
			all = append(all, c)
			return c
		})
		if err != nil {
			return nil, err
		}
		total := newCollector(&l, opt)
		for _, c := range all {
			total.merge(c)
		}
		rep.Launches = append(rep.Launches, total.report())
	}
	return rep, nil
}

// add counts a wait.
func (w *Waits) add(x *replay.WaitSpan) {
	if x.Ended {
		w.Distribution.add(difference(x.To, x.From))
		return
	}
	if w.Open == 0 || x.From < w.Since {
		w.Since = x.From
	}
	w.Open++
}

func (w *Waits) merge(o *Waits) {
	w.Distribution.merge(&o.Distribution)
	if o.Open > 0 && (w.Open == 0 || o.Since < w.Since) {
		w.Since = o.Since
	}
	w.Open += o.Open
}

// difference is a-b, the largest int64 where it is larger and 0 where it is
// below zero.
func difference(a, b int64) int64 {
	switch {
	case a <= b:
		return 0
	case a-b < 0:
		return math.MaxInt64
	}
	return a - b
}
