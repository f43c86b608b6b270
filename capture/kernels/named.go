package kernels

import (
	"fmt"

	"btrace/capture/emu"
	"btrace/trace"
)

const (
	producerRounds  = 20
	reductionRounds = 8
)

// producerConsumer is the example of PTX ISA, "bar{.cta}, barrier{.cta}": two
// warps hand a buffer to and fro with two named barriers, on each of which
// one arrives and the other waits.
func producerConsumer() Kernel {
	return Kernel{
		Name:   "producer-consumer",
		Doc:    "a producer warp and a consumer warp share a buffer by bar.arrive and bar.sync on two named barriers",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{64},
		Run:    producerConsumerKernel,
		Check: func(r emu.Result) error {
			for lane, sum := range emu.Output[int32](r, "sums") {
				if want := int32(producerRounds*(producerRounds-1)/2 + producerRounds*lane); sum != want {
					return fmt.Errorf("lane %d consumed %d, want %d", lane, sum, want)
				}
			}
			return nil
		},
	}
}

func producerConsumerKernel(t *emu.Thread) {
	const full, empty = 0, 1
	sums := emu.Global[int32](t, "sums", 32)
	buf := emu.Shared[int32](t, "buf", 32)
	if t.Warp() == 0 {
		for i := range producerRounds {
			if i > 0 {
				t.BarSync(empty, 64)
			}
			t.Work(jitter(i, 1000))
			buf[t.Lane()] = int32(i + t.Lane())
			t.BarArrive(full, 64)
		}
		return
	}
	for i := range producerRounds {
		t.BarSync(full, 64)
		sums[t.Lane()] += buf[t.Lane()]
		t.Work(jitter(i+99, 1000))
		if i+1 < producerRounds {
			t.BarArrive(empty, 64)
		}
	}
}

// barrierReductions synchronises and reduces in one instruction: PTX ISA,
// "barrier{.cta}.red".
func barrierReductions() Kernel {
	return Kernel{
		Name:   "barrier-reductions",
		Doc:    "bar.red.popc, .and and .or over all threads of the CTA, and over two warps of three",
		Expect: Expect{Verdict: clean},
		Block:  trace.Dim{96},
		Run:    barrierReductionsKernel,
		Check: func(r emu.Result) error {
			for i, got := range emu.Output[[4]int32](r, "results") {
				if want := reductionsOf(i); got != want {
					return fmt.Errorf("round %d: popc, and, or, popc of two warps are %v, want %v", i, got, want)
				}
			}
			return nil
		},
	}
}

// predicate is true for one thread in three; in the last round for all.
func predicate(i, thread int) bool { return (thread+i)%3 == 0 || i == reductionRounds-1 }

// reductionsOf computes what the barriers are to give in round i.
func reductionsOf(i int) (r [4]int32) {
	r[1] = 1
	for thread := range 96 {
		switch p := predicate(i, thread); {
		case !p:
			r[1] = 0
		default:
			r[0]++
			r[2] = 1
			if thread < 64 {
				r[3]++
			}
		}
	}
	return r
}

func barrierReductionsKernel(t *emu.Thread) {
	results := emu.Global[[4]int32](t, "results", reductionRounds)
	for i := range reductionRounds {
		p := predicate(i, t.Thread())
		t.Work(jitter(10*t.Warp()+i, 400))
		count := t.BarRedPopc(3, p)
		every := t.SyncthreadsAnd(p)
		some := t.SyncthreadsOr(p)
		if t.Warp() == 2 {
			continue
		}
		two := t.BarRedPopc(4, p, 64)
		if t.Thread() == 0 {
			results[i] = [4]int32{int32(count), bit(every), bit(some), int32(two)}
		}
	}
}

func bit(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
