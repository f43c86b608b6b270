// cuda::pipeline: of one thread, of a block, and with producer and consumer threads.
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include "common.h"
namespace cg = cooperative_groups;

// thread_pipeline: each thread prefetches for itself.
__global__ void thread_pipeline(int n, const float *in, float *out) {
  __shared__ float buf[2][64];
  auto pipe = cuda::make_pipeline();
  int t = threadIdx.x;
  float sum = 0;
  pipe.producer_acquire();
  cuda::memcpy_async(&buf[0][t], in + t, sizeof(float), pipe);
  pipe.producer_commit();
#pragma unroll 1
  for (int i = 1; i <= n; i++) {
    pipe.producer_acquire();
    if (i < n) cuda::memcpy_async(&buf[i & 1][t], in + i * 64 + t, sizeof(float), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    sum += buf[i - 1 & 1][t] * i;
    pipe.consumer_release();
  }
  out[t] = sum;
}

// block_pipeline: the block's threads share a pipeline of two stages.
__global__ void block_pipeline(int n, const int *in, int *out) {
  extern __shared__ __align__(16) int stage[];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int t = threadIdx.x, size = block.size(), sum = 0;
#pragma unroll 1
  for (int i = 0, next = 0; i < n; i++) {
    for (; next < n && next < i + 2; next++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage + (next & 1) * size, in + next * size, sizeof(int) * size, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stage[(i & 1) * size + (t + 17) % size] * (i + 1);
    pipe.consumer_release();
  }
  out[t] = sum;
}

// role_pipeline: one warp produces, the others consume.
__global__ void role_pipeline(int n, const int *in, int *out) {
  __shared__ __align__(16) int stage[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  int t = threadIdx.x, sum = 0;
  if (role == cuda::pipeline_role::producer)
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      pipe.producer_acquire();
      cuda::memcpy_async(&stage[i & 1][2 * t], in + i * 64 + 2 * t, cuda::aligned_size_t<8>(8), pipe);
      pipe.producer_commit();
    }
  else
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      pipe.consumer_wait();
      sum += stage[i & 1][(t * 3 + i) % 64] * (i + 1);
      pipe.consumer_release();
    }
  out[t] = sum;
}

// group_copy: a copy by a group of threads, waited for by the group.
__global__ void group_copy(int n, const int *in, int *out) {
  __shared__ __align__(16) int buf[2][128];
  auto block = cg::this_thread_block();
  int t = threadIdx.x, sum = 0;
  cg::memcpy_async(block, buf[0], in, sizeof buf[0]);
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (i + 1 < n) {
      cg::memcpy_async(block, buf[i + 1 & 1], in + (i + 1) * 64, sizeof buf[0]);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    sum += buf[i & 1][t] - buf[i & 1][127 - t] * i;
    block.sync();
  }
  out[t] = sum;
}
