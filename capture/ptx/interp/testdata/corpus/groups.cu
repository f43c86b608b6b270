// Cooperative groups: grid, cluster, tiles of a warp, coalesced threads.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "common.h"
namespace cg = cooperative_groups;

__device__ unsigned generation, present;

extern "C" {

// grid_sync: a relaxation whose steps the whole grid makes together; needs a cooperative launch.
__global__ void grid_sync(int n, int *a, int *b) {
  auto grid = cg::this_grid();
  int t = grid.thread_rank(), size = grid.size();
  a[t] = hash(t) & 1023;
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    grid.sync();
    int *from = i & 1 ? b : a, *to = i & 1 ? a : b;
    to[t] = (from[(t + 1) % size] + 2 * from[t] + from[(t + size - 1) % size]) / 4 + i;
  }
}

// grid_by_hand: the same by counters in global memory, which turn back to 0.
__global__ void grid_by_hand(int n, volatile int *a, int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, size = gridDim.x * blockDim.x, sum = 0;
  for (int i = 0; i < 2 * n; i++) {
    if (i % 2 == 0) a[t] = t * (i + 1);
    else sum += a[(t + 37) % size];
    __syncthreads();
    if (threadIdx.x == 0) {
      volatile unsigned *now = &generation;
      unsigned before = *now;
      __threadfence();
      if (atomicInc(&present, gridDim.x - 1) == gridDim.x - 1) atomicAdd(&generation, 1u);
      else
        while (*now == before) {}
      __threadfence();
    }
    __syncthreads();
  }
  out[t] = sum;
}

// tiles: groups of 4, 8 and 32 threads of a warp, shuffles, votes, and groups of more than a warp by shared memory.
__global__ void tiles(int *out) {
  auto block = cg::this_thread_block();
  auto t32 = cg::tiled_partition<32>(block);
  auto t8 = cg::tiled_partition<8>(t32);
  auto t4 = cg::tiled_partition<4>(block);
  int t = block.thread_rank(), v = hash(t) & 255;
  int sum = cg::reduce(t8, v, cg::plus<int>());
  int most = cg::reduce(t32, v, cg::greater<int>());
  int scan = cg::inclusive_scan(t8, v, cg::plus<int>());
  int before = cg::exclusive_scan(t4, v, cg::plus<int>());
  t8.sync();
  int turned = t4.shfl(v, (t4.thread_rank() + 1) % 4) + t8.shfl_xor(v, 3) + t4.shfl_down(v, 2);
  int vote = t8.ballot(v & 1) + t4.any(v > 250) * 1000 + t4.all(v > 20) * 2000 + t8.match_any(v & 3);
  out[t] = sum + most * 7 + scan * 13 + before * 17 + turned * 19 + vote + t8.meta_group_rank() * 100000;
}

// coalesced: the threads of a branch as a group, and groups by a label.
__global__ void coalesced(int *count, int *out) {
  int t = threadIdx.x, v = hash(t);
  if (v % 3 == 0) {
    auto active = cg::coalesced_threads();
    int sum = cg::reduce(active, v & 15, cg::plus<int>());
    int first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(count, active.size());
    first = active.shfl(first, 0);
    out[t] = sum * 100 + active.size() + (first < 0);
    active.sync();
  } else {
    out[t] = -1;
  }
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(warp, v & 3);
  out[t] += 1000000 * (int)same.size() + 10000 * (int)same.thread_rank();
}

// redux: the reductions that sm_80 has in hardware.
__global__ void redux(unsigned *out) {
  unsigned t = threadIdx.x, v = hash(t), m = t < 32 ? ~0u : 0x0f0f0f0fu;
  if (m >> t % 32 & 1) {
    unsigned s = __reduce_add_sync(m, v) ^ __reduce_min_sync(m, v) ^ __reduce_max_sync(m, (int)v);
    s += __reduce_and_sync(m, v | 0xff00) ^ __reduce_or_sync(m, v & 0xff) ^ __reduce_xor_sync(m, v);
    int same;
    s += __match_all_sync(m, t & 64, &same);
    out[t] = s + same;
  }
}

// cluster_sync: distributed shared memory, the cluster's dimensions fixed in the kernel.
__global__ void __cluster_dims__(2, 2, 1) cluster_sync(int n, int *out) {
  __shared__ int slot[32];
  auto cluster = cg::this_cluster();
  int t = threadIdx.x, sum = 0;
  unsigned rank = cluster.block_rank();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    slot[t] = rank * 100 + t + i;
    cluster.sync();
    int *far = cluster.map_shared_rank(slot, (rank + 1 + i) % cluster.num_blocks());
    sum = sum * 3 + far[31 - t];
    auto token = cluster.barrier_arrive();
    sum += hash(i) & 3;
    cluster.barrier_wait(std::move(token));
  }
  auto index = cluster.block_index();
  out[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + t] = sum + index.x * 1000000 + index.y * 2000000;
}
}
