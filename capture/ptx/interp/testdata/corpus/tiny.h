// The names of CUDA C++ that the kernels of this folder use, for a clang that
// has none of NVIDIA's headers. The language's own parts (qualifiers, builtin
// variables, warp and barrier functions) map to clang's NVPTX builtins.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))

struct Index3 {
  unsigned x, y, z;
};
#define threadIdx (Index3{(unsigned)__nvvm_read_ptx_sreg_tid_x(), (unsigned)__nvvm_read_ptx_sreg_tid_y(), (unsigned)__nvvm_read_ptx_sreg_tid_z()})
#define blockIdx (Index3{(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), (unsigned)__nvvm_read_ptx_sreg_ctaid_y(), (unsigned)__nvvm_read_ptx_sreg_ctaid_z()})
#define blockDim (Index3{(unsigned)__nvvm_read_ptx_sreg_ntid_x(), (unsigned)__nvvm_read_ptx_sreg_ntid_y(), (unsigned)__nvvm_read_ptx_sreg_ntid_z()})
#define gridDim (Index3{(unsigned)__nvvm_read_ptx_sreg_nctaid_x(), (unsigned)__nvvm_read_ptx_sreg_nctaid_y(), (unsigned)__nvvm_read_ptx_sreg_nctaid_z()})

#define __syncthreads_count(p) __nvvm_bar0_popc(p)
#define __syncthreads_and(p) __nvvm_bar0_and(p)
#define __syncthreads_or(p) __nvvm_bar0_or(p)
#define __threadfence() __nvvm_membar_gl()
#define __threadfence_block() __nvvm_membar_cta()
#define __trap() __builtin_trap()

#define __ballot_sync(m, p) __nvvm_vote_ballot_sync(m, p)
#define __any_sync(m, p) __nvvm_vote_any_sync(m, p)
#define __all_sync(m, p) __nvvm_vote_all_sync(m, p)
#define __match_any_sync(m, v) __nvvm_match_any_sync_i32(m, v)

#define SHUFFLE(name, builtin, last)                                                        \
  __device__ __forceinline__ int name(unsigned m, int v, int n) { return builtin##_i32(m, v, n, last); } \
  __device__ __forceinline__ unsigned name(unsigned m, unsigned v, int n) { return builtin##_i32(m, v, n, last); } \
  __device__ __forceinline__ float name(unsigned m, float v, int n) { return builtin##_f32(m, v, n, last); }
SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx, 31)
SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up, 0)
SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down, 31)
SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly, 31)
#undef SHUFFLE

__device__ __forceinline__ void __syncwarp(unsigned m = 0xffffffffu) { __nvvm_bar_warp_sync(m); }
__device__ __forceinline__ unsigned __activemask() {
  unsigned m;
  asm volatile("activemask.b32 %0;" : "=r"(m));
  return m;
}
__device__ __forceinline__ int __popc(unsigned v) { return __builtin_popcount(v); }
__device__ __forceinline__ int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
__device__ __forceinline__ int __ffs(int v) { return __builtin_ffs(v); }
__device__ __forceinline__ int __clz(int v) { return v ? __builtin_clz(v) : 32; }
__device__ __forceinline__ int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
__device__ __forceinline__ unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
__device__ __forceinline__ unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return __nvvm_prmt(a, b, s); }
__device__ __forceinline__ int __mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
__device__ __forceinline__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return __nvvm_mulhi_ull(a, b); }
__device__ __forceinline__ unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
__device__ __forceinline__ int atomicAdd(int *p, int v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
__device__ __forceinline__ unsigned atomicAdd(unsigned *p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
__device__ __forceinline__ unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
__device__ __forceinline__ float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
__device__ __forceinline__ int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
__device__ __forceinline__ int atomicMin(int *p, int v) { return __nvvm_atom_min_gen_i(p, v); }
__device__ __forceinline__ unsigned atomicOr(unsigned *p, unsigned v) { return __nvvm_atom_or_gen_i((int *)p, v); }
__device__ __forceinline__ unsigned atomicXor(unsigned *p, unsigned v) { return __nvvm_atom_xor_gen_i((int *)p, v); }
__device__ __forceinline__ unsigned atomicInc(unsigned *p, unsigned v) { return __nvvm_atom_inc_gen_ui(p, v); }
__device__ __forceinline__ int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }
__device__ __forceinline__ int atomicCAS(int *p, int c, int v) { return __nvvm_atom_cas_gen_i(p, c, v); }
__device__ __forceinline__ unsigned long long atomicCAS(unsigned long long *p, unsigned long long c, unsigned long long v) {
  return __nvvm_atom_cas_gen_ll((long long *)p, c, v);
}
__device__ __forceinline__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__device__ __forceinline__ double sqrt(double a) { return __builtin_sqrt(a); }
__device__ __forceinline__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ __forceinline__ float sqrtf(float a) { return __builtin_sqrtf(a); }
__device__ __forceinline__ float fminf(float a, float b) { return __builtin_fminf(a, b); }
__device__ __forceinline__ float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
__device__ __forceinline__ float fabsf(float a) { return __builtin_fabsf(a); }
__device__ __forceinline__ float floorf(float a) { return __builtin_floorf(a); }
__device__ __forceinline__ double fabs(double a) { return __builtin_fabs(a); }
