package trace

import (
	"fmt"
	"time"
)

// cut makes room in the full buffer: of the launch that has most of it, the
// earlier half is written. The later half waits for rows that belong between
// its own.
func (w *Writer) cut() error {
	var most *launchRows
	for _, st := range w.launches {
		if most == nil || len(st.rows) > len(most.rows) {
			most = st
		}
	}
	n := max(1, len(most.rows)/2)
	if err := w.writeRows(most, n); err != nil {
		return err
	}
	w.since = w.half
	if w.buffered >= w.opts.BlockRows {
		w.half = time.Now()
	}
	return w.err
}

// flushRows writes all buffered rows and forgets the operations.
func (w *Writer) flushRows() error {
	for _, st := range w.launches {
		if err := w.flushLaunch(st); err != nil {
			return err
		}
	}
	w.ops.reset()
	w.extras.reset()
	return w.err
}

func (w *Writer) flushLaunch(st *launchRows) error {
	return w.writeRows(st, len(st.rows))
}

// writeRows writes the first n rows of a launch, in stored order.
func (w *Writer) writeRows(st *launchRows, n int) error {
	if len(st.rows) == 0 {
		return nil
	}
	st.whole()
	if st.unsorted {
		w.sorter.sort(&st.rowTable)
		st.unsorted = false
	}
	for at := 0; at < n; {
		k := min(n-at, w.opts.BlockRows)
		for uint64(st.rows[at+k-1].time)-uint64(st.rows[at].time) > maxSpan {
			k = (k + 1) / 2
		}
		if err := w.writeBlock(st, st.part(at, at+k)); err != nil {
			w.err = err // the rows are lost, so nothing may follow them
			return err
		}
		at += k
	}
	st.drop(n)
	w.buffered -= n
	if len(st.rows) == 0 {
		if cap(st.rows) > cap(w.spare.rows) {
			w.spare = st.rowTable
		}
		st.rowTable = rowTable{}
	}
	return w.err
}

// writeBlock writes rows, which are in stored order, as a block; as two if
// they do not fit into one.
func (w *Writer) writeBlock(st *launchRows, t rowTable) error {
	n := len(t.rows)
	if w.totals.blocks == MaxBlocks {
		return fmt.Errorf("launch %d: %w: %d blocks; record in several files", st.id, ErrFull, MaxBlocks)
	}
	payload, s := w.blocks.encode(w.payload[:0], &t, w.ops.ops, w.extras.texts)
	w.payload = payload
	if len(payload) > maxBlockRaw && n > 1 {
		if err := w.writeBlock(st, t.part(0, n/2)); err != nil {
			return err
		}
		return w.writeBlock(st, t.part(n/2, n))
	}
	if err := st.overlap(s.First.Time, s.Last.Time); err != nil {
		return err
	}
	w.emit(&head{Type: FrameEvents, Launch: st.id, Rows: uint32(n), Events: s}, payload)
	w.totals.blocks++
	w.totals.rows += uint64(n)
	w.totals.threads += s.Threads
	return w.err
}

// overlap notes a block's times, and refuses one that overlaps more blocks
// than a reader can merge.
func (st *launchRows) overlap(first, last int64) error {
	depth := 0
	for i := len(st.lasts) - 1; i >= 0 && st.latest[i] >= first; i-- {
		if st.lasts[i] >= first {
			depth++
		}
	}
	if depth >= MaxOverlap {
		return fmt.Errorf("launch %d: events are too far out of order, by more than %d blocks: sort them by time", st.id, MaxOverlap)
	}
	st.lasts = append(st.lasts, last)
	if n := len(st.latest); n > 0 {
		last = max(last, st.latest[n-1])
	}
	st.latest = append(st.latest, last)
	return nil
}
