package trace

import (
	"math/rand/v2"
	"slices"
)

// synthetic makes the trace of a kernel that most benchmarks use: a
// persistent, warp-specialised pipeline as CUTLASS has them, with jitter. A
// CTA has one producer warp that feeds a ring of stages by bulk copies and
// eleven consumer warps; every CTA works at its own pace.
//
// The events of all warps are made in time order, so that the trace is as a
// recorder would hand it over.
type synthetic struct {
	CTAs, Stages, Rounds int
	Clk, Tokens          bool
}

// h100 is a full GPU of 132 SMs, with more than five million warp events.
var h100 = synthetic{CTAs: 132, Stages: 4, Rounds: 270}

const consumers = 11

// site is the source line of an operation, by what it does.
const (
	lineEnter = 10 + iota
	lineInit
	lineSync
	lineWaitEmpty
	lineExpect
	lineCopy
	lineWaitFull
	lineArrive
	lineExit
)

func (s synthetic) launch() Launch {
	return Launch{Kernel: "pipeline", Program: "pipeline.cu", Recorder: "synthetic", Arch: "sm_90",
		Grid: Dim{uint32(s.CTAs), 1, 1}, Block: Dim{32 * (consumers + 1), 1, 1}, Cluster: Dim{1, 1, 1}}
}

// events returns all events in stored order.
func (s synthetic) events() []Event {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]Event, 0, s.CTAs*(s.Rounds*s.Stages*(4+3*consumers)+4*(consumers+1)))
	for cta := range s.CTAs {
		all = s.cta(all, uint32(cta), rng)
	}
	// Sorting numbers is much faster than sorting events.
	keys := make([]uint64, len(all))
	for i := range all {
		keys[i] = uint64(all[i].Time)<<24 | uint64(i)
	}
	slices.Sort(keys)
	sorted := make([]Event, len(all))
	for i, k := range keys {
		sorted[i] = all[k&(1<<24-1)]
		for j := i; j > 0 && sorted[j].Compare(&sorted[j-1]) < 0; j-- {
			sorted[j], sorted[j-1] = sorted[j-1], sorted[j]
		}
	}
	return sorted
}

// warpLog appends the events of one warp.
type warpLog struct {
	s    synthetic
	all  *[]Event
	cta  uint32
	warp uint32
	seq  uint32
}

func (l *warpLog) add(at int64, k Kind, line uint32, lanes uint32, set func(*Event)) {
	e := Event{Time: at, CTA: l.cta, Warp: l.warp, Seq: l.seq}
	e.Kind, e.Lanes, e.Line = k, lanes, line
	e.Has = e.Has.With(FieldLine)
	if set != nil {
		set(&e)
	}
	if l.s.Clk {
		e.Clk = 35_000_000_000 + int64(l.cta)*7_000_000 + at*1755/1000 + at&3
		e.Has = e.Has.With(FieldClk)
	}
	l.seq++
	*l.all = append(*l.all, e)
}

func mbar(addr uint64) func(*Event) {
	return func(e *Event) {
		e.Addr = addr
		e.Has = e.Has.With(FieldAddr)
	}
}

func (s synthetic) cta(all []Event, cta uint32, rng *rand.Rand) []Event {
	jitter := func(n int64) int64 { return rng.Int64N(n) }
	start := jitter(2000)
	logs := make([]warpLog, consumers+1)
	now := make([]int64, consumers+1)
	for w := range logs {
		logs[w] = warpLog{s: s, all: &all, cta: cta, warp: uint32(w)}
		now[w] = start + jitter(400)
		logs[w].add(now[w], KindEnter, lineEnter, ^uint32(0), nil)
		now[w] += 300 + jitter(60)
		logs[w].add(now[w], KindBarSync, lineSync, ^uint32(0), func(e *Event) {
			e.Aligned = true
			e.Has = e.Has.With(FieldBar, FieldCount, FieldAligned)
		})
	}
	joined := slices.Max(now) + 20
	for w := range logs {
		now[w] = joined + jitter(30)
		logs[w].add(now[w], KindBarDone, lineSync, ^uint32(0), func(e *Event) { e.Has = e.Has.With(FieldBar) })
	}
	empty := make([]int64, s.Stages) // when the stage was last given back
	for round := range s.Rounds {
		for stage := range s.Stages {
			full, free := uint64(0x400+8*stage), uint64(0x440+8*stage)
			parity := uint8(round & 1)
			p := &logs[0]
			wait := func(parity uint8, addr uint64) func(*Event) {
				return func(e *Event) {
					mbar(addr)(e)
					e.Parity = parity
					e.Has = e.Has.With(FieldParity)
				}
			}
			now[0] += 40 + jitter(48)
			p.add(now[0], KindMbarWait, lineWaitEmpty, 1, wait(parity^1, free))
			now[0] = max(now[0], empty[stage]) + 30 + jitter(64)
			p.add(now[0], KindMbarDone, lineWaitEmpty, 1, wait(parity^1, free))
			now[0] += 20 + jitter(32)
			p.add(now[0], KindMbarArriveExpectTx, lineExpect, 1, func(e *Event) {
				mbar(full)(e)
				e.Bytes, e.Count = 16384, 1
				e.Has = e.Has.With(FieldBytes, FieldCount)
				s.token(e, round, 1)
			})
			now[0] += 25 + jitter(32)
			p.add(now[0], KindMbarCopy, lineCopy, 1, func(e *Event) {
				mbar(full)(e)
				e.Bytes = 16384
				e.Has = e.Has.With(FieldBytes)
			})
			landed := now[0] + 500 + jitter(400)
			last := int64(0)
			for w := 1; w <= consumers; w++ {
				c := &logs[w]
				now[w] += 35 + jitter(64)
				c.add(now[w], KindMbarWait, lineWaitFull, ^uint32(0), wait(parity, full))
				now[w] = max(now[w], landed) + 25 + jitter(64)
				c.add(now[w], KindMbarDone, lineWaitFull, ^uint32(0), wait(parity, full))
				now[w] += 700 + jitter(256)
				c.add(now[w], KindMbarArrive, lineArrive, 1, func(e *Event) {
					mbar(free)(e)
					e.Count = 1
					e.Has = e.Has.With(FieldCount)
					s.token(e, round, consumers-rng.IntN(consumers))
				})
				last = max(last, now[w])
			}
			empty[stage] = last
		}
	}
	for w := range logs {
		logs[w].add(now[w]+50+jitter(40), KindExit, lineExit, ^uint32(0), nil)
	}
	return all
}

// token gives an arrive its state word, as sm_90 makes them.
func (s synthetic) token(e *Event, round, pending int) {
	if !s.Tokens {
		return
	}
	e.Token = uint64(round&1^1)<<63 | 0x7fff_f800_0000_0000 - uint64(pending-1)<<43
	e.Has = e.Has.With(FieldToken)
}
