//go:build linux

package cupti

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"btrace/capture/cupti/ring"
	"btrace/trace"
)

// recorder is a recording: one goroutine's, which takes what connections and
// the drain bring, and writes the trace.
type recorder struct {
	o      Options
	w      *trace.Writer
	sites  *siteTable
	in     *instrumenter
	drain  *drain
	events chan event
	over   chan struct{} // closed when nobody takes events any more

	now       time.Time
	moved     time.Time // when something happened last
	processes int       // that are connected
	sources   []*source
	launches  []*launch // that have not ended
	next      uint32    // number
	grids     map[gridKey]*grids
	unjoined  []*grid
	waiting   int // records of them
	full      bool
	out       []trace.Event
	res       Result
}

// event is what a connection, or the application's end, tells the recorder.
type event struct {
	p *process
	m Message // nil: the connection is over
	s *source // a new ring
	x *ended  // the application has ended
	// at is when a connection was over.
	at time.Time
}

// maxWaiting is how many records of launches that are not known are kept
// until they are guessed.
const maxWaiting = 1 << 20

// writeRows is how many events are handed to the trace's writer at once.
const writeRows = 4096

// joinAfter is how long a grid waits for a message of its launch that may be
// on its way, guessAfter how long for its end to tell which of several launches
// it was.
const (
	joinAfter  = 20 * time.Millisecond
	guessAfter = time.Second
)

// Record runs a program and records its launches. It returns when the program
// and all its children that use CUDA have ended, when a launch hangs, or when
// the context ends: then the program is ended, too, unless it is to be kept.
// What was recorded until then is in w, whatever the error; w is not closed.
func Record(ctx context.Context, o Options, w *trace.Writer) (Result, error) {
	s, err := startSession(ctx, &o)
	if err != nil {
		return Result{}, err
	}
	defer s.close()
	r := &recorder{
		o: o, w: w, sites: s.sites, in: s.in, drain: newDrain(s.sites), events: s.events, over: s.over,
		grids: make(map[gridKey]*grids), now: time.Now(), moved: time.Now(),
		res: Result{Ends: make(map[trace.Outcome]int), Uninstrumented: make(map[string]int)},
	}
	s.drain = r.drain
	go r.drain.run()
	if err := s.start(); err != nil {
		close(r.drain.stop)
		for d := range r.drain.out {
			r.drain.free <- d.b
		}
		return Result{}, err
	}
	err = r.run(ctx, s)
	return r.res, err
}

// run records until there is a reason to end.
func (r *recorder) run(ctx context.Context, s *session) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var deadline <-chan time.Time // of a process that does not let itself be ended
	interrupted := ctx.Done()
	var failure error
	ending := false // the application is being ended
	for running := true; running || r.processes > 0; {
		select {
		case e := <-r.events:
			r.now = time.Now()
			if e.x != nil {
				running, r.res.Exit = false, e.x.how
				continue
			}
			failure = errors.Join(failure, r.event(e))
		case d := <-r.drain.out:
			r.now = time.Now()
			failure = errors.Join(failure, r.drained(d))
		case <-tick.C:
			r.now = time.Now()
			r.joinPending(r.waiting > maxWaiting || len(r.unjoined) > 0 && r.now.Sub(r.unjoined[0].since) > guessAfter)
		case <-interrupted:
			r.res.Interrupted, interrupted = true, nil
		case <-deadline:
			r.res.Stays = true
			return errors.Join(failure, r.finish())
		}
		if ending {
			continue
		}
		if failure != nil || r.res.Interrupted || r.hangs() {
			ending = true
			if r.o.Keep && len(r.res.Hung) > 0 {
				break
			}
			s.kill()
			deadline = time.After(2*killAfter + 3*time.Second)
		}
	}
	return errors.Join(failure, r.finish())
}

// progress notes that something happened.
func (r *recorder) progress() { r.moved = r.now }

// event takes what a connection brings.
func (r *recorder) event(e event) error {
	switch m := e.m.(type) {
	case nil:
		if e.s != nil {
			e.s.state = newMerger(e.s.context.ClockKHz, r.now)
			e.p.rings[e.s.context.Context] = e.s
			r.sources = append(r.sources, e.s)
			r.drain.add(e.s)
			return nil
		}
		r.processes--
		return r.gone(e.p, e.at)
	case *Hello:
		r.processes++
		if m.Role != RoleAssembler {
			r.res.Processes++
		}
	case *Launch:
		r.launched(e.p, m)
	case *Done:
		r.finished(e.p, m)
	case *Failed:
		r.failed(e.p, m)
	}
	return r.settle()
}

