package emu

import "btrace/trace"

// Barrier is a thread's handle of a cuda::barrier of block scope. Without a
// completion function it is an mbarrier; with one, the thread whose arrival
// is the last of a phase runs the function, and the phase ends with it.
type Barrier struct {
	Mbarrier
	function func()
}

// SharedBarrier declares a cuda::barrier of the CTA.
func SharedBarrier(t *Thread, name string) Barrier {
	return Barrier{Mbarrier: SharedMbarrier(t, name)}
}

// SharedBarrierFunc declares a cuda::barrier of the CTA with a completion
// function. Every thread passes its own; it runs on the thread that passed
// it.
func SharedBarrierFunc(t *Thread, name string, function func()) Barrier {
	return Barrier{SharedMbarrier(t, name), function}
}

// Init is init(&bar, expected).
//
//go:noinline
func (b Barrier) Init(expected int) {
	b.t.here()
	o := b.op(trace.KindMbarInit)
	o.count, o.function = uint32(expected), b.function != nil
	b.t.do(o)
}

// Arrive is bar.arrive(update), with an update of 1 if none is given.
//
//go:noinline
func (b Barrier) Arrive(update ...int) Token {
	b.t.here()
	return b.complete(b.arrive(trace.KindMbarArrive, update, 0))
}

// ArriveAndWait is bar.arrive_and_wait().
//
//go:noinline
func (b Barrier) ArriveAndWait() {
	b.t.here()
	at := b.t.site
	k := b.complete(b.arrive(trace.KindMbarArrive, nil, 0))
	b.t.site = at
	b.t.do(b.token(trace.KindMbarWait, k))
}

// ArriveAndDrop is bar.arrive_and_drop(): arrives, and takes no part in the
// phases that follow.
//
//go:noinline
func (b Barrier) ArriveAndDrop() {
	b.t.here()
	b.complete(b.arrive(trace.KindMbarArriveDrop, nil, 0))
}

// complete runs the completion function if the arrival was the phase's last.
func (b Barrier) complete(k Token) Token {
	t := b.t
	if b.function == nil || !t.completes {
		return k
	}
	t.completes = false
	at := t.site
	t.do(b.op(trace.KindCompletionBegin))
	b.function()
	t.site = at
	t.do(b.op(trace.KindCompletionEnd))
	return k
}
