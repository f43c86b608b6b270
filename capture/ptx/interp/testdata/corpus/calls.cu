// Functions, tables, stacks: calls that are not inlined, recursion, pointers to
// functions, virtual functions, switches, arrays in local memory, initialised
// variables.
#include "common.h"

struct Pair {
  double d;
  int i;
  short s;
  char c;
};
struct Node {
  int value;
  Node *next;
};
struct Shape {
  int a, b;
  __device__ Shape(int a, int b) : a(a), b(b) {}
  __device__ virtual int area() const { return a * b; }
};
struct Triangle : Shape {
  __device__ Triangle(int a, int b) : Shape(a, b) {}
  __device__ int area() const override { return a * b / 2; }
};

__constant__ int program[24] = {0, 3, 5, 1, 7, 2, 9, 4, 11, 6, 8, 10, 3, 3, 1, 0, 12, 5, 2, 8, 13, 4, 1, 15};
__constant__ float weights[2][3] = {{0.5f, -1.25f, 3.0f}, {1e-3f, 1e10f, -0.0f}};
__device__ short primes[8] = {2, 3, 5, 7, 11, 13, 17, -19};
__device__ const char text[] = "phase \"parity\"\n";
__device__ double scale = 1.0 / 3;
__device__ Node tail[2] = {{30, nullptr}, {40, nullptr}};
__device__ Node chain[3] = {{10, &tail[1]}, {20, nullptr}, {-5, tail}};
__device__ short *middle = &primes[4];

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
__device__ __noinline__ int twice(int a, int b) { return 2 * a + b; }
__device__ __noinline__ int mixed(int a, int b) { return a ^ (b << 3); }
__device__ __noinline__ int apart(int a, int b) { return a > b ? a - b : b - a; }
__device__ __noinline__ Pair combine(Pair p, int by, bool negate) {
  p.d *= by;
  p.i += (int)p.c + p.s;
  p.s = -p.s;
  p.c = negate ? -p.c : p.c + 1;
  return p;
}
typedef int (*Binary)(int, int);
__device__ Binary table[3] = {twice, mixed, apart};

extern "C" {

// recurse: each lane its own depth.
__global__ void recurse(int *out) {
  int t = threadIdx.x;
  out[t] = fib(t % 11) + (int)ackermann(1 + t % 2, t % 5);
}

// pointers: calls through a table in global memory, and through one of virtual functions.
__global__ void pointers(int *out) {
  int t = threadIdx.x, v = t;
  for (int i = 0; i < 6; i++) v = table[(t + i) % 3](v, i * 7);
  Shape square(t, 6);
  Triangle half(t, 5);
  const Shape *shape = t % 3 ? &square : &half;
  out[t] = v + 1000 * shape->area();
}

// structs: parameters and results that are structures.
__global__ void structs(double *d, int *out) {
  int t = threadIdx.x;
  Pair p = {t * 0.5, t, (short)(3 * t), (char)(t - 64)};
  for (int i = 1; i < 4; i++) p = combine(p, i, (t + i) % 2);
  d[t] = p.d;
  out[t] = p.i + p.s * 1000 + p.c * 1000000;
}

// machine: a small interpreter, a switch in a loop over a program in constant memory.
__global__ void machine(int *out) {
  int t = threadIdx.x, acc = t, reg = 3;
  for (int pc = 0; pc < 24; pc++) {
    switch ((program[pc] + t) & 15) {
      case 0: acc += reg; break;
      case 1: reg ^= acc; break;
      case 2: acc *= 3; break;
      case 3: acc -= 17; break;
      case 4: reg = acc / 5; break;
      case 5: acc = acc % 1001; break;
      case 6: pc += acc & 1; break;
      case 7: acc = -acc;  // and on
      case 8: acc += primes[acc & 7]; break;
      case 9: reg += *middle; break;
      case 10: acc ^= text[acc & 15]; break;
      case 11: acc = acc < reg ? reg : acc; break;
      case 12: acc = (int)(acc * scale); break;
      case 13: acc = acc << (reg & 7); break;
      case 14: reg = program[acc & 15]; break;
      default: acc = ~acc;
    }
  }
  out[t] = acc ^ reg;
}

// sort_local: an insertion sort in local memory.
__global__ void sort_local(int n, short *out) {
  int t = threadIdx.x;
  short a[24];
  for (int i = 0; i < n; i++) {
    short v = (short)hash(t * 100 + i);
    int j = i;
    for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
    a[j] = v;
  }
  for (int i = 0; i < n; i++) out[t * n + i] = a[i];
}

// variables: initialised variables of every space, and addresses in them.
__global__ void variables(float *f, int *out) {
  int t = threadIdx.x, sum = 0;
  const Node *node = &chain[t % 3];
  for (; node; node = node->next) sum = sum * 7 + node->value;
  sum += primes[t % 8] * 100000 + text[t % 16] + middle[(int)(t % 4) - 2];
  out[t] = sum;
  f[t] = weights[t % 2][t % 3];
}

// barrier_in_call: __syncthreads in a function that is not inlined.
__device__ __noinline__ int exchange(int *slot, int value) {
  slot[threadIdx.x] = value;
  __syncthreads();
  int v = slot[(threadIdx.x + 33) % blockDim.x];
  __syncthreads();
  return v;
}
__global__ void barrier_in_call(int n, int *out) {
  extern __shared__ int slots[];
  int v = threadIdx.x;
  for (int i = 0; i < n; i++) v = exchange(slots, v + i) * 3 + i;
  out[threadIdx.x] = v;
}
}
