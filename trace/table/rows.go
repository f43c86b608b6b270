package table

import (
	"context"

	"btrace/trace"
)

// each calls f for every event of a trace, in stored order, with its launch.
func each(ctx context.Context, r *trace.Reader, f func(e *trace.Event, l *trace.Launch) error) error {
	launches := map[uint32]*trace.Launch{}
	list := r.Launches()
	for i := range list {
		launches[list[i].ID] = &list[i]
	}
	none := &trace.Launch{}
	var e trace.Event
	for b, err := range r.Blocks(ctx, trace.Query{}) {
		if err != nil {
			return err
		}
		l := launches[b.Launch]
		if l == nil {
			l = none
		}
		for i := range b.Len() {
			b.Event(i, &e)
			if err := f(&e, l); err != nil {
				return err
			}
		}
	}
	return nil
}
