package kernels

import (
	"btrace/capture/emu"
	"btrace/trace"
)

// missingPeer is a CTA that waits, before it comes to the cluster's barrier,
// for what its peer does after it.
func missingPeer() Kernel {
	return Kernel{
		Name:    "cluster-peer-missing",
		Doc:     "CTA 1 polls a flag that CTA 0 sets after the barrier of the cluster, at which it waits for CTA 1",
		Expect:  Expect{Verdict: deadlock, Rule: "deadlock-missing-arrival", Barrier: "cluster"},
		Grid:    trace.Dim{2},
		Block:   trace.Dim{64},
		Cluster: trace.Dim{2},
		Run:     missingPeerKernel,
	}
}

func missingPeerKernel(t *emu.Thread) {
	flag := emu.SharedOf[int32](t, 0, "flag", 1)
	for t.ClusterRank() == 1 && flag[0] == 0 {
		t.Spin() // bug: the flag is set after the barrier
	}
	t.ClusterSync()
	flag[0] = 1
}

// circleOfThree is a circle that no two of its waits make.
func circleOfThree() Kernel {
	return Kernel{
		Name:    "circular-wait-of-three",
		Doc:     "an mbarrier waits for a warp at bar.sync 1, that for a warp at the cluster's barrier, that for a warp at the mbarrier",
		Expect:  Expect{Verdict: deadlock, Rule: "deadlock-cycle"},
		Grid:    trace.Dim{2},
		Block:   trace.Dim{96},
		Cluster: trace.Dim{2},
		Run:     circleOfThreeKernel,
	}
}

func circleOfThreeKernel(t *emu.Thread) {
	full := emu.SharedMbarrier(t, "full")
	if t.Thread() == 0 {
		full.Init(1)
	}
	t.Syncthreads()
	if t.ClusterRank() == 1 {
		t.ClusterSync()
		return
	}
	switch t.Warp() {
	case 0:
		full.WaitParity(0)
		t.ClusterSync()
	case 1:
		t.Work(200)
		t.BarSync(1, 64)
		if t.Lane() == 0 {
			full.Arrive()
		}
		t.ClusterSync()
	case 2:
		t.Work(400)
		t.ClusterSync() // bug: before it comes to the barrier that warp 1 waits at
		t.BarSync(1, 64)
	}
}

// waitingCompletion is a completion function that waits for threads which
// wait for its end.
func waitingCompletion() Kernel {
	return Kernel{
		Name:   "completion-waits",
		Doc:    "the completion function waits for a barrier on which the others arrive once they are let go",
		Expect: Expect{Verdict: deadlock, Rule: "deadlock-cycle"},
		Block:  trace.Dim{64},
		Run:    waitingCompletionKernel,
	}
}

func waitingCompletionKernel(t *emu.Thread) {
	stored := emu.SharedMbarrier(t, "stored")
	bar := emu.SharedBarrierFunc(t, "bar", func() {
		stored.WaitParity(0) // bug: it is arrived on after this phase
	})
	if t.Thread() == 0 {
		stored.Init(t.Threads())
		bar.Init(t.Threads())
	}
	t.Syncthreads()
	t.Work(jitter(t.Warp(), 400))
	bar.ArriveAndWait()
	stored.Arrive()
}
