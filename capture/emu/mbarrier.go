package emu

import (
	"btrace/replay/barrier"
	"btrace/trace"
)

// Mbarrier is a thread's handle of an mbarrier object in shared memory (PTX
// ISA, "mbarrier"). It belongs to the thread that made it. All threads of a
// CTA that name the same object mean the same.
type Mbarrier struct {
	t     *Thread
	owner uint32
	addr  uint64
}

// Token is what an arrive returns: it stands for the phase in which the
// thread arrived.
type Token struct {
	tok barrier.Token
}

// Word is the token as the hardware encodes it.
func (k Token) Word() uint64 { return k.tok.Word() }

// Phase is the number of the phase, from 0. The hardware keeps only its
// parity.
func (k Token) Phase() uint64 { return k.tok.Phase }

// PendingCount is mbarrier.pending_count: how many arrivals the phase still
// needed just before this one.
func (k Token) PendingCount() int { return int(barrier.PendingCount(k.tok.Word())) }

// SharedMbarrier declares an mbarrier of the CTA. All threads that declare
// the name mean the same object.
func SharedMbarrier(t *Thread, name string) Mbarrier {
	return t.Mbarrier(t.declare(name, "mbarrier", 1, 8, 8))
}

// SharedMbarriers declares an array of n mbarriers of the CTA.
func SharedMbarriers(t *Thread, name string, n int) []Mbarrier {
	addr := t.declare(name, "mbarrier", n, 8, 8)
	bs := make([]Mbarrier, n)
	for i := range bs {
		bs[i] = t.Mbarrier(addr + 8*uint64(i))
	}
	return bs
}

// Mbarrier is the mbarrier at a shared-memory address of the thread's CTA.
// Operations trap if the address is not a multiple of 8, or outside.
func (t *Thread) Mbarrier(addr uint64) Mbarrier { return Mbarrier{t, t.cta.id, addr} }

// Remote is the mbarrier at the same address in the CTA of that rank in the
// cluster (mapa). Arrive, ExpectTx, ArriveExpectTx and CompleteTx may be
// called on it; an arrive returns no token.
func (b Mbarrier) Remote(rank int) Mbarrier {
	b.owner = b.t.peer(rank).id
	return b
}

// Addr is the shared-memory address.
func (b Mbarrier) Addr() uint64 { return b.addr }

func (b Mbarrier) op(kind trace.Kind) op { return op{kind: kind, owner: b.owner, addr: b.addr} }

// Init is mbarrier.init: every phase needs count arrivals.
//
//go:noinline
func (b Mbarrier) Init(count int) {
	b.t.here()
	o := b.op(trace.KindMbarInit)
	o.count = uint32(count)
	b.t.do(o)
}

// Inval is mbarrier.inval: the memory is ordinary again.
//
//go:noinline
func (b Mbarrier) Inval() {
	b.t.here()
	b.t.do(b.op(trace.KindMbarInval))
}

// Arrive is mbarrier.arrive, with a count of 1 if none is given.
//
//go:noinline
func (b Mbarrier) Arrive(count ...int) Token {
	b.t.here()
	return b.arrive(trace.KindMbarArrive, count, 0)
}

// ArriveDrop is mbarrier.arrive_drop: as Arrive, and all following phases
// need so many arrivals less.
//
//go:noinline
func (b Mbarrier) ArriveDrop(count ...int) Token {
	b.t.here()
	return b.arrive(trace.KindMbarArriveDrop, count, 0)
}

// ArriveNoComplete is mbarrier.arrive.noComplete: the program promises that
// the phase is not complete with it.
//
//go:noinline
func (b Mbarrier) ArriveNoComplete(count int) Token {
	b.t.here()
	return b.arrive(trace.KindMbarArriveNoComplete, []int{count}, 0)
}

