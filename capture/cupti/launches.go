//go:build linux

package cupti

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"btrace/capture/cupti/ring"
	"btrace/capture/ptx"
	"btrace/capture/ptx/probe"
	"btrace/trace"
)

// launch is one that the application made.
type launch struct {
	process     *process
	context     uint32
	correlation uint64
	stream      uint64
	function    string
	info        trace.Launch
	entry       *probe.Entry // nil if it is not instrumented

	listed bool // it is in the trace; otherwise nothing of it is kept
	begun  bool // its line is written
	ended  bool

	grid             *grid
	done             *Done
	drained          bool // all its records have come
	outcome          trace.Outcome
	base             uint64 // %globaltimer at time 0
	queued           int    // events that are held back
	ctas             map[uint32]*ctaState
	entered, exited  uint64 // threads
	latest           uint64 // %globaltimer of its newest event
	guessed, cropped bool
	announced        bool // by a message of its own; others may come again under their grid's number
}

// grid is one run of a grid that records came of.
type grid struct {
	s       *source
	id      uint64
	l       *launch
	kernel  string // once a record said so
	pending ring.Batch
	since   time.Time
	done    bool // its end was told
	ended   bool // and all its records have come
	entered map[warpKey]uint32
}

type gridKey struct {
	s  *source
	id uint64
}

type warpKey struct {
	cta  uint32
	warp uint8
}

// grids is the runs of a grid under one number, which a graph's kernels keep
// from one launch of the graph to the next. They follow each other.
type grids struct {
	runs   []*grid // that are not over, in their order
	at     int     // of them, the one that records are of now; may be behind the last
	ending []*grid // whose ends were told, and some of whose records may be to come
}

// What launch lines say besides the usual, and a reason to leave one out.
const (
	extraWhy = "not instrumented"
	// noBarriers is what probe says of a kernel that has nothing to record.
	noBarriers = "it has no barrier operations"
)

// chosen says what is to be recorded of a kernel: whether its launches are in
// the trace, and its entry if it is instrumented.
func (r *recorder) chosen(function string, id uint64) (m *module, e *probe.Entry, listed bool, why string) {
	if r.o.Kernels != nil && !r.o.Kernels(function) {
		return nil, nil, false, ""
	}
	if m = r.sites.module(id); m == nil || m.entries[function] == nil {
		m = r.sites.find(function)
	}
	if m != nil {
		if e = m.entries[function]; e.Probed {
			return m, e, true, ""
		}
	}
	why = r.in.why(function)
	return m, nil, why != noBarriers, why
}

// newLaunch makes a launch of a kernel, which gets the next number if it is to
// be in the trace.
func (r *recorder) newLaunch(p *process, context uint32, function string, module uint64, grid, block, cluster [3]uint32, shared uint32) *launch {
	m, e, listed, why := r.chosen(function, module)
	l := &launch{process: p, context: context, function: function, entry: e, listed: listed}
	name := strings.ToValidUTF8(function, "?")
	l.info = trace.Launch{
		Kernel: ptx.Readable(name), Recorder: p.role.String(),
		Grid: grid, Block: block, Shared: shared, Observes: []string{},
	}
	if len(name) > maxText/4 || len(l.info.Kernel) > maxText/4 {
		l.info.Kernel = ptx.Short(name)
		name = l.info.Kernel
	}
	if l.info.Kernel != name {
		l.info.Mangled = name
	}
	if cluster != [3]uint32{} {
		l.info.Cluster = cluster
	} else if e != nil && e.Cluster != (trace.Dim{}) {
		l.info.Cluster = e.Cluster
	}
	if s := p.rings[context]; s != nil {
		l.info.Device = strings.ToValidUTF8(s.context.Name, "?")
		l.info.Arch = fmt.Sprintf("sm_%d%d", s.context.Major, s.context.Minor)
	}
	if e != nil {
		l.info.Observes = m.observes(function)
		l.info.Program = m.program(function)
		if m.arch != "" {
			l.info.Arch = m.arch
		}
	}
	if listed {
		l.info.ID = r.next
		l.listed = r.o.Launches.has(uint64(r.next))
		r.next++
		if !l.listed {
			r.res.Left++
		}
	}
	if l.listed && r.res.Launches >= most(e) {
		l.listed = false
		r.res.Beyond++
	}
	l.info.Extra = ""
	if why != "" {
		l.extra(extraWhy, why)
	}
	if l.listed {
		r.launches = append(r.launches, l)
		r.res.Launches++
		if e == nil {
			r.res.Uninstrumented[why]++
		}
	} else if e != nil {
		r.launches = append(r.launches, l)
	} else if !listed {
		r.res.Left++
	}
	return l
}

