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
		if r.heldOf(i) == notHeld { // else it was read before
			if err := f.block(r, i, nil, &f.buf); errors.Is(err, ErrCorrupt) {
				continue
			} else if err != nil {
				return err
			}
		}
		if r.heldOf(i) == heldWrong {
			r.note(&r.blocks[i], fmt.Errorf("%w: the head's summary is not that of the block's events", ErrCorrupt))
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

// held says what is known of the summary in a block's head. It is held against
// the block's events whenever those are decoded.
type held uint8

const (
	notHeld held = iota
	heldRight
	heldWrong
)

func (r *Reader) heldOf(block int) held {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[block]
}

// hold holds the summary of block i against what was decoded of it.
func (r *Reader) hold(i int, d *blockDecoder, b *blockBuffer) {
	if r.heldOf(i) != notHeld {
		return
	}
	is := heldWrong
	if s := d.summary(b); r.blocks[i].Events.covers(&s) {
		is = heldRight
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[i] = is
}

// summary makes the summary of the block that was decoded last anew.
func (d *blockDecoder) summary(b *blockBuffer) summary {
	first, last := b.ends()
	s := newSummary(first, last, uint32(d.runs[0].warp>>32), uint32(d.runs[len(d.runs)-1].warp>>32))
	for i := range d.runs {
		s.addWarp(uint32(d.runs[i].warp>>32), uint32(d.runs[i].warp))
	}
	sync := false
	for op, n := range d.uses {
		if o := &b.Ops[op]; n > 0 {
			s.Threads += uint64(n) * uint64(bits.OnesCount32(o.Lanes))
			s.addOp(o)
			sync = sync || o.Kind == KindSyncwarp || o.Kind == KindSyncwarpDone
		}
	}
	if sync {
		for i := range d.runs {
			s.addWarpBarrier(uint32(d.runs[i].warp))
		}
	}
	return s
}
