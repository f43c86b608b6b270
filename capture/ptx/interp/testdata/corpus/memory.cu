// Loads and stores of vectors, caches, spaces, and parameters by value; jump tables.
#include "common.h"

struct Line {
  int a;
  float b;
};
struct alignas(16) Cell {
  int key;
  short left, right;
  double weight;
};

extern "C" {

// vectors: 16 bytes at a time, through the read-only path, with cache hints.
__global__ void vectors(int n, const float4 *__restrict__ in, float4 *out, Line line) {
  __shared__ float4 tile[64];
  int t = threadIdx.x;
  float4 v = __ldg(&in[t]), w = __ldcs(&in[t + 64]);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + t + 128));
  tile[t] = make_float4(v.x + w.w, v.y - w.z, v.z * w.y, v.w + line.b);
  __syncthreads();
  float4 x = tile[(t * 7 + line.a) % 64];
  float2 *pair = reinterpret_cast<float2 *>(&tile[t]);
  __syncthreads();
  pair[1] = make_float2(x.x, x.y);
  __nanosleep(20);
  __syncthreads();
  float4 y = tile[63 - t];
  for (int i = 0; i < n; i++) y.x += x.z;
  __stcg(&out[t], y);
}

// spaces: one function for addresses of every space, which it tells apart.
__device__ int global_cells[32];
__constant__ int constant_cells[4] = {11, 22, 33, 44};
__device__ __noinline__ int look(const int *p, int i) {
  int kind = __isShared(p) ? 1 : __isLocal(p) ? 2 : __isConstant(p) ? 3 : __isGlobal(p) ? 4 : 5;
  return p[i] * 10 + kind;
}
__global__ void spaces(int *out) {
  __shared__ int shared_cells[32];
  int local_cells[4], t = threadIdx.x;
  for (int i = 0; i < 4; i++) local_cells[i] = t * i;
  shared_cells[t] = t * 5;
  global_cells[t] = t * 3;
  __syncwarp();
  const int *p = t % 4 == 0 ? shared_cells : t % 4 == 1 ? local_cells : t % 4 == 2 ? constant_cells : global_cells;
  out[t] = look(p, t / 4 % 4);
}

// cells: structures with members of every size, in shared memory, copied whole.
__global__ void cells(int n, Cell *out) {
  extern __shared__ Cell box[];
  int t = threadIdx.x, m = blockDim.x;
  box[t] = Cell{t, (short)(t * 2), (short)-t, t * 0.25};
  __syncthreads();
  for (int i = 1; i <= n; i++) {
    Cell c = box[(t + i) % m];
    __syncthreads();
    c.key += c.left;
    c.left = c.right;
    c.weight = c.weight * 2 + c.key;
    box[t] = c;
    __syncthreads();
  }
  out[t] = box[m - 1 - t];
}

// jump_table: brx.idx in the assembler, and a switch that is long enough for one.
__global__ void jump_table(int *out) {
  int t = threadIdx.x, r;
  asm volatile(
      "{\n\t"
      "targets: .branchtargets A, B, C, D;\n\t"
      "brx.idx %1, targets;\n\t"
      "A: mov.u32 %0, 100;\n\t"
      "bra.uni E;\n\t"
      "B: add.u32 %0, %2, 7;\n\t"
      "bra E;\n\t"
      "C: mul.lo.u32 %0, %2, %2;\n\t"
      "bra E;\n\t"
      "D: neg.s32 %0, %2;\n\t"
      "E:\n\t"
      "}" : "=r"(r) : "r"(t % 4), "r"(t));
  __syncwarp();
#define CASE(n) case n: atomicAdd(&out[64 + n], t); out[t] = r * n + (t ^ n) / (n + 1); break;
#define CASES(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3) CASE(n + 4) CASE(n + 5) CASE(n + 6) CASE(n + 7)
  switch (hash(t) % 28) {
    CASES(0) CASES(8) CASES(16)
    default: out[t] = -r;
  }
}

// small: atomics on 16 bits, on pairs of halves, on doubles, and what they return.
__global__ void small(int *out, double *sum) {
  __shared__ unsigned short ticket;
  __shared__ int order[32];
  int t = threadIdx.x;
  if (t == 0) ticket = 5;
  order[t] = 0;
  __syncwarp();
  unsigned short old = ticket, seen;
  do {
    seen = old;
    old = atomicCAS(&ticket, seen, (unsigned short)(seen + 3));
  } while (old != seen);
  atomicAdd(&order[(old - 5) / 3 % 32], 1);
  atomicAdd(sum, t * 0.5);
  __syncwarp();
  out[t] = order[t];
  if (t == 0) out[32] = ticket;
}
}
