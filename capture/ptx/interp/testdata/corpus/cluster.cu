// Clusters by inline PTX: remote arrivals, distributed shared memory, multicast.
#include "hopper.h"

extern "C" {

// cluster_exchange: each CTA reads its neighbour's shared memory, a barrier of the cluster before and after.
__global__ void cluster_exchange(int n, int *out) {
  __shared__ int slot[64];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < n; i++) {
    slot[t] = cluster_rank() * 1000 + t + i;
    cluster_arrive();
    int busy = hash(t + i) & 7, v;
    cluster_wait();
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(peer(shared(&slot[63 - t]), (cluster_rank() + 1 + i % 2) % cluster_size())) : "memory");
    sum += v * (i + 1) + busy;
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
  }
  out[blockIdx.x * blockDim.x + t] = sum;
}

// remote_arrive: rank 0 gathers what the others store into its shared memory; their arrivals tell it so.
__global__ void remote_arrive(int n, int *out) {
  __shared__ unsigned long long filled, taken;
  __shared__ int slot[8][32];
  int t = threadIdx.x, sum = 0;
  unsigned rank = cluster_rank(), size = cluster_size();
  if (t == 0) {
    init(shared(&filled), size * 32);
    init(shared(&taken), 1);
    fence_init();
  }
  cluster_arrive();
  cluster_wait();
  for (int i = 0; i < n; i++) {
    unsigned to = peer(shared(&slot[rank][t]), 0), bar = peer(shared(&filled), 0);
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to), "r"((rank + 1) * (t + i)) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
    if (rank == 0) {
      unsigned done;
      do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared(&filled)), "r"(i & 1) : "memory");
      while (!done);
      for (int r = 0; r < size; r++) sum += slot[r][31 - t] << r;
      __syncwarp();
      if (t < size) asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [a]; }" ::"r"(shared(&taken)), "r"(t) : "memory");
    }
    wait(shared(&taken), i & 1);
  }
  out[blockIdx.x * 32 + t] = sum;
  cluster_arrive();
  cluster_wait();
}

// multicast: each CTA loads a part for all of them; all parts complete on every CTA's barrier.
__global__ void multicast(int n, const int *in, int *out) {
  __shared__ __attribute__((aligned(128))) int buf[256];
  __shared__ unsigned long long full;
  int t = threadIdx.x, sum = 0;
  unsigned rank = cluster_rank(), size = cluster_size(), part = 256 / size;
  if (t == 0) {
    init(shared(&full), 1);
    fence_init();
  }
  cluster_arrive();
  cluster_wait();
  for (int i = 0; i < n; i++) {
    if (t == 0) {
      arrive_expect(shared(&full), 1024);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(shared(&buf[rank * part])),
                   "l"(in + i * 128 + rank * part), "r"(part * 4), "r"(shared(&full)), "h"((unsigned short)((1 << size) - 1)) : "memory");
    }
    wait(shared(&full), i & 1);
    sum += buf[t] + buf[255 - t] * (i + 1);
    cluster_arrive();
    cluster_wait();
  }
  out[blockIdx.x * blockDim.x + t] = sum;
}

// remote_stores: st.async, red.async and a bulk copy between the CTAs, all counted in bytes.
__global__ void remote_stores(int *out) {
  __shared__ __attribute__((aligned(16))) int from[64], to[64], cell[64];
  __shared__ unsigned total;
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  unsigned next = (cluster_rank() + 1) % cluster_size();
  from[t] = blockIdx.x * 100 + t;
  if (t == 0) {
    total = 0;
    init(shared(&bar), 1);
    fence_init();
    arrive_expect(shared(&bar), 64 * 4 + 64 * 4 + 16 * 4);
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  cluster_arrive();
  cluster_wait();
  unsigned there = peer(shared(&bar), next);
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(peer(shared(&cell[63 - t]), next)), "r"(t * t), "r"(there) : "memory");
  if (t < 16) asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(peer(shared(&total), next)), "r"(t + 1), "r"(there) : "memory");
  if (t == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(peer(shared(to), next)), "r"(shared(from)), "r"(there) : "memory");
  wait(shared(&bar), 0);
  out[blockIdx.x * 64 + t] = to[t] * 1000 + cell[t] + (t == 0 ? total : 0);
  cluster_arrive();
  cluster_wait();
}

// cluster_histogram: bins spread over the CTAs' shared memory, by atomics on generic addresses.
__global__ void cluster_histogram(int n, int *out) {
  __shared__ int bin[16];
  int t = threadIdx.x;
  unsigned size = cluster_size();
  if (t < 16) bin[t] = 0;
  cluster_arrive();
  cluster_wait();
  for (int i = cluster_rank() * blockDim.x + t; i < n; i += size * blockDim.x) {
    unsigned key = hash(i) % (16 * size);
    int *there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&bin[key % 16]), "r"(key / 16));
    atomicAdd(there, 1);
  }
  cluster_arrive();
  cluster_wait();
  if (t < 16) out[blockIdx.x * 16 + t] = bin[t];
}

// hang_cluster: rank 1 waits for a flag that rank 0 sets behind the barrier.
__global__ void hang_cluster(volatile int *flag, int *out) {
  if (cluster_rank() == 1)
    while (*flag == 0) {}
  cluster_arrive();
  cluster_wait();
  if (cluster_rank() == 0) *flag = 1;
  out[threadIdx.x] = 1;
}
}
