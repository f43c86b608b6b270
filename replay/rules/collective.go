package rules

import "btrace/replay/barrier"

// collective is about what whole groups of threads do together: completion
// functions, cooperative groups, clusters and warps.
func collective() []Rule {
	var (
		completion  = guide("Completion Function")
		split       = guide("barrier_arrive and barrier_wait")
		groupSync   = guide("Synchronization")
		cluster     = ptxSync("barrier.cluster")
		distributed = guide("Distributed Shared Memory")
		warp        = ptxSync("bar.warp.sync")
		syncwarp    = guide("Synchronization Functions")
	)
	return []Rule{
		{
			ID: CompletionCount, Severity: Error,
			Title: "completion function did not run exactly once in a phase",
			Meaning: `The completion function of a cuda::barrier runs once a phase. Here it ran twice for one phase, or a phase completed in which ` +
				`it did not run, so that what it computes (a sum, a swap of buffers) was done twice or not at all.`,
			Source: []Section{completion},
			Hint:   "look for two barriers where one was meant, a barrier initialised twice, or a function also called by hand",
			Example: `// bad: the function is called by the kernel as well
bar.arrive_and_wait(); if (threadIdx.x == 0) completion();
// good: the barrier calls it
bar.arrive_and_wait();`,
		},
		{
			ID: CompletionOrder, Severity: Error,
			Title: "completion function ran outside its window",
			Meaning: `The completion function of a phase runs after the last thread has arrived and before any thread is released from its wait. ` +
				`Here it began before all had arrived, or a thread was released before it ended: what it reads or writes races with them.`,
			Source: []Section{completion},
			Hint:   "let only the barrier call the function; do not leave the wait by another way, such as a flag",
			Example: `// bad: readers are let through by a flag of their own
while (!flag) { } use(*acc);
// good: readers wait on the barrier that runs the function
bar.wait(std::move(token)); use(*acc);`,
		},
		{
			ID: barrier.GroupArriveTwice, Severity: Error,
			Title: "a thread arrived twice in one phase of a group",
			Meaning: `All threads of a cooperative group arrive and wait once a phase. After barrier_arrive another arrival on the same group is ` +
				`undefined until the completion of the phase was observed with barrier_wait.`,
			Source: []Section{split},
			Hint:   "pair every barrier_arrive with the barrier_wait that takes its token before the next barrier_arrive",
			Example: `// bad
auto a = block.barrier_arrive(); auto b = block.barrier_arrive();
// good
auto a = block.barrier_arrive(); block.barrier_wait(std::move(a));
auto b = block.barrier_arrive(); block.barrier_wait(std::move(b));`,
		},
		{
			ID: GroupMissingThread, Severity: Error,
			Title: "a thread of the group did not come",
			Meaning: `A group's barrier is collective: every thread of the group must arrive and wait once a phase. Here threads of the group went ` +
				`past the phase, or ended, without taking part.`,
			Source: []Section{split, groupSync},
			Hint:   "move the group operation out of the branch, or make a group of the threads that really take part",
			Example: `// bad: only half of the group synchronises
if (tile.thread_rank() < 16) tile.sync();
// good
auto half = cg::tiled_partition<16>(tile); half.sync();`,
		},
		{
			ID: barrier.GroupToken, Severity: Error,
			Title: "token of a group used wrongly",
			Meaning: `barrier_wait takes the token of the matching barrier_arrive of the same group and phase, and uses it up. A token of another ` +
				`phase or group, or one that was used already, is undefined.`,
			Source: []Section{split},
			Hint:   "move the token straight from barrier_arrive to its one barrier_wait",
			Example: `// bad: the token of the first phase is waited on in the second
auto a = block.barrier_arrive(); block.sync_once();
block.barrier_wait(std::move(a));
// good
auto a = block.barrier_arrive(); block.barrier_wait(std::move(a));`,
		},
		{
			ID: GroupCollectiveInFlight, Severity: Error,
			Title: "collective operation while a barrier phase is open",
			Meaning: `Between barrier_arrive and the barrier_wait that observes the phase, any collective operation on the same group (sync, ` +
				`reduce, another barrier_arrive) is undefined. Both would use the same barrier of the group.`,
			Source: []Section{split},
			Hint:   "do work that needs no other thread of the group between arrive and wait, or wait first",
			Example: `// bad
auto t = cluster.barrier_arrive(); cluster.sync(); cluster.barrier_wait(std::move(t));
// good
auto t = cluster.barrier_arrive(); local_work(); cluster.barrier_wait(std::move(t));`,
		},
		{
			ID: barrier.GroupWaitWithoutArrive, Severity: Error,
			Title: "wait on a group without having arrived",
			Meaning: `barrier_wait needs the token of this thread's own barrier_arrive in the phase. A thread that waits without having arrived is ` +
				`missing from the phase that it waits for.`,
			Source: []Section{split},
			Hint:   "let every thread of the group call barrier_arrive, then barrier_wait with its own token",
			Example: `// bad: thread 0's token is handed to the others
if (rank == 0) token = block.barrier_arrive();
block.barrier_wait(std::move(token));
// good
auto token = block.barrier_arrive();
block.barrier_wait(std::move(token));`,
		},
		{
			ID: barrier.ClusterArriveTwice, Severity: Error,
			Title: "a thread arrived twice on the cluster barrier",
			Meaning: `Each thread must arrive at the cluster barrier only once before it completes. A second barrier.cluster.arrive without a wait ` +
				`between them is undefined, although an H100 was seen to complete: the phases that the CTAs count drift apart.`,
			Source: []Section{cluster},
			Hint:   "put a barrier.cluster.wait between two arrives",
			Example: `// bad
barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;
// good
barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive; barrier.cluster.wait;`,
		},
		{
			ID: barrier.ClusterWaitFirst, Severity: Error,
			Title: "cluster wait before any arrive",
			Meaning: `barrier.cluster.wait waits for the phase of the preceding barrier.cluster.arrive of the same thread. Without one there is ` +
				`nothing to wait for: an H100 goes straight on, so that the wait protects nothing.`,
			Source: []Section{cluster},
			Hint:   "execute barrier.cluster.arrive before barrier.cluster.wait, or call cluster.sync()",
			Example: `// bad
barrier.cluster.wait; read_remote(); barrier.cluster.arrive;
// good
barrier.cluster.arrive; barrier.cluster.wait; read_remote();`,
		},
		{
			ID: barrier.ClusterMissingWait, Severity: Warning,
			Title: "arrived on the cluster barrier and never waited",
			Meaning: `A thread arrived on the cluster barrier and ended without waiting for it. PTX allows that; cooperative groups demand the wait ` +
				`once a phase, and a thread that skips it has no guarantee about the other CTAs.`,
			Source: []Section{split, cluster},
			Hint:   "wait for the last phase before the kernel ends, at the latest",
			Example: `// bad
cluster.barrier_arrive(); return;
// good
auto t = cluster.barrier_arrive(); cluster.barrier_wait(std::move(t));`,
		},
		{
			ID: ClusterEarlyRelease, Severity: Error,
			Title: "a thread left the cluster barrier before all had arrived",
			Meaning: `The recording shows a thread coming out of barrier.cluster.wait although, in no order of the recorded operations, all threads ` +
				`of the cluster that have not exited can have arrived. A CTA is missing from the recording, or the recording puts the exit before its ` +
				`cause in program order.`,
			Source: []Section{cluster},
			Hint:   "check that all CTAs of the cluster are recorded, and the cluster size of the launch",
			Example: `// bad: the launch line of the trace says cluster 2, the kernel ran with 4
"cluster":[2,1,1]
// good
"cluster":[4,1,1]`,
		},
		{
			ID: ClusterExitEarly, Severity: Error,
			Title: "a CTA exited while others still reach into its shared memory",
			Meaning: `Shared memory of a CTA lives as long as the CTA. A remote arrive or copy to it must be ordered before it exits; this one was ` +
				`not: the CTA had ended, or nothing made it wait. The access faults, or writes into the shared memory of the next CTA on that SM.`,
			Source: []Section{distributed},
			Hint:   "end the kernel with cluster.sync(), so that no CTA leaves before all remote accesses are done",
			Example: `// bad
remote_arrive(peer_bar); return;
// good
remote_arrive(peer_bar); cluster.sync(); return;`,
		},
		{
			ID: barrier.SyncwarpExcludesCaller, Severity: Error,
			Title: "lane called syncwarp with a mask that excludes it",
			Meaning: `Each calling lane must have its own bit set in the mask of __syncwarp (bar.warp.sync); otherwise the behaviour is ` +
				`undefined. The usual cause is a mask computed before a branch and used after it.`,
			Source: []Section{warp, syncwarp},
			Hint:   "compute the mask where it is used, with the lanes that really get there",
			Example: `// bad: lanes 16 to 31 call it too
__syncwarp(0x0000ffff);
// good
if (lane < 16) __syncwarp(0x0000ffff);`,
		},
		{
			ID: SyncwarpMissingLane, Severity: Error,
			Title: "a lane of the mask never came to syncwarp",
			Meaning: `All lanes named in the mask that have not exited must execute a __syncwarp with the same mask. Here one is still running ` +
				`elsewhere, or used another mask, and the lanes that came wait for it. Lanes that have exited are not missing.`,
			Source: []Section{syncwarp, warp},
			Hint:   "name only lanes that execute the same __syncwarp, or move it out of the branch",
			Example: `// bad: lane 16 is named but takes the other branch
if (lane < 16) __syncwarp(0x0001ffff);
// good
if (lane < 16) __syncwarp(0x0000ffff);`,
		},
	}
}