// gone ends what a process did that is no more. Its rings are read to their
// ends first.
func (r *recorder) gone(p *process, at time.Time) error {
	p.cut = at
	r.drain.closeAll(p)
	return r.endAll(func(l *launch) bool { return l.process == p && p.rings[l.context] == nil })
}

// drained takes what the drain found.
func (r *recorder) drained(d drained) error {
	defer func() { r.drain.free <- d.b }()
	b, snap := d.b, r.sites.now.Load()
	d.s.state.see(&d)
	d.s.dropped = d.s.dropped || b.Dropped
	for i := range b.Runs {
		run := &b.Runs[i]
		g := r.gridOf(d.s, snap, b, run)
		if g.l == nil {
			r.keep(g, snap, b, run)
			continue
		}
		r.take(g.l, snap, b, run)
	}
	if b.Len() > 0 {
		r.progress()
	}
	r.full = d.taken == d.s.Chunks() && !d.s.Drops()
	for _, id := range b.Ended {
		gs := r.gridsOf(d.s, id)
		if len(gs.ending) == 0 {
			continue
		}
		g := gs.ending[0]
		gs.ending = gs.ending[1:]
		g.ended = true
		if g.l != nil {
			g.l.drained = true
		}
	}
	if d.closed {
		return r.closed(d.s)
	}
	if err := r.emit(d.s.state, d.s.state.bound(&d)); err != nil {
		return err
	}
	return r.settle()
}

// keep holds records of a grid whose launch is not known.
func (r *recorder) keep(g *grid, snap *siteSnapshot, b *ring.Batch, run *ring.Run) {
	if g.pending.Len() == 0 {
		g.since = r.now
		r.unjoined = append(r.unjoined, g)
	}
	first := g.pending.Len()
	words := len(b.Value) - run.FirstWord
	if i := slices.IndexFunc(b.Runs, func(o ring.Run) bool { return o.First == run.First+run.N }); i >= 0 {
		words = b.Runs[i].FirstWord - run.FirstWord
	}
	kept := *run
	kept.First, kept.FirstWord = first, len(g.pending.Value)
	end := run.First + run.N
	g.pending.Runs = append(g.pending.Runs, kept)
	g.pending.Site = append(g.pending.Site, b.Site[run.First:end]...)
	g.pending.Clock = append(g.pending.Clock, b.Clock[run.First:end]...)
	g.pending.Operand = append(g.pending.Operand, b.Operand[run.First:end]...)
	g.pending.Lanes = append(g.pending.Lanes, b.Lanes[run.First:end]...)
	g.pending.Value = append(g.pending.Value, b.Value[run.FirstWord:run.FirstWord+words]...)
	r.waiting += run.N
	if g.kernel == "" {
		g.kernel = kernelOf(snap, b, run)
	}
}

// take counts the records of a launch, and keeps those that are wanted.
func (r *recorder) take(l *launch, snap *siteSnapshot, b *ring.Batch, run *ring.Run) {
	l.count(snap, b, run)
	l.latest = max(l.latest, run.Time)
	if l.listed && !l.ended && l.wants(run.CTA, r.o.CTAs) && r.o.Warps.has(uint64(run.Warp)) {
		l.grid.s.state.add(l, r.o.Warps, snap, b, run)
	}
}

// emit writes the events of a ring up to a %globaltimer.
func (r *recorder) emit(m *merger, bound uint64) error {
	sites := r.sites.now.Load()
	err := m.emit(bound, func(e *queued, clock, time uint64) error { return r.write(m, sites, e, clock, time) })
	if err != nil {
		return err
	}
	return r.flush()
}

func (r *recorder) flush() error {
	if len(r.out) == 0 {
		return nil
	}
	err := r.w.Write(r.out)
	r.res.Rows += uint64(len(r.out))
	r.out = r.out[:0]
	return err
}

// write gives an event its time and its number.
func (r *recorder) write(m *merger, sites *siteSnapshot, e *queued, clock, at uint64) error {
	l := e.l
	l.queued--
	if !l.begun {
		if err := r.begin(l, at); err != nil {
			return err
		}
	}
	e.cta.time = max(e.cta.time, int64(less(at, l.base)))
	l.latest = max(l.latest, at)
	if r.o.Warps.Set && !e.cta.told {
		r.tellWarps(l, e)
	}
	if l.grid.s.dropped && !e.cta.dropped && e.warp.seq > 0 {
		// Lanes tell what they lost behind it, if at all: from here on nothing
		// may be concluded. What is written now is from before.
		e.cta.dropped = true
		r.putGap(l, e.cta, e.warp, e.inCTA, uint32(e.inWarp), e.lanes)
	}
	n := len(r.out)
	r.out = e.decode(r.out, sites)
	if part := n + int(e.part); e.part != all && part < len(r.out) {
		r.out[n] = r.out[part]
		r.out = r.out[:n+1]
	}
	for i := n; i < len(r.out); i++ {
		r.number(m, e, &r.out[i], clock)
	}
	if len(r.out) >= writeRows {
		return r.flush()
	}
	return nil
}

