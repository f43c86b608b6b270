// The five documented barrier patterns, and hangs of several kinds, as plain
// CUDA programs: nothing here knows of a recorder but the three kernels that
// include btrace.cuh for what PTX does not show.
//
//   nvcc -std=c++17 -arch=sm_90 -lineinfo -I.. -o patterns patterns.cu
//   ./patterns NAME [ROUNDS]     run one; ./patterns lists them
//
// The host waits for the kernel without a limit, as programs do.
#include <cooperative_groups.h>
#include <cuda/barrier>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "btrace.cuh"

namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// work keeps a warp busy for some time that depends on who it is and when.
__device__ __forceinline__ void work(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  const long long until = clock64() + 200 + x % 1500;
  while (clock64() < until) {
  }
}

__device__ __forceinline__ unsigned shared_address(const void *p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void mbar_init(void *bar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}

__device__ __forceinline__ void mbar_arrive(void *bar) {
  asm volatile("{ .reg .b64 token; mbarrier.arrive.shared::cta.b64 token, [%0]; }" ::"r"(shared_address(bar)) : "memory");
}

__device__ __forceinline__ void mbar_arrive_expect(void *bar, unsigned bytes) {
  asm volatile("{ .reg .b64 token; mbarrier.arrive.expect_tx.shared::cta.b64 token, [%0], %1; }" ::"r"(shared_address(bar)),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void mbar_wait(void *bar, unsigned parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "again:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t"
      "}" ::"r"(shared_address(bar)),
      "r"(parity)
      : "memory");
}

__device__ __forceinline__ void bulk_copy(void *to, const void *from, unsigned bytes, void *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(bar))
               : "memory");
}

template <int Id>
__device__ __forceinline__ void bar_sync(int threads) {
  asm volatile("bar.sync %0, %1;" ::"n"(Id), "r"(threads) : "memory");
}

template <int Id>
__device__ __forceinline__ void bar_arrive(int threads) {
  asm volatile("bar.arrive %0, %1;" ::"n"(Id), "r"(threads) : "memory");
}

// --- the patterns