// most is how many launches there may be in the trace for one more to be: those
// of which nothing is recorded leave room for the others.
func most(e *probe.Entry) int {
	if e == nil {
		return trace.MaxLaunches / 2
	}
	return trace.MaxLaunches
}

// extra adds a key to what is said of the launch.
func (l *launch) extra(key string, value any) { l.info.Extra = appendExtra(l.info.Extra, key, value) }

func appendExtra(s, key string, value any) string {
	v, err := json.Marshal(value)
	if err != nil {
		return s
	}
	if s != "" {
		s += ","
	}
	return s + fmt.Sprintf("%q:%s", key, v)
}

// launched takes the message of a launch.
func (r *recorder) launched(p *process, m *Launch) {
	if m.Flags&LaunchCaptured != 0 {
		if p.captured == nil {
			p.captured = make(map[string]*Launch)
		}
		p.captured[m.Function] = m
		return
	}
	l := r.newLaunch(p, m.Context, m.Function, m.Module, m.Grid, m.Block, m.Cluster, m.Shared)
	l.correlation, l.stream, l.announced = m.Correlation, m.Stream, true
	l.extra("stream", fmt.Sprintf("%#x", m.Stream))
	if m.Flags&LaunchCooperative != 0 {
		l.extra("cooperative", true)
	}
	r.progress()
}

// finished takes the message of a kernel that has ended.
func (r *recorder) finished(p *process, d *Done) {
	r.progress()
	if _, e, listed, _ := r.chosen(d.Function, 0); e == nil && !listed {
		return
	}
	s := p.rings[d.Context]
	if s == nil || d.GridID == 0 { // the Sanitizer's way knows it of patched kernels only
		l := r.launchOf(p, d, nil)
		l.done, l.drained = d, true
		return
	}
	gs := r.gridsOf(s, d.GridID)
	i := slices.IndexFunc(gs.runs, func(g *grid) bool { return !g.done })
	if i < 0 {
		i = len(gs.runs)
	}
	g := r.runOf(gs, i, s, d.GridID)
	l := r.launchOf(p, d, g)
	l.done, g.done = d, true
	gs.ending = append(gs.ending, g)
	if g.l == nil {
		r.join(g, l)
	}
	r.drain.endGrid(s, g.id, !l.announced)
}

// launchOf is the launch that a kernel was: by its records, where they came
// first and were enough to tell, or by its correlation. The kernels of a graph
// have no launch of their own until now.
func (r *recorder) launchOf(p *process, d *Done, g *grid) *launch {
	if g != nil && g.l != nil {
		return g.l
	}
	for _, l := range r.launches {
		if l.process == p && l.context == d.Context && l.correlation == d.Correlation && l.done == nil && l.grid == nil && l.function == d.Function {
			return l
		}
	}
	l := r.newLaunch(p, d.Context, d.Function, 0, d.Grid, d.Block, d.Cluster, d.Shared)
	l.correlation, l.stream = d.Correlation, d.Stream
	l.extra("stream", fmt.Sprintf("%#x", d.Stream))
	return l
}

// failed takes the message of a launch that was refused, or of a context that
// is broken: what ran in it has trapped.
func (r *recorder) failed(p *process, m *Failed) {
	r.progress()
	name := strings.ToValidUTF8(m.Name, "?")
	if m.Correlation == 0 {
		if p.broken == nil {
			p.broken = make(map[uint32]string)
		}
		p.broken[m.Context] = trapText(name)
		return
	}
	for _, l := range r.launches {
		if l.process == p && l.context == m.Context && l.correlation == m.Correlation && l.done == nil && l.grid == nil {
			l.outcome, l.drained = trace.OutcomeUnknown, true
			l.extra("launch failed", name)
		}
	}
}

