package rules

import "btrace/replay/barrier"

// mbarrier is about mbarrier objects, and cuda::barrier, which is one at
// block scope without a completion function.
func mbarrier() []Rule {
	var (
		object    = ptxSync("mbarrier")
		contents  = ptx("Contents of the mbarrier object")
		lifecycle = ptx("Lifecycle of the mbarrier object")
		phase     = ptx("Phase of the mbarrier object")
		complete  = ptx("Phase Completion of the mbarrier object")
		smem      = ptx("mbarrier support with shared memory")
		tx        = ptx("Tracking asynchronous operations by the mbarrier object")
		init      = ptxSync("mbarrier.init")
		inval     = ptxSync("mbarrier.inval")
		arrive    = ptxSync("mbarrier.arrive")
		drop      = ptxSync("mbarrier.arrive_drop")
		wait      = ptxSync("mbarrier.test_wait / mbarrier.try_wait")
		countdown = guide("A Barrier's Phase: Arrival, Countdown, Completion, and Reset")
		earlyExit = guide("Early Exit (Dropping out of Participation)")
	)
	return []Rule{
		{
			ID: barrier.MbarUninitialized, Severity: Error,
			Title: "mbarrier used before it was initialised",
			Meaning: `Any mbarrier operation but init on memory that does not hold an initialised mbarrier is undefined. ` +
				`The usual cause is a thread that uses the barrier before the initialising thread got there, or an address that is off by a stage.`,
			Source: []Section{object, lifecycle},
			Hint:   "initialise in one thread, then __syncthreads() (cluster barrier for remote users) before anybody uses it",
			Example: `// bad: nothing orders the use after the init
if (threadIdx.x == 0) mbarrier_init(&full[0], 1);
mbarrier_wait(&full[0], 0);
// good
if (threadIdx.x == 0) mbarrier_init(&full[0], 1);
__syncthreads();
mbarrier_wait(&full[0], 0);`,
		},
		{
			ID: barrier.MbarReinit, Severity: Error,
			Title: "init over a live mbarrier",
			Meaning: `mbarrier.init on memory that holds a valid mbarrier is undefined. On an H100 it starts over: arrivals made so far are ` +
				`forgotten, and those who wait may wait for ever.`,
			Source: []Section{init, lifecycle},
			Hint:   "initialise once a launch; to use the memory again, mbarrier.inval first, with a barrier on both sides",
			Example: `// bad: every tile initialises again
for (int t = 0; t < tiles; t++) { if (leader) mbarrier_init(&bar, 32); ... }
// good: a barrier is reset by its own completion
if (leader) mbarrier_init(&bar, 32);
__syncthreads();
for (int t = 0; t < tiles; t++) { ... }`,
		},
		{
			ID: barrier.MbarAfterInval, Severity: Error,
			Title: "mbarrier used after it was invalidated",
			Meaning: `After mbarrier.inval the memory is ordinary again, and every mbarrier operation on it except init is undefined. An H100 ` +
				`does not trap: it goes on with whatever the memory holds.`,
			Source: []Section{inval, lifecycle},
			Hint:   "order mbarrier.inval after the last use by every thread, for instance with __syncthreads()",
			Example: `// bad: other threads may still be waiting
mbarrier_wait(&bar, ph);
if (threadIdx.x == 0) mbarrier_inval(&bar);
// good
mbarrier_wait(&bar, ph);
__syncthreads();
if (threadIdx.x == 0) mbarrier_inval(&bar);`,
		},
		{
			ID: barrier.MbarCountRange, Severity: Error,
			Title: "arrival count outside the valid range",
			Meaning: `The expected count of an mbarrier lies in 1 to 2^20-1, the pending count in 0 to 2^20-1, and the count of an arrive must lie ` +
				`in that range too. Everything else is undefined.`,
			Source: []Section{contents, init},
			Hint:   "check the expression that computes the count: it is zero, negative as unsigned, or a byte count",
			Example: `// bad: no consumer warps in this configuration
mbarrier_init(&empty, num_consumer_warps);  // 0
// good
static_assert(num_consumer_warps > 0);
mbarrier_init(&empty, num_consumer_warps);`,
		},
		{
			ID: barrier.MbarOverArrival, Severity: Error,
			Title: "more arrivals than the phase has pending",
			Meaning: `An arrive may not lower the pending count below zero: it must happen while at least that many arrivals are pending. ` +
				`An H100 traps. It means that one thread more than counted at init arrives, or that the init count is too small.`,
			Source: []Section{contents, countdown},
			Hint:   "make the count given to init equal to the arrivals of one phase, and the count operand of arrive its share of it",
			Example: `// bad: 3 expected, 5 arrive at once
mbarrier_init(&bar, 3);
mbarrier_arrive(&bar, 5);
// good
mbarrier_init(&bar, 5);
mbarrier_arrive(&bar, 5);`,
		},
		{
			ID: MbarReuseBeforeWait, Severity: Error,
			Title: "arrive in the next phase although nobody waited on this one",
			Meaning: `For each phase at least one test_wait or try_wait must have returned true before an arrive of the following phase. Here, in ` +
				`no order of the recorded operations, anybody can have waited on the completed phase by then: nothing makes sure that the ` +
				`phases are kept apart, and a waiter that comes late may miss one.`,
			Source: []Section{phase, countdown},
			Hint:   "wait on the phase that was completed before arriving on the barrier again",
			Example: `// bad: arrives of two phases, no wait between them
mbarrier_arrive(&bar); mbarrier_arrive(&bar);  // init count 1
// good
mbarrier_arrive(&bar); mbarrier_wait(&bar, 0);
mbarrier_arrive(&bar); mbarrier_wait(&bar, 1);`,
		},
		{
			ID: barrier.MbarStaleToken, Severity: Error,
			Title: "wait with the token of an old phase",
			Meaning: `A token may be waited on in the phase that made it and in the one that follows. Later it is undefined: since only the parity ` +
				`of the phase is compared, an old token looks like the current phase every second time, and the wait hangs or passes by chance.`,
			Source: []Section{wait, countdown},
			Hint:   "wait on each token before the barrier can complete another phase; do not keep tokens over iterations",
			Example: `// bad: k is two phases old when it is waited on
auto k = bar.arrive();
bar.arrive_and_wait(); bar.arrive_and_wait();
bar.wait(std::move(k));
// good
bar.wait(bar.arrive());`,
		},
		{
			ID: MbarWrongToken, Severity: Error,
			Title: "token of another mbarrier",
			Meaning: `The state given to test_wait or try_wait must come from an arrive on the same mbarrier. The token carries a phase but no ` +
				`address, so that a token of another barrier is taken silently and the wait is for an arbitrary phase.`,
			Source: []Section{wait},
			Hint:   "keep token and barrier together; index both with the same stage",
			Example: `// bad
auto t = full[s].arrive();
empty[s].wait(std::move(t));
// good
auto t = full[s].arrive();
full[s].wait(std::move(t));`,
		},
		{
			ID: barrier.MbarNoCompleteComplete, Severity: Error,
			Title: "a noComplete arrive completed the phase",
			Meaning: `mbarrier.arrive.noComplete and arrive_drop.noComplete promise that they do not complete the current phase. One that does is ` +
				`undefined; an H100 completes the phase.`,
			Source: []Section{arrive, drop},
			Hint:   "use plain arrive for the arrival that may be the last of its phase",
			Example: `// bad: init count is 2
mbarrier.arrive.noComplete.b64 state, [bar], 2;
// good
mbarrier.arrive.noComplete.b64 state, [bar], 1;
mbarrier.arrive.b64 state, [bar];`,
		},
		{
			ID: barrier.MbarDropToZero, Severity: Warning,
			Title: "arrive_drop lowered the expected count to zero",
			Meaning: `The last participant dropped out, so that the following phase expects nobody. An expected count must be at least 1: any ` +
				`further operation on the barrier is undefined (an H100 traps). If nothing touches the barrier afterwards, it does no harm.`,
			Source: []Section{drop, contents},
			Hint:   "let the last participant use a plain arrive, or make sure that nobody uses the barrier afterwards",
			Example: `// bad: the only participant drops, then arrives
mbarrier_init(&bar, 1); mbarrier_arrive_drop(&bar); mbarrier_arrive(&bar);
// good
mbarrier_init(&bar, 1); mbarrier_arrive(&bar);`,
		},
		{
			ID: barrier.MbarTxRange, Severity: Error,
			Title: "transaction count outside the valid range",
			Meaning: `The transaction count of a phase must stay between -(2^20-1) and 2^20-1. It may be negative for a while, when copies complete ` +
				`before they are announced, but not by more than that.`,
			Source: []Section{contents, tx},
			Hint:   "split the transfer over more phases or barriers, or check the byte count for an overflow",
			Example: `// bad: 2 MiB in one phase
mbarrier_arrive_expect_tx(&full, 2u << 20);
// good: 512 KiB a stage
mbarrier_arrive_expect_tx(&full[s], 512u << 10);`,
		},
		{
			ID: MbarEarlyRelease, Severity: Error,
			Title: "a wait succeeded before its phase completed",
			Meaning: `The recording shows a wait that succeeded although, in no order of the recorded operations, the arrivals and bytes of that ` +
				`phase can have been there. Hardware does not do this: an arrive or a copy that is missing from the recording took part, or the ` +
				`recording puts the success before its cause in program order.`,
			Source: []Section{complete, wait},
			Hint:   "check that every arrive and copy on this barrier is recorded, and the parity or token of the wait",
			Example: `// bad: a library's arrive is not recorded
pipeline.producer_commit();
// good: record what touches the barrier
record(mbar_arrive, &full[s]); pipeline.producer_commit();`,
		},
		{
			ID: MbarRemoteOp, Severity: Error,
			Title: "operation that is not allowed on another CTA's mbarrier",
			Meaning: `On an mbarrier in the shared memory of another CTA of the cluster only arrive, arrive_drop, expect_tx and complete_tx are ` +
				`supported, and an arrive there returns no token. Init, inval, test_wait, try_wait and the use of a token need the barrier of ` +
				`one's own CTA.`,
			Source: []Section{smem, arrive},
			Hint:   "wait on a barrier of your own CTA and let the other CTA arrive on it remotely",
			Example: `// bad: waits on the barrier of CTA 0
mbarrier_wait(cluster.map_shared_rank(&bar, 0), 0);
// good: CTA 0 arrives on everybody's own barrier
mbarrier_wait(&bar, 0);`,
		},
		{
			ID: MbarExitWithoutArrive, Severity: Note,
			Title: "a thread exited without arriving",
			Meaning: `A thread that took part in this barrier, or was counted for it, ended without arriving and without dropping out. Unlike ` +
				`__syncthreads(), an mbarrier does not notice exits: the count stays and the others wait. Reported only to explain a wait ` +
				`that starves.`,
			Source: []Section{drop, earlyExit},
			Hint:   "call arrive_and_drop() (mbarrier.arrive_drop) before the early return",
			Example: `// bad
if (done) return;
bar.arrive_and_wait();
// good
if (done) { bar.arrive_and_drop(); return; }
bar.arrive_and_wait();`,
		},
	}
}
