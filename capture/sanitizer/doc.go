// Package sanitizer is the second way into a program on a real GPU: NVIDIA's
// Compute Sanitizer patches the machine code of kernels, so that no PTX is
// needed.
//
// Its native part (folder native) is a library that the driver loads into the
// application. It speaks the protocol of capture/cupti and its patches write to
// the same ring. This package reads a module's cubin and says which of its
// instructions are which sites of the ring, in the terms of package probe, and
// what of the kernels can be observed. It starts nothing but nvdisasm.
//
// # What is seen
//
// Compute Sanitizer (of CUDA 13.0, on an H100) calls patches at the begin and
// end of threads, before and after bar.sync and bar.red (it does not tell them
// apart), before mbarrier operations, after tests of them with the answer,
// before bulk copies, and around syncwarp and the cluster's barrier. It calls
// nothing at bar.arrive, and does not pass
//
//   - the predicate and result of bar.red: it is recorded as a bar.sync
//   - an mbarrier's count when it is initialised, the parity or token that a
//     lane waits for (what is passed instead differs from lane to lane of one
//     wait), nor the bytes that are announced
//
// # What is observed
//
// A replay takes an absent event of a family that is observed for one that did
// not happen, so a family is observed only if all of it is seen. Named barriers
// are, in a kernel without bar.arrive, and mbarriers in one that has none: that
// takes nvdisasm to tell. What is seen of a family that is not observed is
// recorded as marks, which nothing is concluded from: never a false deadlock. A
// wait that asks an mbarrier again and again is two marks: that it began, and
// that it is done.
package sanitizer