// trapText is what a context's error says of a kernel, in the words of the
// emulator's traps: "illegal instruction" for CUDA_ERROR_ILLEGAL_INSTRUCTION.
func trapText(name string) string {
	text, ok := strings.CutPrefix(name, "CUDA_ERROR_")
	switch {
	case !ok:
		return name
	case text == "LAUNCH_FAILED": // the driver's word for it says nothing
		return "unspecified launch failure"
	}
	return strings.ToLower(strings.ReplaceAll(text, "_", " "))
}

// gridsOf is the runs of a grid.
func (r *recorder) gridsOf(s *source, id uint64) *grids {
	key := gridKey{s, id &^ (1 << 63)}
	gs := r.grids[key]
	if gs == nil {
		gs = new(grids)
		r.grids[key] = gs
	}
	return gs
}

// runOf is a run of a grid that may be a new one.
func (r *recorder) runOf(gs *grids, i int, s *source, id uint64) *grid {
	if i == len(gs.runs) {
		gs.runs = append(gs.runs, &grid{s: s, id: id &^ (1 << 63), since: r.now, entered: make(map[warpKey]uint32)})
	}
	return gs.runs[i]
}

// gridOf is the run of a grid that records are of: the next, where lanes begin
// in it a second time.
func (r *recorder) gridOf(s *source, snap *siteSnapshot, b *ring.Batch, run *ring.Run) *grid {
	gs := r.gridsOf(s, run.Grid)
	g := r.runOf(gs, gs.at, s, run.Grid)
	if snap.moves[b.Site[run.First]] != moveEnter || g.l != nil && g.l.announced {
		return g
	}
	key, lanes := warpKey{run.CTA, run.Warp}, b.Lanes[run.First]
	if g.entered[key]&lanes != 0 {
		gs.at++
		g = r.runOf(gs, gs.at, s, run.Grid)
	}
	g.entered[key] |= lanes
	return g
}

// forget takes a run that is over out of the books.
func (r *recorder) forget(g *grid) {
	key := gridKey{g.s, g.id}
	gs := r.grids[key]
	if gs == nil {
		return
	}
	if i := slices.Index(gs.runs, g); i >= 0 {
		gs.runs = slices.Delete(gs.runs, i, i+1)
		if gs.at > i {
			gs.at--
		}
	}
	if len(gs.runs) == 0 && len(gs.ending) == 0 {
		delete(r.grids, key)
	}
}

// join makes a grid's records those of a launch.
func (r *recorder) join(g *grid, l *launch) {
	g.l, l.grid = l, g
	if l.announced {
		g.entered = nil
	}
	l.drained = l.drained || g.ended
	b := &g.pending
	snap := r.sites.now.Load()
	for i := range b.Runs {
		r.take(l, snap, b, &b.Runs[i])
	}
	r.waiting -= b.Len()
	g.pending = ring.Batch{}
	r.unjoined = slices.DeleteFunc(r.unjoined, func(o *grid) bool { return o == g })
}

// kernelOf is the kernel that a run is of, if its records say so.
func kernelOf(snap *siteSnapshot, b *ring.Batch, run *ring.Run) string {
	for _, site := range b.Site[run.First : run.First+run.N] {
		if m := snap.modules[site]; m != nil && m.entries[snap.sites[site].Function] != nil {
			return snap.sites[site].Function
		}
	}
	return ""
}

// tryJoin finds the launch of a grid. Of several that it may be it is the
// first, if all are in one stream: there they begin one after the other. If
// they are not, only the end of the kernel tells, or force, which takes the
// first all the same.
func (r *recorder) tryJoin(g *grid, force bool) bool {
	if g.kernel == "" {
		return false
	}
	var first *launch
	several := false
	for _, l := range r.launches {
		if l.process != g.s.process || l.context != g.s.context.Context || l.function != g.kernel ||
			l.grid != nil || l.done != nil || l.outcome != "" || !l.mayHave(g) {
			continue
		}
		if first == nil {
			first = l
		} else if l.stream != first.stream {
			several = true
		}
	}
	if first == nil {
		if !force {
			return false
		}
		first = r.unannounced(g)
	}
	if several {
		if !force {
			return false
		}
		first.guessed = true
	}
	r.join(g, first)
	return true
}

// mayHave reports whether the launch is large enough for the grid's records.
func (l *launch) mayHave(g *grid) bool {
	for i := range g.pending.Runs {
		run := &g.pending.Runs[i]
		if uint64(run.CTA) >= l.info.CTAs() || uint64(run.Warp) >= l.info.Warps() {
			return false
		}
	}
	return true
}

