package pairs

import "btrace/capture/emu"

// recordings is about what the recorder did not keep.
func recordings() []Pair {
	return []Pair{
		{
			Rule: "trace-truncated", Threads: 64,
			Bad:  Example{Run: twoPhasesKernel, Fault: cut()},
			Good: Example{Run: twoPhasesKernel},
		},
		{
			Rule: "trace-gap", Threads: 64,
			Bad:  Example{Run: twoPhasesKernel, Fault: drops()},
			Good: Example{Run: twoPhasesKernel},
		},
	}
}

func twoPhasesKernel(t *emu.Thread) {
	t.Syncthreads()
	t.Syncthreads()
}
