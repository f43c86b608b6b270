package trace

import (
	"container/heap"
	"fmt"
	"slices"
)

// merger puts the rows of overlapping blocks into one order. It holds a part
// of each block: all of its rows while few blocks overlap, fewer and fewer
// the more do, at the price of decoding a block once for each part.
type merger struct {
	it      *blockIter
	part    int // rows
	sources sourceHeap
	free    []*source
	scratch blockBuffer
	out     blockBuffer
	rank    uint64
}

// source is a block that is being merged.
type source struct {
	block int32
	buf   blockBuffer
	at    int // next row in buf
	next  int // next row of the block after those in buf
	ops   []uint32
}

func (s *source) key() key { return s.buf.key(s.at) }

type sourceHeap []*source

func (h sourceHeap) Len() int { return len(h) }
func (h sourceHeap) Less(a, b int) bool {
	c := h[a].key().compare(h[b].key())
	return c < 0 || c == 0 && h[a].block < h[b].block
}
func (h sourceHeap) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *sourceHeap) Push(x any)   { *h = append(*h, x.(*source)) }
func (h *sourceHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// overlap hands out the rows of blocks that overlap, in order of their first
// rows. They are left out by their times only: the numbers of the rows that
// come out would be lost with the rest.
func (it *blockIter) overlap(order []int32) error {
	r := it.r
	depth := r.depth(order)
	if depth > MaxOverlap {
		return fmt.Errorf("%w: launch %d: %d blocks overlap in time, want at most %d", ErrCorrupt, r.blocks[order[0]].Launch, depth, MaxOverlap)
	}
	if it.merge == nil {
		it.merge = &merger{it: it}
	}
	m := it.merge
	m.part, m.rank = MaxBlockRows, r.firsts[order[0]]
	if depth > 3 {
		m.part = max(256, 2*MaxBlockRows/depth)
	}
	m.out.reset()
	defer m.drop()
	for _, i := range order {
		h := &r.blocks[i]
		if it.filter.hasFrom && h.Events.Last.Time < it.filter.q.From {
			m.rank += uint64(h.Rows)
			continue
		}
		if it.filter.hasTo && h.Events.First.Time >= it.filter.q.To {
			break
		}
		if err := m.drain(h.Events.First, false); err != nil {
			return err
		}
		if err := m.open(i); err != nil {
			return err
		}
	}
	if err := m.drain(key{}, true); err != nil {
		return err
	}
	return m.flush()
}

// depth is how many of the blocks overlap at most.
func (r *Reader) depth(order []int32) int {
	most := 0
	var open []key // last rows of the blocks that are open
	for _, i := range order {
		s := &r.blocks[i].Events
		open = slices.DeleteFunc(open, func(last key) bool { return last.less(s.First) })
		open = append(open, s.Last)
		if most = max(most, len(open)); most > MaxOverlap {
			break
		}
	}
	return most
}

// open adds a block.
func (m *merger) open(i int32) error {
	s := &source{}
	if n := len(m.free); n > 0 {
		s, m.free = m.free[n-1], m.free[:n-1]
	}
	s.block, s.next = i, 0
	ok, err := m.load(s)
	if ok {
		heap.Push(&m.sources, s)
		return nil
	}
	m.free = append(m.free, s)
	if err == nil {
		m.rank += uint64(m.it.r.blocks[i].Rows) // damaged
	}
	return err
}

// load reads the next part of a block.
func (m *merger) load(s *source) (ok bool, err error) {
	s.at = 0
	if m.part == MaxBlockRows {
		ok, err = m.it.decode(s.block, nil, &s.buf)
		s.next = s.buf.Len()
	} else {
		ok, err = m.it.decode(s.block, nil, &m.scratch)
		if ok {
			s.buf.reset()
			n := min(m.part, m.scratch.Len()-s.next)
			s.ops = m.add(&s.buf, &m.scratch.Block, s.next, s.next+n, resetOps(s.ops, &m.scratch.Block))
			s.next += n
		}
	}
	if ok {
		s.ops = resetOps(s.ops, &s.buf.Block)
	}
	return ok, err
}

// resetOps readies the numbers that a block's operations have in another.
func resetOps(ops []uint32, b *Block) []uint32 {
	ops = resize(ops, len(b.Ops))
	clear(ops)
	return ops
}

// drain moves the rows before limit, or all of them, to the output.
func (m *merger) drain(limit key, all bool) error {
	for len(m.sources) > 0 {
		s := m.sources[0]
		if !all && !s.key().less(limit) {
			return nil
		}
		end := m.run(s, limit, all)
		s.ops = m.add(&m.out, &s.buf.Block, s.at, end, s.ops)
		s.at = end
		if s.at < s.buf.Len() {
			heap.Fix(&m.sources, 0)
		} else if err := m.advance(s); err != nil {
			return err
		}
		if m.out.Len() >= MaxBlockRows || len(m.out.Ops) >= maxTemplates {
			if err := m.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// run is the end of the rows of s that precede those of all other sources
// and the limit.
func (m *merger) run(s *source, limit key, all bool) int {
	for _, o := range m.sources[1:min(3, len(m.sources))] {
		if k := o.key(); all || k.less(limit) {
			limit, all = k, false
		}
	}
	n := min(s.buf.Len(), s.at+MaxBlockRows-m.out.Len())
	end := s.at + 1
	for end < n && (all || s.buf.key(end).less(limit)) {
		end++
	}
	return end
}

// advance loads more of a block of which all loaded rows are out.
func (m *merger) advance(s *source) error {
	if s.next < int(m.it.r.blocks[s.block].Rows) {
		ok, err := m.load(s)
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&m.sources, 0)
			return nil
		}
	}
	heap.Pop(&m.sources)
	m.free = append(m.free, s)
	return nil
}

// flush hands the output out.
func (m *merger) flush() error {
	if m.out.Len() == 0 {
		return nil
	}
	n := uint64(m.out.Len())
	m.out.First = m.rank
	m.rank += n
	err := m.it.hand(&m.out.Block)
	m.out.reset()
	for _, s := range m.sources {
		clear(s.ops)
	}
	return err
}

// drop gives up what is open, as at the end.
func (m *merger) drop() {
	m.free = append(m.free, m.sources...)
	m.sources = m.sources[:0]
}

// add appends rows of a block to another. ops holds the numbers, plus one,
// that the block's operations have there so far.
func (m *merger) add(to *blockBuffer, b *Block, from, end int, ops []uint32) []uint32 {
	if to.Len() == 0 {
		to.Launch, to.Index = b.Launch, b.Index
	}
	n := to.Len()
	to.Time = append(to.Time, b.Time[from:end]...)
	to.CTA = append(to.CTA, b.CTA[from:end]...)
	to.Warp = append(to.Warp, b.Warp[from:end]...)
	to.Seq = append(to.Seq, b.Seq[from:end]...)
	for _, op := range b.Op[from:end] {
		if ops[op] == 0 {
			to.Ops = append(to.Ops, b.Ops[op])
			ops[op] = uint32(len(to.Ops))
		}
		to.Op = append(to.Op, ops[op]-1)
	}
	to.Pred, to.pred = addColumn(to.Pred, to.pred, b.Pred, n, from, end)
	to.Result, to.result = addColumn(to.Result, to.result, b.Result, n, from, end)
	to.Token, to.token = addColumn(to.Token, to.token, b.Token, n, from, end)
	to.Phase, to.phase = addColumn(to.Phase, to.phase, b.Phase, n, from, end)
	to.Clk, to.clk = addColumn(to.Clk, to.clk, b.Clk, n, from, end)
	to.Extra, to.extra = addColumn(to.Extra, to.extra, b.Extra, n, from, end)
	return ops
}

// addColumn appends rows to a column of n rows that may be missing, as may
// the one that they come from. room is the column's memory.
func addColumn[T any](to, room, col []T, n, from, end int) (grown, kept []T) {
	if to == nil && col == nil {
		return nil, room
	}
	if to == nil {
		to = resize(room, n)
		clear(to)
	}
	if col != nil {
		to = append(to, col[from:end]...)
	} else {
		k := len(to)
		to = slices.Grow(to, end-from)[:k+end-from]
		clear(to[k:])
	}
	return to, to
}

// reset empties a block and keeps its memory.
func (b *blockBuffer) reset() {
	b.Time, b.CTA, b.Warp, b.Seq, b.Op = b.Time[:0], b.CTA[:0], b.Warp[:0], b.Seq[:0], b.Op[:0]
	b.Ops, b.Groups = b.Ops[:0], b.Groups[:0]
	b.Pred, b.Result, b.Token, b.Phase, b.Clk, b.Extra = nil, nil, nil, nil, nil, nil
}