// number makes an event its warp's next.
func (r *recorder) number(m *merger, e *queued, ev *trace.Event, clock uint64) {
	l := e.l
	if e.warp.after(clock, ev.Lanes) {
		m.late++
		*ev = gap(1, ev.Lanes, ev.Clk)
	}
	e.warp.did(clock, ev.Lanes)
	e.warp.track(ev)
	if ev.Kind == trace.KindGap {
		r.res.Lost += ev.Lost
	}
	ev.Launch, ev.CTA, ev.Warp, ev.Time, ev.Seq = l.info.ID, e.inCTA, uint32(e.inWarp), e.cta.time, e.warp.seq
	e.warp.seq++
	if ev.Kind == trace.KindExit && e.warp.exited == l.lanesOf(ev.Warp) {
		if e.cta.left--; e.cta.left == 0 {
			delete(l.ctas, ev.CTA)
		}
	}
}

// putGap writes a gap of lanes of a warp as its next event, at its CTA's time:
// nobody read a clock for it.
func (r *recorder) putGap(l *launch, c *ctaState, w *warpState, cta, warp, lanes uint32) {
	g := gap(1, lanes, 0)
	g.Has &^= 1 << trace.FieldClk
	g.Launch, g.CTA, g.Warp, g.Time, g.Seq = l.info.ID, cta, warp, c.time, w.seq
	w.seq++
	r.out = append(r.out, g)
}

// tellWarps puts gaps for the warps of a CTA that are not recorded: of what
// they do nothing may be concluded.
func (r *recorder) tellWarps(l *launch, e *queued) {
	e.cta.told = true
	for w := range uint32(l.info.Warps()) {
		if !r.o.Warps.has(uint64(w)) {
			r.putGap(l, e.cta, new(warpState), e.inCTA, w, l.lanesOf(w))
		}
	}
}

// begin writes the line of a launch.
func (r *recorder) begin(l *launch, base uint64) error {
	l.begun, l.base = true, base
	if l.guessed {
		l.extra("launch", "one of several that it may have been")
	}
	return r.w.Begin(l.info)
}

// settle ends the launches of which nothing more will come.
func (r *recorder) settle() error {
	var err error
	r.launches = slices.DeleteFunc(r.launches, func(l *launch) bool {
		if err != nil || !l.drained || l.queued > 0 || l.done == nil && l.outcome == "" {
			return false
		}
		err = r.end(l)
		return true
	})
	return err
}

