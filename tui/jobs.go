package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"btrace/replay"
)

// A timeline may be used by one goroutine at a time, so one worker asks it
// everything: first where a key wants to go, then the state at the focus, then
// the picture, in pieces. What a job found is applied in Update.

// jobKind orders jobs by what a user waits for most.
type jobKind uint8

const (
	jobSeek jobKind = iota
	jobMoment
	jobGraph
	jobPicture
	jobBeside
	jobFindings
)

// job is one question to a timeline. It runs outside the program's loop and
// returns what to do with the answer; nil if it was cancelled.
type job struct {
	kind   jobKind
	epoch  int        // of the launch that it asks about
	moment momentKey  // of jobMoment
	graph  blockedKey // of jobGraph
	view   window     // of jobPicture and jobBeside
	cells  int
	drawn  int64  // up to which there was something to draw, of jobPicture
	by     uint64 // shift of jobBeside
	back   bool
	run    func(context.Context) func(*model)
}

// workDone is the message of a job that has ended.
type workDone struct{ apply func(*model) }

// loaded is the message of something that no timeline was needed for, and of
// what is to be waited for next.
type loaded struct {
	apply func(*model)
	then  tea.Cmd
}

// worker is the job that runs, if one does.
type worker struct {
	busy   bool
	job    job
	cancel context.CancelFunc
}

func (w *worker) done() {
	if w.cancel != nil {
		w.cancel()
	}
	*w = worker{}
}

// next starts the next job, or cancels the one that runs if nobody wants its
// answer any more.
func (m *model) next() tea.Cmd {
	cmds := []tea.Cmd{m.openLaunch()}
	if m.work.busy {
		if m.outdated(m.work.job) {
			m.work.cancel()
		}
		return tea.Batch(cmds...)
	}
	if m.ctx.Err() != nil {
		return nil
	}
	if j, ok := m.pick(); ok {
		ctx, cancel := context.WithCancel(m.ctx)
		m.work = worker{true, j, cancel}
		cmds = append(cmds, func() tea.Msg {
			apply := j.run(ctx)
			if ctx.Err() != nil {
				apply = nil
			}
			return workDone{apply}
		})
	}
	return tea.Batch(append(cmds, m.loadSource(), m.loadStats(), m.openBeside())...)
}

// outdated reports whether a job's answer has become useless.
func (m *model) outdated(j job) bool {
	switch {
	case j.epoch != m.epoch:
		return true
	case j.kind == jobMoment:
		return j.moment != m.momentKey()
	case j.kind == jobGraph:
		return j.graph != m.blockedKey()
	case j.kind == jobPicture:
		return j.view != m.win || j.cells != m.track() || j.drawn != m.drawn
	case j.kind == jobBeside:
		by, back := m.shift()
		return j.view != m.win || j.cells != m.track() || j.by != by || j.back != back
	}
	return false
}

// pick is the most urgent job that there is to do.
func (m *model) pick() (job, bool) {
	if m.tl == nil {
		return job{}, false
	}
	if len(m.seeks) > 0 {
		j := m.seeks[0](m)
		m.seeks = m.seeks[1:]
		j.kind, j.epoch = jobSeek, m.epoch
		return j, true
	}
	if len(m.tree.all) == 0 {
		return m.findingsJob()
	}
	if key := m.momentKey(); !m.moments.has(key) {
		return m.momentJob(key), true
	}
	if j, ok := m.graphJob(); ok {
		return j, true
	}
	if j, ok := m.pictureJob(); ok {
		return j, true
	}
	if j, ok := m.besideJob(); ok {
		return j, true
	}
	return m.findingsJob()
}

// findingsJob asks the timeline for the findings, where no report is to come.
// It may replay the launch for them: everything else goes first.
func (m *model) findingsJob() (job, bool) {
	if m.ownKnown || !m.settled || m.report != nil || m.cfg.LoadReport != nil {
		return job{}, false
	}
	tl := m.tl
	return job{kind: jobFindings, epoch: m.epoch, run: func(context.Context) func(*model) {
		found := tl.Findings()
		return func(m *model) {
			m.own, m.ownKnown = found, true
			m.lanes.add(found, m.current().ID)
			if !m.moved {
				m.openOnFinding()
			}
		}
	}}, true
}

// momentKey names what the panes show: the state of a cluster at a time, and
// the event of a row.
type momentKey struct {
	cluster uint64
	time    int64
	row     rowID
}

// moment is what is known of a time: the state of the focus' cluster, and the
// row's last event.
type moment struct {
	key   momentKey
	state *replay.State
	event rowEvent
	err   error
}

func (m *model) momentKey() momentKey {
	return momentKey{m.clusters.of(m.focus.row.cta), m.focus.time, m.focus.row}
}

// moments keeps what was loaded lately.
type moments struct {
	byKey  map[momentKey]*moment
	order  []momentKey
	latest *moment
}

// momentsKept bounds how many are kept.
const momentsKept = 64

func newMoments() moments { return moments{byKey: map[momentKey]*moment{}} }

func (s *moments) has(k momentKey) bool { return s.byKey[k] != nil }

