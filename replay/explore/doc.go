// Package explore says from one run of a program what every other schedule of
// it could do.
//
// A recording has one interleaving of the operations of its lanes. What holds
// in all interleavings is what the barriers order: if an operation happens
// before another by program order and by the phases of barriers alone, it does
// so whatever the schedule. Order follows a run, keeps for every lane what is
// known to have happened before, and reports the places where the program is
// only lucky: hazards. Where there are none, every schedule of the same
// program orders gives the same phases, with the same arrivals in each: the
// argument is in RATIONALE.md, and the idea, for named barriers, is that of
// Sharma, Bauer, Aiken: "Verification of Producer-Consumer Synchronization in
// GPU Programs" (PLDI 2015).
//
// Space is the other way to know: all interleavings of a small program, or
// many of a large one, run on the barrier models.
//
// The package knows nothing of files, times and findings. What a program
// does because of values in memory it cannot see: all that it says is about
// the same program orders.
package explore
