// Programs that are wrong, and end badly or by luck.
#include "hopper.h"

#define SYNC(id, n) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory")
#define ARRIVE(id, n) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory")

// ring is a ring of three stages between warp 0 and the others, right but for its parameters.
__device__ __forceinline__ void ring(int n, int *out, unsigned count, unsigned first, int lose) {
  __shared__ unsigned long long full[3], empty[3];
  __shared__ int buf[3][32];
  int w = threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
  if (threadIdx.x == 0)
    for (int s = 0; s < 3; s++) {
      init(shared(&full[s]), 1);
      init(shared(&empty[s]), count);
    }
  __syncthreads();
#pragma unroll 1
  for (int i = 0, s = 0, phase = 0; i < n; i++) {
    if (w == 0) {
      wait(shared(&empty[s]), phase ^ first);
      buf[s][lane] = i * lane;
      __syncwarp();
      if (lane == 0) arrive(shared(&full[s]));
    } else {
      wait(shared(&full[s]), phase);
      sum += buf[s][lane];
      __syncwarp();
      if (lane == 0 && !(w == 3 && i == lose)) arrive(shared(&empty[s]));
    }
    if (++s == 3) s = 0, phase ^= 1;
  }
  out[threadIdx.x] = sum;
}

__device__ int lock_word;

extern "C" {

__global__ void ring_ok(int n, int *out) { ring(n, out, 3, 1, -1); }
// hang_parity: the producer begins with the parity of the consumers.
__global__ void hang_parity(int n, int *out) { ring(n, out, 3, 0, -1); }
// hang_count: the empty barriers expect the producer's warp too.
__global__ void hang_count(int n, int *out) { ring(n, out, 4, 1, -1); }
// hang_lost_arrive: warp 3 does not hand back the stage of tile 4.
__global__ void hang_lost_arrive(int n, int *out) { ring(n, out, 3, 1, 4); }

// hang_lapped: a warp waits for a phase when the barrier is two further: the parity is that of the phase under way.
__global__ void hang_lapped(int *out) {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) init(shared(&bar), 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive(shared(&bar));
    wait(shared(&bar), 0);
    arrive(shared(&bar));
    wait(shared(&bar), 1);
  }
  __syncthreads();
  if (threadIdx.x >= 32) wait(shared(&bar), 0);
  out[threadIdx.x] = 1;
}

// hang_flip: a ring whose stages are filled before the start; the consumers flip the parity at every tile instead of every round.
__global__ void hang_flip(int n, int *out) {
  __shared__ unsigned long long full[3], empty[3];
  int w = threadIdx.x / 32, lane = threadIdx.x % 32, phase = 0;
  if (threadIdx.x == 0)
    for (int s = 0; s < 3; s++) {
      init(shared(&full[s]), 1);
      init(shared(&empty[s]), 1);
      arrive(shared(&full[s]));
    }
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (w == 0) {
      wait(shared(&empty[i % 3]), i / 3 & 1);
      __syncwarp();
      if (lane == 0 && i + 3 < n) arrive(shared(&full[i % 3]));
    } else {
      wait(shared(&full[i % 3]), phase);
      __syncwarp();
      if (lane == 0) arrive(shared(&empty[i % 3]));
      phase ^= 1;
    }
  }
  out[threadIdx.x] = n;
}

// hang_cross: two warps wait on barrier 1 and then on 2, the others the other way about.
__global__ void hang_cross(int *out) {
  int first = threadIdx.x < 64 ? 1 : 2;
  SYNC(first, 128);
  SYNC(3 - first, 128);
  out[threadIdx.x] = 1;
}

// hang_mixed: a warp waits on an mbarrier before barrier 5, another on barrier 5 before it arrives there.
__global__ void hang_mixed(int *out) {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) init(shared(&bar), 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    wait(shared(&bar), 0);
    SYNC(5, 64);
  } else {
    SYNC(5, 64);
    if (threadIdx.x == 32) arrive(shared(&bar));
  }
  out[threadIdx.x] = 1;
}

// hang_exited: the last warp returns before a barrier whose count includes it.
__global__ void hang_exited(int *out) {
  if (threadIdx.x >= 96) return;
  SYNC(4, 128);
  out[threadIdx.x] = 1;
}

// hang_trips: one warp goes through the loop once more than its partner.
__global__ void hang_trips(int n, int *out) {
  int w = threadIdx.x / 32;
#pragma unroll 1
  for (int i = 0; i < n + w; i++) {
    if (w == 0) {
      ARRIVE(6, 64);
      SYNC(7, 64);
    } else {
      SYNC(6, 64);
      ARRIVE(7, 64);
    }
  }
  out[threadIdx.x] = n;
}

