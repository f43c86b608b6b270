// mbarriers and asynchronous copies of sm_80, by inline PTX.
#include "common.h"

__device__ __forceinline__ void init(unsigned bar, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ unsigned long long arrive(unsigned bar) {
  unsigned long long token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(bar) : "memory");
  return token;
}
__device__ __forceinline__ bool test(unsigned bar, unsigned long long token) {
  unsigned ok;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(bar), "l"(token) : "memory");
  return ok;
}
__device__ __forceinline__ bool test_parity(unsigned bar, unsigned parity) {
  unsigned ok;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(bar), "r"(parity) : "memory");
  return ok;
}

extern "C" {

// tokens: threads arrive, work on, and wait with the token of their arrival.
__global__ void tokens(int n, int *out) {
  __shared__ unsigned long long bar;
  __shared__ int slot[2][128];
  int t = threadIdx.x, sum = 0;
  if (t == 0) init(shared(&bar), blockDim.x);
  __syncthreads();
  for (int i = 0; i < n; i++) {
    slot[i & 1][t] = t * i;
    unsigned long long token = arrive(shared(&bar));
    sum += hash(i + t) & 15;
    while (!test(shared(&bar), token)) {}
    sum += slot[i & 1][127 - t];
  }
  __syncthreads();
  if (t == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared(&bar)) : "memory");
  out[t] = sum;
}

// elected: one lane arrives for its warp; the phases are waited for by parity.
__global__ void elected(int n, int *out) {
  __shared__ unsigned long long bar;
  __shared__ volatile int slot[128];
  int t = threadIdx.x, sum = 0;
  if (t == 0) init(shared(&bar), 4);
  __syncthreads();
  for (int i = 0; i < n; i++) {
    slot[t] = t + i;
    __syncwarp();
    if (t % 32 == 0) arrive(shared(&bar));
    while (!test_parity(shared(&bar), 2 * i & 1)) {}
    sum += slot[t ^ 96];
    __syncwarp();
    if (t % 32 == 31) arrive(shared(&bar));
    while (!test_parity(shared(&bar), 2 * i + 1 & 1)) {}
  }
  out[t] = sum;
}

// states: what one thread sees of an mbarrier: pending counts, parities, drop, noComplete; and the tokens, opaque as they are.
__global__ void states(unsigned *out, unsigned long long *word) {
  __shared__ unsigned long long bar;
  unsigned b = shared(&bar), pending;
  unsigned long long token;
  init(b, 6);
  *out++ = test_parity(b, 1);
  *out++ = test_parity(b, 0);
  *word++ = token = arrive(b);
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(token));
  *out++ = pending;
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], %2;" : "=l"(token) : "r"(b), "r"(2) : "memory");
  *word++ = token;
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(token) : "r"(b) : "memory");
  *word++ = token;
  asm volatile("mbarrier.arrive_drop.noComplete.shared.b64 %0, [%1], %2;" : "=l"(token) : "r"(b), "r"(1) : "memory");
  *word++ = token;
  *word++ = token = arrive(b);
  *out++ = test(b, token);
  *out++ = test_parity(b, 0);
  for (int i = 0; i < 4; i++) {
    *word++ = token = arrive(b);
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(token));
    *out++ = pending;
    *out++ = test(b, token) | test_parity(b, 0) << 1 | test_parity(b, 1) << 2;
  }
}

// cp_async_groups: a double buffer filled by cp.async, waited for by group.
__global__ void cp_async_groups(int n, const float *in, float *out) {
  __shared__ __attribute__((aligned(16))) float buf[2][256];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i <= n; i++) {
    if (i < n)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(&buf[i & 1][t * 4])), "l"(in + i * 256 + t * 4) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (i == 0) continue;
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    const float *b = buf[i - 1 & 1];
    sum += b[t] * 2 - b[255 - t];
    __syncthreads();
  }
  out[t] = sum;
}

// cp_async_arrive: cp.async that arrives on an mbarrier, with and without .noinc; a copy cut short fills with zeros.
__global__ void cp_async_arrive(const float *in, float *out) {
  __shared__ unsigned long long bar[2];
  __shared__ float buf[2][64];
  int t = threadIdx.x;
  if (t == 0) {
    init(shared(&bar[0]), 64);
    init(shared(&bar[1]), 128);
  }
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&buf[0][t])), "l"(in + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared(&bar[0])) : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared(&buf[1][t])), "l"(in + 64 + t), "r"(t % 3 ? 4 : 0) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared(&bar[1])) : "memory");
  arrive(shared(&bar[0]));
  arrive(shared(&bar[1]));
  while (!test_parity(shared(&bar[0]), 0)) {}
  while (!test_parity(shared(&bar[1]), 0)) {}
  out[t] = buf[0][63 - t];
  out[64 + t] = buf[1][63 - t];
}

// ring: producer warp and consumer warps around four stages with full and empty mbarriers.
__global__ void ring(int n, int *out) {
  enum { stages = 4 };
  __shared__ unsigned long long full[stages], empty[stages];
  __shared__ int buf[stages][32];
  int t = threadIdx.x, lane = t % 32, sum = 0;
  if (t < stages) {
    init(shared(&full[t]), 32);
    init(shared(&empty[t]), 96);
  }
  __syncthreads();
  unsigned phase = 0;
  for (int i = 0, s = 0; i < n; i++) {
    if (t < 32) {
      while (!test_parity(shared(&empty[s]), phase ^ 1)) {}
      buf[s][lane] = hash(i * 32 + lane) & 255;
      arrive(shared(&full[s]));
    } else {
      while (!test_parity(shared(&full[s]), phase)) {}
      sum += buf[s][(lane + t / 32) % 32] * (i + 1);
      arrive(shared(&empty[s]));
    }
    if (++s == stages) s = 0, phase ^= 1;
  }
  out[t] = sum;
}
}
