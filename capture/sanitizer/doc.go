// Package sanitizer is the second way into a program on a real GPU: NVIDIA's
// Compute Sanitizer patches the machine code of kernels, so that no PTX is
// needed.
//
// Its native part (folder native) is a library that the driver loads into the
// application. It speaks the protocol of capture/cupti and its patches write to
// the same ring. This package reads a module's cubin and says which of its
// instructions are which sites of the ring, in the terms of package probe, and
// what of the kernels can be observed. It runs nothing itself.
//
// # What is seen
//
// Compute Sanitizer (of CUDA 13.0, on an H100) calls patches at the begin and
// end of threads, before and after bar.sync and bar.red (it does not tell them
// apart), before mbarrier operations, after tests of them with the answer,
// before bulk copies, and around syncwarp and the cluster's barrier. Nothing is
// called for bar.arrive, and it does not pass:
//
//   - the predicate and result of bar.red: it is recorded as a bar.sync
//   - an mbarrier's count when it is initialised: that is read from the
//     mbarrier afterwards, as sm_90 keeps it there
//   - the bytes that expect_tx announces: they are unknown
//   - tokens
//   - tensor copies: their bytes are unknown anyway
//
// # What is observed
//
// A replay takes an absent event of a family that is observed for one that did
// not happen, so a family is observed only if all of it is seen. Named barriers
// are, in a module without bar.arrive; that takes nvdisasm to tell. mbarriers
// are on sm_90. What is seen of other families is recorded as marks, which
// nothing is concluded from: never a false deadlock.
package sanitizer
