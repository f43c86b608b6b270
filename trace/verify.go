package trace

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
)

// Verify reads everything that the file has and decodes it, so that Damage
// is complete afterwards. Its error is the file's or the context's; damage
// is none.
func (r *Reader) Verify(ctx context.Context) error {
	f := r.frameReader()
	defer r.release(f)
	for i := range r.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := &r.blocks[i]
		if err := f.block(r, i, &f.buf); errors.Is(err, ErrCorrupt) {
			continue
		} else if err != nil {
			return err
		}
		if s := summarise(&f.buf.Block); !h.Events.covers(&s) {
			r.note(h, fmt.Errorf("%w: the head's summary is not that of the block's events", ErrCorrupt))
		}
	}
	for i := range r.lines {
		if err := r.verifyFrame(f, &r.lines[i], parseKeptLines); err != nil {
			return err
		}
	}
	for i := range r.sections {
		if err := r.verifyFrame(f, &r.sections[i], nil); err != nil {
			return err
		}
	}
	return r.verifyOthers(ctx, f)
}

func (r *Reader) verifyFrame(f *frameReader, h *head, parse func(raw []byte, n uint32) error) error {
	raw, err := f.read(r, h, f.raw)
	if err == nil {
		f.raw = raw
		if parse != nil {
			if err = parse(raw, h.Rows); err != nil {
				err = fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
		}
	}
	if errors.Is(err, ErrCorrupt) {
		r.note(h, err)
		return nil
	}
	return err
}

// verifyOthers holds the heads in the file against those in the index, and
// reads the frames of types that this version does not know.
func (r *Reader) verifyOthers(ctx context.Context, f *frameReader) error {
	raw := &RawReader{w: window{r: r.r, size: r.size}, off: fileHeadLen}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		frame, err := raw.Next()
		var d *DamageError
		switch {
		case err == nil:
			h := &frame.head
			if h.Type == FrameEvents || h.Type == FrameLines || h.Type == FrameSection {
				continue
			}
			if err := r.verifyFrame(f, h, nil); err != nil {
				return err
			}
			continue
		case errors.As(err, &d):
			r.addDamage(d.Damage)
			continue
		case errors.Is(err, errRead):
			return err
		}
		return nil
	}
}

// summarise makes the summary of a block anew.
func summarise(b *Block) summary {
	lo, hi := b.CTA[0], b.CTA[0]
	for _, cta := range b.CTA {
		lo, hi = min(lo, cta), max(hi, cta)
	}
	s := newSummary(b.key(0), b.key(b.Len()-1), lo, hi)
	used := make([]bool, len(b.Ops))
	for i, op := range b.Op {
		s.addWarp(b.CTA[i], b.Warp[i])
		s.Threads += uint64(bits.OnesCount32(b.Ops[op].Lanes))
		used[op] = true
	}
	sync := false
	for op := range b.Ops {
		if o := &b.Ops[op]; used[op] {
			s.addOp(o)
			sync = sync || o.Kind == KindSyncwarp || o.Kind == KindSyncwarpDone
		}
	}
	if sync {
		before := ^uint32(0)
		for _, warp := range b.Warp {
			if warp != before {
				s.addWarpBarrier(warp)
				before = warp
			}
		}
	}
	return s
}
