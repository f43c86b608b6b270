package replay

import (
	"fmt"
	"strings"

	"btrace/replay/barrier"
	"btrace/replay/rules"
	"btrace/trace"
)

// text names lanes as seen from a CTA.
func (s *scope) text(l Lanes, cta uint32) string {
	return strings.Join(rules.Threads([]Lanes{l}, cta, s.launch), ",")
}

// violationText is the sentence for a rule that a model found broken.
func violationText(v barrier.Violation, s *scope, w *warp, r *row, ref BarrierRef) string {
	who, b := s.text(r.who(), ref.CTA), ref.Barrier.String()
	opener := "others"
	if v.Other != barrier.NoWarp {
		opener = fmt.Sprintf("w%d", v.Other)
	}
	switch v.Rule {
	case barrier.BarIDRange:
		return fmt.Sprintf("%s uses named barrier %d; a CTA has barriers 0 to %d", who, v.Got, v.Want)
	case barrier.BarCountNotMultiple:
		return fmt.Sprintf("%s gives the thread count %d on %s, which is no multiple of the warp size 32", who, v.Got, b)
	case barrier.BarCountMissing:
		return fmt.Sprintf("%s arrives on %s without a thread count", who, b)
	case barrier.BarCountExceedsCTA:
		return fmt.Sprintf("%s gives the thread count %d on %s, but the CTA can give %d threads at most", who, v.Got, b, v.Want)
	case barrier.BarCountMismatch:
		return fmt.Sprintf("%s gives %s on %s in phase %d, where %s gave %s", who, countText(v.Got), b, v.Phase, opener, countText(v.Want))
	case barrier.BarRedMixed:
		return fmt.Sprintf("%s does %s on %s in phase %d, where %s did %s: a reduction cannot be mixed with others", who, r.op.Kind, b, v.Phase, opener, kindText(v.Want))
	case barrier.BarRedOpMismatch:
		return fmt.Sprintf("%s reduces with %s on %s in phase %d, where %s reduces with %s", who, kindText(v.Got), b, v.Phase, opener, kindText(v.Want))
	case barrier.BarOverrun:
		return fmt.Sprintf("%s does %s on %s again in phase %d, in which it has arrived already: its arrivals complete the phase for others", who, r.op.Kind, b, v.Phase)
	case barrier.BarDivergent:
		return fmt.Sprintf("lanes of w%d are at different %s of %s in phase %d: the aligned form needs the whole warp at one", w.id, r.op.Kind, b, v.Phase)
	case barrier.MbarUninitialized:
		return fmt.Sprintf("%s does %s on %s, which nobody has initialised", who, r.op.Kind, b)
	case barrier.MbarReinit:
		return fmt.Sprintf("%s initialises %s again while it is in use (phase %d)", who, b, v.Phase)
	case barrier.MbarAfterInval:
		return fmt.Sprintf("%s does %s on %s after its mbarrier.inval", who, r.op.Kind, b)
	case barrier.MbarCountRange:
		return fmt.Sprintf("%s gives the count %d on %s; 1 to %d is allowed", who, v.Got, b, v.Want)
	case barrier.MbarOverArrival:
		return fmt.Sprintf("%s arrives with count %d on %s in phase %d, where %d arrivals are pending", who, v.Got, b, v.Phase, v.Want)
	case barrier.MbarStaleToken:
		return fmt.Sprintf("%s uses a token of phase %d on %s, which is in phase %d: only the current phase and the one before can be tested", who, v.Got, b, v.Want)
	case barrier.MbarNoCompleteComplete:
		return fmt.Sprintf("%s promises by .noComplete that its arrive does not complete phase %d of %s, but it does", who, v.Phase, b)
	case barrier.MbarDropToZero:
		if v.Escalated {
			return fmt.Sprintf("%s arrives on %s, from which every participant has dropped", who, b)
		}
		return fmt.Sprintf("%s drops the last participant of %s: no later phase can be used", who, b)
	case barrier.MbarTxRange:
		return fmt.Sprintf("the transaction count of %s becomes %d bytes in phase %d; %d is the most", b, v.Got, v.Phase, v.Want)
	case barrier.GroupArriveTwice, barrier.ClusterArriveTwice:
		return fmt.Sprintf("%s arrives on %s again without having waited for its first arrival", who, b)
	case barrier.GroupWaitWithoutArrive, barrier.ClusterWaitFirst:
		return fmt.Sprintf("%s waits on %s without having arrived", who, b)
	case barrier.GroupToken:
		return fmt.Sprintf("%s uses a token of another phase on %s", who, b)
	case barrier.ClusterMissingWait:
		return fmt.Sprintf("%s exits after its arrive on the cluster's barrier without waiting for it", who)
	case barrier.SyncwarpExcludesCaller:
		return fmt.Sprintf("%s calls syncwarp with the mask %08x, which leaves out the caller", who, uint32(v.Want))
	}
	return fmt.Sprintf("%s breaks %s on %s", who, v.Rule, b)
}

func countText(n int64) string {
	if n == 0 {
		return "no thread count (all threads)"
	}
	return fmt.Sprintf("the thread count %d", n)
}

func kindText(k int64) string {
	switch barrier.NamedKind(k) {
	case barrier.NamedArrive:
		return "bar.arrive"
	case barrier.NamedSync:
		return "bar.sync"
	case barrier.NamedRedPopc:
		return "bar.red.popc"
	case barrier.NamedRedAnd:
		return "bar.red.and"
	}
	return "bar.red.or"
}

// earlyText is the sentence for lanes that left a phase which was not
// complete.
func (s *scope) earlyText(w *warp, r *row, ref BarrierRef) string {
	text := fmt.Sprintf("%s came out of phase %d of %s", s.text(r.who(), ref.CTA), ref.Phase, ref.Barrier)
	if r.op.Kind == trace.KindMbarTest {
		text = fmt.Sprintf("%s was told that phase %d of %s is complete", s.text(r.who(), ref.CTA), ref.Phase, ref.Barrier)
	}
	pending, expected, tx := s.pending(ref)
	switch {
	case expected == 0:
		text += ", in which nobody had arrived"
	case pending > 0:
		text += fmt.Sprintf(" with %d of %d arrivals missing", pending, expected)
	case tx != 0:
		text += fmt.Sprintf(" with %d bytes outstanding", tx)
	}
	if r.op.Kind != trace.KindMbarTest {
		text += ": no order of the recorded events releases it there"
	}
	return text
}

// pending is how many arrivals a barrier's current phase lacks, how many it
// needs in all, and the bytes that are outstanding.
func (s *scope) pending(ref BarrierRef) (pending, expected uint64, tx int64) {
	c := s.ctas[ref.CTA]
	switch ref.Barrier.Kind {
	case trace.BarrierNamed:
		id := int(ref.Barrier.ID)
		expected = uint64(c.named.Expected(id))
		pending = expected - min(expected, 32*uint64(c.named.Bars[id].Arrived))
	case trace.BarrierMbar:
		m := &c.mbars[ref.Barrier.ID].m
		return uint64(m.Pending), uint64(max(m.Expected, m.Pending)), m.Tx
	case trace.BarrierCluster, trace.BarrierGroup:
		if g := s.collectiveAt(ref); g != nil {
			return g.m.Pending(), g.m.Expected(), 0
		}
	case trace.BarrierWarp:
		w := c.warps[ref.Barrier.ID]
		for _, m := range w.sync.Meetings {
			expected = uint64(popcount(m.Mask & w.live))
			pending = uint64(popcount(m.Mask & w.live &^ m.Lanes))
		}
	}
	return pending, expected, 0
}