// Work before, arrive, work between, wait, work after.
__global__ void split_arrive_wait(int rounds, int *out) {
  __shared__ alignas(8) unsigned char raw[sizeof(block_barrier)];
  auto *bar = reinterpret_cast<block_barrier *>(raw);
  __shared__ int tile[128];
  if (threadIdx.x == 0) init(bar, blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    tile[threadIdx.x] = i + threadIdx.x;
    auto token = bar->arrive();
    work(threadIdx.x / 32 * 31 + i);
    bar->wait(std::move(token));
    sum += tile[(threadIdx.x + 1) % blockDim.x];
    bar->arrive_and_wait();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A producer warp and a consumer warp share a buffer by two named barriers.
__global__ void producer_consumer(int rounds, int *out) {
  __shared__ int buffer[32];
  const int lane = threadIdx.x % 32;
  int sum = 0;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; i++) {
      if (i > 0) bar_sync<2>(64);  // the buffer is empty again
      work(i);
      buffer[lane] = i;
      bar_arrive<1>(64);  // it is full
    }
  } else {
    for (int i = 0; i < rounds; i++) {
      bar_sync<1>(64);
      sum += buffer[lane];
      work(i + 99);
      if (i + 1 < rounds) bar_arrive<2>(64);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The same without any work: what the recording costs.
__global__ void ping_pong(int rounds, int *out) {
  __shared__ int buffer[32];
  const int lane = threadIdx.x % 32;
  int sum = 0;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; i++) {
      if (i > 0) bar_sync<2>(64);
      buffer[lane] = i;
      bar_arrive<1>(64);
    }
  } else {
    for (int i = 0; i < rounds; i++) {
      bar_sync<1>(64);
      sum += buffer[lane];
      if (i + 1 < rounds) bar_arrive<2>(64);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Prefix sums of a tile, made by the completion function of a barrier.
__global__ void prefix_sum(int rounds, int *out) {
  __shared__ int tile[128];
  __shared__ int total;
  __shared__ alignas(16) unsigned char raw[64];
  auto complete = [&] {
    btrace::completion_begin(raw);
    int s = total;
    for (unsigned i = 0; i < blockDim.x; i++) {
      s += tile[i];
      tile[i] = s;
    }
    total = s;
    btrace::completion_end(raw);
  };
  using completing = cuda::barrier<cuda::thread_scope_block, decltype(complete)>;
  static_assert(sizeof(completing) <= sizeof raw && alignof(completing) <= 16);
  auto *bar = reinterpret_cast<completing *>(raw);
  if (threadIdx.x == 0) {
    total = 0;
    btrace::barrier_init(raw, blockDim.x);
    new (bar) completing(static_cast<ptrdiff_t>(blockDim.x), complete);
  }
  __syncthreads();
  int last = 0;
  for (int i = 0; i < rounds; i++) {
    tile[threadIdx.x] = i + static_cast<int>(threadIdx.x);
    btrace::barrier_arrive(raw, i);
    auto token = bar->arrive();
    work(threadIdx.x / 32 + 7 * i);
    btrace::barrier_wait(raw, i);
    bar->wait(std::move(token));
    btrace::barrier_done(raw, i);
    last = tile[threadIdx.x];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = last;
}

// Predicates of all threads, counted and combined by the barrier.
__global__ void barrier_reductions(int rounds, int *out) {
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    const int odd = (threadIdx.x + i) % 3 == 0;
    sum += __syncthreads_count(odd);
    sum += __syncthreads_and(odd) != 0;
    sum += __syncthreads_or(odd) != 0;
    int two;
    if (threadIdx.x < 64) {
      asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 3, 64, p; }" : "=r"(two) : "r"(odd) : "memory");
      sum += two;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Four CTAs read each other's shared memory between arrive and wait.
__global__ void __cluster_dims__(4, 1, 1) cluster_exchange(int rounds, int *out) {
  __shared__ int mine[128];
  auto cluster = cg::this_cluster();
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    mine[threadIdx.x] = static_cast<int>(cluster.block_rank()) + i;
    auto full = cluster.barrier_arrive();
    work(blockIdx.x * 77 + i);
    cluster.barrier_wait(std::move(full));
    sum += *cluster.map_shared_rank(&mine[threadIdx.x], (cluster.block_rank() + 1) % cluster.num_blocks());
    auto read = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(read));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

enum class Bug { none, count, bytes, lost, parity };

// A ring of four stages with full and empty mbarriers, fed by bulk copies.
template <Bug bug>
__device__ __forceinline__ void pipeline(int tiles, const int *in, int *out) {
  constexpr int stages = 4, words = 256, consumers = 4;
  __shared__ alignas(128) int tile[stages][words];
  __shared__ alignas(8) unsigned long long full[stages], empty[stages];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; s++) {
      mbar_init(&full[s], 1);
      mbar_init(&empty[s], bug == Bug::count ? consumers + 1 : consumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
  int sum = 0;
  if (warp == consumers) {
    if (lane == 0) {
      for (int i = 0; i < tiles; i++) {
        const int s = i % stages;
        const unsigned phase = i / stages & 1;
        mbar_wait(&empty[s], bug == Bug::parity ? phase : phase ^ 1);
        mbar_arrive_expect(&full[s], sizeof tile[s] * (bug == Bug::bytes && i == 6 ? 2 : 1));
        bulk_copy(tile[s], in + words * (i % 16), sizeof tile[s], &full[s]);
      }
    }
  } else {
    for (int i = 0; i < tiles; i++) {
      const int s = i % stages;
      mbar_wait(&full[s], i / stages & 1);
      sum += tile[s][threadIdx.x];
      work(i * 5 + warp);
      __syncwarp();
      if (lane == 0 && !(bug == Bug::lost && i == 9 && warp == 3)) mbar_arrive(&empty[s]);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void tma_pipeline(int n, const int *in, int *out) { pipeline<Bug::none>(n, in, out); }
__global__ void tma_pipeline_empty_count(int n, const int *in, int *out) { pipeline<Bug::count>(n, in, out); }
__global__ void tma_pipeline_bytes(int n, const int *in, int *out) { pipeline<Bug::bytes>(n, in, out); }
__global__ void tma_pipeline_lost_arrive(int n, const int *in, int *out) { pipeline<Bug::lost>(n, in, out); }
__global__ void tma_pipeline_parity(int n, const int *in, int *out) { pipeline<Bug::parity>(n, in, out); }

// A barrier of the whole grid, made of atomics: only what the kernel says is in
// a recording.
__device__ unsigned grid_arrivals;
__global__ void grid_barrier(int rounds, int *out) {
  for (int i = 0; i < rounds; i++) {
    __syncthreads();
    if (threadIdx.x == 0) {
      btrace::group_arrive("grid", i, gridDim.x);
      __threadfence();
      atomicAdd(&grid_arrivals, 1);
      btrace::group_wait("grid", i);
      while (*static_cast<volatile unsigned *>(&grid_arrivals) < gridDim.x * (i + 1)) {
      }
      __threadfence();
      btrace::group_done("grid", i);
      btrace::mark("round over");
    }
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = rounds;
}

// --- hangs

// A producer arrives twice on a named barrier: its two arrivals complete a phase
// on their own, and the consumer waits alone.
__global__ void run_ahead_arrive(int, int *out) {
  if (threadIdx.x < 32) {
    bar_arrive<1>(64);
    bar_arrive<1>(64);
  } else {
    for (int i = 0; i < 400; i++) work(i);
    bar_sync<1>(64);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// Two warps wait on barrier 1 then 2, the other two on 2 then 1.
__global__ void cross_wait(int, int *out) {
  if (threadIdx.x < 64) {
    bar_sync<1>(128);
    bar_sync<2>(128);
  } else {
    bar_sync<2>(128);
    bar_sync<1>(128);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// One warp waits on an mbarrier before bar.sync 5, the other on bar.sync 5 before
// it arrives on the mbarrier.
__global__ void circular_wait(int, int *out) {
  __shared__ alignas(8) unsigned long long full;
  if (threadIdx.x == 0) mbar_init(&full, 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    mbar_wait(&full, 0);
    bar_sync<5>(64);
  } else {
    bar_sync<5>(64);
    if (threadIdx.x == 32) mbar_arrive(&full);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// The last of four warps has nothing to do and returns before bar.sync 4, 128.
__global__ void early_return_before_count(int, int *out) {
  if (threadIdx.x >= 96) return;
  bar_sync<4>(128);
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// One warp meets its partner in n rounds, the partner comes to one more.
__global__ void unequal_trip_counts(int rounds, int *out) {
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; i++) {
      bar_arrive<6>(64);
      bar_sync<7>(64);
    }
  } else {
    for (int i = 0; i < rounds + 1; i++) {
      bar_sync<6>(64);
      bar_arrive<7>(64);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = rounds;
}

// The mbarrier expects an arrival of every thread, but only thread 0 arrives.
__global__ void one_arrives_for_all(int, int *out) {
  __shared__ alignas(8) unsigned long long bar;
  if (threadIdx.x == 0) mbar_init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) mbar_arrive(&bar);
  mbar_wait(&bar, 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// CTA 1 polls a flag that CTA 0 sets behind the cluster's barrier, at which it
// waits for CTA 1.
__device__ int cluster_flag;
__global__ void __cluster_dims__(2, 1, 1) cluster_peer_missing(int, int *out) {
  auto cluster = cg::this_cluster();
  if (cluster.block_rank() == 1) {
    while (*static_cast<volatile int *>(&cluster_flag) == 0) {
    }
  }
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) *static_cast<volatile int *>(&cluster_flag) = 1;
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// It goes wrong at once: what came before the trap has to be in the recording.
__global__ void trap_after_barrier(int, int *out) {
  __syncthreads();
  if (threadIdx.x == 0) {
    work(1);
    __trap();
  }
  bar_sync<1>(static_cast<int>(blockDim.x));
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// --- the host

static void check(cudaError_t e, const char *what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "patterns: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

struct Program {
  const char *name;
  int grid, block, rounds;
  void (*plain)(int, int *);
  void (*fed)(int, const int *, int *);
};

static const Program programs[] = {
    {"split-arrive-wait", 2, 128, 16, split_arrive_wait, nullptr},
    {"producer-consumer", 2, 64, 40, producer_consumer, nullptr},
    {"prefix-sum", 2, 128, 8, prefix_sum, nullptr},
    {"barrier-reductions", 2, 96, 16, barrier_reductions, nullptr},
    {"cluster-exchange", 8, 128, 12, cluster_exchange, nullptr},
    {"tma-pipeline", 2, 160, 64, nullptr, tma_pipeline},
    {"grid-barrier", 8, 64, 4, grid_barrier, nullptr},
    {"ping-pong", 132, 64, 20000, ping_pong, nullptr},
    {"tma-pipeline-empty-count", 2, 160, 64, nullptr, tma_pipeline_empty_count},
    {"tma-pipeline-bytes", 2, 160, 64, nullptr, tma_pipeline_bytes},
    {"tma-pipeline-lost-arrive", 2, 160, 64, nullptr, tma_pipeline_lost_arrive},
    {"tma-pipeline-parity", 2, 160, 64, nullptr, tma_pipeline_parity},
    {"run-ahead-arrive", 1, 64, 1, run_ahead_arrive, nullptr},
    {"cross-wait", 1, 128, 1, cross_wait, nullptr},
    {"circular-wait", 1, 64, 1, circular_wait, nullptr},
    {"early-return-before-count", 1, 128, 1, early_return_before_count, nullptr},
    {"unequal-trip-counts", 1, 64, 8, unequal_trip_counts, nullptr},
    {"one-arrives-for-all", 1, 64, 1, one_arrives_for_all, nullptr},
    {"cluster-peer-missing", 2, 64, 1, cluster_peer_missing, nullptr},
    {"trap-after-barrier", 1, 128, 1, trap_after_barrier, nullptr},
};

int main(int argc, char **argv) {
  const Program *p = nullptr;
  for (const Program &q : programs) {
    if (argc < 2) std::printf("%s\n", q.name);
    if (argc >= 2 && std::strcmp(argv[1], q.name) == 0) p = &q;
  }
  if (argc < 2) return 0;
  if (!p) {
    std::fprintf(stderr, "patterns: no program %s; run without a name for a list\n", argv[1]);
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : p->rounds;
  int *in, *out;
  check(cudaMalloc(&in, 1 << 20), "memory");
  check(cudaMalloc(&out, 1 << 20), "memory");
  check(cudaMemset(in, 0, 1 << 20), "memory");
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  check(cudaEventRecord(begin), "event");
  if (p->plain)
    p->plain<<<p->grid, p->block>>>(rounds, out);
  else
    p->fed<<<p->grid, p->block>>>(rounds, in, out);
  check(cudaGetLastError(), "launch");
  check(cudaEventRecord(end), "event");
  check(cudaDeviceSynchronize(), p->name);
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "time");
  std::printf("%s: completed in %.3f ms\n", p->name, ms);
}
