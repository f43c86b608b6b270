package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"btrace/trace"
)

// sectioned is a source that may bring sections.
type sectioned interface {
	Section(name string) (trace.Section, bool, error)
}

// Open prepares a launch for a viewer: from the sections of the trace where
// they are there and whole, otherwise by replaying it.
func Open(ctx context.Context, src Source, launch uint32) (Timeline, error) {
	for _, l := range src.Launches() {
		if l.ID != launch {
			continue
		}
		v := &view{src: src, launch: l}
		if v.load() {
			return v, nil
		}
		d, list, err := prepare(ctx, src, l, Options{})
		if err != nil {
			return nil, fmt.Errorf("launch %d: %w", launch, err)
		}
		v.data, v.findings, v.checked = d, list, true
		return v, nil
	}
	return nil, fmt.Errorf("no launch %d in this trace", launch)
}

// Prepared returns the sections that Open had to compute because the trace did
// not bring them; nil if it did. Attached to the trace, they make the next
// Open quick.
func Prepared(t Timeline) []trace.Section {
	if v, ok := t.(*view); ok && v.index == nil && v.checked {
		return v.data.sections(v.launch.ID)
	}
	return nil
}

// view is a Timeline.
type view struct {
	*data
	src      Source
	launch   trace.Launch
	index    []chunkIndex // where checkpoints are in sections; nil: all are in data
	chunk    []point      // the last chunk read
	chunkNo  int
	findings []Finding
	checked  bool
	windows  []window // exact pictures, latest last
}

// window is an exact picture of a scope in a span of time.
type window struct {
	scope    uint32
	from, to int64
	pic      *picture
}

// maxWindows bounds the pictures kept.
const maxWindows = 64

// load reads the sections of the launch.
func (v *view) load() bool {
	s, ok := v.src.(sectioned)
	if !ok {
		return false
	}
	sec, ok, err := s.Section(pictureName(v.launch.ID))
	if !ok || err != nil || sec.Version != sectionVersion {
		return false
	}
	c := &codec{buf: sec.Data, reading: true}
	v.data = &data{}
	c.data(v.data, &v.index)
	v.chunkNo = -1
	return c.err == nil
}

func (v *view) Launch() trace.Launch { return v.launch }

func (v *view) Span() (from, to int64) { return v.origin, v.last }

