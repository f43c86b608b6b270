package pairs

import (
	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/trace"
)

// transactions is about the bytes that mbarriers count, and completion
// functions.
func transactions() []Pair {
	return []Pair{
		{Rule: barrier.MbarTxRange, Threads: 1, Bad: Example{Run: txRangeBad}, Good: Example{Run: txRangeGood}},
		{
			Rule: "completion-count", Threads: 32,
			Bad:  Example{Run: completionKernel, Fault: completesTwice()},
			Good: Example{Run: completionKernel},
		},
		{
			Rule: "completion-order", Threads: 64,
			Bad:  Example{Run: completionKernel, Fault: completesFirst()},
			Good: Example{Run: completionKernel, Fault: recordsLate(trace.KindMbarArrive)},
		},
	}
}

func txRangeBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.ExpectTx(1 << 20)
}

func txRangeGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	bar.ExpectTx(1<<20 - 1)
}

func completionKernel(t *emu.Thread) {
	sum := emu.Shared[int](t, "sum", 1)
	bar := emu.SharedBarrierFunc(t, "bar", func() { sum[0]++ })
	if t.Thread() == 0 {
		bar.Init(t.Threads())
	}
	t.Syncthreads()
	bar.ArriveAndWait()
	bar.ArriveAndWait()
}
