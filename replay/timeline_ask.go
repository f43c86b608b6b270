package replay

import (
	"context"

	"btrace/replay/diagnose"
	"btrace/trace"
)

// Events hands out the events of the launch that a query selects, in stored
// order, until each returns false. The event is valid until each returns. The
// query's launch is set here; a From or To of 0 is no bound, as everywhere.
func (v *view) Events(ctx context.Context, q trace.Query, each func(*trace.Event) bool) error {
	id := v.launch.ID
	q.Launch = &id
	var ev trace.Event
	for b, err := range v.src.Blocks(ctx, q) {
		if err != nil {
			return err
		}
		for i := range b.Len() {
			b.Event(i, &ev)
			if !each(&ev) {
				return nil
			}
		}
	}
	return nil
}

// Blocked lists the barriers that lanes of the CTA's cluster wait at at a
// time, with who has arrived, and who has not and where those are: what a
// diagnosis knows at the end of a hang, known at any time. Missing lanes are
// members where Members is set, else those who would be expected to come.
func (v *view) Blocked(ctx context.Context, cta uint32, t int64) ([]diagnose.Stuck, error) {
	s, _, err := v.at(ctx, v.scopeOf(cta), t)
	if err != nil || s == nil {
		return nil, err
	}
	var out []diagnose.Stuck
	for _, n := range s.stuckBarriers() {
		s.describe(n)
		n.Missing = together(n.Missing)
		out = append(out, n.Stuck)
	}
	return out, nil
}
