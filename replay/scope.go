package replay

import (
	"math/bits"

	"btrace/replay/barrier"
	"btrace/replay/explore"
	"btrace/trace"
)

// row is one warp event on its way through the replay.
type row struct {
	time  int64
	op    *trace.Op
	num   uint64 // orders the rows of a scope that have one time
	cta   uint32
	warp  uint32
	seq   uint32
	lanes uint32 // the op's lanes that exist
	operands
}

func (r *row) loc() Location { return Location{File: r.op.File, Line: r.op.Line, PC: r.op.PC} }
func (r *row) ref() EventRef { return EventRef{CTA: r.cta, Warp: r.warp, Seq: r.seq} }
func (r *row) who() Lanes    { return Lanes{CTA: r.cta, Warp: r.warp, Mask: r.lanes} }

// site identifies the instruction of a row.
func (r *row) site() uint64 {
	if r.op.Has.Has(trace.FieldPC) {
		return r.op.PC
	}
	return uint64(r.op.Line)
}

// scope replays the CTAs that can synchronise with each other.
type scope struct {
	launch  *trace.Launch
	layout  layout
	number  uint32   // of the scope
	members []uint32 // its CTAs, by rank; nil for all of the launch
	threads int      // of a CTA
	arch    int      // 90 of sm_90; 0 if not known
	limit   int      // rows that may be parked

	ctas        map[uint32]*cta
	sorted      []*cta // by id; stale if they are fewer
	spare       []*cta // of a scope before this one, for their memory
	collectives []*collective
	// functions names the mbarriers that have a completion function: known
	// beforehand, since a phase with one ends later.
	functions map[mbarKey]bool
	near      [nearCTAs]*cta // by id: those that were used last

	eff      barrier.Effect // scratch of the current operation
	landed   barrier.Effect // and of asynchronous work that finishes
	parting  []parting      // scratch: what comes out of a wait
	now      int64          // time of the row that is fed
	step     uint64         // rows performed
	progress bool           // something completed since the last drain
	landing  bool           // bytes are landing: what completes now completes by them
	stalled  []*warp        // warps with parked rows
	parked   int            // rows in them
	tried    row            // scratch: the parked row that is tried
	trap     string         // reason of a trap; "" for none
	trapRow  *row
	trapped  bool // the launch is known to have ended in a trap
	// explained is true once a broken rule explains the trap.
	explained bool

	// mute is true where absence proves nothing: events are known to be lost.
	mute bool
	// spent is true once the lookahead was exhausted: the scope gave up.
	spent  bool
	exited uint64 // lanes

	counts   Counts
	findings findings
	fresh    int       // rows since the last checkpoint
	watch    watcher   // told of every change; nil for nobody
	order    *follower // told of every operation; nil for nobody
	hazards  findings  // what another schedule could do
	unknown  bool      // lanes are at a barrier of which only its function was recorded
}

// watcher is told what happens, for a picture of the launch or an observer.
type watcher interface {
	// changed: the warp's strands are about to change, by this row.
	changed(s *scope, w *warp, r *row)
	// released: strands of the warp are about to be let go by others.
	released(s *scope, w *warp, time int64)
	// used: the barrier was initialised or waited on.
	used(ref BarrierRef)
	// completed: the barrier's phase ended.
	completed(s *scope, ref BarrierRef, time int64)
	// arrived: a row's lanes arrived in the barrier's phase, which needs so
	// many.
	arrived(r *row, ref BarrierRef, n, expected uint64)
}

// cta is one CTA of a scope.
type cta struct {
	id    uint32
	named *barrier.Named
	bars  [barrier.NumNamed]history
	warps []*warp
	mbars map[uint64]*mbar
	near  [nearMbars]*mbar // by address: those that were used last
	live  int              // lanes
	// collective is the one that was used last.
	collective *collective
}

// nearCTAs is how many CTAs of a scope are found without the map: those of the
// largest cluster.
const nearCTAs = 16

// nearMbars is how many mbarriers of a CTA are found without the map.
const nearMbars = 32

// history is what is remembered of a barrier beyond its model.
type history struct {
	order    *explore.Barrier // nil while nobody follows
	tally    tally            // arrivals of each lane, over all phases
	misuse   *Finding
	implicit bool // the phase under way waits for all that live
	forced   bool // the current phase was ended by force: the recording contradicts the model
}

func newScope(l *trace.Launch, y layout, number uint32, limit int) *scope {
	s := &scope{
		launch: l, layout: y, number: number, members: y.members(number), threads: int(l.Threads()), arch: archNumber(l.Arch), limit: limit,
		ctas: make(map[uint32]*cta),
	}
	s.beginFindings()
	return s
}

// beginFindings makes room for findings: a bound for each CTA.
func (s *scope) beginFindings() {
	none := findings{launch: s.launch, most: maxFindings * int(min(s.size(), maxCluster))}
	s.findings, s.hazards = none, none
}

