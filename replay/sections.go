package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"btrace/replay/rules"
	"btrace/trace"
)

// drawing makes, while a launch is replayed, what a viewer needs to open it at
// once: the picture, and checkpoints from which the state at any time is a
// short replay away.
type drawing struct {
	origin int64
	last   int64
	cells  int
	every  int // events between checkpoints; 0: by size
}

// maxCells bounds the slices of a picture over all its rows.
const maxCells = 4 << 20

// newDrawing sizes a picture for a launch of so many events: not more slices
// than there are events to show in them.
func newDrawing(r *run, origin, last int64, events uint64) *drawing {
	rows := max(r.layout.ctas*uint64(r.warps), 1)
	cells := 64
	for cells < 4096 && uint64(cells*2)*rows <= maxCells && uint64(cells)*rows < events {
		cells *= 2
	}
	return &drawing{origin: origin, last: last, cells: cells, every: r.opt.checkpointEvery}
}

// sketch is one worker's part of a drawing.
type sketch struct {
	pic    *picture
	points []point
	stuck  []hungRow
	marks  []findingMark // of all findings, listed or not
	every  int
}

// point is a checkpoint: the state after all events up to and at a time.
type point struct {
	scope uint32
	time  int64
	data  []byte
}

// hungRow is a warp that waits for ever.
type hungRow struct {
	row   Row
	since int64
}

func (d *drawing) sketch() *sketch {
	return &sketch{pic: newPicture(d.origin, d.cells), every: d.every}
}

// spacing is how many events of a scope lie between its checkpoints at most
// (where they have different times).
func (k *sketch) spacing(s *scope) int {
	if k.every > 0 {
		return k.every
	}
	return min(max(1024, 64*int(s.size())*((s.threads+31)/32)), 8192)
}

// before writes a checkpoint, if one is due, before an event of that time.
func (k *sketch) before(s *scope, time int64) {
	if s.fresh >= k.spacing(s) && time > s.now {
		k.points = append(k.points, point{s.number, s.now, appendCheckpoint(nil, s)})
		s.fresh = 0
	}
	s.fresh++
}

// ending is called for a scope that is not over when the recording ends,
// before its hangs are looked for.
func (k *sketch) ending(s *scope) {
	for _, c := range s.sortedCTAs() {
		for _, w := range c.warps {
			for i := range w.strands {
				st := &w.strands[i]
				if _, held := s.stuckAt(w, st); held {
					k.stuck = append(k.stuck, hungRow{Row{c.id, w.id}, st.since})
				}
			}
		}
	}
}

// data is what the sections of a launch hold.
type data struct {
	origin, last int64
	whole        bool // the launch is one scope
	functions    []mbarKey
	pic          *picture
	stuck        []hungRow
	marks        []findingMark
	points       []point // sorted by scope and time
}

// findingMark is where a finding shows in the picture.
type findingMark struct {
	row      Row
	time     int64
	severity uint8
}

