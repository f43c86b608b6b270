package table

import (
	"context"

	"btrace/trace"
)

// each calls f for every block of a trace's events, in stored order, with its
// launch.
func each(ctx context.Context, r *trace.Reader, f func(b *trace.Block, l *trace.Launch) error) error {
	launches := map[uint32]*trace.Launch{}
	list := r.Launches()
	for i := range list {
		launches[list[i].ID] = &list[i]
	}
	for b, err := range r.Blocks(ctx, trace.Query{}) {
		if err != nil {
			return err
		}
		l := launches[b.Launch]
		if l == nil {
			l = &trace.Launch{ID: b.Launch}
		}
		if err := f(b, l); err != nil {
			return err
		}
	}
	return nil
}
