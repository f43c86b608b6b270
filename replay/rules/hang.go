package rules

// hang is about launches that do not end. A misuse that made the hang, such
// as bar-overrun, is its root itself; these stand where the operations are
// legal one by one.
func hang() []Rule {
	var (
		bar       = ptxSync("bar, barrier")
		object    = ptxSync("mbarrier")
		complete  = ptx("Phase Completion of the mbarrier object")
		wait      = ptxSync("mbarrier.test_wait / mbarrier.try_wait")
		expect    = ptx("expect-tx operation")
		exit      = ptx("Control Flow Instructions: exit")
		trap      = ptx("Miscellaneous Instructions: trap")
		countdown = guide("A Barrier's Phase: Arrival, Countdown, Completion, and Reset")
		bootstrap = guide("Bootstrap Initialization, Expected Arrival Count, and Participation")
		earlyExit = guide("Early Exit (Dropping out of Participation)")
	)
	return []Rule{
		{
			ID: DeadlockCycle, Severity: Error,
			Title: "warps wait for each other in a circle",
			Meaning: `Every warp of the circle waits on a barrier that the next one would complete, if it were not waiting itself. The barriers may ` +
				`be of different kinds. Nothing can ever go on; the finding lists the barriers in wait-for order.`,
			Source: []Section{bar, complete},
			Hint:   "make all warps pass these barriers in the same order, or arrive on the one before waiting on the other",
			Example: `// bad
if (warp == 0) { sync(1, 64); sync(2, 64); }
else           { sync(2, 64); sync(1, 64); }
// good: the same order in both
sync(1, 64); sync(2, 64);`,
		},
		{
			ID: DeadlockMissingArrival, Severity: Error,
			Title: "a thread that is expected never arrives",
			Meaning: `The phase lacks arrivals of threads that are still there and have gone somewhere else: they wait on another barrier, run past ` +
				`this one, or only part of their warp came. The finding says who is missing and what each of them last did.`,
			Source: []Section{bar, countdown},
			Hint:   "find the branch by which the missing threads went around the barrier, and let them arrive there too",
			Example: `// bad: the last warp leaves the loop one round early
for (int i = 0; i < n - (warp == 3); i++) { work(i); bar.arrive_and_wait(); }
// good: all warps run the same number of rounds
for (int i = 0; i < n; i++) { if (valid(i)) work(i); bar.arrive_and_wait(); }`,
		},
		{
			ID: DeadlockExited, Severity: Error,
			Title: "the threads that are missing have exited",
			Meaning: `The phase waits for threads that ended the kernel. Only a barrier for all threads of the CTA takes exits into account; an ` +
				`explicit thread count and an mbarrier's expected count do not shrink when a thread exits.`,
			Source: []Section{exit, bar, earlyExit},
			Hint:   "arrive (for an mbarrier: arrive_and_drop) before the early return, or return after the last barrier",
			Example: `// bad: warp 1 returns, the count still includes it
if (warp == 1) return;
asm volatile("barrier.sync 1, 96;");
// good
if (warp != 1) work();
asm volatile("barrier.sync 1, 96;");`,
		},
		{
			ID: DeadlockCount, Severity: Error,
			Title: "the expected count is larger than the number of arrivals",
			Meaning: `Everybody who ever arrives on this barrier has arrived in this phase, and it still waits for more; or the count exceeds what ` +
				`the CTA has. So the count itself is wrong: the number given to init, or the thread count of the named barrier.`,
			Source: []Section{complete, bootstrap, bar},
			Hint:   "set the count to the number of arrivals in one phase: threads, or elected lanes if one lane arrives for its warp",
			Example: `// bad: four consumer warps, one elected lane each
mbarrier_init(&empty, 5);
// good
mbarrier_init(&empty, 4);`,
		},
		{
			ID: DeadlockTx, Severity: Error,
			Title: "all have arrived, but bytes are outstanding",
			Meaning: `A phase of an mbarrier completes when no arrival is pending and its transaction count is zero. Here all arrivals are made and ` +
				`the bytes announced with expect_tx are not the bytes that the copies of this phase bring.`,
			Source: []Section{complete, expect},
			Hint:   "announce exactly the bytes of the copies that complete on this barrier in this phase",
			Example: `// bad: two tiles announced, one copied
mbarrier_arrive_expect_tx(&full, 2 * TILE_BYTES);
cp_async_bulk(dst, src, TILE_BYTES, &full);
// good
mbarrier_arrive_expect_tx(&full, TILE_BYTES);
cp_async_bulk(dst, src, TILE_BYTES, &full);`,
		},
		{
			ID: DeadlockParity, Severity: Error,
			Title: "waits on a parity that will not come",
			Meaning: `A wait by parity p returns when the phase with parity p is complete, that is while the current phase has the other parity. ` +
				`This wait asks for a phase that the barrier will not complete any more, or has completed and left behind by another one. A fresh ` +
				`barrier is in phase 0, and lets a wait on parity 1 pass at once.`,
			Source: []Section{wait, object},
			Hint:   "start producers with parity 1 on an empty barrier and consumers with parity 0; flip it each time the stage index wraps",
			Example: `// bad: the parity flips with every stage
for (int i = 0; i < n; i++) mbarrier_wait(&full[i % S], i & 1);
// good: it flips with every round over the stages
for (int i = 0; i < n; i++) mbarrier_wait(&full[i % S], (i / S) & 1);`,
		},
		{
			ID: DeadlockExternal, Severity: Error,
			Title: "the missing threads run, held by something outside the barriers",
			Meaning: `The threads that this phase lacks have neither exited nor do they wait on a barrier: when the recording ends they are running. ` +
				`What holds them is not in the recording: a flag in memory, a lock, a grid-wide barrier, another kernel, or an endless loop.`,
			Source: []Section{countdown, bar},
			Hint:   "look at the last recorded line of the missing threads: what does the code after it wait for?",
			Example: `// bad: spins on a flag that is set after the barrier
while (atomicAdd(&flag, 0) == 0) { }
__syncthreads();
// good: the flag is set before anybody needs it
if (threadIdx.x == 0) atomicExch(&flag, 1);
__syncthreads();`,
		},
		{
			ID: HangUnexplained, Severity: Error,
			Title: "hangs, and no rule explains why",
			Meaning: `Threads wait when the recording ends, and what they wait for cannot be traced to a cause. Usually the recorder does not ` +
				`see the operations that would explain it, or lost events.`,
			Source: []Section{bar, object},
			Hint:   "record again with more of the operations observed (see `btrace info`), and look at the waiting threads in `btrace view`",
			Example: `// bad: the recorder has no mbarrier operations
"observes":["bar"]
// good
"observes":["enter","exit","bar","mbar"]`,
		},
		{
			ID: TrapUnexplained, Severity: Error,
			Title: "trapped, and no rule explains why",
			Meaning: `The launch ended with a trap, and no recorded barrier operation violates a rule that would make the hardware trap. The cause is ` +
				`outside of what was recorded: a memory fault, an assertion, a trap instruction. Threads that wait at that moment are not deadlocked.`,
			Source: []Section{trap},
			Hint:   "run compute-sanitizer for the fault; the trace shows where every warp was when it happened",
			Example: `// bad
assert(idx < n);  // fails
// good
if (idx < n) out[idx] = v;`,
		},
	}
}