func (v *view) Rows() []Row {
	rows := make([]Row, 0, len(v.pic.rows))
	for r := range v.pic.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

func (v *view) Lanes() []Lane {
	var out []Lane
	for _, k := range v.pic.sortedLanes() {
		out = append(out, Lane{CTA: k.cta, Barrier: k.barrier, Phases: v.pic.lanes[k].total})
	}
	return out
}

func (v *view) Findings() []Finding {
	if !v.checked {
		v.checked = true
		if _, list, err := checkLaunch(context.Background(), v.src, v.launch, Options{}); err == nil {
			v.findings = list
		}
	}
	return v.findings
}

// Cells fills the cells from the picture, or, where they are finer than its
// slices, from an exact replay of the span.
func (v *view) Cells(ctx context.Context, row Row, from, to int64, cells []Cell) error {
	clear(cells)
	if len(cells) == 0 || to <= from {
		return nil
	}
	pic := v.pic
	if (to-from)/int64(len(cells)) < 1<<pic.shift {
		var err error
		if pic, err = v.exact(ctx, v.scopeOf(row.CTA), from, to); err != nil {
			return err
		}
	}
	pic.fill(row, from, to, cells, pic == v.pic)
	return nil
}

// fill fills cells from the picture; open says that it goes on beyond to.
func (p *picture) fill(row Row, from, to int64, cells []Cell, open bool) {
	pic, t := p, p.rows[row]
	if t == nil {
		return
	}
	for i := range cells {
		a, b := split(from, to, i, len(cells)), split(from, to, i+1, len(cells))
		var x uint8
		if b > pic.origin && (open || a < to) {
			lo := max(a-pic.origin, 0) >> t.shift
			hi := max(max(b, a+1)-1-pic.origin, 0) >> t.shift
			for k := lo; k <= hi && k < int64(len(t.cells)); k++ {
				x = joinCells(x, t.cells[k])
			}
		}
		cells[i] = Cell{Activity: Activity(min(x&cellActivity, uint8(Hung))), Severity: x & cellSeverity >> 4, Mixed: x&cellMixed != 0, Events: x&cellEvents != 0}
	}
}

// split is where part i of n of a span begins.
func split(from, to int64, i, n int) int64 {
	q, r := (to-from)/int64(n), (to-from)%int64(n)
	return from + q*int64(i) + r*int64(i)/int64(n)
}

func (v *view) Phases(ctx context.Context, lane Lane, from, to int64, limit int) ([]Phase, error) {
	k := laneKey{lane.CTA, lane.Barrier}
	l := v.pic.lanes[k]
	if l == nil || to <= from || limit <= 0 {
		return nil, nil
	}
	out := l.phases(from, to)
	if l.stride > 1 && len(out) < limit && (to-from)>>v.pic.shift < 64 {
		pic, err := v.exact(ctx, v.scopeOf(lane.CTA), from, to)
		if err != nil {
			return nil, err
		}
		if e := pic.lanes[k]; e != nil {
			out = e.phases(from, to)
		}
	}
	if len(out) > limit {
		some := make([]Phase, limit)
		for i := range some {
			some[i] = out[i*len(out)/limit]
			some[i].To = out[(i+1)*len(out)/limit-1].To
		}
		out = some
	}
	return out, nil
}

// layout is the launch's, as the sections have it.
func (v *view) layout() layout {
	y := newLayout(&v.launch)
	y.whole = v.whole
	return y
}

func (v *view) scopeOf(cta uint32) uint32 {
	y := v.layout()
	return y.scope(cta)
}

// exact is the picture of a span, drawn from a replay of it.
func (v *view) exact(ctx context.Context, scope uint32, from, to int64) (*picture, error) {
	for _, w := range v.windows {
		if w.scope == scope && w.from == from && w.to == to {
			return w.pic, nil
		}
	}
	s, next, err := v.at(ctx, scope, from-1)
	if err != nil {
		return nil, err
	}
	pic := newPicture(from, 4096)
	for (to-from)>>pic.shift >= int64(pic.cells) {
		pic.shift++
	}
	if s != nil {
		pic.begin(s, from)
		s.watch = pic
		if err := v.replay(ctx, s, next, to); err != nil {
			return nil, err
		}
		pic.end(s, min(to, v.last))
	}
	for _, h := range v.stuck {
		if v.scopeOf(h.row.CTA) == scope && h.since < to {
			pic.hung(h.row, max(h.since, from), min(to, v.last))
		}
	}
	for _, m := range v.marks {
		if m.time >= from && m.time < to {
			pic.mark(m.row, m.time, m.severity)
		}
	}
	pic.align()
	if len(v.windows) == maxWindows {
		v.windows = slices.Delete(v.windows, 0, 1)
	}
	v.windows = append(v.windows, window{scope, from, to, pic})
	return pic, nil
}

// State is the state of the scope that a CTA belongs to.
func (v *view) State(ctx context.Context, cta uint32, t int64) (*State, error) {
	scope := v.scopeOf(cta)
	s, _, err := v.at(ctx, scope, t)
	if err != nil || s == nil {
		return &State{Launch: v.launch.ID, Time: t}, err
	}
	st := s.state(t)
	if t >= v.last {
		v.markHung(st)
	}
	return st, nil
}

// markHung shows waits that last to the end of a hung launch as what they
// are.
func (v *view) markHung(st *State) {
	hung := make(map[Row]bool)
	for _, h := range v.stuck {
		hung[h.row] = true
	}
	for i := range st.Warps {
		w := &st.Warps[i]
		for k := range w.Strands {
			if x := &w.Strands[k]; x.Activity == Waiting && hung[Row{w.CTA, w.Warp}] {
				x.Activity = Hung
			}
		}
	}
}

// at is a scope after all events up to and at a time, and the time from which
// events are to be fed; nil where the launch cannot be replayed.
func (v *view) at(ctx context.Context, scope uint32, t int64) (*scope, int64, error) {
	if newRun(v.src, v.launch, Options{}).refuse != "" {
		return nil, 0, nil
	}
	y := v.layout()
	if uint64(scope) >= y.scopes() {
		return nil, 0, nil
	}
	t = min(t, v.last)
	s := newScope(&v.launch, y, scope, DefaultLookahead)
	from := v.origin
	if p, ok := v.pointBefore(scope, t); ok {
		if r, err := restore(&v.launch, y, scope, p.data); err == nil {
			s, from = r, p.time+1
		}
	}
	s.functions = make(map[mbarKey]bool)
	for _, k := range v.functions {
		s.functions[k] = true
	}
	err := v.replay(ctx, s, from, t+1)
	return s, t + 1, err
}

// pointBefore finds the last checkpoint of a scope at or before a time.
func (v *view) pointBefore(scope uint32, t int64) (point, bool) {
	points := v.points
	if v.index != nil {
		k, found := slices.BinarySearchFunc(v.index, chunkIndex{scope, t}, func(a, b chunkIndex) int {
			return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.time, b.time))
		})
		if !found {
			k--
		}
		if k < 0 || !v.readChunk(k) {
			return point{}, false
		}
		points = v.chunk
	}
	for i := len(points) - 1; i >= 0; i-- {
		if p := points[i]; p.scope == scope && p.time <= t {
			return p, true
		}
	}
	return point{}, false
}

