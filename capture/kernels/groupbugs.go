package kernels

import (
	"btrace/capture/emu"
	"btrace/trace"
)

// sharedID is two groups of warps that have nothing to do with each other,
// and have picked the same barrier.
func sharedID() Kernel {
	return Kernel{
		Name:   "barrier-id-reused",
		Doc:    "two loader warps and three storer warps each synchronise among themselves, both on barrier 1",
		Expect: Expect{Verdict: violation, Rule: "bar-count-mismatch", Barrier: "bar:1"},
		Block:  trace.Dim{160},
		Run:    sharedIDKernel,
	}
}

func sharedIDKernel(t *emu.Thread) {
	const loaders, storers = 1, 1 // bug: two groups, one barrier
	for i := range 3 {
		t.Work(jitter(i+t.Warp(), 400))
		if t.Warp() < 2 {
			t.BarSync(loaders, 64)
		} else {
			t.BarSync(storers, 96)
		}
	}
}

// tripCounts is two warps that disagree on the number of rounds.
func tripCounts() Kernel {
	return Kernel{
		Name:   "unequal-trip-counts",
		Doc:    "one warp meets its partner in eight rounds, the partner comes to a ninth",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-exited", Barrier: "bar:6"},
		Block:  trace.Dim{64},
		Run:    tripCountsKernel,
	}
}

func tripCountsKernel(t *emu.Thread) {
	const items = 272
	rounds := items / 32
	if t.Warp() == 1 {
		rounds = (items + 31) / 32 // bug: this one rounds up
	}
	for i := range rounds {
		t.Work(100 + jitter(i+t.Warp(), 200))
		t.BarSync(6, 64)
	}
}

// earlyReturn is a warp without work that leaves before a barrier which
// counts it.
func earlyReturn() Kernel {
	return Kernel{
		Name:   "early-return-before-count",
		Doc:    "the last of four warps has nothing to do and returns before bar.sync 4, 128",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-exited", Barrier: "bar:4"},
		Block:  trace.Dim{128},
		Run:    earlyReturnKernel,
	}
}

func earlyReturnKernel(t *emu.Thread) {
	if t.Thread() >= 96 {
		return // bug: the count below includes these threads
	}
	t.Work(jitter(t.Warp(), 500))
	t.BarSync(4, 128)
}
