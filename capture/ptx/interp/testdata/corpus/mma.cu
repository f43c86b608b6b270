// Matrix instructions: ldmatrix and mma.sync, fed by cp.async; f16 and int8.
#include "common.h"

extern "C" {

// mma_tile: C = A B, 16 by 8 by 64 in steps of 16, f16 with f32 sums; a warp.
__global__ void mma_tile(float *out) {
  __shared__ __attribute__((aligned(16))) unsigned short a[16][16], b[16][8];
  int t = threadIdx.x;
  float c[4] = {0, 0, 0, 0};
  for (int k = 0; k < 64; k += 16) {
    for (int i = t; i < 256; i += 32) {
      float v = (int)(hash(k * 256 + i) % 17) - 8;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(a[i / 16][i % 16]) : "f"(v));
    }
    for (int i = t; i < 128; i += 32) {
      float v = ((int)(hash(k * 128 + i + 99999) % 9) - 4) * 0.5f;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b[i / 8][i % 8]) : "f"(v));
    }
    __syncwarp();
    unsigned x0, x1, x2, x3, y0, y1;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(shared(&a[t % 16][t / 16 * 8])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(y0), "=r"(y1) : "r"(shared(b[t % 16])) : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1));
    __syncwarp();
  }
  for (int i = 0; i < 4; i++) out[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = c[i];
}

// mma_int8: one step of 16 by 8 by 32 of signed bytes.
__global__ void mma_int8(int *out) {
  int t = threadIdx.x, c[4];
  unsigned a[4], b[2];
  for (int i = 0; i < 4; i++) a[i] = hash(t * 4 + i), c[i] = t - i;
  for (int i = 0; i < 2; i++) b[i] = hash(1000 + t * 2 + i);
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; i++) out[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = c[i];
}
}
