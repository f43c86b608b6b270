package emu

import (
	"container/heap"
	"context"
	"math/bits"
	"reflect"
	"runtime"

	"btrace/replay/barrier"
	"btrace/trace"
)

// residentThreads is how many threads run side by side: as many as one SM
// holds. It bounds the memory of a launch, whatever the size of its grid.
const residentThreads = 2048

// launch is one launch under way.
type launch struct {
	cfg     Config
	kernel  func(*Thread)
	program string // base name of the kernel's source file
	line    uint32 // of the kernel
	sites   map[uintptr]*site
	rec     recorder
	layout  layout
	globals map[string]any

	resident machineHeap
	retired  int // machines that hung, and keep their place
	begun    uint64
	stuck    []Stuck
	trap     string
	steps    uint64
	end      int64
	err      error
}

// Source returns the file and line of a kernel's first line.
func Source(kernel func(*Thread)) (file string, line int) {
	if f := runtime.FuncForPC(reflect.ValueOf(kernel).Pointer()); f != nil {
		return f.FileLine(f.Entry())
	}
	return "", 0
}

// Launch runs a kernel and hands what its threads do to the sink, which may
// be nil. It returns an error if the configuration asks for what no device
// has (ErrConfig), if the kernel's Go code panics (*LaneError), if the sink
// fails or the context is done; not if the launch hangs or traps: that is its
// outcome.
//
// Launch may be called from several goroutines; each launch runs on its own.
// The context and the budgets are looked at whenever a kernel calls this
// package.
func Launch(ctx context.Context, cfg Config, kernel func(*Thread), sink Sink) (Result, error) {
	cfg, err := cfg.Prepare()
	if err != nil {
		return Result{Outcome: trace.OutcomeUnknown}, err
	}
	file, line := Source(kernel)
	l := &launch{
		cfg: cfg, kernel: kernel, program: baseName(file), line: uint32(line),
		sites:   make(map[uintptr]*site),
		rec:     recorder{sink: sink, launch: cfg.Launch},
		layout:  newLayout(cfg.Shared),
		globals: make(map[string]any),
	}
	// A kernel that calls runtime.Goexit takes the goroutine along that runs
	// it; so that must not be the caller's.
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.stop()
		l.run(ctx)
	}()
	<-done
	return l.result(), l.err
}

// run runs machines side by side, the one that is behind in time first, and
// begins another whenever one is through.
func (l *launch) run(ctx context.Context) {
	l.err = context.Cause(ctx)
	for start := int64(0); ; {
		for l.room() {
			heap.Push(&l.resident, l.begin(start))
		}
		if len(l.resident) == 0 || l.spent() || l.cancelled(ctx) {
			return
		}
		m := l.resident[0]
		more := m.turn()
		if m.over() {
			return
		}
		if more && !m.hung() {
			heap.Fix(&l.resident, 0)
			continue
		}
		if m.live > 0 {
			m.report()
			l.retired++
		}
		start = m.next()
		l.end = max(l.end, m.now)
		m.stop()
		heap.Pop(&l.resident)
	}
}

// spent reports that the steps are used up: what has not ended hangs.
func (l *launch) spent() bool { return l.steps >= l.cfg.StepBudget }

// stop ends all coroutines and hands the last events over. It runs even while
// a kernel's Goexit unwinds the scheduler.
func (l *launch) stop() {
	for _, m := range l.resident {
		l.end = max(l.end, m.now)
		if t := m.running; t != nil && t.err != nil && l.err == nil {
			l.err = t.err
		}
		if l.spent() && !m.over() {
			m.report()
		}
		m.stop()
	}
	if err := l.rec.flush(); l.err == nil {
		l.err = err
	}
}

