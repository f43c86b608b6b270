package kernels

import (
	"fmt"
	"slices"

	"btrace/capture/emu"
	"btrace/trace"
)

const pingPongRounds = 8

// pingPong is the ping-pong of warp-specialised matrix kernels: two groups of
// consumer warps take turns at a unit that only one of them may use. Each
// waits for its turn on a named barrier of its own, on which the other
// arrives when it is done. (PTX ISA, "bar{.cta}, barrier{.cta}": arrive and
// sync as producer and consumer.)
func pingPong() Kernel {
	return Kernel{
		Name:   "ping-pong-consumers",
		Doc:    "two groups of consumer warps take turns, each let in by the other's bar.arrive on a named barrier of its own",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{128},
		Run:    pingPongKernel,
		Check: func(r emu.Result) error {
			turns := emu.Output[int](r, "turns")
			var want []int
			for range pingPongRounds {
				want = append(want, 0, 1)
			}
			if !slices.Equal(turns, want) {
				return fmt.Errorf("the groups took turns %v, want %v", turns, want)
			}
			return nil
		},
	}
}

func pingPongKernel(t *emu.Thread) {
	const turnOf = 2 // barrier 2 for group 0, barrier 3 for group 1
	turns := emu.Global[int](t, "turns", 2*pingPongRounds)
	group := t.Warp() / 2
	if group == 1 {
		t.BarArrive(turnOf, 128) // group 0 goes first
	}
	for i := range pingPongRounds {
		t.BarSync(turnOf+group, 128)
		if t.Thread()%64 == 0 {
			turns[2*i+group] = group
		}
		t.Work(200 + jitter(i+group, 300))
		if group == 0 || i+1 < pingPongRounds {
			t.BarArrive(turnOf+1-group, 128)
		}
		t.Work(jitter(7*i+t.Warp(), 500)) // what needs no turn
	}
}
