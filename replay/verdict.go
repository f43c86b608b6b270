package replay

import (
	"cmp"
	"fmt"
	"slices"

	"btrace/replay/barrier"
	"btrace/replay/diagnose"
	"btrace/replay/rules"
	"btrace/trace"
)

// report puts the parts together.
func (r *run) report() (LaunchReport, []Finding) {
	lr := LaunchReport{Launch: r.launch, Verdict: Clean}
	incomplete := false
	note := func(rule barrier.Rule, msg string) {
		incomplete = true
		r.found.add(Finding{Rule: rule, Message: msg})
	}
	if r.refuse != "" {
		note(rules.TraceGap, r.refuse)
	}
	if r.mute {
		note(rules.TraceGap, "part of the file is damaged: nothing is claimed that rests on an event being absent")
	}
	explained := false
	var open []*scope
	found, others := digest{most: r.opt.listed}, newOthers(r.opt.listed)
	var odd [2]oddity
	for _, w := range r.workers {
		for _, s := range w.scopes {
			explained = explained || s.explained
			if s.exited < s.size()*uint64(s.threads) {
				open = append(open, s)
			}
			lr.Counts.add(s.counts)
		}
		lr.Counts.add(w.counts)
		others.merge(&w.others)
		explained = explained || w.explained
		found.merge(&w.found)
		incomplete = incomplete || w.incomplete
		for k, o := range []*oddity{&w.strange, &w.late} {
			if o.n > 0 {
				odd[k].note(o.x, o.n)
			}
		}
	}
	for _, o := range odd {
		if o.n > 0 {
			incomplete = true
			o.x.More = o.n - 1
			r.found.add(o.x)
		}
	}
	slices.SortFunc(open, func(a, b *scope) int { return cmp.Compare(a.number, b.number) })
	list := found.values()
	r.ending(open, explained, list, note)
	if missing := r.unseen(); missing != "" {
		incomplete = true
	}
	if r.partial && !r.cut {
		note(rules.TraceTruncated, "the file is cut or damaged after the end of this launch: its events are all there, the file is not")
	}
	list = sorted(append(list, r.found.values()...))
	for _, f := range list {
		switch {
		case f.Severity != rules.Error:
		case f.Root:
			lr.Verdict = Deadlock
		case lr.Verdict == Clean:
			lr.Verdict = Violation
		}
	}
	lr.Incomplete = incomplete
	if lr.Verdict == Clean && incomplete {
		lr.Verdict = Incomplete
	}
	lr.Schedules = r.schedules(&lr, &others)
	if r.follows() && (lr.Verdict == Clean || lr.Verdict == Incomplete) {
		list = sorted(append(list, others.hazards.values()...))
	}
	return lr, list
}

// ending files what the end of the recording means for lanes that are still
// there.
func (r *run) ending(open []*scope, explained bool, list []Finding, note func(barrier.Rule, string)) {
	reason, trapped := r.launch.Outcome.Trap()
	known := func(f Finding) bool { return f.Rule == rules.TrapUnexplained }
	switch {
	case r.cut:
		note(rules.TraceTruncated, "the recording is cut: what came after is not known, and no hang is claimed")
		return
	case trapped:
		if !explained && !slices.ContainsFunc(list, known) {
			r.found.add(Finding{Rule: rules.TrapUnexplained, Message: "the launch trapped (" + reason + "), and no rule explains it"})
		}
		return
	case r.mute, slices.ContainsFunc(list, func(f Finding) bool { return f.Root }):
		return
	}
	running, last, lossy := stillThere(open)
	if lossy {
		return
	}
	left := "threads"
	if len(running) > 0 {
		left = someThreads(running, &r.launch)
	}
	switch outcome := r.launch.Outcome; {
	case r.allExited():
		// The launch is over: what the outcome says otherwise, the events do
		// not bear out.
	case outcome == trace.OutcomeHung:
		r.found.add(diagnose.Unexplained(&r.launch, running, last))
	case !r.launch.Sees(trace.FamilyExit):
	case outcome != trace.OutcomeCompleted:
		note(rules.TraceTruncated, fmt.Sprintf("the recording ends while %s had not exited, and does not say how the launch ended", left))
	case len(running) > 0:
		note(rules.TraceGap, fmt.Sprintf("the launch completed, but no exit of %s was recorded", left))
	}
}

// allExited reports whether every thread of the launch has exited.
func (r *run) allExited() bool {
	exited := uint64(0)
	for _, w := range r.workers {
		exited += w.exited
		for _, s := range w.scopes {
			exited += s.exited
		}
	}
	return exited == r.layout.ctas*r.launch.Threads()
}

// stillThere lists the lanes that have not exited, and the time of the last
// thing that any of them did; lossy is true where it is known why nothing more
// is said of them.
func stillThere(open []*scope) (running []Lanes, last int64, lossy bool) {
	for _, s := range open {
		for _, c := range s.sortedCTAs() {
			for _, w := range c.warps {
				if w.live != 0 {
					running = append(running, Lanes{CTA: c.id, Warp: w.id, Mask: w.live})
				}
				for _, st := range w.strands {
					last = max(last, st.since)
				}
			}
		}
		lossy = lossy || s.trap != "" || s.mute || s.spent
	}
	return running, last, lossy
}

// someThreads names a few of many lanes.
func someThreads(ls []Lanes, l *trace.Launch) string {
	const most = 4
	names := rules.Threads(ls[:min(len(ls), most)], ls[0].CTA, l)
	text := names[0]
	for _, n := range names[1:] {
		text += ", " + n
	}
	if len(ls) > most {
		text += fmt.Sprintf(" and %d more warps", len(ls)-most)
	}
	return text
}

// unseen is a family without which no verdict is whole, and that the recorder
// does not observe.
func (r *run) unseen() trace.Family {
	need := []trace.Family{trace.FamilyExit, trace.FamilyBar, trace.FamilyMbar}
	if r.launch.ClusterSize() > 1 {
		need = append(need, trace.FamilyCluster)
	}
	for _, f := range need {
		if !r.launch.Sees(f) {
			r.found.add(Finding{Rule: rules.TraceGap, Message: fmt.Sprintf("the recorder does not observe %q events: of those no absence is claimed", string(f))})
			return f
		}
	}
	return ""
}
