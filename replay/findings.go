package replay

import (
	"cmp"
	"fmt"
	"slices"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// maxFindings bounds what is told apart in a CTA; a broken recording could
// break a rule with every event.
const maxFindings = 1000

// findings collects what a scope found. The same rule at the same barrier and
// place is one finding, with a count.
type findings struct {
	launch *trace.Launch
	list   []*Finding
	index  map[place]*Finding
	// incomplete is true where events are known to be missing.
	incomplete bool
	most       int               // findings that are told apart; 0: maxFindings
	kinds      map[kind]*Finding // the first of each; nil while there is room for all
}

// kind is what is told apart of findings when there is no room for more: no
// rule that makes a verdict is lost.
type kind struct {
	rule     barrier.Rule
	severity rules.Severity
	root     bool
}

func kindOf(f *Finding) kind { return kind{f.Rule, f.Severity, f.Root} }

// place is what makes two findings the same.
type place struct {
	rule    barrier.Rule
	cta     uint32
	barrier trace.Barrier
	line    uint32
	pc      uint64
}

// add files a finding, or counts it on the one that is there. It returns nil
// where there is no room for it.
func (f *findings) add(x Finding) *Finding {
	key := place{x.Rule, x.CTA, x.Barrier, x.Location.Line, x.Location.PC}
	if old := f.index[key]; old != nil {
		old.More++
		return old
	}
	x.Launch = f.launch.ID
	if x.Severity == "" || x.Hint == "" {
		r, _ := rules.Lookup(x.Rule)
		x.Severity = cmp.Or(x.Severity, r.Severity)
		x.Hint = cmp.Or(x.Hint, r.Hint)
	}
	if x.Location.File == "" && x.Location.Line > 0 {
		x.Location.File = f.launch.Program
	}
	if f.full() {
		if first := f.kinds[kindOf(&x)]; first != nil {
			first.Unlisted++
			return nil
		}
	}
	p := new(Finding)
	*p = x
	if f.kinds != nil {
		f.kinds[kindOf(p)] = p
	}
	if f.index == nil {
		f.index = make(map[place]*Finding)
	}
	f.index[key] = p
	f.list = append(f.list, p)
	return p
}

// full reports whether there is no room for more.
func (f *findings) full() bool {
	if len(f.list) < cmp.Or(f.most, maxFindings) {
		return false
	}
	if f.kinds == nil {
		f.kinds = make(map[kind]*Finding)
		for _, x := range slices.Backward(f.list) {
			f.kinds[kindOf(x)] = x
		}
	}
	return true
}

// again counts a finding that is filed already, and returns it; nil if it is
// not.
func (f *findings) again(rule barrier.Rule, ref BarrierRef, loc Location) *Finding {
	old := f.index[place{rule, ref.CTA, ref.Barrier, loc.Line, loc.PC}]
	if old != nil {
		old.More++
	}
	return old
}

// values copies the findings out.
func (f *findings) values() []Finding {
	out := make([]Finding, len(f.list))
	for i, x := range f.list {
		out[i] = *x
	}
	return out
}

// gap files the loss of events of a warp.
func (f *findings) gap(r *row, w *warp, lost uint64) {
	f.incomplete = true
	f.add(Finding{
		Rule: rules.TraceGap, BarrierRef: BarrierRef{CTA: r.cta}, Threads: []Lanes{{CTA: r.cta, Warp: r.warp, Mask: w.all}}, Time: r.time,
		Location: r.loc(), Events: []EventRef{r.ref()},
		Message: fmt.Sprintf("the recorder lost %d events of CTA %d, warp %d here", lost, r.cta, r.warp),
	})
}

// exhausted files that the scope could not be replayed to its end.
func (f *findings) exhausted(r *row, limit int) {
	f.incomplete = true
	f.add(Finding{
		Rule: rules.TraceGap, BarrierRef: BarrierRef{CTA: r.cta}, Time: r.time, Location: r.loc(), Events: []EventRef{r.ref()},
		Message: fmt.Sprintf("no order of events explains the recording within %d events: CTA %d is not checked from here on", limit, r.cta),
	})
}

// sorted puts findings in their stated order: launch, roots first, time, CTA,
// barrier, rule.
func sorted(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Launch, b.Launch), -boolCompare(a.Root, b.Root), cmp.Compare(a.Time, b.Time), cmp.Compare(a.CTA, b.CTA),
			cmp.Compare(a.Barrier.Kind, b.Barrier.Kind), cmp.Compare(a.Barrier.ID, b.Barrier.ID), cmp.Compare(a.Barrier.Name, b.Barrier.Name),
			cmp.Compare(a.Rule, b.Rule),
		)
	})
	return list
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// broken reports whether the current operation broke a rule of the models.
func (s *scope) broken() bool { return len(s.eff.Violations) > 0 }