// cta finds a CTA of the scope, or begins it.
func (s *scope) cta(id uint32) *cta {
	near := &s.near[id%nearCTAs]
	if *near != nil && (*near).id == id {
		return *near
	}
	c := s.ctas[id]
	if c == nil {
		if n := len(s.spare); n > 0 {
			c, s.spare = s.spare[n-1], s.spare[:n-1]
			c.begin(id, s.threads)
		} else {
			c = newCTA(id, s.threads)
		}
		s.ctas[id] = c
	}
	*near = c
	return c
}

// feed takes the next row in stored order.
func (s *scope) feed(r *row) {
	if s.spent {
		return
	}
	w := s.cta(r.cta).warps[r.warp]
	s.now = r.time
	s.note(w, r)
	switch r.op.Kind {
	case trace.KindMark, trace.KindUnknown:
		return
	case trace.KindGap:
		s.gap(w, r)
		return
	}
	if w.parked.lanes&r.lanes != 0 || !s.try(w, r) {
		s.park(w, *r)
		return
	}
	if s.progress && len(s.stalled) > 0 {
		s.drain()
	}
	s.progress = false
}

// park keeps a row until it is possible.
func (s *scope) park(w *warp, r row) {
	if w.parked.len() == 0 {
		s.stalled = append(s.stalled, w)
	}
	w.parked.put(r)
	s.parked++
	if s.parked > s.limit {
		s.giveUp(&r)
		return
	}
	if s.parked&63 == 0 && s.stuck() {
		s.forceEarliest()
	}
}

// drain performs parked rows for as long as any is possible.
func (s *scope) drain() {
	for again := true; again; {
		again = false
		for _, w := range s.stalled {
			if n := s.drainWarp(w); n > 0 {
				s.parked -= n
				again = true
			}
		}
		keep := s.stalled[:0]
		for _, w := range s.stalled {
			if w.parked.len() > 0 {
				keep = append(keep, w)
			}
		}
		clear(s.stalled[len(keep):])
		s.stalled = keep
	}
	s.progress = false
}

// stuck reports whether no row to come can change anything: every lane of the
// scope waits, has exited, or is behind a parked row.
func (s *scope) stuck() bool {
	if uint64(len(s.ctas)) < s.size() {
		return false
	}
	for _, c := range s.ctas {
		for _, w := range c.warps {
			if w.live&^(w.parked.lanes|s.blocked(w)) != 0 {
				return false
			}
		}
	}
	return true
}

// blocked is the lanes of the warp that wait for something that has not
// happened.
func (s *scope) blocked(w *warp) (lanes uint32) {
	for i := range w.strands {
		if st := &w.strands[i]; !s.mayLeave(st) {
			lanes |= st.lanes
		}
	}
	return lanes
}

// forceEarliest performs the earliest parked row against the models, and
// says what it contradicts.
func (s *scope) forceEarliest() {
	var first *warp
	for _, w := range s.stalled {
		if first == nil || w.earliest().before(first.earliest()) {
			first = w
		}
	}
	r := first.parked.take(first.parked.front())
	s.parked--
	s.force(first, &r)
	s.drain()
}

func (w *warp) earliest() *row { return &w.parked.rows[w.parked.front()] }

func (r *row) before(o *row) bool {
	if r.time != o.time {
		return r.time < o.time
	}
	return r.num < o.num
}

// giveUp ends the replay of a scope whose events cannot be put in order
// within the lookahead.
func (s *scope) giveUp(r *row) {
	s.spent = true
	s.stalled, s.parked = nil, 0
	for _, c := range s.ctas {
		for _, w := range c.warps {
			w.parked = parking{}
		}
	}
	s.findings.exhausted(r, s.limit)
}

// apply takes over what a model did: lanes released, phases completed.
func (s *scope) apply(c *cta, kind waitKind) {
	for i := range s.eff.Released {
		rel := &s.eff.Released[i]
		s.progress = true
		to := c
		if kind == waitCollective {
			if to = s.near[rel.CTA%nearCTAs]; to == nil || to.id != rel.CTA {
				to = s.ctas[rel.CTA]
			}
			if to == nil {
				continue
			}
		}
		w := to.warps[rel.Warp]
		for i := range w.strands {
			st := &w.strands[i]
			if st.lanes&rel.Lanes == 0 || st.wait != kind && !(kind == waitNamed && st.wait == heldNamed) {
				continue
			}
			if kind == waitNamed && st.bar != rel.Bar {
				continue
			}
			if s.watch != nil && !st.free {
				s.watch.released(s, w, s.now)
			}
			st.free, st.result = true, rel.Result
			if st.wait == heldNamed {
				st.wait = running
			}
		}
	}
	if s.eff.Completed > 0 {
		s.progress = true
	}
	if s.eff.Trap != "" && s.trap == "" {
		s.trap, s.explained = s.eff.Trap, true
	}
	s.explained = s.explained || s.eff.MayTrap
}

// over reports whether all lanes of the scope have exited.
func (s *scope) over() bool {
	return s.parked == 0 && s.exited == s.size()*uint64(s.threads)
}

func popcount(m uint32) int { return bits.OnesCount32(m) }