// unannounced is a launch that only records tell of: a kernel of a graph that
// has not ended. Its dimensions are those with which it was put into a graph,
// or what the records reach to.
func (r *recorder) unannounced(g *grid) *launch {
	p := g.s.process
	grid, block := [3]uint32{1, 1, 1}, [3]uint32{32, 1, 1}
	var cluster [3]uint32
	var shared uint32
	told := false
	if c := p.captured[g.kernel]; c != nil {
		grid, block, cluster, shared, told = c.Grid, c.Block, c.Cluster, c.Shared, true
	}
	l := r.newLaunch(p, g.s.context.Context, g.kernel, 0, grid, block, cluster, shared)
	if !told || !l.mayHave(g) {
		for i := range g.pending.Runs {
			run := &g.pending.Runs[i]
			grid[0] = max(grid[0], run.CTA+1)
			block[0] = max(block[0], 32*uint32(run.Warp)+32)
		}
		grid[1], grid[2], block[1], block[2] = 1, 1, 1, 1
		l.info.Grid, l.info.Block = grid, block
		l.extra("dimensions", "not told: as large as what was recorded")
		l.cropped = true
	}
	return l
}

// joinPending tries again to find the launches of grids.
func (r *recorder) joinPending(force bool) {
	if len(r.unjoined) == 0 {
		return
	}
	waiting := slices.Clone(r.unjoined)
	slices.SortStableFunc(waiting, func(a, b *grid) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	for _, g := range waiting {
		if g.l == nil && (force || r.now.Sub(g.since) > joinAfter) {
			r.tryJoin(g, force)
		}
	}
}

// left reports whether all threads have exited. Where only some are recorded
// that is not known: the end of such a launch is told, and soon.
func (l *launch) left() bool { return l.exited >= l.info.CTAs()*l.info.Threads() }

// running reports whether a launch that was recorded is under way.
func (l *launch) running() bool {
	return l.grid != nil && l.done == nil && l.outcome == "" && l.entered > 0 && !l.left() && l.process.broken[l.context] == ""
}

// cta is the state of a CTA of which those warps are recorded.
func (l *launch) cta(n uint32, warps Range) *ctaState {
	c := l.ctas[n]
	if c == nil {
		c = new(ctaState)
		for w := range min(l.info.Warps(), 64) {
			if warps.has(w) {
				c.left++
			}
		}
		if l.ctas == nil {
			l.ctas = make(map[uint32]*ctaState)
		}
		l.ctas[n] = c
	}
	return c
}

// lanesOf is the lanes that a warp of the launch has.
func (l *launch) lanesOf(warp uint32) uint32 {
	if left := l.info.Threads() - min(l.info.Threads(), 32*uint64(warp)); left < 32 {
		return 1<<left - 1
	}
	return 1<<32 - 1
}

// count notes the threads that begin and end.
func (l *launch) count(snap *siteSnapshot, b *ring.Batch, run *ring.Run) {
	for i := run.First; i < run.First+run.N; i++ {
		switch snap.moves[b.Site[i]] {
		case moveEnter:
			l.entered += uint64(bits.OnesCount32(b.Lanes[i]))
		case moveExit:
			l.exited += uint64(bits.OnesCount32(b.Lanes[i]))
		}
	}
}

// wants reports whether a CTA is among those to record. A cluster is recorded
// as a whole.
func (l *launch) wants(cta uint32, ctas Range) bool {
	if !ctas.Set || l.info.ClusterSize() == 1 {
		return ctas.has(uint64(cta))
	}
	g, c := l.info.Grid, l.info.Cluster
	x, y, z := cta%max(g[0], 1), cta/max(g[0], 1)%max(g[1], 1), cta/max(g[0], 1)/max(g[1], 1)
	x, y, z = x-x%max(c[0], 1), y-y%max(c[1], 1), z-z%max(c[2], 1)
	for k := z; k < z+max(c[2], 1); k++ {
		for j := y; j < y+max(c[1], 1); j++ {
			for i := x; i < x+max(c[0], 1); i++ {
				if ctas.has((uint64(k)*uint64(max(g[1], 1))+uint64(j))*uint64(max(g[0], 1)) + uint64(i)) {
					return true
				}
			}
		}
	}
	return false
}
