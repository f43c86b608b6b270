// What several files of this folder use.
#pragma once
#ifdef __clang__
#include "tiny.h"
#endif

// hash makes an input value of an index.
__device__ __forceinline__ unsigned hash(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352d;
  x ^= x >> 15;
  x *= 0x846ca68b;
  return x ^ (x >> 16);
}

// shared returns the address in the shared window that an instruction takes.
__device__ __forceinline__ unsigned shared(const void *p) {
  unsigned a;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p));
  return a;
}

// unit makes a float in [-1, 1) of an index.
__device__ __forceinline__ float unit(unsigned x) { return (int)(hash(x) >> 8) * (1.0f / 8388608.0f) - 1.0f; }
