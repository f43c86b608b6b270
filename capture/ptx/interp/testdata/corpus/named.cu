// Named barriers, as inline PTX writes them.
#include "common.h"

#define SYNC(id, n) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory")
#define ARRIVE(id, n) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory")

extern "C" {

// producer_consumer: two warps fill two buffers that two warps empty.
__global__ void producer_consumer(int n, int *out) {
  __shared__ int buf[2][64];
  enum { full = 1, empty = 3 };
  int t = threadIdx.x % 64, sum = 0;
  if (threadIdx.x < 64) {
    for (int i = 0; i < n; i++) {
      SYNC(empty + (i & 1), 128);
      buf[i & 1][t] = hash(i * 64 + t) & 4095;
      __threadfence_block();
      ARRIVE(full + (i & 1), 128);
    }
  } else {
    for (int i = 0; i < n; i++) {
      if (i == 0) {
        ARRIVE(empty, 128);
        ARRIVE(empty + 1, 128);
      }
      SYNC(full + (i & 1), 128);
      sum += buf[i & 1][63 - t] * (i + 1);
      if (i + 2 < n) ARRIVE(empty + (i & 1), 128);
    }
  }
  out[threadIdx.x] = sum;
}

// subset_reductions: barrier.red over all threads and over two warps of three.
__global__ void subset_reductions(int n, int *out) {
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < n; i++) {
    int p = hash(t + 100 * i) % 3 != 0;
    unsigned r;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 2, p; }" : "=r"(r) : "r"(p) : "memory");
    sum += r;
    if (t < 64) {
      asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; barrier.red.popc.aligned.u32 %0, 3, 64, p; }" : "=r"(r) : "r"(p) : "memory");
      sum += r * 100;
      asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.red.and.pred q, %2, %3, p; selp.u32 %0, 1, 0, q; }"
                   : "=r"(r) : "r"(p | (i & 1)), "r"(4), "r"(64) : "memory");
      sum += r * 10000;
      asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.red.or.pred q, 4, 64, !p; selp.u32 %0, 1, 0, q; }"
                   : "=r"(r) : "r"(p) : "memory");
      sum += r * 100000;
    }
  }
  out[t] = sum;
}

// ping_pong: two groups of warps take turns; the log shows whose turn it was.
__global__ void ping_pong(int n, int *out) {
  __shared__ volatile int turn;
  int group = threadIdx.x / 64;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  if (group == 1) ARRIVE(2, 128);
  for (int i = 0; i < n; i++) {
    SYNC(2 + group, 128);
    if (threadIdx.x % 64 == 0) {
      out[turn] = group * 100 + i;
      turn = turn + 1;
    }
    ARRIVE(3 - group, 128);
  }
  if (group == 0) SYNC(2, 128);
}

// all_barriers: the sixteen barriers, their number and count in registers.
__global__ void all_barriers(int rounds, int *out) {
  __shared__ int sum[16];
  int t = threadIdx.x;
  if (t < 16) sum[t] = 0;
  __syncthreads();
  for (int r = 0; r < rounds; r++)
    for (int id = 0; id < 16; id++) {
      if ((t / 32 + id) % 2) atomicAdd(&sum[id], t);
      SYNC(id, (int)blockDim.x);
      if (t == id) sum[id] *= 2;
      asm volatile("barrier.sync %0;" ::"r"(15 - id) : "memory");
    }
  if (t < 16) out[t] = sum[t];
}

// pairs: each pair of warps meets on a barrier of its own.
__global__ void pairs(int n, int *out) {
  __shared__ int slot[256];
  int t = threadIdx.x, pair = t / 64, sum = 0;
  for (int i = 0; i <= n + pair; i++) {
    slot[t] = t * i;
    SYNC(1 + pair, 64);
    sum += slot[t ^ 32];
    SYNC(1 + pair, 64);
  }
  out[t] = sum;
}

// early_exit: a warp and a part of another return before the barrier.
__global__ void early_exit(int n, int *out) {
  __shared__ int slot[128];
  int t = threadIdx.x;
  slot[t] = -1;
  __syncthreads();
  if (t < n) return;
  slot[t] = t * t;
  __syncthreads();
  out[t] = slot[127 - (t - n)] + slot[0];
}

// divergent_unaligned: the lanes of a warp come to barrier.sync at two places, which that form allows.
__global__ void divergent_unaligned(int *out) {
  __shared__ int slot[64];
  int t = threadIdx.x;
  if (t & 1) {
    slot[t] = t * 3;
    asm volatile("barrier.sync 1, 64;" ::: "memory");
    out[t] = slot[t ^ 33] + 1;
  } else {
    slot[t] = t * 5;
    asm volatile("barrier.sync 1, 64;" ::: "memory");
    out[t] = slot[t ^ 33] - 1;
  }
}

// barrier_in_loop: the number of rounds differs by warp; those done arrive for the rest.
__global__ void barrier_in_loop(int *out) {
  __shared__ int count;
  int t = threadIdx.x, mine = 1 + t / 32, seen = 0;
  if (t == 0) count = 0;
  __syncthreads();
  for (int i = 0; i < 4; i++) {
    if (i < mine) {
      if (t % 32 == 0) atomicAdd(&count, 1);
      SYNC(5, 128);
      seen += count;
    } else {
      ARRIVE(5, 128);
    }
    __syncthreads();
  }
  out[t] = seen;
}
}
