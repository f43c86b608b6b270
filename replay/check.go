package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"

	"btrace/replay/rules"
	"btrace/trace"
)

// Source is what replay reads; *trace.Reader is one.
type Source interface {
	Launches() []trace.Launch
	Blocks(ctx context.Context, q trace.Query) iter.Seq2[*trace.Block, error]
	Damage() []trace.Damage
	Whole() bool
}

// DefaultLookahead is how many events of a scope may wait to become possible.
const DefaultLookahead = 1_000_000

// maxThreads is the most threads that a CTA can have (CUDA programming guide,
// "Compute Capabilities").
const maxThreads = 1024

// maxCluster bounds the CTAs of a cluster; the portable limit is 8, hardware
// allows 16.
const maxCluster = 64

// maxLive bounds the scopes that are replayed at once. The largest GPUs hold
// a few thousand CTAs.
const maxLive = 1 << 16

// maxMbars bounds the mbarriers of a CTA: what its shared memory can hold (228
// KiB on sm_90, 8 bytes each).
const maxMbars = 228 << 10 / 8

// Options of a replay. The zero value is the default.
type Options struct {
	// Lookahead is how many events of a scope may be parked before the replay
	// of that scope gives up; 0 means DefaultLookahead.
	Lookahead int
	// NoHazards leaves out what other schedules could do.
	NoHazards bool
	// Workers is how many scopes are replayed at once; 0 means one for each
	// core. The report does not depend on it.
	Workers int

	// checkpointEvery is the number of events between the checkpoints of a
	// scope; 0 means what suits its size.
	checkpointEvery int
	// listed is how many CTAs have a finding of their own for the same fault; 0
	// means maxListed.
	listed int
}

func (o Options) lookahead() int {
	if o.Lookahead > 0 {
		return o.Lookahead
	}
	return DefaultLookahead
}

// Check replays a trace and reports what it finds. An error means that it
// could not be read at all; what is missing in it is part of the report.
func Check(ctx context.Context, src Source, opt Options) (*Report, error) {
	rep := &Report{Verdict: Clean}
	for _, l := range src.Launches() {
		lr, list, err := checkLaunch(ctx, src, l, opt)
		if err != nil {
			return nil, fmt.Errorf("launch %d: %w", l.ID, err)
		}
		hangs, err := otherHangs(ctx, src, &lr, list)
		if err != nil {
			return nil, fmt.Errorf("launch %d: %w", l.ID, err)
		}
		rep.Launches = append(rep.Launches, lr)
		rep.Findings = append(append(rep.Findings, list...), hangs...)
		rep.Counts.add(lr.Counts)
		rep.Verdict = worst(rep.Verdict, lr.Verdict)
	}
	if len(rep.Launches) == 0 && !src.Whole() {
		rep.Verdict = Incomplete
	}
	sorted(rep.Findings)
	return rep, nil
}

// checkLaunch replays one launch. A reader finds damage when it reads: what
// was claimed by then is not trusted, and the launch is replayed once more,
// with the damage known.
func checkLaunch(ctx context.Context, src Source, l trace.Launch, opt Options) (LaunchReport, []Finding, error) {
	for {
		known := len(src.Damage())
		r := newRun(src, l, opt)
		if err := r.all(ctx); err != nil {
			return LaunchReport{}, nil, err
		}
		if len(src.Damage()) == known {
			lr, list := r.report()
			return lr, list, nil
		}
	}
}

// worst is the verdict of two parts together.
func worst(a, b Verdict) Verdict {
	rank := []Verdict{Clean, Incomplete, Violation, Deadlock}
	if slices.Index(rank, b) > slices.Index(rank, a) {
		return b
	}
	return a
}

// run is the replay of one launch.
type run struct {
	src       Source
	launch    trace.Launch
	opt       Options
	layout    layout
	warps     uint32           // of a CTA
	masks     []uint32         // lanes of each warp
	functions map[mbarKey]bool // mbarriers with a completion function
	workers   []*worker
	found     findings // of the launch as a whole

	mute, cut bool // events are missing in the middle; at the end
	partial   bool // the file is not whole
	refuse    string
	draw      *drawing        // nil where no picture is wanted
	begin     func() Observer // nil where nobody observes
}

// worker replays the scopes that fall to it.
type worker struct {
	r             *run
	n, of         uint32
	scopes        map[uint32]*scope
	finished      finished
	exited        uint64 // lanes of finished scopes
	counts        Counts
	found         digest       // of scopes that are over
	incomplete    bool         // some of them lack events
	spare         []*scope     // finished scopes whose memory can be used again
	sketch        *sketch      // its part of the picture; nil for none
	observe       *observation // nil for nobody
	others        others       // what is known of other schedules
	fed           row          // scratch: the row that is replayed
	stay          bool         // scopes stay when they are over: their state is wanted
	explained     bool
	strange, late oddity // events that the launch cannot have; events after the end of their scope
}

