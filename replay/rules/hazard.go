package rules

// hazard is about other schedules than the one that was recorded: the run was
// right, and the program is not right by itself. They are warnings always.
func hazard() []Rule {
	order := Section{Document: "PLDI 2015", Title: "Verification of Producer-Consumer Synchronization in GPU Programs"}
	return []Rule{
		{
			ID: HazardRecycle, Severity: Warning,
			Title: "a barrier may be used again before its phase is over",
			Meaning: `An arrival counts in whatever phase the barrier is in. Here nothing orders an operation of one phase after the end of the phase ` +
				`before: the recorded run had them in the right order, another may not. Then the early arrival completes the wrong phase, and ` +
				`somebody else's is missing in the next.`,
			Source: []Section{ptxSync("bar{.cta}, barrier{.cta}"), ptxSync("mbarrier"), order},
			Hint:   "wait for the phase before arriving for the next: on the barrier itself, or on one that its waiters arrive on",
			Example: `// bad: the producer runs ahead
for (int i = 0; i < n; i++) { fill(i); bar_arrive(FULL, 64); }
// good: it waits until the buffer is free
for (int i = 0; i < n; i++) { bar_sync(EMPTY, 64); fill(i); bar_arrive(FULL, 64); }`,
		},
		{
			ID: HazardLap, Severity: Warning,
			Title: "a wait may be lapped",
			Meaning: `A wait on an mbarrier names its phase by one bit. It works only while the phase after that one cannot end: then the bit means ` +
				`another phase. Here nothing keeps the next phase from ending before the lanes have looked. In another schedule they wait for a ` +
				`phase that does not come, or go on although theirs is not over.`,
			Source: []Section{ptxSync("mbarrier.test_wait, mbarrier.try_wait"), order},
			Hint:   "let every waiter arrive after its wait on something that the next phase needs: the same barrier, or the one that its producer waits on",
			Example: `// bad: the consumer does not say that it has looked
wait_parity(&full, phase & 1);
// good: the producer waits for it before the phase after next
wait_parity(&full, phase & 1); consume(); arrive(&empty);`,
		},
		{
			ID: HazardInit, Severity: Warning,
			Title: "a barrier may be used outside of its life",
			Meaning: `Nothing orders the use of an mbarrier after its initialisation; or the end of its life, by mbarrier.inval, a new ` +
				`initialisation or the exit of its CTA, after its last use. The recorded run was lucky: in another the object is not there when ` +
				`it is used. An order that only an atomic or a flag in memory makes is not recorded.`,
			Source: []Section{ptxSync("mbarrier.init"), guide("Initialization, Expected Arrival Count, and Participation")},
			Hint:   "synchronise all users after the initialisation, and before the end: __syncthreads(), or cluster.sync() for other CTAs",
			Example: `// bad
if (threadIdx.x == 0) init(&bar, n);
arrive(&bar);
// good
if (threadIdx.x == 0) init(&bar, n);
__syncthreads();
arrive(&bar);`,
		},
		{
			ID: HazardTx, Severity: Warning,
			Title: "transaction bytes may come in another phase",
			Meaning: `A phase ends when nothing is pending and the announced bytes have come. Bytes that are announced after the last arrival, or copied ` +
				`without being announced in the same phase, belong to it only by luck: in another schedule the phase ends without them, and the ` +
				`next waits for bytes that do not come.`,
			Source: []Section{ptxSync("mbarrier.expect_tx"), ptxSync("mbarrier: tracking asynchronous operations by the mbarrier object")},
			Hint:   "announce exactly the bytes of the phase's copies, before the announcing thread arrives: mbarrier.arrive.expect_tx does both",
			Example: `// bad: the phase may end in between
arrive(&full); expect_tx(&full, bytes); copy(&full);
// good
arrive_expect_tx(&full, bytes); copy(&full);`,
		},
		{
			ID: HazardDeadlock, Severity: Warning,
			Title: "another schedule of the same program orders hangs",
			Meaning: `The recorded run went well. But with every lane doing exactly what it did, only sooner or later than the others, a schedule was found ` +
				`in which lanes wait for ever. It comes of another hazard, which says what is not ordered; this one says what that leads to: who waits ` +
				`then, for which phase, and who does not come. It is looked for briefly: btrace explore looks further and writes the schedule as a ` +
				`trace, on which btrace diagnose and btrace view work as on any other hang.`,
			Source: []Section{ptxSync("bar{.cta}, barrier{.cta}"), ptxSync("mbarrier"), order},
			Hint:   "mend the hazard that it comes of; btrace explore TRACE -o bad.zst writes the schedule that hangs",
			Example: `// bad: if the consumer is late, both arrivals are one phase, and its second wait is for ever
if (warp == 0) { bar_arrive(FULL, 64); bar_arrive(FULL, 64); }
else           { bar_sync(FULL, 64);   bar_sync(FULL, 64); }
// good: the producer waits in between
if (warp == 0) { bar_arrive(FULL, 64); bar_sync(EMPTY, 64);   bar_arrive(FULL, 64); }
else           { bar_sync(FULL, 64);   bar_arrive(EMPTY, 64); bar_sync(FULL, 64); }`,
		},
	}
}
