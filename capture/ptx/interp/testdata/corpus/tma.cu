// Rings of stages filled by bulk copies, as warp-specialised kernels have them,
// by inline PTX; and two that hang.
#include "hopper.h"

enum { stages = 4, words = 256 };

extern "C" {

// tma_ring: a lane of warp 0 fills the stages, four warps empty them.
__global__ void tma_ring(int n, const int *in, int *out) {
  __shared__ __attribute__((aligned(128))) int buf[stages][words];
  __shared__ unsigned long long full[stages], empty[stages];
  int w = threadIdx.x / 32, sum = 0;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; s++) {
      init(shared(&full[s]), 1);
      init(shared(&empty[s]), 4);
    }
    fence_init();
  }
  __syncthreads();
  if (w == 0) {
    if (elect())
#pragma unroll 1
      for (int i = 0, s = 0, phase = 1; i < n; i++) {
        wait(shared(&empty[s]), phase);
        arrive_expect(shared(&full[s]), words * 4);
        bulk_load(shared(buf[s]), in + i % 4 * words, words * 4, shared(&full[s]));
        if (++s == stages) s = 0, phase ^= 1;
      }
  } else {
#pragma unroll 1
    for (int i = 0, s = 0, phase = 0; i < n; i++) {
      wait(shared(&full[s]), phase);
      sum += buf[s][threadIdx.x] * (i + 1);
      __syncwarp();
      if (elect()) arrive(shared(&empty[s]));
      if (++s == stages) s = 0, phase ^= 1;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// tma_two_copies: two copies on one barrier, dynamic shared memory, waits with a time limit.
__global__ void tma_two_copies(int n, const float *a, const float *b, float *out) {
  extern __shared__ __attribute__((aligned(128))) char raw[];
  float *x = (float *)raw, *y = x + words;
  unsigned bar = shared(raw + 2 * words * 4);
  float sum = 0;
  if (threadIdx.x == 0) {
    init(bar, 1);
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (threadIdx.x == 0) {
      bulk_load(shared(x), a + i * 64, words * 4, bar);
      arrive_expect(bar, words * 4 + 512);
      bulk_load(shared(y), b + i * 32, 512, bar);
    }
    wait_hint(bar, i & 1);
    sum = fmaf(x[threadIdx.x], y[threadIdx.x % 128], sum);
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// tma_store: shared memory to global memory, and added to it, by bulk copies that groups are waited for.
__global__ void tma_store(int n, unsigned *out, unsigned *sum) {
  __shared__ __attribute__((aligned(16))) unsigned buf[2][128];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    __syncthreads();
    buf[i & 1][t] = hash(i * 128 + t);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(out + (blockIdx.x * n + i) * 128), "r"(shared(buf[i & 1])) : "memory");
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 512;" ::"l"(sum), "r"(shared(buf[i & 1])) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// tx_by_hand: expect_tx and complete_tx without a copy; counts run ahead, tokens and tests.
__global__ void tx_by_hand(unsigned *out) {
  __shared__ unsigned long long mb;
  unsigned bar = shared(&mb), ok;
  unsigned long long token;
#define TEST(parity)                                                                                                    \
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(ok) : "r"(bar), "r"(parity) : "memory");                                                \
  *out++ = ok;
  init(bar, 2);
  TEST(1)
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 32;" ::"r"(bar) : "memory");
  TEST(0)
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 48;" ::"r"(bar) : "memory");
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], 1;" : "=l"(token) : "r"(bar) : "memory");
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;" : "=l"(token) : "r"(bar), "r"(16) : "memory");
  TEST(0)
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 32;" ::"r"(bar) : "memory");
  TEST(0)
  asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(bar), "l"(token) : "memory");
  *out++ = ok;
  asm volatile("mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64 %0, [%1], 64;" : "=l"(token) : "r"(bar) : "memory");
  arrive(bar);
  TEST(1)
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(bar) : "memory");
  TEST(1)
  arrive(bar);
  TEST(0)
#undef TEST
}

// hang_bytes: one tile's announcement is twice its size.
__global__ void hang_bytes(int n, const int *in, int *out) {
  __shared__ __attribute__((aligned(128))) int buf[2][words];
  __shared__ unsigned long long full[2], empty[2];
  int sum = 0;
  if (threadIdx.x == 0)
    for (int s = 0; s < 2; s++) {
      init(shared(&full[s]), 1);
      init(shared(&empty[s]), 64);
    }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    int s = i & 1, phase = i >> 1 & 1;
    if (threadIdx.x == 0) {
      wait(shared(&empty[s]), phase ^ 1);
      arrive_expect(shared(&full[s]), i == 5 ? words * 8 : words * 4);
      bulk_load(shared(buf[s]), in, words * 4, shared(&full[s]));
    } else if (threadIdx.x >= 32) {
      wait(shared(&full[s]), phase);
      sum += buf[s][threadIdx.x];
      arrive(shared(&empty[s]));
    }
  }
  out[threadIdx.x] = sum;
}

// hang_no_expect: a copy whose bytes nobody announces, and which is there before the arrival.
__global__ void hang_no_expect(const int *in, int *out) {
  __shared__ __attribute__((aligned(128))) int buf[words];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    init(shared(&full), 1);
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_load(shared(buf), in, words * 4, shared(&full));
    later();
    arrive(shared(&full));
  }
  wait(shared(&full), 0);
  out[threadIdx.x] = buf[threadIdx.x];
}
}
