package replay

import (
	"fmt"

	"btrace/trace"
)

// others collects what the scopes of a launch say about other schedules.
type others struct {
	hazards                         digest
	polled, relaxed, large, unknown bool
}

func newOthers(listed int) others { return others{hazards: digest{most: listed}} }

func (o *others) add(s *scope) {
	o.hazards.take(s.number, s.hazards.list)
	o.unknown = o.unknown || s.unknown
	if f := s.order; f != nil {
		o.merge(&others{polled: f.Polled, relaxed: f.Relaxed, large: f.over})
	}
}

func (o *others) merge(p *others) {
	o.hazards.merge(&p.hazards)
	o.polled, o.relaxed, o.large = o.polled || p.polled, o.relaxed || p.relaxed, o.large || p.large
	o.unknown = o.unknown || p.unknown
}

// follows reports whether the run looks for what other schedules could do. A
// picture has no room for it.
func (r *run) follows() bool { return !r.opt.NoHazards && r.draw == nil }

// schedules says whether every schedule of the launch's program orders goes
// as the one that was recorded, or why that is not known.
func (r *run) schedules(lr *LaunchReport, o *others) (s Schedules) {
	why := func(format string, args ...any) { s.Why = append(s.Why, fmt.Sprintf(format, args...)) }
	switch {
	case !r.follows():
		why("nobody looked")
		return s
	case lr.Verdict == Incomplete:
		why("the recording is incomplete")
	case lr.Verdict != Clean:
		why("the recorded run itself is not clean")
	case r.launch.Outcome != trace.OutcomeCompleted:
		why("the recording does not say that the launch completed")
	}
	// What joins lanes and is not seen only leaves fewer schedules; what a
	// phase needs has to be seen.
	for _, f := range []trace.Family{trace.FamilyExit, trace.FamilyBar, trace.FamilyMbar, trace.FamilyCluster} {
		if !r.launch.Sees(f) && (f != trace.FamilyCluster || r.launch.ClusterSize() > 1) {
			why("the recorder does not observe %s events", f)
		}
	}
	if o.polled {
		why("a test of an mbarrier failed: what the program did then may depend on the schedule")
	}
	if o.unknown {
		why("lanes are at a barrier of which only its completion function was recorded")
	}
	if o.relaxed {
		why("a relaxed operation is all that orders a use of an mbarrier after its initialisation: fences are not recorded")
	}
	if o.large {
		why("the lanes take more than %d different ways, or have more than %d barriers", maxAgents, maxBarriers)
	}
	s.Proved = len(s.Why) == 0 && o.hazards.empty()
	return s
}