// readChunk reads a section of checkpoints.
func (v *view) readChunk(k int) bool {
	if k == v.chunkNo {
		return true
	}
	sec, ok, err := v.src.(sectioned).Section(pointsName(v.launch.ID, k))
	if !ok || err != nil || sec.Version != sectionVersion {
		return false
	}
	v.chunk, v.chunkNo = nil, -1
	c := &codec{buf: slices.Clone(sec.Data), reading: true}
	for len(c.buf) > 0 && c.err == nil {
		var p point
		c.point(&p)
		v.chunk = append(v.chunk, p)
	}
	if c.err != nil {
		return false
	}
	v.chunkNo = k
	return true
}

// replay feeds a scope its events from one time to another.
func (v *view) replay(ctx context.Context, s *scope, from, to int64) error {
	id := v.launch.ID
	q := trace.Query{Launch: &id, From: from, To: to, CTAs: s.members}
	if to <= from || to <= 0 {
		return nil
	}
	r := &run{launch: v.launch, layout: s.layout, warps: uint32(v.launch.Warps())}
	for w := range r.warps {
		r.masks = append(r.masks, newWarpMask(v.launch.Threads(), w))
	}
	one := &worker{r: r, of: 1, scopes: map[uint32]*scope{s.number: s}, finished: finished{}, stay: true}
	var rows batch
	for b, err := range scopeBlocks(ctx, v.src, &r.layout, q) {
		if err != nil {
			return err
		}
		rows.borrow(b)
		one.batch(&rows)
	}
	return nil
}

// Event finds the event of a row at or before a time, or the first after it.
// The search begins near and widens.
func (v *view) Event(ctx context.Context, row Row, t int64, dir int) (ev trace.Event, ok bool, err error) {
	id := v.launch.ID
	q := trace.Query{Launch: &id, CTAs: []uint32{row.CTA}, Warps: []uint32{row.Warp}}
	for width := max((v.last-v.origin)/256, 1000); ; width *= 4 {
		if dir > 0 {
			q.From, q.To = t+1, t+1+width
		} else {
			q.From, q.To = t-width, t+1
		}
		if q.To <= 0 {
			return ev, false, nil
		}
		for b, err := range v.src.Blocks(ctx, q) {
			if err != nil {
				return ev, false, err
			}
			if n := b.Len(); n > 0 && (dir <= 0 || !ok) {
				ok = true
				if dir > 0 {
					b.Event(0, &ev)
					break
				}
				b.Event(n-1, &ev)
			}
		}
		if ok || dir > 0 && q.To > v.last || dir <= 0 && q.From < v.origin || width > 1<<60 {
			return ev, ok, nil
		}
	}
}
