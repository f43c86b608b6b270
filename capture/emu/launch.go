package emu

import (
	"context"
	"reflect"
	"runtime"
	"slices"

	"btrace/trace"
)

// residentThreads is how many threads run side by side: as many as one SM
// holds. It bounds the memory of a launch, whatever the size of its grid.
const residentThreads = 2048

// launch is one launch under way. It is made of machines, each of which runs
// for itself; see round.go.
type launch struct {
	cfg     Config
	kernel  func(*Thread)
	code    Program // instead of kernel
	program string  // base name of the kernel's source file
	line    uint32  // of the kernel
	entry   *site   // of a Program: where the kernel begins
	globals globals
	out     recorder

	window   int64      // of virtual time, that a round covers
	resident []*machine // by time
	draining []*machine // at their end, but not all of their events handed over
	starts   []int64    // when which place for a further machine came free
	begun    uint64     // machines
	steps    uint64
	end      int64
	fault    *machine // that trapped, or whose Go code failed
	hung     bool     // a part of it, or all
	spent    bool     // the steps are used up
	stuck    []Stuck
	script   script // the choices to make
	choices  script // the choices made
	missed   uint64 // of script, that could not be made
	err      error
}

// Source returns the file and line of a kernel's first line.
func Source(kernel func(*Thread)) (file string, line int) { return source(kernel) }

func source(kernel any) (file string, line int) {
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
	return run(ctx, cfg, goKernel(kernel, kernel), sink)
}

// LaunchWith is Launch for a kernel that takes arguments: a struct of
// scalars, and of slices that stand for buffers in global memory, which the
// kernel may write its results to.
func LaunchWith[A any](ctx context.Context, cfg Config, kernel func(*Thread, A), args A, sink Sink) (Result, error) {
	return run(ctx, cfg, goKernel(func(t *Thread) { kernel(t, args) }, kernel), sink)
}

// goKernel is the launch of a kernel; origin is the function that it stands
// for.
func goKernel(kernel func(*Thread), origin any) *launch {
	file, line := source(origin)
	return &launch{kernel: kernel, program: baseName(file), line: uint32(line)}
}

// run makes a launch.
func run(ctx context.Context, cfg Config, l *launch, sink Sink) (Result, error) {
	cfg, err := cfg.Prepare()
	if err != nil {
		return Result{Outcome: trace.OutcomeUnknown}, err
	}
	l.cfg, l.window, l.out = cfg, firstWindow, recorder{sink: sink, launch: cfg.Launch}
	if isScript(cfg.Schedule) {
		if l.script, err = parseScript(cfg.Schedule); err != nil {
			return Result{Outcome: trace.OutcomeUnknown}, err
		}
	}
	l.starts = make([]int64, l.perWave())
	l.run(ctx)
	return l.result(), l.err
}

// run has machines run side by side, round by round, and begins another
// whenever one is through.
func (l *launch) run(ctx context.Context) {
	defer l.stop()
	l.err = context.Cause(ctx)
	for l.err == nil {
		l.fill()
		if len(l.resident) == 0 {
			break
		}
		if l.dormant() {
			l.hung = true
			break
		}
		l.round(ctx)
		l.retire()
		if l.fault != nil {
			break
		}
		if l.spent = l.steps >= l.cfg.StepBudget; l.spent {
			break
		}
		if l.err = context.Cause(ctx); l.err == nil {
			l.err = l.handOver(l.frontier())
		}
	}
	l.finish()
}

// fill begins machines where there is a place for them.
func (l *launch) fill() {
	for len(l.starts) > 0 && l.begun < l.units() {
		l.resident = append(l.resident, &machine{l: l, unit: l.begun, now: l.starts[0] - latency, alone: l.units() == 1})
		l.starts = l.starts[1:]
		l.begun++
	}
}

// dormant reports whether all that run only poll, and have done so for long
// enough.
func (l *launch) dormant() bool {
	return !slices.ContainsFunc(l.resident, func(m *machine) bool { return !m.dormant })
}

// retire takes those machines out that have come to an end, and finds the
// first that ended the launch.
func (l *launch) retire() {
	slices.SortFunc(l.resident, byTime)
	keep := l.resident[:0]
	moved := false
	for _, m := range l.resident {
		moved = moved || m.moved || m.halted
		l.steps += m.steps - m.counted
		m.counted = m.steps
		switch {
		case m.over():
			if l.fault == nil || m.moment().before(l.fault.moment()) {
				l.fault = m
			}
			keep = append(keep, m)
		case m.halted:
			l.end = max(l.end, m.now)
			if m.live == 0 {
				l.starts = append(l.starts, m.next())
			} else { // it keeps its place
				l.hung = true
				m.report()
				m.stop()
			}
			if l.cfg.Progress != nil {
				l.cfg.Progress(uint64(len(m.order)))
			}
			m.free()
			l.draining = append(l.draining, m)
		default:
			keep = append(keep, m)
		}
	}
	clear(l.resident[len(keep):])
	l.resident = keep
	for _, m := range keep {
		if m.moved = false; moved { // it may poll for that
			m.idle, m.dormant = 0, false
		}
	}
}

// finish hands the last events over. After a fault that is what happened
// before it: the other machines may have been ahead.
func (l *launch) finish() {
	last := lastMoment
	switch f := l.fault; {
	case f != nil:
		last = f.moment()
		last.cta++
		if l.end = f.now; f.err != nil {
			l.err = f.err
		}
	case l.err == nil:
		for _, m := range l.resident {
			m.report()
		}
		fallthrough
	default:
		for _, m := range l.resident {
			l.end = max(l.end, m.now)
		}
	}
	if err := l.handOver(last); l.err == nil {
		l.err = err
	}
	if err := l.out.flush(); l.err == nil {
		l.err = err
	}
	slices.SortStableFunc(l.stuck, func(a, b Stuck) int { return int(a.CTA) - int(b.CTA) })
}

// stop ends what still runs.
func (l *launch) stop() {
	for _, m := range l.resident {
		m.stop()
		l.choices.add(m)
		l.missed += m.missed
	}
}

func (l *launch) result() Result {
	r := Result{
		Outcome: trace.OutcomeCompleted, WarpEvents: l.out.warpEvents, ThreadEvents: l.out.threadEvents,
		Steps: l.steps, Time: l.end, Stuck: l.stuck, GivenUp: l.spent && (len(l.resident) > 0 || l.begun < l.units()),
		Schedule: l.choices.text(l.cfg.Schedule), Missed: l.missed, globals: l.globals.vars,
	}
	switch {
	case l.err != nil:
		r.Outcome = trace.OutcomeUnknown
	case l.fault != nil:
		r.Outcome = trace.Outcome("trap:" + l.fault.trap)
	case l.hung || l.begun < l.units() || r.GivenUp:
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
func (l *launch) perWave() uint64 {
	n := max(1, residentThreads/(l.cfg.Block.Size()*l.cfg.Cluster.Size()))
	return min(n, l.units())
}
