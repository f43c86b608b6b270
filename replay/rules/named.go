package rules

import "btrace/replay/barrier"

// named is about bar and barrier.cta.
func named() []Rule {
	bar := []Section{ptxSync("bar, barrier")}
	return []Rule{
		{
			ID: barrier.BarIDRange, Severity: Error,
			Title: "barrier number outside 0 to 15",
			Meaning: `A CTA has sixteen named barriers, numbered 0 to 15. A number in a register that is out of this range is undefined: ` +
				`an H100 was seen to take it silently, so that the program seems to work and synchronises on another barrier than its author thinks.`,
			Source: bar,
			Hint:   "compute the barrier number so that it stays below 16; barrier 0 is the one of __syncthreads()",
			Example: `// bad: with 16 warps, warp 15 asks for barrier 16
asm volatile("barrier.sync %0, 64;" :: "r"(1 + warp_id));
// good: one barrier a pair of warps
asm volatile("barrier.sync %0, 64;" :: "r"(1 + warp_id / 2));`,
		},
		{
			ID: barrier.BarCountNotMultiple, Severity: Error,
			Title: "thread count is not a multiple of the warp size",
			Meaning: `The thread count of a named barrier must be a multiple of 32, because warps arrive as a whole: each arrival counts 32 ` +
				`threads, however many lanes of the warp execute it. Another count is undefined; an H100 traps with an illegal instruction.`,
			Source: bar,
			Hint:   "round the count up to whole warps: 32 for every warp that takes part",
			Example: `// bad
asm volatile("barrier.sync 1, 48;");
// good: two warps take part
asm volatile("barrier.sync 1, 64;");`,
		},
		{
			ID: barrier.BarCountMissing, Severity: Error,
			Title: "arrive without a thread count",
			Meaning: `barrier.arrive does not wait, so it must say how many threads the phase is made of: a count of zero is not allowed for it. ` +
				`An H100 traps with an illegal instruction when the count comes from a register and is zero.`,
			Source: bar,
			Hint:   "give barrier.arrive the same non-zero count as the barrier.sync on the other side",
			Example: `// bad: n is 0 at run time
asm volatile("barrier.arrive 1, %0;" :: "r"(n));
// good
asm volatile("barrier.arrive 1, 128;");`,
		},
		{
			ID: barrier.BarCountExceedsCTA, Severity: Error,
			Title: "thread count is larger than the CTA",
			Meaning: `The barrier waits for more threads than the whole warps of the CTA can give, 32 times the number of warps. Unless a warp ` +
				`arrives twice, which is misuse, the phase cannot complete and everybody who waits on it hangs.`,
			Source: bar,
			Hint:   "use the number of threads that really take part; check the count against the launch's block size",
			Example: `// bad: the kernel is launched with 64 threads
asm volatile("barrier.sync 1, 128;");
// good
asm volatile("barrier.sync 1, %0;" :: "r"(blockDim.x));`,
		},
		{
			ID: barrier.BarCountMismatch, Severity: Error,
			Title: "thread counts differ within one phase",
			Meaning: `All warps that meet in a phase of a named barrier must name the same thread count; a barrier without a count does not ` +
				`mix with one that gives the count explicitly, even where both mean the same number. The result is undefined: an H100 traps with ` +
				`an illegal instruction.`,
			Source: bar,
			Hint:   "give every sync, arrive and red on this barrier the same count, or none any; two groups of warps need a barrier each",
			Example: `// bad: producer and consumer disagree
if (producer) asm volatile("barrier.arrive 1, 96;");
else          asm volatile("barrier.sync 1, 64;");
// good
if (producer) asm volatile("barrier.arrive 1, 96;");
else          asm volatile("barrier.sync 1, 96;");`,
		},
		{
			ID: barrier.BarRedMixed, Severity: Error,
			Title: "barrier.red mixed with sync or arrive",
			Meaning: `A phase that some warps enter with barrier.red and others with barrier.sync or barrier.arrive is unpredictable: the ` +
				`reduction has no value for the others. An H100 traps with an illegal instruction.`,
			Source: bar,
			Hint:   "let every warp of the phase execute the same barrier.red, with a neutral predicate where it has nothing to say",
			Example: `// bad
if (warp == 0) asm volatile("barrier.sync 1, 64;");
else           n = red_popc(1, 64, p);
// good: warp 0 takes part with a false predicate
n = red_popc(1, 64, warp == 0 ? false : p);`,
		},
		{
			ID: barrier.BarRedOpMismatch, Severity: Error,
			Title: "different reductions in one phase",
			Meaning: `A phase of barrier.red combines the predicates of all threads with one operator. Warps that ask for different operators ` +
				`(popc, and, or) in the same phase have no defined result.`,
			Source: bar,
			Hint:   "use the same reduction in every warp of the phase, or two phases",
			Example: `// bad: __syncthreads_and and __syncthreads_or meet on barrier 0
ok = warp == 0 ? __syncthreads_and(p) : __syncthreads_or(p);
// good
all = __syncthreads_and(p);
any = __syncthreads_or(p);`,
		},
		{
			ID: BarRedResult, Severity: Error,
			Title: "barrier.red gave another result than its inputs",
			Meaning: `The result that the recording has for a barrier.red is not the reduction of the predicates that were recorded for its ` +
				`phase: popc counts the true predicates of the participants, and asks whether all were true, or whether any was. ` +
				`Either a thread took part that was not meant to, or the recording is wrong.`,
			Source: bar,
			Hint:   "compare the predicates of the warps in this phase with the expected ones; look for a warp that is a phase ahead",
			Example: `// bad: warp 1 is a round ahead, its predicate belongs to the next phase
for (int i = warp; i < n; i++) count = __syncthreads_count(p[i]);
// good: all warps run the same rounds
for (int i = 0; i < n; i++) count = __syncthreads_count(p[i]);`,
		},
		{
			ID: barrier.BarOverrun, Severity: Error,
			Title: "a warp used the barrier again before its reset",
			Meaning: `After barrier.arrive a warp may not execute any other operation on the same barrier before the phase has completed and the ` +
				`barrier is reset. The second operation counts in the same phase: two arrivals of one warp can complete a phase in which its ` +
				`partner never was, and the partner then waits for a phase that nobody will complete.`,
			Source: bar,
			Hint:   "alternate two barriers (full and empty), and wait on one before arriving on the other again",
			Example: `// bad: the producer runs ahead
for (int i = 0; i < n; i++) { fill(i); asm volatile("barrier.arrive 1, 64;"); }
// good: the consumer answers on barrier 2
for (int i = 0; i < n; i++) {
  fill(i);
  asm volatile("barrier.arrive 1, 64;");
  asm volatile("barrier.sync 2, 64;");
}`,
		},
		{
			ID: barrier.BarDivergent, Severity: Error,
			Title: "aligned barrier in divergent code",
			Meaning: `The aligned form (bar.*, barrier.*.aligned, __syncthreads()) promises that all lanes of a warp execute this one ` +
				`instruction. Here lanes of one warp came to it at different places, or some lanes that have not exited never came. ` +
				`That is undefined: it hangs, or passes where the compiler turned the branch into predicates. ` +
				`Different warps at different places are normal.`,
			Source: append(bar, guide("Synchronization Functions")),
			Hint:   "move the barrier out of the branch, or use the unaligned barrier.sync if the divergence is meant",
			Example: `// bad: the lanes of a warp disagree
if (threadIdx.x % 2) __syncthreads(); else __syncthreads();
// good
work(threadIdx.x % 2);
__syncthreads();`,
		},
		{
			ID: BarEarlyRelease, Severity: Error,
			Title: "a warp left the barrier before its phase completed",
			Meaning: `The recording shows lanes coming out of a barrier although, in no order of the recorded operations, all the threads that ` +
				`the phase waits for can have arrived by then. Hardware does not do this: a warp that is missing from the recording took part, ` +
				`or the recording puts the exit before its cause in program order.`,
			Source: bar,
			Hint:   "check that every warp that arrives on this barrier is recorded, and that the recorded count is the one in the code",
			Example: `// bad: the helper's arrival is not recorded
helper_arrive_unrecorded(1, 64);
// good: record every operation on the barrier
record(bar_arrive, 1, 64); asm volatile("barrier.arrive 1, 64;");`,
		},
		{
			ID: BarTarget, Severity: Error,
			Title: "barrier form is not available on this architecture",
			Meaning: `The launch's architecture does not have this form of the instruction, or demands more of it. Thread counts, arrive and red ` +
				`need sm_20, barrier needs sm_30, and on sm_6x and older every barrier is an aligned one that all lanes of a warp which have ` +
				`not exited must execute in convergence.`,
			Source: bar,
			Hint:   "build for a newer architecture, or reconverge the warp before the barrier",
			Example: `// bad on sm_60: half a warp
if (lane < 16) asm volatile("barrier.sync 1, 64;");
// good
__syncwarp();
asm volatile("barrier.sync 1, 64;");`,
		},
	}
}