// violations files what the models say the current operation broke.
func (s *scope) violations(w *warp, r *row, ref BarrierRef) {
	for _, v := range s.eff.Violations {
		if s.mute && !certain(v.Rule) {
			continue
		}
		x := Finding{
			Rule: v.Rule, BarrierRef: ref, Threads: []Lanes{r.who()}, Time: r.time, Location: r.loc(), Events: []EventRef{r.ref()},
			Message: violationText(v, s, w, r, ref),
		}
		x.Phase = v.Phase
		if x.Barrier.Kind == trace.BarrierNone {
			x.Barrier = s.exitBarrier(v.Rule)
			if x.Barrier.Kind == trace.BarrierCluster {
				x.CTA = s.layout.clusterOf(w.cta.id)[0]
			}
		}
		if v.Escalated {
			x.Severity = rules.Error
		}
		s.blame(v.Rule, s.findings.add(x))
	}
	s.eff.Violations = s.eff.Violations[:0]
}

// exitBarrier is the barrier of a rule that an exit breaks.
func (s *scope) exitBarrier(r barrier.Rule) trace.Barrier {
	if r == barrier.ClusterMissingWait {
		return trace.Barrier{Kind: trace.BarrierCluster}
	}
	return trace.Barrier{}
}

// certain reports whether a rule is broken by the operation itself, whatever
// events may be missing.
func certain(r barrier.Rule) bool {
	switch r {
	case barrier.BarIDRange, barrier.BarCountNotMultiple, barrier.BarCountMissing, barrier.BarCountExceedsCTA, barrier.MbarCountRange,
		barrier.SyncwarpExcludesCaller:
		return true
	}
	return false
}

// misuse reports whether breaking the rule can itself be why a barrier hangs.
func misuse(r barrier.Rule) bool {
	switch r {
	case barrier.BarOverrun, barrier.BarDivergent, barrier.BarCountMismatch, barrier.BarRedMixed, barrier.BarRedOpMismatch, barrier.BarIDRange,
		barrier.MbarReinit, barrier.MbarAfterInval, barrier.MbarUninitialized, barrier.MbarOverArrival, barrier.MbarNoCompleteComplete,
		barrier.MbarDropToZero, barrier.MbarTxRange, barrier.MbarCountRange, barrier.GroupArriveTwice, barrier.GroupToken,
		barrier.GroupWaitWithoutArrive, barrier.ClusterArriveTwice, barrier.ClusterWaitFirst, barrier.SyncwarpExcludesCaller,
		barrier.MbarStaleToken, rules.MbarWrongToken:
		return true
	}
	return false
}

// historyOf finds what is remembered of a barrier; nil for none.
func (s *scope) historyOf(ref BarrierRef) *history {
	c := s.ctas[ref.CTA]
	switch ref.Barrier.Kind {
	case trace.BarrierNamed:
		if c != nil && ref.Barrier.ID < barrier.NumNamed {
			return &c.bars[ref.Barrier.ID]
		}
	case trace.BarrierMbar:
		if c != nil && c.mbars[ref.Barrier.ID] != nil {
			return &c.mbars[ref.Barrier.ID].history
		}
	case trace.BarrierCluster, trace.BarrierGroup:
		if g := s.collectiveAt(ref); g != nil {
			return &g.history
		}
	}
	return nil
}

// target reports operations that the launch's architecture does not have.
func (s *scope) target(w *warp, r *row) {
	if s.arch == 0 || s.arch >= 90 {
		return // not known, or all of these are there
	}
	need, what := 0, ""
	switch k := r.op.Kind; {
	case k >= trace.KindClusterArrive && k <= trace.KindClusterDone:
		need, what = 90, "barrier.cluster"
	case k == trace.KindMbarExpectTx, k == trace.KindMbarArriveExpectTx, k == trace.KindMbarCompleteTx, k == trace.KindMbarCopy:
		need, what = 90, "transaction counts of an mbarrier"
	case k >= trace.KindMbarInit && k <= trace.KindMbarTest:
		need, what = 80, "mbarrier"
	case k >= trace.KindBarArrive && k <= trace.KindBarRed && !r.op.Aligned && r.lanes != w.live:
		need, what = 70, "a barrier reached by part of a warp"
	}
	if s.arch >= need {
		return
	}
	b := r.op.Barrier(w.id)
	s.breach(rules.BarTarget, BarrierRef{CTA: w.cta.id, Barrier: b}, r,
		"%s needs sm_%d, the launch ran on %s", what, need, s.launch.Arch)
}

// archNumber is the number of an architecture's name: 90 of sm_90a; 0 if it
// has none.
func archNumber(arch string) int {
	n := 0
	if len(arch) < 4 || arch[:3] != "sm_" {
		return 0
	}
	for _, c := range arch[3:] {
		if c < '0' || c > '9' || n > 1000 {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// breach files what a row broke, unless events may be missing that would
// explain it.
func (s *scope) breach(rule barrier.Rule, ref BarrierRef, r *row, format string, args ...any) {
	if s.mute {
		return
	}
	f := s.findings.add(Finding{
		Rule: rule, BarrierRef: ref, Threads: []Lanes{r.who()}, Time: r.time, Location: r.loc(), Events: []EventRef{r.ref()},
		Message: fmt.Sprintf(format, args...),
	})
	s.blame(rule, f)
}

// blame remembers a misuse with its barrier: if lanes starve there, it is why.
func (s *scope) blame(rule barrier.Rule, f *Finding) {
	if f == nil || !misuse(rule) {
		return
	}
	if h := s.historyOf(f.BarrierRef); h != nil && h.misuse == nil {
		h.misuse = f
	}
}
