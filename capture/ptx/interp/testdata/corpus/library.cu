// CUDA's own libraries: math functions, half and bfloat16, wmma.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include "common.h"

extern "C" {

// functions: of the math library, in single precision.
__global__ void functions(const float *in, float *out) {
  int t = threadIdx.x;
  float x = in[t];
  out[t] = expf(x) + sinf(x * 3) * cosf(x) + logf(fabsf(x) + 0.1f) + powf(fabsf(x) + 0.5f, 1.7f) + tanhf(x) + rsqrtf(x * x + 1) + erff(x) + atan2f(x, 0.3f);
}

// fast: the approximate instructions.
__global__ void fast(const float *in, float *out) {
  int t = threadIdx.x;
  float x = in[t];
  out[t] = __expf(x) + __sinf(x) * __cosf(x) + __logf(fabsf(x) + 0.1f) + __fdividef(x, x * x + 1.0f) + __powf(fabsf(x) + 0.5f, 0.3f) + __frsqrt_rn(x * x + 2);
}

// doubles_library: in double precision.
__global__ void doubles_library(const float *in, double *out) {
  int t = threadIdx.x;
  double x = in[t];
  out[t] = exp(x) + sin(x * 2) - log(fabs(x) + 0.25) + cbrt(x) + fmod(x * 100, 7.0) + rint(x * 10) + rsqrt(fabs(x) + 1);
}

// halves: arithmetic and comparisons on halves, alone and in pairs.
__global__ void halves(const float *in, float *out, unsigned *packed) {
  int t = threadIdx.x;
  __half a = __float2half(in[t]), b = __float2half(in[63 - t] * 2);
  __half c = __hadd(__hmul(a, b), __hsub(a, __float2half(0.125f)));
  c = __hfma(c, a, b);
  if (__hgt(a, b)) c = __hneg(c);
  __half2 p = __halves2half2(a, b), q = __halves2half2(b, c);
  p = __hfma2(p, q, __hmul2(q, q));
  p = __hmin2(p, __float2half2_rn(1.5f));
  out[t] = __half2float(c) + __low2float(p) * 3 + __high2float(p) + __half2int_rn(__hmul(a, __float2half(50.0f)));
  packed[t] = *(unsigned *)&p;
}

// bfloats: the same with bfloat16.
__global__ void bfloats(const float *in, float *out, unsigned *packed) {
  int t = threadIdx.x;
  __nv_bfloat16 a = __float2bfloat16(in[t]), b = __float2bfloat16(in[63 - t] * 2);
  __nv_bfloat16 c = __hfma(a, b, __hadd(a, b));
  __nv_bfloat162 p = __halves2bfloat162(a, c), q = __floats2bfloat162_rn(in[t], in[63 - t]);
  p = __hfma2(p, q, p);
  p = __hmax2(p, __float2bfloat162_rn(-0.5f));
  out[t] = __bfloat162float(c) + (__hlt(a, b) ? 10 : 20) + __low2float(p);
  packed[t] = *(unsigned *)&p;
}

// wmma_tile: C = A B + C, 16 by 16 by 16; a warp.
__global__ void wmma_tile(float *out) {
  using namespace nvcuda;
  __shared__ __half a[256], b[256];
  for (int i = threadIdx.x; i < 256; i += 32) {
    a[i] = __float2half((int)(hash(i) % 17) - 8);
    b[i] = __float2half(((int)(hash(i + 500) % 9) - 4) * 0.5f);
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 1.5f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(out, fc, 16, wmma::mem_row_major);
}
}
