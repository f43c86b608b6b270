// What the lanes of a warp do among themselves, and locks between threads.
#include "common.h"

__device__ int global_lock;
__device__ volatile int guarded;

extern "C" {

// syncwarp_tree: sums in shared memory, ordered by __syncwarp of whole and of half warps.
__global__ void syncwarp_tree(int *out) {
  __shared__ volatile int s[128];
  int t = threadIdx.x, lane = t % 32;
  s[t] = hash(t) & 1023;
  __syncwarp();
  for (int d = 16; d; d >>= 1) {
    int v = lane < d ? s[t + d] : 0;
    __syncwarp();
    s[t] += v;
    __syncwarp();
  }
  out[t] = s[t];
  __syncwarp();
  s[t] = t;
  unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  if (lane < 16) {
    __syncwarp(half);
    out[128 + t] = s[t ^ 15];
  } else {
    for (int i = 0; i < lane; i++) s[t] += i;
    __syncwarp(half);
    out[128 + t] = s[t ^ 15];
  }
}

// bitonic: each warp sorts 32 keys by butterflies.
__global__ void bitonic(int *out) {
  int lane = threadIdx.x % 32;
  unsigned key = hash(blockIdx.x * blockDim.x + threadIdx.x) >> 12;
  for (int k = 2; k <= 32; k *= 2)
    for (int j = k / 2; j; j /= 2) {
      unsigned other = __shfl_xor_sync(~0u, key, j);
      bool up = (lane & k) == 0, low = (lane & j) == 0;
      key = (up == low) == (key < other) ? key : other;
    }
  out[blockIdx.x * blockDim.x + threadIdx.x] = key;
}

// compact: keeps the elements that a predicate takes, in their order.
__global__ void compact(int n, int *out, int *count) {
  __shared__ int base[33];
  int t = threadIdx.x, w = t / 32;
  unsigned v = hash(t), below;
  bool keep = t < n && v % 5 < 2;
  unsigned mask = __ballot_sync(~0u, keep);
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  if (t % 32 == 0) base[w + 1] = __popc(mask);
  if (t == 0) base[0] = 0;
  __syncthreads();
  if (t == 0)
    for (int i = 0; i < blockDim.x / 32; i++) base[i + 1] += base[i];
  __syncthreads();
  if (keep) out[base[w] + __popc(mask & below)] = v;
  if (t == 0) *count = base[blockDim.x / 32];
}

// bits: the integer instructions for bits and bytes.
__global__ void bits(int n, unsigned *out) {
  unsigned t = threadIdx.x, a = hash(t), b = hash(a), s = 0;
  for (int i = 0; i < n; i++, a = hash(a + i), b ^= a) {
    s ^= __popc(a) | __clz(b) << 8 | __ffs(a) << 16;
    s += __brev(a) ^ __byte_perm(a, b, 0x4362 + i);
    s ^= __mulhi((int)a, (int)b) + __funnelshift_l(a, b, i * 5);
    s += a >> (b & 31) ^ (int)b >> (a & 15) ^ a << (i & 31);
    unsigned long long w = (unsigned long long)a << 32 | b;
    s ^= __popcll(w) + __clzll(w >> i) + (unsigned)__umul64hi(w, w * 3);
    unsigned f, x, y;
    asm("bfe.u32 %0, %1, %2, 7;" : "=r"(f) : "r"(a), "r"(b & 31));
    asm("bfi.b32 %0, %1, %2, 3, 9;" : "=r"(x) : "r"(f), "r"(s));
    asm("bfind.s32 %0, %1;" : "=r"(y) : "r"(b));
    s = x + y;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(x) : "r"(a), "r"(b), "r"(s));
    asm("mad24.lo.u32 %0, %1, %2, %3;" : "=r"(y) : "r"(a & 0xffffff), "r"(b & 0xffffff), "r"(x));
    asm("sad.s32 %0, %1, %2, %3;" : "=r"(f) : "r"(a), "r"(b), "r"(y));
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(a), "r"(b), "r"(f));
    asm("{ .reg .u32 lo; add.cc.u32 lo, %1, %2; addc.u32 %0, %3, 0; }" : "=r"(x) : "r"(a), "r"(b), "r"(s));
    s += x;
  }
  out[t] = s;
}

// diverge: loops of different length in the lanes, with break and continue, and a shuffle after.
__global__ void diverge(int *out) {
  int t = threadIdx.x, steps = 0, odd = 0;
  for (unsigned v = t + 1; v != 1; steps++) {
    if (v & 1) {
      odd++;
      v = 3 * v + 1;
      if (odd > 20) break;
      continue;
    }
    v >>= 1;
    if (t % 7 == 3 && steps > 10) break;
  }
  __syncwarp();
  int all = steps;
  for (int d = 16; d; d >>= 1) all += __shfl_xor_sync(~0u, all, d);
  int q = 0;
  if (t % 4 == 1) q = __popc(__ballot_sync(0x22222222u, odd > 3));
  else if (t % 4 == 2) q = __shfl_sync(0x44444444u, steps, 6);
  else q = -1;
  out[t] = steps + odd * 1000 + all * 100000 + q;
}

// aggregate: one atomic for the lanes that add to the same counter.
__global__ void aggregate(int n, int *count, int *sum) {
  int lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int key = hash(i) % 5;
    if (key == 4) continue;
    unsigned peers = __match_any_sync(__activemask(), key);
    int leader = __ffs(peers) - 1, first = 0;
    if (lane == leader) first = atomicAdd(&count[key], __popc(peers));
    first = __shfl_sync(peers, first, leader);
    atomicAdd(&sum[key], first >= 0 ? i : 0);
  }
}

// warp_lock: one lane of each warp takes a lock in global memory.
__global__ void warp_lock(int n, int *out) {
  if (threadIdx.x % 32 == 0)
    for (int i = 0; i < n; i++) {
      while (atomicCAS(&global_lock, 0, 1)) {}
      __threadfence();
      guarded = guarded + 1;
      __threadfence();
      atomicExch(&global_lock, 0);
    }
  __syncwarp();
  if (threadIdx.x % 32) return;
  __threadfence();
  if (atomicAdd(&out[1], 1) == gridDim.x * blockDim.x / 32 - 1) out[0] = guarded;
}

// lane_lock: all lanes of the warps take a lock in shared memory; each must get on while others spin.
__global__ void lane_lock(int *out) {
  __shared__ int lock;
  __shared__ volatile int value;
  if (threadIdx.x == 0) lock = 0, value = 0;
  __syncthreads();
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      value = value + threadIdx.x;
      __threadfence_block();
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = value;
}

// flag_chain: each warp waits for a flag that the warp before it sets.
__global__ void flag_chain(int *out) {
  __shared__ volatile int flag[8];
  int t = threadIdx.x, w = t / 32;
  if (t < 8) flag[t] = 0;
  __syncthreads();
  if (t % 32 == 0) {
    int v = 1;
    if (w > 0)
      while ((v = flag[w - 1]) == 0) {}
    __threadfence_block();
    flag[w] = v * 2 + w;
  }
  __syncthreads();
  if (t < 8) out[t] = flag[t];
}
}
