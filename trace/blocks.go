package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// sortBlocks finds the stored order of the blocks.
func (r *Reader) sortBlocks() {
	r.order = make([]int32, len(r.blocks))
	for i := range r.order {
		r.order[i] = int32(i)
	}
	slices.SortFunc(r.order, func(a, b int32) int {
		x, y := &r.blocks[a], &r.blocks[b]
		return cmp.Or(cmp.Compare(r.byID[x.Launch], r.byID[y.Launch]),
			x.Events.First.compare(y.Events.First), cmp.Compare(a, b))
	})
	r.firsts = make([]uint64, len(r.blocks))
	rank := uint64(0)
	for k, i := range r.order {
		if k > 0 && r.blocks[i].Launch != r.blocks[r.order[k-1]].Launch {
			rank = 0
		}
		r.firsts[i] = rank
		rank += uint64(r.blocks[i].Rows)
	}
}

// Blocks returns the rows that q selects: launch after launch, and those of
// a launch in stored order (time, CTA, warp, sequence number). Blocks that
// cannot match are not decoded, rows that do not match are left out, and
// damaged blocks are passed over: they are in Damage. Where blocks overlap in
// time, because events were written out of order, what comes out is merged
// from several of them.
//
// A block is valid until the next one is asked for. An error ends the
// sequence; it is the file's, the context's, or that of blocks that overlap
// more than MaxOverlap deep.
func (r *Reader) Blocks(ctx context.Context, q Query) iter.Seq2[*Block, error] {
	return func(yield func(*Block, error) bool) {
		it := &blockIter{r: r, ctx: ctx, filter: newFilter(q), stats: q.Stats, yield: yield}
		if it.stats == nil {
			it.stats = new(QueryStats)
		}
		*it.stats = QueryStats{Blocks: len(r.blocks)}
		it.f = r.frameReader()
		defer r.release(it.f)
		if err := it.run(); err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

var errStop = errors.New("stopped by the caller")

// blockIter is a run of Blocks.
type blockIter struct {
	r       *Reader
	ctx     context.Context
	filter  *filter
	stats   *QueryStats
	yield   func(*Block, error) bool
	f       *frameReader
	merge   *merger
	grouper Grouper
}

func (it *blockIter) run() error {
	order := it.r.order
	for len(order) > 0 {
		n := it.r.overlapping(order)
		launch := it.r.blocks[order[0]].Launch
		if q := it.filter.q.Launch; q == nil || *q == launch {
			var err error
			if n == 1 {
				err = it.single(order[0])
			} else {
				err = it.overlap(order[:n])
			}
			if err != nil {
				return err
			}
		}
		order = order[n:]
	}
	return nil
}

// overlapping is how many of the blocks from the first on have times in
// common, directly or through others.
func (r *Reader) overlapping(order []int32) int {
	first := &r.blocks[order[0]]
	last := first.Events.Last
	for n := 1; n < len(order); n++ {
		h := &r.blocks[order[n]]
		if h.Launch != first.Launch || !h.Events.First.less(last) {
			return n
		}
		if last.less(h.Events.Last) {
			last = h.Events.Last
		}
	}
	return len(order)
}

// single hands out a block that overlaps no other.
func (it *blockIter) single(i int32) error {
	if !it.filter.mayMatch(&it.r.blocks[i]) {
		return nil
	}
	group := it.filter.q.Group
	if !it.filter.all {
		group = nil // what is left of the block is grouped
	}
	if ok, err := it.decode(i, group, &it.f.buf); !ok {
		return err
	}
	return it.hand(&it.f.buf.Block)
}

// decode reads a block; ok is false without an error for a damaged one.
func (it *blockIter) decode(i int32, group func(cta uint32) uint32, to *blockBuffer) (ok bool, err error) {
	if err := it.ctx.Err(); err != nil {
		return false, err
	}
	it.stats.Decoded++
	switch err := it.f.block(it.r, int(i), group, to); {
	case errors.Is(err, ErrCorrupt):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// hand gives the rows that match to the caller.
func (it *blockIter) hand(b *Block) error {
	it.filter.apply(b)
	if b.Len() == 0 {
		return nil
	}
	it.stats.Rows += b.Len()
	if it.filter.q.Group != nil && len(b.Groups) == 0 {
		b = it.grouper.Group(b, it.filter.q.Group)
	}
	if !it.yield(b, nil) {
		return errStop
	}
	return nil
}

// ReadBlock reads block i of the file, which the caller may keep. Its First
// is exact if no other block of its launch overlaps it.
func (r *Reader) ReadBlock(i int) (*Block, error) {
	if i < 0 || i >= len(r.blocks) {
		return nil, fmt.Errorf("block %d: the trace has %d", i, len(r.blocks))
	}
	f := r.frameReader()
	defer r.release(f)
	var buf blockBuffer
	if err := f.block(r, i, nil, &buf); err != nil {
		return nil, fmt.Errorf("block %d at offset %d: %w", i, r.blocks[i].Offset, err)
	}
	return &buf.Block, nil
}

// block reads and decodes block i. What is wrong with it is noted as damage.
func (f *frameReader) block(r *Reader, i int, group func(cta uint32) uint32, to *blockBuffer) error {
	h := &r.blocks[i]
	raw, err := f.read(r, h, f.raw)
	if err == nil {
		f.raw = raw
		if err = f.decode(raw, int(h.Rows), h.Events.First, h.Events.Last, group, to); err != nil {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	if err != nil {
		if errors.Is(err, ErrCorrupt) {
			r.note(h, err)
		}
		return err
	}
	to.Launch, to.Index, to.First = h.Launch, i, r.firsts[i]
	r.hold(i, &f.blockDecoder, to)
	return nil
}