func newRun(src Source, l trace.Launch, opt Options) *run {
	r := &run{src: src, launch: l, opt: opt, layout: newLayout(&l), warps: uint32(l.Warps()), functions: make(map[mbarKey]bool)}
	r.found.launch = &r.launch
	cluster := l.ClusterSize()
	switch {
	case l.Block == trace.Dim{} || l.Grid == trace.Dim{}:
		r.refuse = "the recording does not say how many threads and CTAs the launch has: it cannot be checked"
	case l.Threads() > maxThreads:
		r.refuse = fmt.Sprintf("the launch has %d threads a CTA; %d is the most there can be", l.Threads(), maxThreads)
	case cluster > maxCluster:
		r.refuse = fmt.Sprintf("the launch has %d CTAs a cluster; %d is the most there can be", cluster, maxCluster)
	case r.layout.ctas > 1<<32:
		r.refuse = fmt.Sprintf("the launch has %d CTAs; 2^32 is the most that a trace can name", r.layout.ctas)
	}
	if r.refuse == "" {
		for w := range r.warps {
			r.masks = append(r.masks, newWarpMask(l.Threads(), w))
		}
	}
	for _, d := range src.Damage() {
		r.mute = r.mute || !errors.Is(d.Err, trace.ErrTorn)
	}
	r.partial = !src.Whole()
	r.cut = r.partial && !l.Ended
	return r
}

func newWarpMask(threads uint64, w uint32) uint32 {
	if n := threads - 32*uint64(w); n < 32 {
		return 1<<n - 1
	}
	return ^uint32(0)
}

// all replays the whole launch.
func (r *run) all(ctx context.Context) error {
	if r.refuse != "" {
		return nil
	}
	if err := r.survey(ctx); err != nil {
		return err
	}
	if r.refuse != "" {
		return nil
	}
	n := r.opt.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	n = int(min(uint64(n), r.layout.scopes()))
	r.start(n)
	if err := r.stream(ctx); err != nil {
		return err
	}
	r.finish()
	return nil
}

func (r *run) start(n int) {
	for i := range n {
		w := &worker{
			r: r, n: uint32(i), of: uint32(n), scopes: make(map[uint32]*scope), finished: make(finished),
			found: digest{most: r.opt.listed}, others: newOthers(r.opt.listed),
		}
		if r.draw != nil {
			w.sketch = r.draw.sketch()
		}
		if r.begin != nil {
			w.observe = &observation{r.begin()}
		}
		r.workers = append(r.workers, w)
	}
}

// maxFunctions bounds the mbarriers with a completion function.
const maxFunctions = 1 << 16

// survey looks, before the replay, for what decides how it goes: a grid-wide
// barrier makes the launch one scope, and an mbarrier that has a completion
// function ends its phases when that does. The file's index makes it cheap
// where there is neither.
func (r *run) survey(ctx context.Context) error {
	id := r.launch.ID
	for b, err := range r.src.Blocks(ctx, trace.Query{Launch: &id, Kinds: []trace.Kind{trace.KindCompletionBegin}}) {
		if err != nil {
			return err
		}
		for i, cta := range b.CTA {
			if len(r.functions) < maxFunctions {
				r.functions[mbarKey{cta, b.Ops[b.Op[i]].Addr}] = false
			}
		}
	}
	if err := r.findBarriers(ctx); err != nil {
		return err
	}
	for b, err := range r.src.Blocks(ctx, trace.Query{Launch: &id, Barriers: []trace.Barrier{{Kind: trace.BarrierGroup, Name: "grid"}}}) {
		if err != nil {
			return err
		}
		if b.Len() == 0 {
			continue
		}
		if r.layout.ctas > maxLive {
			r.refuse = fmt.Sprintf("a grid-wide barrier over %d CTAs is more than can be replayed", r.layout.ctas)
			return nil
		}
		r.layout.whole = true
		break
	}
	return nil
}

// findBarriers finds the mbarriers of the completion functions. Of a
// cuda::barrier that is made of atomics a recording may have the functions and
// nothing else: then they say nothing of its phases.
func (r *run) findBarriers(ctx context.Context) error {
	if len(r.functions) == 0 {
		return nil
	}
	id, found := r.launch.ID, 0
	var kinds []trace.Kind
	for _, k := range trace.Kinds() {
		if k.Family == trace.FamilyMbar {
			kinds = append(kinds, k.Kind)
		}
	}
	for b, err := range r.src.Blocks(ctx, trace.Query{Launch: &id, Kinds: kinds}) {
		if err != nil {
			return err
		}
		for i, cta := range b.CTA {
			op := &b.Ops[b.Op[i]]
			key := mbarKey{op.OwnerCTA(cta), op.Addr}
			if known, ok := r.functions[key]; ok && !known {
				r.functions[key] = true
				found++
			}
		}
		if found == len(r.functions) {
			break
		}
	}
	maps.DeleteFunc(r.functions, func(_ mbarKey, known bool) bool { return !known })
	return nil
}

