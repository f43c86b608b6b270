package explore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"btrace/trace"
)

var programs = flag.Int("explore.programs", 300, "random programs to look at all schedules of")

// gen makes random programs: rounds of patterns that mostly work, in which
// then something is changed.
type gen struct {
	*rand.Rand
	p      Program
	strand [][]Op
	warps  int
	phase  map[uint64]int // of the mbarriers, as the pattern has it
}

func (g *gen) add(i int, op trace.Op) {
	op.Line = uint32(len(g.strand[i]) + 1 + 100*i)
	g.strand[i] = append(g.strand[i], Op{Op: op})
}

// mask is the lanes of strand i.
func (g *gen) each(f func(i int)) {
	for i := range g.strand {
		f(i)
	}
}

func newGen(seed uint64) *gen {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 1)), phase: make(map[uint64]int)}
	g.warps = 1 + g.IntN(3)
	ctas := 1
	if g.IntN(6) == 0 {
		ctas = 2
	}
	g.p = Program{Threads: 32 * g.warps, CTAs: ctas}
	for c := range ctas {
		for w := range g.warps {
			masks := []uint32{^uint32(0)}
			if g.IntN(4) == 0 {
				masks = []uint32{1, ^uint32(1)}
			}
			for _, m := range masks {
				g.p.Strands = append(g.p.Strands, Strand{CTA: uint32(c), Warp: uint32(w), Lanes: m})
			}
		}
	}
	g.strand = make([][]Op, len(g.p.Strands))
	return g
}

// bar is an operation on a named barrier by all strands of a warp.
func (g *gen) bar(cta, warp int, op trace.Op) {
	for i, s := range g.p.Strands {
		if int(s.CTA) == cta && int(s.Warp) == warp {
			g.add(i, op)
		}
	}
}

func (g *gen) program() *Program {
	inits := g.IntN(4) != 0
	var addrs []uint64
	if inits {
		for a := range 1 + g.IntN(2) {
			addrs = append(addrs, 0x400+8*uint64(a))
		}
		count := uint32(0)
		for _, s := range g.p.Strands {
			if s.CTA == 0 {
				count += uint32(s.lanes())
			}
		}
		for _, a := range addrs {
			for c := range g.p.CTAs {
				i := slices.IndexFunc(g.p.Strands, func(s Strand) bool { return int(s.CTA) == c && s.Lanes&1 != 0 })
				// One lane would do it; a whole strand that does is one that
				// initialises again and again, so it has to be of one lane.
				if g.p.Strands[i].Lanes != 1 {
					return nil
				}
				g.add(i, trace.Op{Kind: trace.KindMbarInit, Addr: a, Count: count})
			}
		}
		switch {
		case g.p.CTAs > 1:
			g.each(func(i int) {
				g.add(i, trace.Op{Kind: trace.KindClusterArrive})
				g.add(i, trace.Op{Kind: trace.KindClusterWait})
			})
		default:
			for w := range g.warps {
				g.bar(0, w, trace.Op{Kind: trace.KindBarSync})
			}
		}
	}
	for range 1 + g.IntN(4) {
		g.round(addrs)
	}
	if g.IntN(3) != 0 {
		g.change()
	}
	total := 0
	for i := range g.strand {
		total += len(g.strand[i])
		if len(g.strand[i]) > 12 {
			return nil
		}
		g.p.Strands[i].Ops = g.strand[i]
	}
	if total > 22 {
		return nil
	}
	return &g.p
}

// round is one pattern.
func (g *gen) round(addrs []uint64) {
	cta := g.IntN(g.p.CTAs)
	switch k := g.IntN(8); {
	case k == 0:
		for w := range g.warps {
			g.bar(cta, w, trace.Op{Kind: trace.KindBarSync})
		}
	case k == 1 && g.warps > 1: // hand over by a named barrier
		id, n := uint32(1+g.IntN(2)), uint32(32*g.warps)
		from := g.IntN(g.warps)
		for w := range g.warps {
			kind := trace.KindBarSync
			if w == from {
				kind = trace.KindBarArrive
			}
			g.bar(cta, w, trace.Op{Kind: kind, Bar: id, Count: n})
		}
	case k == 2: // the lanes of a warp
		g.each(func(i int) {
			if int(g.p.Strands[i].CTA) == cta {
				g.add(i, trace.Op{Kind: trace.KindSyncwarp, Mask: ^uint32(0)})
			}
		})
	case k == 3 && g.p.CTAs > 1:
		g.each(func(i int) { g.add(i, trace.Op{Kind: trace.KindClusterArrive}) })
		g.each(func(i int) { g.add(i, trace.Op{Kind: trace.KindClusterWait}) })
	case len(addrs) > 0: // a phase of an mbarrier
		a := addrs[g.IntN(len(addrs))]
		phase := g.phase[a]
		g.phase[a]++
		waiter := g.IntN(len(g.strand))
		copies := g.IntN(3) == 0
		g.each(func(i int) {
			if g.p.Strands[i].CTA != 0 {
				return
			}
			op := trace.Op{Kind: trace.KindMbarArrive, Addr: a, Count: 1}
			if copies && g.p.Strands[i].Lanes == 1 {
				copies = false
				op.Kind, op.Bytes = trace.KindMbarArriveExpectTx, 16
				g.add(i, op)
				g.add(i, trace.Op{Kind: trace.KindMbarCopy, Addr: a, Bytes: 16})
			} else {
				g.add(i, op)
			}
			if i == waiter || g.IntN(2) == 0 {
				wait := trace.Op{Kind: trace.KindMbarWait, Addr: a, Parity: uint8(phase & 1)}
				if g.IntN(3) == 0 {
					wait.Has = wait.Has.With(trace.FieldPhase)
				}
				g.add(i, wait)
			}
		})
	}
}