// end writes how a launch ended, and forgets it.
func (r *recorder) end(l *launch) error {
	if l.grid != nil {
		r.forget(l.grid)
	}
	if l.listed && l.begun && l.done != nil && l.grid.s.Drops() {
		r.dropped(l)
	}
	l.ended, l.ctas = true, nil
	if !l.listed {
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	if !l.begun {
		r.silent(l)
		if err := r.begin(l, 0); err != nil {
			return err
		}
	}
	how := l.outcome
	if how == "" {
		how = trace.OutcomeUnknown
		if why := l.process.broken[l.context]; l.done != nil || l.entry != nil && l.left() {
			how = trace.OutcomeCompleted
		} else if why != "" && l.grid != nil {
			how = trace.Outcome("trap:" + why)
		}
	}
	r.res.Ends[how]++
	extra := ""
	if l.done != nil {
		extra = appendExtra(extra, "start_ns", l.done.Start)
		extra = appendExtra(extra, "end_ns", l.done.End)
	}
	return r.w.End(l.info.ID, how, extra)
}

// silent takes back that a launch is observed, if it ran to its end and not
// even told that it began: what ran was other code than what has the probes.
func (r *recorder) silent(l *launch) {
	if l.entry == nil || l.done == nil || l.entered > 0 || r.o.CTAs.Set || r.o.Warps.Set {
		return
	}
	const why = "no record came of it: its code was loaded in a way that was not seen"
	l.info.Observes = []string{}
	l.extra(extraWhy, why)
	r.res.Uninstrumented[why]++
}

// hangs reports whether launches hang, and which.
func (r *recorder) hangs() bool {
	still := r.now.Sub(r.moved)
	if r.o.HangTimeout <= 0 || still < r.o.HangTimeout {
		return false
	}
	r.joinPending(true)
	if r.full {
		r.res.Full = true
		return true
	}
	for _, l := range r.launches {
		if !l.running() {
			continue
		}
		l.outcome = trace.OutcomeHung
		r.res.After = still
		if l.listed {
			r.res.Hung = append(r.res.Hung, l.info.ID)
		}
	}
	return r.res.After > 0
}

// liveFor is how long after its newest record a kernel that is cut short is
// taken to have been at work.
const liveFor = 100 * time.Millisecond

// finish reads what is left, and ends all launches.
func (r *recorder) finish() error {
	close(r.over)
	cut := time.Now()
	for _, s := range r.sources {
		if s.process.cut.IsZero() {
			s.process.cut = cut
			r.drain.closeAll(s.process)
		}
	}
	close(r.drain.stop)
	var failure error
	for d := range r.drain.out {
		r.now = d.end
		if failure == nil {
			failure = r.drained(d)
		} else {
			r.drain.free <- d.b
		}
	}
	if failure == nil {
		failure = r.endAll(func(*launch) bool { return true })
	}
	return failure
}

// closed ends the launches of a ring to which nobody writes any more.
func (r *recorder) closed(s *source) error {
	for _, g := range slices.Clone(r.unjoined) {
		if g.s == s {
			r.tryJoin(g, true)
		}
	}
	if err := r.emit(s.state, math.MaxUint64); err != nil {
		return err
	}
	r.res.Late += s.state.late
	r.res.Broken += s.Broken()
	r.sources = slices.DeleteFunc(r.sources, func(o *source) bool { return o == s })
	err := r.endAll(func(l *launch) bool { return l.process == s.process && l.context == s.context.Context })
	maps.DeleteFunc(r.grids, func(k gridKey, _ *grids) bool { return k.s == s })
	delete(s.process.rings, s.context.Context)
	s.mem.close()
	return err
}

// endAll ends launches, whatever they were at.
func (r *recorder) endAll(which func(*launch) bool) error {
	var err error
	r.launches = slices.DeleteFunc(r.launches, func(l *launch) bool {
		if err != nil || !which(l) {
			return false
		}
		if l.begun && l.done == nil && r.live(l) {
			r.crop(l)
		}
		if err = r.flush(); err == nil {
			err = r.end(l)
		}
		return true
	})
	return err
}

// live reports whether a launch was at work when it was cut short: then a lane
// may have done what it had no time to record.
func (r *recorder) live(l *launch) bool {
	if l.outcome == trace.OutcomeHung || l.grid == nil {
		return false
	}
	return r.res.Full || l.cropped || l.grid.s.full || less(l.grid.s.state.now(l.process.cut), uint64(liveFor)) < l.latest
}

// dropped puts a gap for each warp of a launch that has ended of which lanes
// did not tell that they exited: what they did was dropped, to the end, and they
// had no chunk to say so in.
func (r *recorder) dropped(l *launch) {
	for _, n := range slices.Sorted(maps.Keys(l.ctas)) {
		c := l.ctas[n]
		for i := range uint32(min(l.info.Warps(), 64)) {
			if !r.o.Warps.has(uint64(i)) {
				continue
			}
			w := c.warp(int(i))
			if lanes := l.lanesOf(i) &^ w.exited; lanes != 0 {
				r.lose(l, n, i, w, lanes)
			}
		}
	}
}

// lose puts a gap at the end of a warp.
func (r *recorder) lose(l *launch, cta, warp uint32, w *warpState, lanes uint32) {
	r.res.Lost++
	r.putGap(l, l.ctas[cta], w, cta, warp, lanes)
}

// crop puts a gap at the end of each warp that has lanes which were at work.
func (r *recorder) crop(l *launch) {
	for _, n := range slices.Sorted(maps.Keys(l.ctas)) {
		c := l.ctas[n]
		for i, w := range c.warps {
			if w == nil {
				continue
			}
			lanes := w.entered &^ w.exited
			if !r.res.Full {
				lanes &^= w.parked
			}
			if lanes != 0 {
				r.lose(l, n, uint32(i), w, lanes)
			}
		}
	}
}

// track follows which lanes of a warp are in the kernel, and which wait.
func (w *warpState) track(ev *trace.Event) {
	w.parked &^= ev.Lanes
	switch ev.Kind {
	case trace.KindEnter:
		w.entered |= ev.Lanes
	case trace.KindExit:
		w.exited |= ev.Lanes
	case trace.KindBarSync, trace.KindBarRed, trace.KindMbarWait, trace.KindClusterWait, trace.KindGroupWait, trace.KindSyncwarp:
		w.parked |= ev.Lanes
	}
}
