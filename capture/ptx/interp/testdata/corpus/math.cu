// Arithmetic of the types that are not int and float.
#include "common.h"

extern "C" {

// doubles: an iteration in double precision.
__global__ void doubles(int n, double *out) {
  int t = threadIdx.x;
  double x = 1.0 + t / 7.0, s = 0;
  for (int i = 1; i <= n; i++) {
    x = fma(x, 0.75, 1.0 / (x + i));
    s += sqrt(x) * (i & 1 ? 1 : -0.5) - fabs(s) / 3;
  }
  out[t] = s;
}

// floats: division, root, minimum, rounding, comparisons with NaN and infinities.
__global__ void floats(int n, float *out, unsigned *bits) {
  int t = threadIdx.x;
  float x = unit(t) * 100, s = 0;
  unsigned b = 0;
  for (int i = 0; i < n; i++) {
    float y = unit(t * 16 + i);
    s += x / (y * y + 0.01f) + sqrtf(fabsf(x)) - floorf(x * 3) + fminf(x, y) * fmaxf(s, 2.0f);
    s = fmaf(s, 0.25f, x);
    x += y;
  }
  float zero = t - t, nan = zero / zero, inf = (t + 1) / zero;
  b |= (nan == nan) | (nan != nan) << 1 | (inf > 3e38f) << 2 | (fminf(nan, 1.0f) == 1.0f) << 3;
  b |= (-inf < x) << 4 | (zero == -zero) << 5 | (x <= nan) << 6 | !(x > nan) << 7;
  float flushed;
  asm("mul.ftz.f32 %0, %1, %2;" : "=f"(flushed) : "f"(1.5e-38f), "f"(0.5f + zero));
  b |= (flushed == 0) << 8 | (1.5e-38f * (0.5f + zero) != 0) << 9;
  asm("add.sat.f32 %0, %1, %2;" : "=f"(flushed) : "f"(x), "f"(0.5f));
  out[t] = s + flushed;
  bits[t] = b;
}

// conversions: between the widths and kinds of numbers, all roundings.
__global__ void conversions(const float *in, long long *out) {
  int t = threadIdx.x;
  float f = in[t] * 300.0f;
  double d = f * 1e7;
  long long s = (int)f;
  s = s * 31 + (unsigned char)(int)f + (signed char)(int)f + (unsigned short)t;
  s = s * 31 + (long long)d + (long long)(float)(s >> 3);
  s = s * 31 + (unsigned)(unsigned long long)fabs(d);
  int r;
#define CVT(op, type, arg)                             \
  asm(op " %0, %1;" : "=r"(r) : type(arg)); \
  s = s * 31 + r;
  CVT("cvt.rni.s32.f32", "f", f)
  CVT("cvt.rmi.s32.f32", "f", f)
  CVT("cvt.rpi.s32.f32", "f", f)
  CVT("cvt.rzi.s32.f64", "d", d)
  CVT("cvt.rni.u32.f32", "f", f)
  CVT("cvt.rni.sat.s32.f32", "f", f * 1e9f)
  CVT("cvt.sat.s8.s32", "r", (int)f)
  CVT("cvt.sat.u16.s32", "r", (int)(f * 1000))
#undef CVT
  float a, b;
  asm("cvt.rn.f32.f64 %0, %1;" : "=f"(a) : "d"(d));
  asm("cvt.rm.f32.s64 %0, %1;" : "=f"(b) : "l"(s));
  s ^= (long long)a + (long long)b;
  asm("cvt.rp.f32.u32 %0, %1;" : "=f"(a) : "r"((unsigned)s));
  asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(b) : "f"(f));
  unsigned short h;
  asm("{ .reg .b16 t; cvt.rn.f16.f32 t, %1; mov.b16 %0, t; }" : "=h"(h) : "f"(f));
  out[t] = s + (long long)a - (long long)b + h;
}

// wide: 64-bit integers, division and remainder, signed and not.
__global__ void wide(int n, unsigned long long *out) {
  int t = threadIdx.x;
  unsigned long long u = (unsigned long long)hash(t) << 32 | hash(t + 1000), s = u;
  for (int i = 1; i <= n; i++) {
    long long v = (long long)(u << i);
    s ^= u / (i * 1234567ull + 1) + (unsigned long long)(v / (i * 77 - 400)) * 3;
    s += u % (i * 1000003ull) ^ (unsigned long long)(v % (i * 13 - 50));
    s = s << (i & 63) | s >> (64 - (i & 63));
    s += (unsigned)(u >> 32) / (i + 2u) + (int)u % (i * 3 - 31) + (int)u / (i * 5 - 22);
    u = u * 6364136223846793005ull + 1442695040888963407ull;
    s = v < (long long)s ? s - u : s + u;
  }
  out[t] = s;
}

// atomics: on 64 bits and on floats whose sums are exact.
__global__ void atomics(unsigned long long *sum, float *fsum, unsigned *mask) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sum[t % 3], (unsigned long long)hash(t));
  atomicAdd(&fsum[t % 5], (float)(hash(t) & 255) * 0.5f);
  atomicOr(&mask[0], 1u << (hash(t) % 32));
  atomicXor(&mask[1], hash(t));
  unsigned long long old = sum[3], seen;
  do {
    seen = old;
    old = atomicCAS(&sum[3], seen, seen + (t | 1));
  } while (old != seen);
}
}
