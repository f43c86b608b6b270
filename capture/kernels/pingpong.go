package kernels

import (
	"fmt"

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
	k := pingPongOf(pingPongRounds)
	k.Run = pingPongKernel
	return k
}

// pingPongOf is the ping-pong with n turns for each group.
func pingPongOf(n int) Kernel {
	return Kernel{
		Name:   "ping-pong-consumers",
		Doc:    "two groups of consumer warps take turns, each let in by the other's bar.arrive on a named barrier of its own",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{128},
		Param:  &Param{Name: "turns a group", Value: n, with: pingPongOf},
		Run:    func(t *emu.Thread) { takeTurns(t, n) },
		Check: func(r emu.Result) error {
			turns := emu.Output[int](r, "turns")
			if len(turns) != 2*n {
				return fmt.Errorf("the groups took %d turns, want %d", len(turns), 2*n)
			}
			for i, group := range turns {
				if group != i%2 {
					return fmt.Errorf("turn %d was that of group %d, want %d", i, group, i%2)
				}
			}
			return nil
		},
	}
}

func pingPongKernel(t *emu.Thread) { takeTurns(t, pingPongRounds) }

func takeTurns(t *emu.Thread, n int) {
	const turnOf = 2 // barrier 2 for group 0, barrier 3 for group 1
	turns := emu.Global[int](t, "turns", 2*n)
	group := t.Warp() / 2
	if group == 1 {
		t.BarArrive(turnOf, 128) // group 0 goes first
	}
	for i := range n {
		t.BarSync(turnOf+group, 128)
		if t.Thread()%64 == 0 {
			turns[2*i+group] = group
		}
		t.Work(200 + jitter(i+group, 300))
		if group == 0 || i+1 < n {
			t.BarArrive(turnOf+1-group, 128)
		}
		t.Work(jitter(7*i+t.Warp(), 500)) // what needs no turn
	}
}