// change plants a fault, or what may be none.
func (g *gen) change() {
	i := g.IntN(len(g.strand))
	ops := g.strand[i]
	if len(ops) == 0 {
		return
	}
	n := g.IntN(len(ops))
	switch g.IntN(5) {
	case 0:
		g.strand[i] = slices.Delete(ops, n, n+1)
	case 1:
		g.strand[i] = slices.Insert(ops, n, ops[n])
	case 2:
		m := g.IntN(len(ops))
		ops[n], ops[m] = ops[m], ops[n]
	case 3:
		ops[n].Parity ^= 1
	case 4:
		ops[n].Bar = 3 - ops[n].Bar&3
	}
}

// goodRun runs a program at random until it goes well, followed by an Order.
func goodRun(p *Program, rng *rand.Rand) (hazards []Hazard, ok bool) {
	for range 5 {
		m := NewMachine(p)
		hazards = nil
		o := NewOrder(p.Threads, func(h Hazard) { hazards = append(hazards, h) })
		m.Follow(o)
		for m.Bad == "" {
			c := m.Choices()
			if len(c) == 0 {
				break
			}
			m.Do(c[rng.IntN(len(c))])
		}
		if m.Bad == "" && m.Done() {
			return hazards, true
		}
	}
	return nil, false
}

func (p *Program) text() string {
	var b strings.Builder
	for i := range p.Strands {
		s := &p.Strands[i]
		fmt.Fprintf(&b, "c%dw%d %08x:", s.CTA, s.Warp, s.Lanes)
		for j := range s.Ops {
			op := &s.Ops[j]
			fmt.Fprintf(&b, " %s", op.Kind)
			switch {
			case op.Kind >= trace.KindBarArrive && op.Kind <= trace.KindBarDone:
				fmt.Fprintf(&b, "(%d,%d)", op.Bar, op.Count)
			case op.Kind == trace.KindMbarWait && op.Has.Has(trace.FieldPhase):
				fmt.Fprintf(&b, "(%x,token)", op.Addr)
			case op.Kind == trace.KindMbarWait:
				fmt.Fprintf(&b, "(%x,%d)", op.Addr, op.Parity)
			case op.Addr != 0:
				fmt.Fprintf(&b, "(%x,%d)", op.Addr, op.Count)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestProved: where one run of a program shows no hazard, no schedule of it
// hangs, traps or breaks a rule.
func TestProved(t *testing.T) {
	tried, proved, alarms, wrong := 0, 0, 0, 0
	for seed := uint64(0); tried < *programs; seed++ {
		g := newGen(seed)
		p := g.program()
		if p == nil {
			continue
		}
		hazards, ok := goodRun(p, g.Rand)
		if !ok {
			continue
		}
		f := Exhaust(p, 20000)
		if !f.Whole && f.Bad == "" {
			continue
		}
		tried++
		switch {
		case len(hazards) == 0:
			proved++
			if f.Bad != "" {
				t.Errorf("seed %d: proved, but %s by %v:\n%s", seed, f.Bad, f.Schedule, p.text())
				if wrong++; wrong == 5 {
					return
				}
			}
		case f.Bad == "":
			alarms++
			if alarms < 4 {
				t.Logf("seed %d: nothing goes wrong, but %d on %v phase %d by w%d op %s\n%s", seed, hazards[0].Kind, hazards[0].Barrier.Ref, hazards[0].Phase, hazards[0].Event.Warp, hazards[0].Event.Op.Kind, p.text())
			}
		}
	}
	t.Logf("%d programs, %d proved, %d alarms without a bad schedule", tried, proved, alarms)
}
