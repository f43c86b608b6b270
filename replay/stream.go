package replay

import (
	"context"
	"iter"
	"sync"

	"btrace/trace"
)

// batchesAhead is how many batches there are at once: the one that is being
// read, and those that workers replay, some of which are ahead of others.
const batchesAhead = 4

// stream reads the launch and has the workers replay it. While they do, the
// next blocks are read: to decode them takes about a quarter of the time.
func (r *run) stream(ctx context.Context) error {
	if len(r.workers) == 1 {
		var b batch
		return r.read(ctx, func(block *trace.Block) {
			b.borrow(block)
			r.workers[0].batch(&b)
		})
	}
	free := make(chan *batch, batchesAhead)
	for range batchesAhead {
		free <- new(batch)
	}
	var replay sync.WaitGroup
	var queues []chan *batch
	for _, w := range r.workers {
		queue := make(chan *batch, batchesAhead)
		queues = append(queues, queue)
		replay.Go(func() {
			for b := range queue {
				w.batch(b)
				if b.left.Add(-1) == 0 {
					free <- b
				}
			}
		})
	}
	err := r.read(ctx, func(block *trace.Block) {
		b := <-free
		b.keep(block)
		b.left.Store(int32(len(queues)))
		for _, queue := range queues {
			queue <- b
		}
	})
	for _, queue := range queues {
		close(queue)
	}
	replay.Wait()
	return err
}

// read hands out the blocks of the launch, whose groups are scopes.
func (r *run) read(ctx context.Context, each func(*trace.Block)) error {
	for block, err := range scopeBlocks(ctx, r.src, &r.layout, trace.Query{Launch: &r.launch.ID}) {
		if err != nil {
			return err
		}
		each(block)
	}
	return nil
}

// scopeBlocks is the blocks of a query, whose groups are scopes. A source that
// does not know of groups has its blocks grouped here.
func scopeBlocks(ctx context.Context, src Source, y *layout, q trace.Query) iter.Seq2[*trace.Block, error] {
	q.Group = y.scope
	return func(yield func(*trace.Block, error) bool) {
		var g trace.Grouper
		for b, err := range src.Blocks(ctx, q) {
			if err == nil && len(b.Groups) == 0 {
				b = g.Group(b, q.Group)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