// prepare replays a launch and draws it.
func prepare(ctx context.Context, src Source, l trace.Launch, opt Options) (*data, []Finding, error) {
	r := newRun(src, l, opt)
	d := &data{}
	var events uint64
	if r.refuse == "" {
		var err error
		if d.origin, d.last, events, err = span(ctx, src, l.ID); err != nil {
			return nil, nil, err
		}
	}
	r.draw = newDrawing(r, d.origin, d.last, events)
	d.pic = newPicture(d.origin, r.draw.cells)
	if err := r.all(ctx); err != nil {
		return nil, nil, err
	}
	d.whole = r.layout.whole
	for k := range r.functions {
		d.functions = append(d.functions, k)
	}
	slices.SortFunc(d.functions, func(a, b mbarKey) int { return cmp.Or(cmp.Compare(a.cta, b.cta), cmp.Compare(a.addr, b.addr)) })
	lr, list := r.report()
	for _, f := range r.found.list {
		d.marks = appendMarks(d.marks, f)
	}
	for _, w := range r.workers {
		for _, s := range w.scopes {
			w.sketch.pic.end(s, d.last)
		}
		for row, t := range w.sketch.pic.rows {
			if w.finished.has(r.layout.scope(row.CTA)) && t.last >= 0 {
				w.sketch.pic.paint(t, t.last, d.last, uint8(Exited))
			}
		}
		d.pic.merge(w.sketch.pic)
		d.points = append(d.points, w.sketch.points...)
		d.marks = append(d.marks, w.sketch.marks...)
		if lr.Verdict == Deadlock {
			d.stuck = append(d.stuck, w.sketch.stuck...)
		}
	}
	d.pic.align()
	slices.SortFunc(d.points, func(a, b point) int { return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.time, b.time)) })
	slices.SortFunc(d.stuck, func(a, b hungRow) int { return cmp.Or(compareRows(a.row, b.row), cmp.Compare(a.since, b.since)) })
	slices.SortFunc(d.marks, func(a, b findingMark) int {
		return cmp.Or(compareRows(a.row, b.row), cmp.Compare(a.time, b.time), cmp.Compare(a.severity, b.severity))
	})
	d.marks = slices.Compact(d.marks)
	for _, h := range d.stuck {
		d.pic.hung(h.row, h.since, d.last)
	}
	for _, m := range d.marks {
		d.pic.mark(m.row, m.time, m.severity)
	}
	return d, list, nil
}

func compareRows(a, b Row) int { return cmp.Or(cmp.Compare(a.CTA, b.CTA), cmp.Compare(a.Warp, b.Warp)) }

// appendMarks adds where a finding shows.
func appendMarks(marks []findingMark, f *Finding) []findingMark {
	sev := uint8(1)
	switch f.Severity {
	case rules.Error:
		sev = 3
	case rules.Warning:
		sev = 2
	}
	for _, t := range f.Threads {
		marks = append(marks, findingMark{Row{t.CTA, t.Warp}, f.Time, sev})
	}
	return marks
}

// span is the time of the first and of the last event of a launch, and how
// many there are.
func span(ctx context.Context, src Source, launch uint32) (from, to int64, events uint64, err error) {
	first := true
	for b, err := range src.Blocks(ctx, trace.Query{Launch: &launch}) {
		if err != nil {
			return 0, 0, 0, err
		}
		if n := b.Len(); n > 0 {
			if first {
				from, first = b.Time[0], false
			}
			to = max(to, b.Time[n-1])
			events += uint64(n)
		}
	}
	return from, to, events, nil
}

// sectionVersion is raised with every change of what the sections hold.
const sectionVersion = 2

func pictureName(launch uint32) string { return fmt.Sprintf("replay.picture.%d", launch) }
func pointsName(launch uint32, chunk int) string {
	return fmt.Sprintf("replay.checkpoints.%d.%d", launch, chunk)
}

// Sections replays a trace and returns what is to be attached to it, so that
// a viewer can open it without replaying it.
func Sections(ctx context.Context, src Source) ([]trace.Section, error) {
	var out []trace.Section
	for _, l := range src.Launches() {
		d, _, err := prepare(ctx, src, l, Options{})
		if err != nil {
			return nil, fmt.Errorf("launch %d: %w", l.ID, err)
		}
		out = append(out, d.sections(l.ID)...)
	}
	return out, nil
}

// chunkBytes is the size of a section of checkpoints.
const chunkBytes = 1 << 20

// sections encodes the data: one section for the picture, and some for the
// checkpoints, with an index of them in the first.
func (d *data) sections(launch uint32) []trace.Section {
	var index []chunkIndex
	var out []trace.Section
	for i := 0; i < len(d.points); {
		index = append(index, chunkIndex{d.points[i].scope, d.points[i].time})
		c := &codec{}
		for i < len(d.points) && (len(c.buf) < chunkBytes) {
			c.point(&d.points[i])
			i++
		}
		out = append(out, trace.Section{Name: pointsName(launch, len(index)-1), Version: sectionVersion, Data: c.buf})
	}
	c := &codec{}
	c.data(d, &index)
	return append([]trace.Section{{Name: pictureName(launch), Version: sectionVersion, Data: c.buf}}, out...)
}

