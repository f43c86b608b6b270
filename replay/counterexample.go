package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"btrace/replay/explore"
	"btrace/replay/rules"
	"btrace/trace"
)

// maxSuspects bounds the hazards of a launch for which a bad schedule is
// looked for, and maxScope the CTAs that can synchronise with each other for
// which one can be.
const (
	maxSuspects = 32
	maxScope    = 64
)

// Explorer is the recorder of a trace that nobody recorded: of a schedule
// that was found.
const Explorer = "explore"

// ExploreOptions says how far a search goes. The zero value is the default.
type ExploreOptions struct {
	Tries int    // schedules for each hazard; 0 means 200
	Seed  uint64 // the same seed finds the same
}

// Exploration is what a search for a bad schedule of a launch has come to.
type Exploration struct {
	Launch    trace.Launch
	Schedules Schedules
	Trials    []Trial
}

// Trial is a search for one hazard, or for anything where there is none.
type Trial struct {
	Hazard *Finding // nil if there is none to begin with
	CTA    uint32   // where it was looked for: the first of its cluster
	// Bad is what goes wrong in the schedule that was found: the rule that is
	// broken, a trap, or hang; "" if none was.
	Bad     string
	Why     string // why nothing could be looked for; "" otherwise
	Launch  trace.Launch
	Events  []trace.Event
	Outcome trace.Outcome
}

// Explore looks for schedules of a launch's program orders that hang, trap or
// break a rule: for every hazard that the report has, and, where there are
// none and nothing is proved, at random in the first cluster. What it finds is
// a launch of that cluster alone.
func Explore(ctx context.Context, src Source, rep *Report, id uint32, opt ExploreOptions) (Exploration, error) {
	i := slices.IndexFunc(rep.Launches, func(l LaunchReport) bool { return l.Launch.ID == id })
	if i < 0 {
		return Exploration{}, fmt.Errorf("the trace has no launch %d", id)
	}
	lr := &rep.Launches[i]
	x := Exploration{Launch: lr.Launch, Schedules: lr.Schedules}
	if lr.Schedules.Proved || lr.Verdict != Clean && lr.Verdict != Incomplete {
		return x, nil
	}
	e := explorer{src: src, launch: &lr.Launch, search: explore.Search{Tries: opt.Tries, Seed: opt.Seed}, limit: explore.MaxOps, layout: newLayout(&lr.Launch)}
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if f.Launch != id || !isHazard(f) || len(x.Trials) == maxSuspects {
			continue
		}
		t, err := e.try(ctx, f.Threads[0].CTA, f)
		if err != nil {
			return x, err
		}
		x.Trials = append(x.Trials, t)
	}
	if len(x.Trials) == 0 {
		t, err := e.try(ctx, 0, nil)
		if err != nil {
			return x, err
		}
		x.Trials = append(x.Trials, t)
	}
	return x, nil
}

// isHazard reports whether a finding is of an operation that could come too
// early or too late. A hang of another schedule is what comes of one.
func isHazard(f *Finding) bool {
	return strings.HasPrefix(string(f.Rule), "hazard-") && f.Rule != rules.HazardDeadlock
}

type explorer struct {
	src    Source
	launch *trace.Launch
	search explore.Search
	limit  int // operations of the program
	layout layout
	// The program of the cluster that was looked at last.
	program *explore.Program
	ctas    []uint32 // which of the launch its CTAs are
	large   error    // why there is none
}

// try looks for a bad schedule of the cluster that a CTA is in.
func (e *explorer) try(ctx context.Context, cta uint32, hazard *Finding) (Trial, error) {
	t := Trial{Hazard: hazard, CTA: cta}
	if l := e.launch; l.Threads() > maxThreads || l.ClusterSize() > maxCluster || l.Block == (trace.Dim{}) || l.Grid == (trace.Dim{}) {
		t.Why = "the recording does not say how many threads and CTAs the launch has, or more than there can be"
		return t, nil
	}
	ctas := e.layout.clusterOf(cta)
	if len(ctas) == 0 {
		ctas = []uint32{cta}
	}
	t.CTA = ctas[0]
	if len(ctas) > maxScope {
		t.Why = fmt.Sprintf("%d CTAs are too many to look at their schedules", len(ctas))
		return t, nil
	}
	if e.ctas == nil || e.ctas[0] != ctas[0] {
		p, err := explore.Extract(ctx, e.src, e.launch, ctas, e.limit)
		if err != nil && !errors.Is(err, explore.ErrTooLarge) {
			return t, err
		}
		e.program, e.ctas, e.large = p, ctas, err
	}
	if e.large != nil {
		t.Why = e.large.Error()
		return t, nil
	}
	s := e.search
	if hazard != nil {
		s.Suspects = []explore.Hazard{suspect(hazard, ctas)}
	}
	found := s.Run(e.program)
	if t.Bad = found.Bad; t.Bad == "" {
		return t, nil
	}
	t.Events, t.Outcome = found.Replay(e.program)
	t.Launch = *e.launch
	t.Launch.ID, t.Launch.Recorder, t.Launch.Ended, t.Launch.Outcome = 0, Explorer, false, trace.OutcomeUnknown
	t.Launch.Grid = trace.Dim{uint32(len(ctas)), 1, 1}
	t.Launch.Cluster = t.Launch.Grid
	t.Launch.Extra, t.Launch.EndExtra = "", ""
	return t, nil
}

// suspect is the hazard that a finding tells of, in a cluster.
func suspect(f *Finding, ctas []uint32) explore.Hazard {
	kind := explore.Recycle
	switch f.Rule {
	case rules.HazardLap:
		kind = explore.Lap
	case rules.HazardInit:
		kind = explore.Init
	case rules.HazardTx:
		kind = explore.Tx
	}
	who := f.Threads[0]
	return explore.Hazard{Kind: kind, Event: explore.Event{
		CTA: uint32(max(slices.Index(ctas, who.CTA), 0)), Warp: who.Warp, Lanes: who.Mask, Seq: f.Events[0].Seq,
	}}
}

// Write writes the schedule that was found as the launch of a trace.
func (t *Trial) Write(w *trace.Writer) error {
	if err := w.Begin(t.Launch); err != nil {
		return fmt.Errorf("beginning the launch: %w", err)
	}
	if err := w.Write(t.Events); err != nil {
		return fmt.Errorf("writing its events: %w", err)
	}
	if err := w.End(t.Launch.ID, t.Outcome, ""); err != nil {
		return fmt.Errorf("ending the launch: %w", err)
	}
	return nil
}