func (s *moments) put(x *moment) {
	if !s.has(x.key) {
		s.order = append(s.order, x.key)
	}
	s.byKey[x.key], s.latest = x, x
	if len(s.order) > momentsKept {
		delete(s.byKey, s.order[0])
		s.order = s.order[1:]
	}
}

// get returns the moment, or the latest one that was loaded.
func (s *moments) get(k momentKey) (x *moment, exact bool) {
	if x := s.byKey[k]; x != nil {
		s.latest = x
		return x, true
	}
	return s.latest, false
}

func (m *model) momentJob(key momentKey) job {
	tl, warps := m.tl, m.tree.warps(key.row)
	return job{kind: jobMoment, epoch: m.epoch, moment: key, run: func(ctx context.Context) func(*model) {
		x := &moment{key: key}
		x.state, x.err = tl.State(ctx, key.row.cta, key.time)
		if x.err == nil {
			x.event, x.err = lastEvent(ctx, tl, warps, key.time)
		}
		return func(m *model) { m.moments.put(x) }
	}}
}

// pictureSlice is how long a job may draw on before it hands over what it
// has, so that a key never waits long for the worker.
const pictureSlice = 8 * time.Millisecond

// pictureJob loads a part of what the window shows and has not got.
func (m *model) pictureJob() (job, bool) {
	var rows []rowID
	for _, v := range m.visibleRows() {
		if v.strand < 0 && !m.blank(v.id) {
			rows = append(rows, v.id)
		}
	}
	j, ok := loadPictures(m.tl, m.tree, m.win, m.track(), rows, m.visibleLanes(), m.cells, m.phases)
	j.kind, j.epoch, j.view, j.cells, j.drawn = jobPicture, m.epoch, m.win, m.track(), m.drawn
	return j, ok
}

// loadPictures is a job that loads some of those rows and barriers of a window
// that are not stored yet; false if all are.
func loadPictures(tl replay.Timeline, tree *rows, view window, n int, ids []rowID, lanes []replay.Lane, into *store[rowID, replay.Cell], phases *store[laneID, replay.Phase]) (job, bool) {
	ids = slices.DeleteFunc(ids, func(id rowID) bool { return into.has(id, view, n) })
	var barriers []replay.Lane
	for _, l := range lanes {
		if !phases.has(laneID{l.CTA, l.Barrier}, view, n) {
			barriers = append(barriers, l)
		}
	}
	if len(ids)+len(barriers) == 0 {
		return job{}, false
	}
	warps := make([][]replay.Row, len(ids))
	for i, r := range ids {
		warps[i] = tree.warps(r)
	}
	return job{run: func(ctx context.Context) func(*model) {
		until := time.Now().Add(pictureSlice)
		var apply []func()
		for _, l := range barriers {
			if len(apply) > 0 && time.Now().After(until) {
				break
			}
			ph, err := tl.Phases(ctx, l, view.from, view.to, n)
			if ctx.Err() != nil {
				break
			}
			apply = append(apply, func() { phases.put(laneID{l.CTA, l.Barrier}, view, n, ph, err) })
		}
		for i, r := range ids {
			if len(apply) > 0 && time.Now().After(until) {
				break
			}
			cells, err := rowCells(ctx, tl, warps[i], view, n)
			if ctx.Err() != nil {
				break
			}
			apply = append(apply, func() { into.put(r, view, n, cells, err) })
		}
		return func(*model) {
			for _, f := range apply {
				f()
			}
		}
	}}, true
}

// rowCells are the cells of a row: those of a warp, or for a CTA the worst of
// its warps.
func rowCells(ctx context.Context, tl replay.Timeline, warps []replay.Row, view window, n int) ([]replay.Cell, error) {
	cells := make([]replay.Cell, n)
	var one []replay.Cell
	for i, w := range warps {
		if i == 0 {
			if err := tl.Cells(ctx, w, view.from, view.to, cells); err != nil {
				return nil, err
			}
			continue
		}
		if one == nil {
			one = make([]replay.Cell, n)
		}
		clear(one)
		if err := tl.Cells(ctx, w, view.from, view.to, one); err != nil {
			return nil, err
		}
		for x, c := range one {
			cells[x] = worse(cells[x], c)
		}
	}
	return cells, nil
}

// worse joins two cells: the worst of both is what shows.
func worse(a, b replay.Cell) replay.Cell {
	return replay.Cell{
		Activity: max(a.Activity, b.Activity),
		Severity: max(a.Severity, b.Severity),
		Mixed:    a.Mixed || b.Mixed || a.Activity != b.Activity,
		Events:   a.Events || b.Events,
	}
}

// loadReport asks for the verdict where it was not known at the start.
func (m *model) loadReport() tea.Cmd {
	if m.report != nil || m.reportErr != nil || m.reporting || m.cfg.LoadReport == nil {
		return nil
	}
	m.reporting = true
	load, ctx, side := m.cfg.LoadReport, m.ctx, m.otherSide
	return func() tea.Msg {
		r, err := load(ctx)
		return loaded{apply: func(m *model) {
			if m.otherSide == side {
				m.reported(r, err)
			} else {
				m.cfg.Other.Report = r
			}
		}}
	}
}
