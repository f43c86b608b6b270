package pairs

import (
	"btrace/capture/emu"
	"btrace/replay/barrier"
	"btrace/trace"
)

// collectives is about cooperative groups and clusters.
func collectives() []Pair {
	return []Pair{
		{Rule: barrier.GroupArriveTwice, Threads: 64, Bad: Example{Run: groupTwiceBad}, Good: Example{Run: groupTwiceGood}},
		{Rule: "group-missing-thread", Threads: 64, Bad: Example{Run: groupMissingBad}, Good: Example{Run: groupMissingGood}},
		{Rule: barrier.GroupToken, Threads: 64, Bad: Example{Run: groupTokenBad}, Good: Example{Run: groupTokenGood}},
		{Rule: "group-collective-in-flight", Threads: 64, Bad: Example{Run: groupInFlightBad}, Good: Example{Run: groupInFlightGood}},
		{Rule: barrier.GroupWaitWithoutArrive, Threads: 64, Bad: Example{Run: groupWaitBad}, Good: Example{Run: groupWaitGood}},
		{Rule: barrier.ClusterArriveTwice, Threads: 32, CTAs: 2, Bad: Example{Run: clusterTwiceBad}, Good: Example{Run: clusterTwiceGood}},
		{Rule: barrier.ClusterWaitFirst, Threads: 32, CTAs: 2, Bad: Example{Run: clusterWaitFirstBad}, Good: Example{Run: clusterWaitFirstGood}},
		{Rule: barrier.ClusterMissingWait, Threads: 32, CTAs: 2, Bad: Example{Run: clusterNoWaitBad}, Good: Example{Run: clusterNoWaitGood}},
		{
			Rule: "cluster-early-release", Threads: 64, CTAs: 2,
			Bad:  Example{Run: clusterSyncKernel, Fault: forgets(trace.KindClusterArrive, trace.KindClusterWait, trace.KindClusterDone)},
			Good: Example{Run: clusterSyncKernel, Fault: recordsLate(trace.KindClusterArrive)},
		},
		{Rule: "cluster-exit-early", Threads: 1, CTAs: 2, Bad: Example{Run: clusterExitBad}, Good: Example{Run: clusterExitGood}},
	}
}

func groupTwiceBad(t *emu.Thread) {
	block := t.ThisBlock()
	block.Arrive()
	block.Wait(block.Arrive())
}

func groupTwiceGood(t *emu.Thread) {
	block := t.ThisBlock()
	block.Wait(block.Arrive())
	block.Wait(block.Arrive())
}

func groupMissingBad(t *emu.Thread) {
	if t.Warp() == 1 {
		return
	}
	t.Group("workers", 64).Sync()
}

func groupMissingGood(t *emu.Thread) {
	if t.Warp() == 1 {
		return
	}
	t.Group("workers", 32).Sync()
}

func groupTokenBad(t *emu.Thread) {
	block := t.ThisBlock()
	first := block.Arrive()
	block.Wait(first)
	block.Arrive()
	block.Wait(first)
}

func groupTokenGood(t *emu.Thread) {
	block := t.ThisBlock()
	first := block.Arrive()
	block.Wait(first)
	second := block.Arrive()
	block.Wait(second)
}

func groupInFlightBad(t *emu.Thread) {
	block := t.ThisBlock()
	token := block.Arrive()
	t.Syncthreads() // the block's own barrier, between arrive and wait
	block.Wait(token)
}

func groupInFlightGood(t *emu.Thread) {
	block := t.ThisBlock()
	token := block.Arrive()
	t.Syncwarp() // another barrier
	block.Wait(token)
}

func groupWaitBad(t *emu.Thread) {
	block := t.ThisBlock()
	var token emu.GroupToken
	block.Wait(token)
}

func groupWaitGood(t *emu.Thread) {
	block := t.ThisBlock()
	token := block.Arrive()
	block.Wait(token)
}

func clusterTwiceBad(t *emu.Thread) {
	t.ClusterArrive()
	t.ClusterArrive()
	t.ClusterWait()
}

func clusterTwiceGood(t *emu.Thread) {
	t.ClusterArrive()
	t.ClusterWait()
	t.ClusterArrive()
	t.ClusterWait()
}

func clusterWaitFirstBad(t *emu.Thread) {
	t.ClusterWait() // nothing to wait for: it goes straight on
	t.ClusterArrive()
	t.ClusterWait()
}

func clusterWaitFirstGood(t *emu.Thread) {
	t.ClusterArrive()
	t.ClusterWait()
}

func clusterNoWaitBad(t *emu.Thread) {
	t.ClusterArrive()
	if t.ClusterRank() == 0 {
		t.ClusterWait()
	}
}

func clusterNoWaitGood(t *emu.Thread) {
	t.ClusterArrive()
	t.ClusterWait()
}

func clusterSyncKernel(t *emu.Thread) {
	t.ClusterArrive()
	t.ClusterWait()
	t.Syncthreads() // no warp has left before this
}

func clusterExitBad(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	t.ClusterSync()
	if t.ClusterRank() == 1 {
		t.Work(1000)
		bar.Remote(0).Arrive() // CTA 0 and its shared memory are gone
	}
}

func clusterExitGood(t *emu.Thread) {
	bar := emu.SharedMbarrier(t, "bar")
	bar.Init(1)
	t.ClusterSync()
	if t.ClusterRank() == 1 {
		t.Work(1000)
		bar.Remote(0).Arrive()
	}
	t.ClusterSync() // nobody leaves before all have reached into his memory
}
