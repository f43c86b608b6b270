package emu

import (
	"btrace/replay/barrier"
	"btrace/trace"
)

// Named barriers: PTX ISA, "bar{.cta}, barrier{.cta}". A CTA has sixteen. The
// count is in threads and optional; without one, or with 0, the barrier is
// for all threads of the CTA that have not exited. The bar forms are aligned:
// all threads of a warp must execute the same one. The barrier forms are not.

// BarSync is bar.sync: arrives and waits until count threads have.
//
//go:noinline
func (t *Thread) BarSync(bar int, count ...int) {
	t.here()
	t.named(trace.KindBarSync, barrier.NamedSync, true, bar, count)
}

// BarArrive is bar.arrive: arrives and goes on. It needs a count.
//
//go:noinline
func (t *Thread) BarArrive(bar int, count ...int) {
	t.here()
	t.named(trace.KindBarArrive, barrier.NamedArrive, true, bar, count)
}

// BarRedPopc is bar.red.popc: as BarSync, and returns for how many of the
// participating threads pred is true.
//
//go:noinline
func (t *Thread) BarRedPopc(bar int, pred bool, count ...int) int {
	t.here()
	return int(t.red(barrier.NamedRedPopc, true, bar, pred, count))
}

// BarRedAnd is bar.red.and: as BarSync, and returns whether pred is true for
// all participating threads.
//
//go:noinline
func (t *Thread) BarRedAnd(bar int, pred bool, count ...int) bool {
	t.here()
	return t.red(barrier.NamedRedAnd, true, bar, pred, count) != 0
}

// BarRedOr is bar.red.or: as BarSync, and returns whether pred is true for
// any participating thread.
//
//go:noinline
func (t *Thread) BarRedOr(bar int, pred bool, count ...int) bool {
	t.here()
	return t.red(barrier.NamedRedOr, true, bar, pred, count) != 0
}

// BarrierSync is barrier.sync, the form of BarSync that is not aligned.
//
//go:noinline
func (t *Thread) BarrierSync(bar int, count ...int) {
	t.here()
	t.named(trace.KindBarSync, barrier.NamedSync, false, bar, count)
}

// BarrierArrive is barrier.arrive, the form of BarArrive that is not aligned.
//
//go:noinline
func (t *Thread) BarrierArrive(bar int, count ...int) {
	t.here()
	t.named(trace.KindBarArrive, barrier.NamedArrive, false, bar, count)
}

// BarrierRedPopc is barrier.red.popc, the form of BarRedPopc that is not
// aligned.
//
//go:noinline
func (t *Thread) BarrierRedPopc(bar int, pred bool, count ...int) int {
	t.here()
	return int(t.red(barrier.NamedRedPopc, false, bar, pred, count))
}

// BarrierRedAnd is barrier.red.and, the form of BarRedAnd that is not
// aligned.
//
//go:noinline
func (t *Thread) BarrierRedAnd(bar int, pred bool, count ...int) bool {
	t.here()
	return t.red(barrier.NamedRedAnd, false, bar, pred, count) != 0
}

// BarrierRedOr is barrier.red.or, the form of BarRedOr that is not aligned.
//
//go:noinline
func (t *Thread) BarrierRedOr(bar int, pred bool, count ...int) bool {
	t.here()
	return t.red(barrier.NamedRedOr, false, bar, pred, count) != 0
}

// Syncthreads is __syncthreads(): bar.sync 0 for all threads of the CTA.
//
//go:noinline
func (t *Thread) Syncthreads() {
	t.here()
	t.named(trace.KindBarSync, barrier.NamedSync, true, 0, nil)
}

// SyncthreadsCount is __syncthreads_count().
//
//go:noinline
func (t *Thread) SyncthreadsCount(pred bool) int {
	t.here()
	return int(t.red(barrier.NamedRedPopc, true, 0, pred, nil))
}

// SyncthreadsAnd is __syncthreads_and().
//
//go:noinline
func (t *Thread) SyncthreadsAnd(pred bool) bool {
	t.here()
	return t.red(barrier.NamedRedAnd, true, 0, pred, nil) != 0
}

// SyncthreadsOr is __syncthreads_or().
//
//go:noinline
func (t *Thread) SyncthreadsOr(pred bool) bool {
	t.here()
	return t.red(barrier.NamedRedOr, true, 0, pred, nil) != 0
}

// Syncwarp is __syncwarp(mask): waits for the non-exited lanes of the mask;
// without one, for the whole warp.
//
//go:noinline
func (t *Thread) Syncwarp(mask ...uint32) {
	t.here()
	o := op{kind: trace.KindSyncwarp, mask: FullMask}
	if len(mask) > 0 {
		o.mask = mask[0]
	}
	t.do(o)
}

func (t *Thread) named(kind trace.Kind, n barrier.NamedKind, aligned bool, bar int, count []int) {
	o := op{kind: kind, named: n, aligned: aligned, bar: uint32(bar)}
	if len(count) > 0 {
		o.count = uint32(count[0])
	}
	t.do(o)
}

func (t *Thread) red(n barrier.NamedKind, aligned bool, bar int, pred bool, count []int) uint32 {
	t.warp.setPred(1<<t.lane, pred)
	t.named(trace.KindBarRed, n, aligned, bar, count)
	return t.result
}