// chunkIndex is the scope and time of the first checkpoint of a section.
type chunkIndex struct {
	scope uint32
	time  int64
}

func (c *codec) point(p *point) {
	c.u32(&p.scope)
	c.i64(&p.time)
	c.bytes(&p.data)
}

func (c *codec) data(d *data, index *[]chunkIndex) {
	if c.reading {
		d.pic = newPicture(0, 0)
	}
	c.i64(&d.origin)
	c.i64(&d.last)
	c.bools(&d.whole)
	list(c, &d.functions, func(k *mbarKey) { c.u32(&k.cta); c.u64(&k.addr) })
	if d.last < d.origin || d.last-d.origin < 0 {
		c.fail("no such launch")
	}
	list(c, &d.stuck, func(h *hungRow) { c.row2(&h.row); c.i64(&h.since) })
	list(c, &d.marks, func(m *findingMark) { c.row2(&m.row); c.i64(&m.time); c.u8(&m.severity) })
	list(c, index, func(x *chunkIndex) { c.u32(&x.scope); c.i64(&x.time) })
	c.picture(d.pic)
}

func (c *codec) row2(r *Row) {
	c.u32(&r.CTA)
	c.u32(&r.Warp)
}

func (c *codec) picture(p *picture) {
	c.i64(&p.origin)
	c.u8(&p.shift)
	n := uint64(p.cells)
	c.u64(&n)
	if p.shift > 62 || n == 0 || n > 1<<16 {
		c.fail("picture too large")
		return
	}
	p.cells = int(n)
	var rows []Row
	for r := range p.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, compareRows)
	budget := maxCells * 2
	list(c, &rows, func(r *Row) {
		c.row2(r)
		t := p.rows[*r]
		if c.reading {
			t = &track{shift: p.shift}
			p.rows[*r] = t
		}
		c.cells(&t.cells, p.cells, &budget)
	})
	keys := p.sortedLanes()
	list(c, &keys, func(k *laneKey) {
		c.u32(&k.cta)
		as(c, &k.barrier.Kind)
		c.u64(&k.barrier.ID)
		c.str(&k.barrier.Name)
		l := p.lanes[*k]
		if c.reading {
			l = &laneTrack{}
			p.lanes[*k] = l
		}
		c.u64(&l.stride)
		c.u64(&l.total)
		c.bools(&l.begun)
		c.phase(&l.open)
		list(c, &l.done, c.phase)
	})
}

func (p *picture) sortedLanes() []laneKey {
	var keys []laneKey
	for k := range p.lanes {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b laneKey) int {
		return cmp.Or(cmp.Compare(a.cta, b.cta), cmp.Compare(a.barrier.Kind, b.barrier.Kind), cmp.Compare(a.barrier.ID, b.barrier.ID), cmp.Compare(a.barrier.Name, b.barrier.Name))
	})
	return keys
}

func (c *codec) phase(p *Phase) {
	c.u64(&p.Phase)
	c.i64(&p.From)
	c.i64(&p.To)
	c.u64(&p.Arrivals)
	c.u64(&p.Expected)
	c.u8(&p.Violations)
}

// cells writes a row as runs.
func (c *codec) cells(cells *[]uint8, most int, budget *int) {
	type run struct {
		cell uint8
		n    uint64
	}
	var runs []run
	for _, x := range *cells {
		if k := len(runs); k > 0 && runs[k-1].cell == x {
			runs[k-1].n++
		} else {
			runs = append(runs, run{x, 1})
		}
	}
	list(c, &runs, func(r *run) {
		c.u8(&r.cell)
		c.u64(&r.n)
	})
	if !c.reading {
		return
	}
	for _, r := range runs {
		if r.n > uint64(most-len(*cells)) || int(r.n) > *budget {
			c.fail("row too long")
			return
		}
		*budget -= int(r.n)
		for range r.n {
			*cells = append(*cells, r.cell)
		}
	}
}
