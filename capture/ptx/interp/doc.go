// Package interp runs kernels of PTX modules on the CTA emulator (package emu),
// which records what they do on barriers.
//
// Compile decodes an entry of a resolved module once, with all that it calls;
// what the emulator does not know is refused then, by name and line (Refusals),
// and Check lists it without running anything. Launch runs the kernel.
//
// It is an interpreter of the ISA, not a model of a GPU: there are no caches,
// pipelines or banks, memory is sequentially consistent, and time is the
// emulator's, with a nanosecond for an instruction. It judges nothing: what
// barriers do is decided by package replay/barrier by way of emu, what values
// are by packages arith and matrix, and whether the program was right by a
// replay of the recording. Textures, surfaces, video instructions, 128-bit and
// vector registers, sparse matrices, alloca, multimem and 32-bit addresses are
// refused.
//
// # Execution
//
// A warp runs an instruction for all lanes that are at it, with a register as a
// column of 32 values; but every lane has a program counter and a call stack of
// its own, so that divergence is free and nothing relies on lockstep. Of lanes
// that have parted those go first that are deepest in calls, and of those the
// ones furthest behind in the code, up to where others are: that is what brings
// lanes together again. A lane runs until it is at an operation that the
// emulator schedules (a barrier, a strong access, a pause), and then waits for
// its turn. One that has run for long pauses, and so does one that would
// overtake lanes that are only paused; a lane that polls goes last. So no lane
// can keep the one from running that it waits for, be it of its own warp.
//
// Loads and stores happen at once. Those that other threads may see in order
// (volatile, relaxed, acquire, release, atom, red) are operations of the
// schedule, so that a schedule can find the bugs of a program that synchronises
// by flags and locks. A lane that sees the same as last time there is taken to
// poll.
//
// Asynchronous copies happen late: cp.async and bulk copies of a group when
// somebody waits for the group, others when the emulator's agent gets to them
// after the instruction, with what their source holds then. Only reductions of
// arrays in global memory happen at once.
//
// # Waits
//
// PTX has no instruction that waits for an mbarrier: a program asks, and asks
// again. A test of which the compiler can see that the program, told no, can do
// nothing but ask the same again is run, and recorded, as a wait; all others as
// tests (waits.go).
//
// # Opaque instructions
//
// wgmma, tcgen05, copies by tensor map and changes to such maps do to barriers
// what they should, and to data nothing; printf prints nothing. Kernel.Opaque
// names those that a kernel has. How many bytes a tensor copy writes is unknown:
// it is taken to be what the mbarrier expects.
//
// # Faults
//
// Every access is checked. What is outside of a buffer, misaligned or written
// where it must not be ends the launch as a trap, named as on silicon, and
// Result.Fault says which instruction, address and lane it was. Registers that
// were never written hold something, as on a GPU.
package interp

//go:generate testdata/corpus/generate.sh inputs
//go:generate testdata/corpus/generate.sh clang
