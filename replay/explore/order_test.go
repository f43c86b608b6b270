package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"btrace/trace"
)

// orders is Orders that are told the same: what one of them reports, all have
// to.
type orders struct {
	all      []*Order
	barriers [][]*Barrier
	exits    []*Exits
	found    [][]string
	after    func(o int) // an operation
}

func newOrders(n, threads, barriers int) *orders {
	x := &orders{found: make([][]string, n)}
	for i := range n {
		o := NewOrder(threads, func(h Hazard) {
			s := fmt.Sprint(h.Kind, h.Barrier.Ref, h.Phase, h.Event.CTA, h.Event.Warp, h.Event.Seq)
			if !slices.Contains(x.found[i], s) { // lanes that parted say it each
				x.found[i] = append(x.found[i], s)
			}
		})
		var list []*Barrier
		e := o.NewExits()
		for b := range barriers {
			list = append(list, o.NewMbarrier(b, uint32(b%2)))
			if b%3 == 2 {
				e.Holds(list[b])
			}
		}
		x.all, x.barriers, x.exits = append(x.all, o), append(x.barriers, list), append(x.exits, e)
	}
	return x
}

// do has all do an operation at random: mostly what programs do, in no order
// that makes sense.
func (x *orders) do(rng *rand.Rand, seq uint32, lanes uint32) {
	const threads = ^uint32(0)
	kind, b := rng.IntN(16), rng.IntN(len(x.barriers[0]))
	e := Event{CTA: rng.Uint32N(2), Warp: rng.Uint32N(2), Seq: seq, Lanes: lanes, Op: new(trace.Op)}
	parity, memory := uint8(rng.IntN(2)), rng.IntN(5) != 0
	back := rng.Uint64N(2)
	for i, o := range x.all {
		bar := x.barriers[i][b]
		switch kind {
		case 0:
			e.Lanes = 1 // as in programs
			o.Init(bar, &e)
		case 1, 2, 3:
			o.Arrive(bar, &e, memory)
		case 4:
			o.Copy(bar, &e, memory)
		case 5:
			o.ArriveWarp(bar, &e, threads, memory)
		case 6:
			o.Announce(bar, &e)
		case 7, 8:
			o.Wait(bar, &e, parity, memory)
		case 9:
			o.WaitPhase(bar, &e, bar.Phase()-min(bar.Phase(), back), memory)
		case 10:
			o.Leave(bar, &e, bar.Phase()-min(bar.Phase(), 1), memory)
		case 11:
			e.Lanes = 1
			o.Function(bar, &e)
		case 12:
			o.Syncwarp(&e, threads, memory)
			if back == 0 && lanes == threads { // they come out one after the other
				e.Lanes = 1
				o.Met(&e, threads)
				e.Lanes = ^uint32(1)
			}
			o.Met(&e, threads)
			e.Lanes = lanes
		case 13:
			o.Exit(&e, x.exits[i])
		default:
			o.Complete(bar, b%3 == 2)
		}
		if x.after != nil {
			x.after(i)
		}
	}
}

// Lanes that do everything together are one agent until they part. Nothing
// that is said depends on when that was.
func TestPartedLateIsPartedBefore(t *testing.T) {
	masks := []uint32{1, 0xff00, ^uint32(1), 0xffff}
	found := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		x := newOrders(2, 64, 3)
		for cta := range uint32(2) {
			for warp := range uint32(2) {
				for _, m := range masks {
					x.all[1].by(&Event{CTA: cta, Warp: warp, Lanes: m})
				}
			}
		}
		together := rng.IntN(60)
		for i := range 80 {
			lanes := ^uint32(0)
			if i >= together && rng.IntN(2) == 0 {
				lanes = masks[rng.IntN(len(masks))]
			}
			x.do(rng, uint32(i), lanes)
		}
		same(t, seed, x)
		found += len(x.found[0])
	}
	if found == 0 {
		t.Error("nothing was found in any of them")
	}
}

// What is known is taken over where it can be seen that a join would give the
// same. It does.
func TestTakenOverIsJoined(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		x := newOrders(2, 64, 4)
		x.after = func(o int) {
			for _, w := range x.all[o].warps {
				for _, a := range w.agents {
					if o == 1 {
						a.base, a.learnt = 0, ^uint32(0) // so that it cannot be seen
					}
				}
			}
		}
		for i := range 120 {
			lanes := ^uint32(0)
			if rng.IntN(4) == 0 {
				lanes = 1
			}
			x.do(rng, uint32(i), lanes)
		}
		same(t, seed, x)
	}
}

// same reports Orders that do not say the same.
func same(t *testing.T, seed uint64, x *orders) {
	t.Helper()
	for i := range x.found {
		slices.Sort(x.found[i])
	}
	if !slices.Equal(x.found[0], x.found[1]) || x.all[0].Relaxed != x.all[1].Relaxed {
		t.Fatalf("seed %d:\n%v, relaxed %t\n%v, relaxed %t", seed, x.found[0], x.all[0].Relaxed, x.found[1], x.all[1].Relaxed)
	}
}