// ArriveExpectTx is mbarrier.arrive.expect_tx: announces bytes, then arrives.
//
//go:noinline
func (b Mbarrier) ArriveExpectTx(bytes int) Token {
	b.t.here()
	return b.arrive(trace.KindMbarArriveExpectTx, nil, int64(bytes))
}

func (b Mbarrier) arrive(kind trace.Kind, count []int, bytes int64) Token {
	o := b.op(kind)
	o.count, o.bytes = 1, bytes
	if len(count) > 0 {
		o.count = uint32(count[0])
	}
	b.t.do(o)
	return Token{b.t.token}
}

// ExpectTx is mbarrier.expect_tx: announces bytes that copies of this phase
// will bring.
//
//go:noinline
func (b Mbarrier) ExpectTx(bytes int) {
	b.t.here()
	o := b.op(trace.KindMbarExpectTx)
	o.bytes = int64(bytes)
	b.t.do(o)
}

// CompleteTx is mbarrier.complete_tx: counts bytes as having come.
//
//go:noinline
func (b Mbarrier) CompleteTx(bytes int) {
	b.t.here()
	o := b.op(trace.KindMbarCompleteTx)
	o.bytes = int64(bytes)
	b.t.do(o)
}

// CpAsyncArrive is cp.async.mbarrier.arrive: once the thread's earlier copies
// have completed, they arrive for it, in addition to the arrivals that the
// phase needs otherwise.
//
//go:noinline
func (b Mbarrier) CpAsyncArrive() {
	b.t.here()
	b.t.do(b.op(trace.KindMbarCpAsyncArrive))
}

// CpAsyncArriveNoInc is cp.async.mbarrier.arrive.noinc: that arrival is one
// of those that the phase needs anyway.
//
//go:noinline
func (b Mbarrier) CpAsyncArriveNoInc() {
	b.t.here()
	o := b.op(trace.KindMbarCpAsyncArrive)
	o.noInc = true
	b.t.do(o)
}

// TestWait is mbarrier.test_wait: whether the token's phase is complete, as
// far as the hardware can tell.
//
//go:noinline
func (b Mbarrier) TestWait(k Token) bool {
	b.t.here()
	return b.test(b.token(trace.KindMbarTest, k))
}

// TestWaitParity is mbarrier.test_wait.parity: whether the phase of that
// parity that is nearest is complete.
//
//go:noinline
func (b Mbarrier) TestWaitParity(parity int) bool {
	b.t.here()
	return b.test(b.parity(trace.KindMbarTest, parity))
}

// TryWait is mbarrier.try_wait: TestWait that takes its time before it says
// no.
//
//go:noinline
func (b Mbarrier) TryWait(k Token) bool {
	b.t.here()
	o := b.token(trace.KindMbarTest, k)
	o.try = true
	return b.test(o)
}

// TryWaitParity is mbarrier.try_wait.parity.
//
//go:noinline
func (b Mbarrier) TryWaitParity(parity int) bool {
	b.t.here()
	o := b.parity(trace.KindMbarTest, parity)
	o.try = true
	return b.test(o)
}

// Wait is a loop of TryWait until it says yes.
//
//go:noinline
func (b Mbarrier) Wait(k Token) {
	b.t.here()
	b.t.do(b.token(trace.KindMbarWait, k))
}

// WaitParity is a loop of TryWaitParity until it says yes.
//
//go:noinline
func (b Mbarrier) WaitParity(parity int) {
	b.t.here()
	b.t.do(b.parity(trace.KindMbarWait, parity))
}

func (b Mbarrier) token(kind trace.Kind, k Token) op {
	o := b.op(kind)
	o.by, o.phase, o.parity = byToken, k.tok.Phase, barrier.WordParity(k.tok.Word())
	return o
}

func (b Mbarrier) parity(kind trace.Kind, parity int) op {
	o := b.op(kind)
	o.by, o.parity = byParity, uint8(parity&1)
	return o
}

func (b Mbarrier) test(o op) bool {
	b.t.do(o)
	return b.t.answer
}
