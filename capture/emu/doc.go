// Package emu runs kernels written as Go functions on an emulated GPU, and
// records what they do on its barriers.
//
// A kernel is a func(*Thread) that reads like CUDA. Launch runs it once for
// every thread of the grid:
//
//	func kernel(t *emu.Thread) {
//		full := emu.SharedMbarrier(t, "full")
//		if t.Thread() == 0 {
//			full.Init(32)
//		}
//		t.Syncthreads()
//		if t.Warp() == 0 {
//			full.Arrive()
//		} else {
//			full.WaitParity(0)
//		}
//	}
//
// Every thread is a coroutine. A scheduler decides which warp of a cluster goes
// on, so a launch with the same kernel, configuration and seed is the same
// launch, event for event. To test a protocol, launch it under PCT with many
// seeds: Result.Outcome says whether it hung or trapped, Result.Stuck who
// waits where, and Result.Schedule is the schedule to repeat.
//
// The lanes of a warp that are at the same operation with the same operands
// do it together, as one warp event. Time is virtual: nanoseconds that advance
// with every operation and with Thread.Work.
//
// What barriers do is decided by package replay/barrier alone, which is held
// to a table of measurements on real hardware; a program that the hardware
// leaves hanging ends as hung here, and one that it traps ends as a trap.
//
// A kernel gives up control only inside calls of this package. It must not
// block elsewhere (on a Go channel or mutex), must not call its Thread from
// goroutines of its own, and polls with Thread.Spin in the loop. Between two
// such calls its Go code is atomic: memory shared by the threads of a cluster
// needs no lock, and the race detector has nothing to find. The same holds for
// the threads of the whole launch, unless Config.Workers lets clusters run at
// the same time: then they share memory through Atomic only.
//
// The package does not judge: whether a program that came to its end was
// right is for package replay to say, from the recording.
package emu
