// btrace.cuh: what a kernel can tell a btrace recording that its PTX does not
// show.
//
// A recording sees every barrier instruction. It cannot see what is behind
// ordinary loads, stores and atomics: the completion function of a cuda::barrier,
// a cuda::barrier of wider scope than the block, a barrier of the whole grid.
// A kernel that calls the functions below where these happen has them in its
// recordings.
//
// Each call is an empty piece of assembly that the recorder recognises. Without a
// recorder the assembler drops it: no instruction, no register, no memory. The
// calls have to be inlined, and names and texts to be string literals; with
// nvcc -G they are not seen.
//
//   auto done = [&] {
//     btrace::completion_begin(bar);
//     ...
//     btrace::completion_end(bar);
//   };
//   btrace::barrier_init(bar, threads);
//   ...
//   btrace::barrier_arrive(bar, phase);
//   auto token = bar->arrive();
//   btrace::barrier_wait(bar, phase);
//   bar->wait(std::move(token));
//   btrace::barrier_done(bar, phase);
#pragma once

namespace btrace {
namespace detail {

// Probes are put in where this block is found; package capture/ptx/probe says
// how it looks.
template <unsigned Kind>
__device__ __forceinline__ void tell(unsigned long long a, unsigned long long b, unsigned long long c) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "{\n\t"
      ".reg .b32 __btrace_mark;\n\t"
      ".reg .b64 __btrace_a, __btrace_b, __btrace_c;\n\t"
      "mov.b32 __btrace_mark, %3;\n\t"
      "mov.b64 __btrace_a, %0;\n\t"
      "mov.b64 __btrace_b, %1;\n\t"
      "mov.b64 __btrace_c, %2;\n\t"
      "}" ::"l"(a), "l"(b), "l"(c), "n"(0x62740000 | Kind)
      : "memory");
#else
  (void)a, (void)b, (void)c;
#endif
}

__device__ __forceinline__ unsigned long long address(const void *p) {
  return reinterpret_cast<unsigned long long>(p);
}

}  // namespace detail

// barrier_init says that a barrier that is no mbarrier is initialised: the
// threads that are to arrive in each phase. Say nothing of a cuda::barrier of
// block scope without a completion function: that is an mbarrier, and seen.
__device__ __forceinline__ void barrier_init(const void *barrier, unsigned threads) {
  detail::tell<7>(detail::address(barrier), threads, 0);
}
// barrier_arrive says that this thread arrives on it, in the given phase (0, 1,
// 2, …); barrier_wait that it begins to wait for the end of that phase,
// barrier_done that it waits no more.
__device__ __forceinline__ void barrier_arrive(const void *barrier, unsigned long long phase) {
  detail::tell<8>(detail::address(barrier), phase, 0);
}
__device__ __forceinline__ void barrier_wait(const void *barrier, unsigned long long phase) {
  detail::tell<9>(detail::address(barrier), phase, 0);
}
__device__ __forceinline__ void barrier_done(const void *barrier, unsigned long long phase) {
  detail::tell<10>(detail::address(barrier), phase, 0);
}

// completion_begin and completion_end stand around the body of a completion
// function of the barrier at this address.
__device__ __forceinline__ void completion_begin(const void *barrier) {
  detail::tell<1>(detail::address(barrier), 0, 0);
}
__device__ __forceinline__ void completion_end(const void *barrier) {
  detail::tell<2>(detail::address(barrier), 0, 0);
}

// group_arrive says that this thread arrives on the barrier of a group, for the
// given phase (0, 1, 2, …). threads is how many threads arrive in a phase: of this
// CTA, or, if the group is called "cluster" or "grid", of that. 0 means all of them,
// or, with another name, that it is not known.
__device__ __forceinline__ void group_arrive(const char *group, unsigned long long phase, unsigned threads = 0) {
  detail::tell<3>(detail::address(group), phase, threads);
}
// group_wait says that this thread begins to wait for the end of a phase,
// group_done that it waits no more.
__device__ __forceinline__ void group_wait(const char *group, unsigned long long phase) {
  detail::tell<4>(detail::address(group), phase, 0);
}
__device__ __forceinline__ void group_done(const char *group, unsigned long long phase) {
  detail::tell<5>(detail::address(group), phase, 0);
}

// mark puts a note into the recording.
__device__ __forceinline__ void mark(const char *text) { detail::tell<6>(detail::address(text), 0, 0); }

}  // namespace btrace