// batch replays the rows of the worker's scopes.
func (w *worker) batch(b *batch) {
	for n := range b.Groups {
		if index := b.Groups[n].Number; index%w.of == w.n {
			t := b.turn(n)
			w.turn(index, &t)
		}
	}
}

// turn replays rows of a scope.
func (w *worker) turn(index uint32, t *turn) {
	s, r := w.scopes[index], &w.fed
	for i := range t.time {
		t.row(i, r)
		if uint64(r.cta) >= w.r.layout.ctas || r.warp >= w.r.warps {
			w.skip(r, &w.strange, fmt.Sprintf("where the launch has %d CTAs of %d warps", w.r.layout.ctas, w.r.warps))
			continue
		}
		r.lanes &= w.r.masks[r.warp]
		if r.lanes == 0 && r.op.Kind != trace.KindMark && r.op.Kind != trace.KindGap {
			w.skip(r, &w.strange, "of lanes that the warp does not have")
			continue
		}
		if s == nil {
			if w.finished.has(index) {
				w.skip(r, &w.late, "after all lanes of its CTA had exited")
				continue
			}
			if len(w.scopes) >= maxLive/int(w.of) {
				w.skip(r, &w.strange, fmt.Sprintf("while %d others are alive: no GPU holds so many", len(w.scopes)*int(w.of)))
				continue
			}
			s = w.newScope(index)
		}
		if w.sketch != nil {
			w.sketch.before(s, r.time)
		}
		s.feed(r)
		if r.op.Kind == trace.KindExit && !w.stay && s.over() {
			w.retire(index, s)
			s = nil
		}
	}
}

func (w *worker) newScope(index uint32) *scope {
	s := w.begin(index)
	s.mute, s.functions = w.r.mute, w.r.functions
	switch {
	case w.sketch != nil:
		s.watch = w.sketch.pic
	case w.observe != nil:
		s.watch = w.observe
	}
	if w.r.follows() && s.order == nil {
		s.order = newFollower(s)
	}
	w.scopes[index] = s
	return s
}

// retire frees a scope that is over: all its lanes have exited.
func (w *worker) retire(index uint32, s *scope) {
	s.finish(false)
	if w.observe != nil {
		w.observe.over(s)
	}
	w.keep(s)
	w.end(s)
	delete(w.scopes, index)
	w.finished.add(index)
}

func (w *worker) keep(s *scope) {
	w.counts.add(s.counts)
	w.exited += s.exited
	w.explained = w.explained || s.explained
	w.take(s)
}

// take takes what a scope has found: it is over. What it holds no longer may
// grow with the CTAs of a launch.
func (w *worker) take(s *scope) {
	w.others.add(s)
	w.found.take(s.number, s.findings.list)
	w.incomplete = w.incomplete || s.findings.incomplete
	if w.sketch != nil {
		for _, f := range s.findings.list {
			w.sketch.marks = appendMarks(w.sketch.marks, f)
		}
	}
	s.findings, s.hazards = findings{launch: s.launch}, findings{launch: s.launch}
}

// oddity is the first of the events that cannot be of the launch.
type oddity struct {
	x Finding
	n int
}

// note keeps the first of the kind and counts the others.
func (o *oddity) note(x Finding, n int) {
	if o.n == 0 || before(&x, &o.x) {
		o.x = x
	}
	o.n += n
}

// before compares the first events of findings, in stored order.
func before(a, b *Finding) bool {
	e, f := a.Events[0], b.Events[0]
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(e.CTA, f.CTA), cmp.Compare(e.Warp, f.Warp), cmp.Compare(e.Seq, f.Seq)) < 0
}

// skip counts an event that is not replayed, and says why.
func (w *worker) skip(r *row, o *oddity, why string) {
	switch r.op.Kind {
	case trace.KindMark:
		return
	case trace.KindGap:
	default:
		w.counts.WarpEvents++
		w.counts.ThreadEvents += uint64(popcount(r.op.Lanes))
	}
	o.note(Finding{
		Rule: rules.TraceGap, BarrierRef: BarrierRef{CTA: r.cta}, Time: r.time, Location: r.loc(), Events: []EventRef{r.ref()},
		Message: fmt.Sprintf("CTA %d, warp %d has an event (%s) %s", r.cta, r.warp, r.op.Kind, why),
	}, 1)
}

// finish ends all scopes.
func (r *run) finish() {
	_, trapped := r.launch.Outcome.Trap()
	var wg sync.WaitGroup
	for _, w := range r.workers {
		wg.Go(func() {
			for _, s := range w.scopes {
				s.trapped = trapped
				if w.sketch != nil {
					w.sketch.ending(s)
				}
				s.finish(r.cut)
				if w.observe != nil {
					w.observe.over(s)
				}
				w.take(s)
			}
		})
	}
	wg.Wait()
}
