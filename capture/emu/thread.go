package emu

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"

	"btrace/replay/barrier"
	"btrace/trace"
)

// Thread is one thread of a launch, and what a kernel does everything with.
// It belongs to the call of the kernel that it was passed to: nothing else
// may use it.
type Thread struct {
	m    *machine
	cta  *cta
	warp *warp
	lane int

	next  func() (struct{}, bool)
	end   func()
	yield func(struct{}) bool
	err   error

	op    *op    // what it is at; lanes that are at the same may share it
	room  op     // room for one that is not shared
	place uint64 // of that in the source
	since uint64 // step at which it came there
	due   int64  // not before this time
	delay int64  // more time until its next operation
	site  *site  // of its latest operation in the source

	// Operands and results that differ from lane to lane.
	token     barrier.Token
	answer    bool
	result    uint32 // of the reduction that it is to come out of
	completes bool   // it has to run the completion function
	move      func(rank int)
	act       func() (changed bool, s seen) // of an Atomic
	copies    []func()                      // asynchronous copies of its own, and arrivals on them

	polls    int // in a row
	lastPoll op
	lastSeen seen
	priority int64 // among the lanes of the warp, under pct
	depth    int   // of calls, in a Program
}

// do is what every operation comes down to: the lane stops at it until the
// scheduler has it done.
func (t *Thread) do(o op) {
	if t.m.stopping {
		runtime.Goexit()
	}
	if t.m.running != t {
		t.own(o.name())
	}
	o.site = t.site
	t.set(o)
	if !t.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// set makes o the operation that the lane is at.
func (t *Thread) set(o op) { t.room, t.op, t.result = o, &t.room, 0 }

// own panics unless it is t's own code that runs.
func (t *Thread) own(what string) {
	if t.m.running != t {
		panic(fmt.Errorf("%s of cta %d warp %d lane %d used from elsewhere: a Thread, and what was made with it, belongs to one call of the kernel",
			what, t.cta.id, t.warp.index, t.lane))
	}
}

// begin makes the coroutine that runs the kernel for t.
func (t *Thread) begin() {
	t.next, t.end = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		returned := false
		defer func() {
			if returned {
				return
			}
			p := recover()
			if p == nil && t.m.stopping {
				return
			}
			t.err = &LaneError{CTA: t.cta.id, Warp: t.warp.index, Lane: uint32(t.lane), Panic: p, Stack: debug.Stack()}
			if p == nil { // Goexit, which goes on from here: not before abandon
				yield(struct{}{})
			}
		}()
		t.m.l.kernel(t)
		returned = true
	})
}

// abandon ends the coroutine of a lane that has not come to its end. The
// coroutine leaves by runtime.Goexit, which takes its caller along.
func (t *Thread) abandon() {
	if t.end == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.end()
	}()
	<-done
	t.next, t.end = nil, nil
}

// The thread's place in the launch.

// ThreadIdx is threadIdx.
func (t *Thread) ThreadIdx() trace.Dim { return unflatten(uint64(t.Thread()), t.m.l.cfg.Block) }

// BlockIdx is blockIdx.
func (t *Thread) BlockIdx() trace.Dim { return t.cta.idx }

// BlockDim is blockDim.
func (t *Thread) BlockDim() trace.Dim { return t.m.l.cfg.Block }

// GridDim is gridDim.
func (t *Thread) GridDim() trace.Dim { return t.m.l.cfg.Grid }

// Thread is the linear index of the thread in its CTA.
func (t *Thread) Thread() int { return 32*int(t.warp.index) + t.lane }

// Threads is the number of threads of a CTA.
func (t *Thread) Threads() int { return int(t.m.l.cfg.Block.Size()) }

// Warp is the index of the thread's warp in its CTA.
func (t *Thread) Warp() int { return int(t.warp.index) }

// Lane is the thread's place in its warp.
func (t *Thread) Lane() int { return t.lane }

// CTA is the linear index of the thread's CTA in the grid.
func (t *Thread) CTA() int { return int(t.cta.id) }

// CTAs is the number of CTAs in the grid.
func (t *Thread) CTAs() int { return int(t.m.l.cfg.Grid.Size()) }

// ClusterRank is the rank of the thread's CTA in its cluster.
func (t *Thread) ClusterRank() int { return t.cta.rank }

// ClusterSize is the number of CTAs in a cluster.
func (t *Thread) ClusterSize() int { return len(t.cta.cluster.ctas) }

// Now is the virtual time in ns, as %globaltimer.
func (t *Thread) Now() int64 { return t.m.now }

// Things that take time, or end it.

// Work spends ns of virtual time on something else. Under the schedules other
// than RoundRobin anything may happen meanwhile.
//
//go:noinline
func (t *Thread) Work(ns int64) {
	t.here()
	t.do(op{kind: kindWork, ns: max(ns, 0)})
}

// Spin is one turn of a loop that polls memory until another thread changes
// it. A loop that polls without it never lets the other thread run.
//
//go:noinline
func (t *Thread) Spin() {
	t.here()
	t.do(op{kind: kindSpin})
}

// Mark puts a note into the recording.
//
//go:noinline
func (t *Thread) Mark(text string) {
	t.here()
	t.do(op{kind: trace.KindMark, text: text})
}

// Trap ends the launch with a trap, as a failed assertion does.
//
//go:noinline
func (t *Thread) Trap(reason string) {
	t.here()
	t.do(op{kind: trace.KindTrap, text: reason})
}

func unflatten(i uint64, d trace.Dim) trace.Dim {
	x, y := uint64(d[0]), uint64(d[1])
	return trace.Dim{uint32(i % x), uint32(i / x % y), uint32(i / x / y)}
}

func flatten(i, d trace.Dim) uint32 { return (i[2]*d[1]+i[1])*d[0] + i[0] }
