// cuda::barrier of libcu++, in the ways that its documentation shows.
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/ptx>
#include <cuda/semaphore>
#include <cooperative_groups.h>
#include <utility>
#include "common.h"

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// split_barrier: arrive, work that does not depend on the others, wait.
__global__ void split_barrier(int n, int *out) {
  __shared__ block_barrier bar;
  __shared__ int slot[128];
  int t = threadIdx.x, sum = 0;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    slot[t] = hash(t + i) & 255;
    auto token = bar.arrive();
    sum += hash(i) & 7;
    bar.wait(std::move(token));
    sum += slot[(t * 5 + i) % 128];
    bar.arrive_and_wait();
  }
  out[blockIdx.x * blockDim.x + t] = sum;
}

// completion: a function runs once a phase, when the last thread has arrived.
__global__ void completion(int n, int *out) {
  __shared__ int slot[64], sum;
  struct Add {
    int *slot, *sum;
    __device__ void operator()() const {
#pragma unroll 4
      for (int i = 0; i < 64; i++) *sum += slot[i];
    }
  };
  using Bar = cuda::barrier<cuda::thread_scope_block, Add>;
  __shared__ alignas(Bar) char raw[sizeof(Bar)];
  Bar *bar = reinterpret_cast<Bar *>(raw);
  int t = threadIdx.x, seen = 0;
  if (t == 0) {
    sum = 0;
    new (bar) Bar(64, Add{slot, &sum});
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    slot[t] = t * i + 1;
    auto token = bar->arrive();
    bar->wait(std::move(token));
    seen = seen * 3 + sum;
    bar->arrive_and_wait();
  }
  out[t] = seen;
}

// drop: every round one warp fewer, until one is left.
__global__ void drop(int *out) {
  __shared__ block_barrier bar;
  __shared__ int count;
  int t = threadIdx.x, w = t / 32, seen = 0;
  if (t == 0) {
    init(&bar, blockDim.x);
    count = 0;
  }
  __syncthreads();
  for (int i = 0; i < 3; i++) {
    if (i == w) {
      atomicAdd(&count, 1);
      bar.arrive_and_drop();
      out[t] = seen;
      return;
    }
    bar.arrive_and_wait();
    seen = seen * 100 + atomicAdd(&count, 0) / 32;
    bar.arrive_and_wait();
  }
  out[t] = seen;
}

// roles: a producer warp and consumer warps, a barrier for full and one for empty buffers.
__global__ void roles(int n, int *out) {
  __shared__ block_barrier ready[2], filled[2];
  __shared__ int buf[2][32];
  int t = threadIdx.x, lane = t % 32, sum = 0;
  if (t < 4) init(t < 2 ? &ready[t] : &filled[t - 2], blockDim.x);
  __syncthreads();
  if (t < 32) {
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      ready[i % 2].arrive_and_wait();
      buf[i % 2][lane] = hash(i * 32 + lane) & 1023;
      (void)filled[i % 2].arrive();
    }
  } else {
    (void)ready[0].arrive();
    (void)ready[1].arrive();
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      filled[i % 2].arrive_and_wait();
      sum += buf[i % 2][31 - lane] * (t / 32 + i);
      (void)ready[i % 2].arrive();
    }
  }
  out[t] = sum;
}

// copies: memcpy_async on a barrier: by every thread, and by the bulk copy engine.
__global__ void copies(int n, const int *in, int *out) {
  __shared__ block_barrier bar;
  __shared__ alignas(128) int buf[256];
  int t = threadIdx.x, sum = 0;
  if (t == 0) {
    init(&bar, blockDim.x);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (i & 1) {
      block_barrier::arrival_token token;
      if (t == 0) {
        cuda::device::memcpy_async_tx(buf, in + i * 64, cuda::aligned_size_t<16>(sizeof buf), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof buf);
      } else {
        token = bar.arrive();
      }
      bar.wait(std::move(token));
    } else {
      cuda::memcpy_async(buf + 4 * t, in + i * 64 + 4 * t, cuda::aligned_size_t<16>(16), bar);
      bar.arrive_and_wait();
    }
    sum = sum * 3 + buf[t] + buf[255 - t];
    bar.arrive_and_wait();
  }
  out[t] = sum;
}

// by_ptx: a pipeline of bulk copies in the words of cuda::ptx.
__global__ void by_ptx(int n, const int *in, int *out) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(128) int buf[2][128];
  __shared__ uint64_t bar[2];
  int t = threadIdx.x, sum = 0;
  if (t == 0) {
    ptx::mbarrier_init(&bar[0], 1);
    ptx::mbarrier_init(&bar[1], 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  auto load = [&](int i) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buf[i & 1], in + i * 64, sizeof buf[0], &bar[i & 1]);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar[i & 1], sizeof buf[0]);
  };
  if (t == 0) load(0);
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (t == 0 && i + 1 < n) load(i + 1);
    while (!ptx::mbarrier_try_wait_parity(&bar[i & 1], i >> 1 & 1)) {}
    sum += buf[i & 1][t] * (i + 1);
    __syncthreads();
  }
  out[t] = sum;
}

// atomic_kinds: a latch and a semaphore, which are atomics and no barriers of the hardware.
__global__ void atomic_kinds(int *out) {
  __shared__ cuda::latch<cuda::thread_scope_block> *gate;
  __shared__ alignas(16) char raw[sizeof(cuda::latch<cuda::thread_scope_block>)], raw2[sizeof(cuda::binary_semaphore<cuda::thread_scope_block>)];
  __shared__ int count;
  auto *sem = reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_block> *>(raw2);
  int t = threadIdx.x;
  if (t == 0) {
    gate = new (raw) cuda::latch<cuda::thread_scope_block>(2);
    new (sem) cuda::binary_semaphore<cuda::thread_scope_block>(1);
    count = 0;
  }
  __syncthreads();
  if (t % 32 == 0) {
    sem->acquire();
    count += 1 + t;
    sem->release();
    gate->arrive_and_wait();
    out[t / 32] = count;
  }
}

// hang_no_drop: a warp returns without dropping out of the barrier that the other waits at.
__global__ void hang_no_drop(int n, int *out) {
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (threadIdx.x >= 32 && i == 2) return;
    bar.arrive_and_wait();
  }
  out[threadIdx.x] = n;
}