// hang_run_ahead: two arrivals of one warp complete a phase by themselves.
__global__ void hang_run_ahead(int *out) {
  if (threadIdx.x < 32) {
    ARRIVE(1, 64);
    ARRIVE(1, 64);
  } else {
    later();
    SYNC(1, 64);
  }
  out[threadIdx.x] = 1;
}

// hang_lock: a warp takes a lock and waits at a barrier for a warp that waits for the lock.
__global__ void hang_lock(int *out) {
  if (threadIdx.x >= 32) later();
  if (threadIdx.x % 32 == 0)
    while (atomicCAS(&lock_word, 0, 1)) {}
  __syncwarp();
  __syncthreads();
  if (threadIdx.x % 32 == 0) atomicExch(&lock_word, 0);
  out[threadIdx.x] = 1;
}

// hang_flag: a warp waits on an mbarrier for one that waits for a flag, which the first would set.
__global__ void hang_flag(volatile int *flag, int *out) {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) init(shared(&bar), 1);
  __syncthreads();
  if (threadIdx.x == 32) {
    while (*flag == 0) {}
    arrive(shared(&bar));
  }
  if (threadIdx.x < 32) {
    wait(shared(&bar), 0);
    *flag = 1;
  }
  out[threadIdx.x] = 1;
}

// hang_syncwarp: lane 16 is in the mask and never comes.
__global__ void hang_syncwarp(volatile int *flag) {
  if (threadIdx.x < 16)
    __syncwarp(0x1ffff);
  else
    while (threadIdx.x == 16 && flag[1] == 0) {}
  flag[0] = 1;
}

// divergent_syncthreads: the lanes of each warp meet __syncthreads at two places, with something between.
__global__ void divergent_syncthreads(int *out) {
  __shared__ int slot[64];
  int t = threadIdx.x;
  if (t & 1) {
    slot[t] = t;
    for (int i = 0; i < slot[t] % 8; i++) __syncwarp(__activemask());
    __syncthreads();
    out[t] = slot[t ^ 1] + 1;
  } else {
    slot[t] = -t;
    __syncthreads();
    out[t] = slot[t ^ 1] * 2;
    later();
  }
}

// trap_counts: a barrier with two counts.
__global__ void trap_counts(int *out) {
  SYNC(1, threadIdx.x < 32 ? 64 : 96);
  out[threadIdx.x] = 1;
}

// trap_over_arrival: more arrivals than are pending in the second phase.
__global__ void trap_over_arrival(unsigned *out) {
  __shared__ unsigned long long bar;
  init(shared(&bar), 3);
  arrive(shared(&bar));
  asm volatile("{ .reg .b64 s; mbarrier.arrive.release.cta.shared::cta.b64 s, [%0], 2; }" ::"r"(shared(&bar)) : "memory");
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(out[0]) : "r"(shared(&bar)) : "memory");
  asm volatile("{ .reg .b64 s; mbarrier.arrive.release.cta.shared::cta.b64 s, [%0], 5; }" ::"r"(shared(&bar)) : "memory");
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 1; selp.u32 %0, 1, 0, p; }" : "=r"(out[1]) : "r"(shared(&bar)) : "memory");
}

// trap_called: one thread gives up while the others wait.
__global__ void trap_called(int *out) {
  if (threadIdx.x == 40) __trap();
  __syncthreads();
  out[threadIdx.x] = 1;
}

// trap_address: a store far outside of everything.
__global__ void trap_address(int *out) {
  __syncthreads();
  out[threadIdx.x == 9 ? 1ll << 42 : threadIdx.x] = 1;
}

// trap_misaligned: a word at an odd address.
__global__ void trap_misaligned(char *out) { *(int *)(out + threadIdx.x) = 1; }

// lucky_token: waits with a token that is two phases old: the parity fits by chance.
__global__ void lucky_token(int *out) {
  __shared__ unsigned long long bar;
  unsigned long long token, next;
  unsigned ok;
  if (threadIdx.x == 0) init(shared(&bar), 32);
  __syncthreads();
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(shared(&bar)) : "memory");
  wait(shared(&bar), 0);
  for (int i = 0; i < 2; i++) {
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(next) : "r"(shared(&bar)) : "memory");
    do asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(shared(&bar)), "l"(next) : "memory");
    while (!ok);
  }
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(shared(&bar)), "l"(token) : "memory");
  while (!ok);
  out[threadIdx.x] = 1;
}

// lucky_reinit: init on a barrier in use, when nothing is pending by luck.
__global__ void lucky_reinit(int *out) {
  __shared__ unsigned long long bar;
  for (int i = 0; i < 3; i++) {
    if (threadIdx.x == 0) init(shared(&bar), 64);
    __syncthreads();
    arrive(shared(&bar));
    wait(shared(&bar), 0);
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}
}
