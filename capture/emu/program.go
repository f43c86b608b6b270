package emu

import (
	"context"
	"math/bits"

	"btrace/replay/barrier"
	"btrace/trace"
)

// Program is a kernel that is not Go code run thread by thread, but runs a
// warp at a time: what an interpreter makes of compiled code. What its lanes
// do at once with their registers and with memory is the program's business;
// whatever takes part in the schedule is an Op, at which a lane stops.
//
// With several Config.Workers, CTAs of different clusters run at the same
// time: their programs may share memory that none of them writes, and any
// memory within an OpAccess that is Global.
type Program interface {
	// Source is the program's file, and where in it the kernel begins.
	Source() (file string, entry *Site)
	// CTA makes the state of a CTA.
	CTA(at Place) Block
}

// Place is where in the launch a CTA is.
type Place struct {
	CTA   uint32    // linear index in the grid
	Index trace.Dim // blockIdx
	Rank  int       // in the cluster
	Size  int       // CTAs in the cluster
}

// Block is the state of one CTA of a Program.
type Block interface {
	// Warp is the runner of the warp with that index.
	Warp(index int) Runner
}

// Runner runs the lanes of one warp.
type Runner interface {
	// Run has lanes go on until each of them is at an operation (Warp.At),
	// and returns how many instructions the warp took, which is also how
	// many ns it took. A lane that could run for long stops at an OpPause
	// now and then.
	Run(w Warp, lanes uint32) (instructions uint64)
	// Access has lanes do the memory accesses at which they stopped with
	// OpAccess. It returns those that changed something, or found something
	// else than when they last did the same access: the others only poll.
	Access(w Warp, lanes uint32) (news uint32)
}

// The operations of a Program that are no events.
const (
	OpPause  = kindResume // nothing: it lets others run
	OpSleep  = kindWork   // lets Op.Nanos pass
	OpAccess = kindAtomic // an access to memory that others may see in order; see Runner.Access
)

// UnknownBytes is Op.Bytes of a copy whose size cannot be known. The last of
// such copies of a phase completes what is outstanding.
const UnknownBytes = -1 << 63

// Op is an operation that a lane is at. Lanes of a warp that are at equal
// operations do them together.
type Op struct {
	Kind    trace.Kind
	Site    *Site
	Depth   int // of calls: lanes that are deeper go first
	Bar     uint32
	Count   uint32
	Aligned bool
	Red     trace.Red
	Owner   uint32 // linear index of the CTA that owns the mbarrier
	Addr    uint64 // of the mbarrier, in the owner's shared memory
	Bytes   int64  // or UnknownBytes
	NoInc   bool
	ByToken bool   // the wait is for the phase of Token, not of Parity
	Token   uint64 // as Warp.Token gave it
	Parity  uint8
	Try     bool // the test may take a while
	Sem     trace.Sem
	Mask    uint32 // of a syncwarp, or the CTA ranks of a multicast
	// Move, of KindMbarCopy, moves the data to the CTA of that rank. Of
	// KindMbarCpAsyncArrive it moves the data of the lane's earlier copies.
	Move   func(rank int)
	Nanos  int64
	Global bool // the access is to memory that other clusters share
	Text   string
}

// Site is an instruction of a Program. Lanes are at the same instruction if
// their sites are the same pointer.
type Site struct {
	s site
}

// NewSite makes the site of an instruction: its place in the source (file may
// be the program's own; line 0 is none), pc, which is recorded as it is, and
// its place among the program's instructions: of lanes that are at different
// ones, those that are furthest behind go first.
func NewSite(file string, line, pc, place uint32) *Site {
	return &Site{site{pc: uintptr(pc), file: file, line: line, place: uint64(place), counter: true}}
}

// LaunchProgram is Launch for a Program.
func LaunchProgram(ctx context.Context, cfg Config, p Program, sink Sink) (Result, error) {
	file, entry := p.Source()
	return run(ctx, cfg, &launch{program: baseName(file), entry: &entry.s, code: p}, sink)
}

// Warp is a Runner's handle of its warp.
type Warp struct {
	w *warp
}

// Now is the virtual time in ns.
func (w Warp) Now() int64 { return w.w.cta.m.now }

// Peer is the state of the CTA of that rank in the cluster.
func (w Warp) Peer(rank int) Block { return w.w.cta.cluster.ctas[rank].program }

// CTAOf is the linear index in the grid of the CTA of that rank.
func (w Warp) CTAOf(rank int) uint32 { return w.w.cta.cluster.ctas[rank].id }

// Live is the lanes that have not exited.
func (w Warp) Live() uint32 { return w.w.live }

// At says which operation lanes have come to, all to the same. preds is the
// lanes whose predicate, of a reduction, is true.
func (w Warp) At(lanes uint32, o *Op, preds uint32) {
	p := &op{
		kind: o.Kind, aligned: o.Aligned, noInc: o.NoInc, try: o.Try, global: o.Global, bar: o.Bar, count: o.Count,
		owner: o.Owner, mask: o.Mask, addr: o.Addr, bytes: o.Bytes, ns: o.Nanos, sem: o.Sem, text: o.Text, parity: o.Parity & 1,
	}
	if o.Site != nil {
		p.site = &o.Site.s
	}
	switch o.Kind {
	case trace.KindBarSync:
		p.named = barrier.NamedSync
	case trace.KindBarRed:
		p.named = namedRed(o.Red)
	}
	if o.ByToken {
		p.by, p.phase, p.parity = byToken, tokenPhase(o.Token), barrier.WordParity(o.Token)
		if uint8(p.phase&1) != p.parity { // no token of ours
			p.by, p.phase = byWord, o.Token
		}
	}
	w.w.preds = w.w.preds&^lanes | preds&lanes
	for k := lanes; k != 0; k &= k - 1 {
		t := w.w.lanes[bits.TrailingZeros32(k)&31]
		t.op, t.result, t.depth = p, 0, o.Depth
		if o.Move != nil || t.move != nil {
			t.move = o.Move
		}
	}
}

// Result is what a lane's bar.red gave.
func (w Warp) Result(lane int) uint32 { return w.w.lanes[lane].result }

// Answer is what a lane's test_wait gave.
func (w Warp) Answer(lane int) bool { return w.w.lanes[lane].answer }

// Token is what a lane's arrive gave: the hardware's word (barrier.Token),
// and in the bits that the hardware uses for other things the number of the
// phase, so that an old token is known when it is used.
func (w Warp) Token(lane int) uint64 {
	k := w.w.lanes[lane].token
	return k.Word() | k.Phase&phaseBits
}

// phaseBits is the low bits of a token, which hold nothing that a program can
// ask for.
const phaseBits = 1<<43 - 1

func tokenPhase(word uint64) uint64 { return word & phaseBits }

func namedRed(r trace.Red) barrier.NamedKind {
	switch r {
	case trace.RedAnd:
		return barrier.NamedRedAnd
	case trace.RedOr:
		return barrier.NamedRedOr
	}
	return barrier.NamedRedPopc
}

// resume has the program run lanes up to their next operation.
func (m *machine) resume(w *warp, lanes uint32) {
	m.fault = w.cta.id
	spent := w.runner.Run(Warp{w}, lanes)
	m.steps += spent
	due := m.now + latency + int64(spent)
	for k := lanes; k != 0; k &= k - 1 {
		t := w.lanes[bits.TrailingZeros32(k)&31]
		t.place = t.op.site.place | uint64(^uint32(t.depth))<<32
		t.since, t.due, t.delay = m.steps, due+t.delay, 0
	}
}
