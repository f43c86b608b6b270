// Package litmus is a table of small programs whose end was measured on real
// hardware: an NVIDIA H100 80GB HBM3 (sm_90), CUDA 13.0. "hang" there means
// still running after 4 s. Emulator and replay are held to it.
//
// Every row can be run in variations of itself (Params) that may not change
// its end: other barriers, addresses, counts and places of the warps.
package litmus

import (
	"fmt"
	"slices"

	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/trace"
)

// Row is one row of the table.
type Row struct {
	ID      int
	Threads int // of a CTA; 1: a single thread acts
	CTAs    int // of the cluster that is the grid; 0 means 1
	// Program, Spec and Silicon are the row's text: the program (w = warp, t
	// = thread, l = lane), what the PTX ISA or CUDA guide says of it (ok,
	// undefined = UB, or deadlock), and what the H100 did.
	Program, Spec, Silicon string
	// Ends are the outcomes that the hardware showed, the usual one first.
	Ends []trace.Outcome
	// Other are outcomes that the row allows under another schedule than
	// the one that its pauses make, for the reason OtherWhy. A Loose row
	// makes no pauses: there it is enough that its warps come in another
	// order.
	Other    []trace.Outcome
	OtherWhy string
	Loose    bool
	// Rules are the ids that a replay of the recording must report: the root
	// of a hang, or the misuse. Without any, it reports nothing of severity
	// error.
	Rules []barrier.Rule
	// Also are errors that the program commits on the way, which may be
	// reported beside those.
	Also []barrier.Rule
	// Warning says that the rules are warnings: the verdict is clean.
	Warning bool
	// Paused says that the values are those of the order that the row's
	// pauses make.
	Paused bool
	// MaxScale is the largest Params.Scale at which the row still is what it
	// is; 0 means any.
	MaxScale int
	Run      func(l *Lane)
	// Values checks what the threads that came through wrote, on a run that
	// completed; nil where the measurement has no values.
	Values func(p Params, out []int32) error
}

// Params is a variation of a row.
type Params struct {
	Scale int    // warps that play one warp of the program; counts grow alike
	Warps []int  // by warp of the CTA, the warp of the program times Scale that it plays
	Bars  [2]int // for barriers 1 and 2
	Addr  uint64 // of the mbarrier
	Solo  int    // the thread that acts, where only one does
	Flip  bool   // exchanges the roles of the CTAs of the cluster
}

// Base is the row as it was measured.
func (r *Row) Base() Params {
	p := Params{Scale: 1, Bars: [2]int{1, 2}, Addr: 0x400}
	for w := range (r.Threads + 31) / 32 {
		p.Warps = append(p.Warps, w)
	}
	return p
}

// Config is the launch of a variation of the row.
func (r *Row) Config(p Params) emu.Config {
	n := uint32(r.Threads * p.Scale)
	if r.Threads == 1 && p.Scale > 1 {
		n = uint32(32 * p.Scale)
	}
	ctas := uint32(max(r.CTAs, 1))
	return emu.Config{Grid: trace.Dim{ctas}, Block: trace.Dim{n}, Cluster: trace.Dim{ctas}}
}

// Kernel is a variation of the row.
func (r *Row) Kernel(p Params) func(*emu.Thread) {
	return func(t *emu.Thread) {
		l := newLane(t, p)
		if r.Threads == 1 && t.Thread() != p.Solo {
			return
		}
		r.Run(l)
	}
}

// Allows reports whether the row may end so; overruled says whether its
// pauses may have been.
func (r *Row) Allows(p Params, o trace.Outcome, overruled bool) bool {
	loose := r.Loose && !slices.IsSorted(p.Warps)
	return slices.Contains(r.Ends, o) || (overruled || loose) && slices.Contains(r.Other, o)
}

// Lane is a thread that plays a lane of the program.
type Lane struct {
	*emu.Thread
	p       Params
	w, t, l int // warp, thread and lane of the program
	cta     int
	mb      emu.Mbarrier
	out     []int32
}

func newLane(t *emu.Thread, p Params) *Lane {
	w := p.Warps[t.Warp()]
	l := &Lane{Thread: t, p: p, w: w / p.Scale, t: 32*w + t.Lane(), l: t.Lane(), cta: t.CTA(), mb: t.Mbarrier(p.Addr)}
	if p.Flip {
		l.cta = t.CTAs() - 1 - l.cta
	}
	l.out = emu.Global[int32](t, "out", max(8, t.CTAs()*t.Threads()))
	return l
}

// n scales a count.
func (l *Lane) n(count int) int { return count * l.p.Scale }

// bar is the barrier that plays number i.
func (l *Lane) bar(i int) int { return l.p.Bars[i-1] }

// put writes the thread's result.
func (l *Lane) put(v int) { l.out[l.cta*l.Threads()+l.t] = int32(v) }

// note writes result number i of a thread that acts alone.
func (l *Lane) note(i int, v bool) {
	l.out[i] = 0
	if v {
		l.out[i] = 1
	}
}

// forever never comes to an end.
func (l *Lane) forever() {
	for {
		l.Spin()
	}
}

// each demands a value of every thread.
func each(want func(p Params, w, t, l int) int32) func(Params, []int32) error {
	return func(p Params, out []int32) error {
		for t := range 32 * len(p.Warps) {
			if t >= len(out) {
				break
			}
			if v := want(p, t/32/p.Scale, t, t%32); out[t] != v {
				return fmt.Errorf("thread %d wrote %d, want %d", t, out[t], v)
			}
		}
		return nil
	}
}

// all demands the same value of every thread.
func all(v int32) func(Params, []int32) error {
	return each(func(Params, int, int, int) int32 { return v })
}

// notes demands results 0, 1, ... of a thread that acts alone.
func notes(want ...int32) func(Params, []int32) error {
	return func(_ Params, out []int32) error {
		if !slices.Equal(out[:len(want)], want) {
			return fmt.Errorf("wrote %v, want %v", out[:len(want)], want)
		}
		return nil
	}
}

const (
	completed = trace.OutcomeCompleted
	hung      = trace.OutcomeHung
	illegal   = trace.Outcome("trap:" + barrier.TrapIllegalInstruction)
	failure   = trace.Outcome("trap:" + barrier.TrapLaunchFailure)
)

func ends(o ...trace.Outcome) []trace.Outcome { return o }

func demands(r ...barrier.Rule) []barrier.Rule { return r }

// Rows is the table.
func Rows() []Row {
	var all []Row
	for _, part := range [][]Row{countRows(), namedRows(), reductionRows(), partialRows(), mbarrierRows(), clusterRows(), barrierRows(), moreRows()} {
		all = append(all, part...)
	}
	return all
}