func (l *launch) result() Result {
	r := Result{
		Outcome: trace.OutcomeCompleted, WarpEvents: l.rec.warpEvents, ThreadEvents: l.rec.threadEvents,
		Steps: l.steps, Time: l.end, Stuck: l.stuck, globals: l.globals,
	}
	switch {
	case l.err != nil:
		r.Outcome = trace.OutcomeUnknown
	case l.trap != "":
		r.Outcome = trace.Outcome("trap:" + l.trap)
	case l.retired > 0 || l.begun < l.units() || l.spent() && len(l.resident) > 0:
		r.Outcome = trace.OutcomeHung
	}
	return r
}

// units is the number of machines that the launch is made of.
func (l *launch) units() uint64 {
	if l.cfg.Cooperative {
		return 1
	}
	return l.cfg.Grid.Size() / l.cfg.Cluster.Size()
}

// perWave is how many machines are resident at once.
func (l *launch) perWave() int {
	return int(max(1, residentThreads/(l.cfg.Block.Size()*l.cfg.Cluster.Size())))
}

func (l *launch) room() bool {
	return l.err == nil && l.begun < l.units() && len(l.resident)+l.retired < l.perWave()
}

// begin makes the next machine, which begins at that time.
func (l *launch) begin(start int64) *machine {
	m := &machine{
		l: l, ctas: make(map[uint32]*cta), grid: make(map[string]*group),
		sched: newSchedule(l.cfg.Schedule, l.cfg.Seed, l.begun), now: start - latency,
	}
	clusters := uint64(1)
	if l.cfg.Cooperative {
		clusters = l.cfg.Grid.Size() / l.cfg.Cluster.Size()
	}
	for i := range clusters {
		m.addCluster(l.begun + i)
	}
	l.begun++
	for _, c := range m.order {
		for _, w := range c.warps {
			m.release(w, w.live)
		}
	}
	return m
}

// addCluster makes cluster number i of the grid.
func (m *machine) addCluster(i uint64) {
	cfg := &m.l.cfg
	var in trace.Dim // clusters in the grid
	for k := range in {
		in[k] = cfg.Grid[k] / cfg.Cluster[k]
	}
	at := unflatten(i, in)
	cl := &cluster{bar: barrier.NewCollective(barrier.Cluster, 0), groups: make(map[string]*group)}
	for r := range cfg.Cluster.Size() {
		idx := unflatten(r, cfg.Cluster)
		for k := range idx {
			idx[k] += at[k] * cfg.Cluster[k]
		}
		m.addCTA(cl, idx)
	}
}

func (m *machine) addCTA(cl *cluster, idx trace.Dim) {
	n := int(m.l.cfg.Block.Size())
	c := &cta{
		m: m, id: flatten(idx, m.l.cfg.Grid), idx: idx, rank: len(cl.ctas), cluster: cl,
		named: barrier.NewNamed(n), mbars: make(map[uint64]*mbar), groups: make(map[string]*group), shared: make(map[string]any),
	}
	cl.ctas = append(cl.ctas, c)
	cl.bar.Add(c.id, n)
	m.ctas[c.id] = c
	m.order = append(m.order, c)
	m.live += n
	for i, live := range c.named.Live {
		w := &warp{cta: c, index: uint32(i), live: live, sync: barrier.NewWarp(live)}
		w.actor = actor{warp: w, at: -1}
		lanes := make([]Thread, bits.OnesCount32(live))
		for j := range lanes {
			t := &lanes[j]
			t.m, t.cta, t.warp, t.lane = m, c, w, j
			t.op = op{kind: trace.KindEnter}
			w.lanes = append(w.lanes, t)
		}
		c.warps = append(c.warps, w)
	}
}

// machineHeap has the machine on top that is behind in time.
type machineHeap []*machine

func (h machineHeap) Len() int { return len(h) }
func (h machineHeap) Less(i, j int) bool {
	if a, b := h[i].next(), h[j].next(); a != b {
		return a < b
	}
	return h[i].order[0].id < h[j].order[0].id
}
func (h machineHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *machineHeap) Push(x any)   { *h = append(*h, x.(*machine)) }
func (h *machineHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return m
}
