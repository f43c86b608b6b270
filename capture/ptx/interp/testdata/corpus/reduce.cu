// Reductions, scans, votes and tiles: what __syncthreads is mostly used for.
#include "common.h"

__device__ unsigned finished;  // blocks of last_block that are done

extern "C" {

// block_sum: warp shuffles, then one value a warp in shared memory.
__global__ void block_sum(int n, int *out) {
  __shared__ int part[32];
  int sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += (int)(hash(i) & 1023) - 512;
  for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

// tree_sum: the textbook tree, a barrier a level; half the threads idle more at each.
__global__ void tree_sum(float *out) {
  extern __shared__ float level[];
  unsigned t = threadIdx.x;
  level[t] = unit(blockIdx.x * blockDim.x + t);
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) level[t] += level[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = level[0];
}

// scan_steps: an inclusive scan in log n steps between two buffers.
__global__ void scan_steps(int *out) {
  __shared__ int buf[2][256];
  int t = threadIdx.x, in = 0;
  buf[0][t] = hash(t + 7) & 255;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    buf[in ^ 1][t] = t >= d ? buf[in][t] + buf[in][t - d] : buf[in][t];
    in ^= 1;
    __syncthreads();
  }
  out[t] = buf[in][t];
}

// scan_warps: an exclusive scan by shuffles in the warps and over the warps.
__global__ void scan_warps(int *out) {
  __shared__ int total[32];
  int t = threadIdx.x, lane = t % 32, value = hash(t) & 1023, sum = value;
  for (int d = 1; d < 32; d *= 2) {
    int below = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += below;
  }
  if (lane == 31) total[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    int s = t < blockDim.x / 32 ? total[t] : 0;
    for (int d = 1; d < 32; d *= 2) {
      int below = __shfl_up_sync(~0u, s, d);
      if (lane >= d) s += below;
    }
    total[t] = s;
  }
  __syncthreads();
  out[t] = sum - value + (t >= 32 ? total[t / 32 - 1] : 0);
}

// votes: the reductions that barriers make, and those of a warp.
__global__ void votes(int n, int *out) {
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < n; i++) {
    int p = hash(t * 31 + i) % 3 == 0;
    sum += __syncthreads_count(p);
    sum += __syncthreads_and(t >= 0 && i != 2) ? 1000 : 0;
    sum += __syncthreads_or(p && t == i) ? 10000 : 0;
    sum ^= __ballot_sync(~0u, p);
    sum += __any_sync(~0u, p && t % 32 == i) ? 3 : 5;
    sum += __all_sync(~0u, p || i < 2) ? 7 : 11;
    sum ^= __match_any_sync(~0u, (int)(hash(t + i) & 3));
  }
  out[t] = sum;
}

// last_block: every block sums a part; the one that finishes last adds the parts.
__global__ void last_block(int n, volatile int *part, int *out) {
  __shared__ int sum, last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&sum, (int)(hash(i) & 63));
  __syncthreads();
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (threadIdx.x == 0) {
    int all = 0;
    for (int b = 0; b < gridDim.x; b++) all += part[b];
    out[0] = all;
  }
}

// histogram: atomics in shared memory, then in global memory.
__global__ void histogram(int n, unsigned *out, int *ends) {
  __shared__ unsigned bin[64];
  if (threadIdx.x < 64) bin[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bin[hash(i) % 64], 1u);
    atomicMax(&ends[0], (int)hash(i));
    atomicMin(&ends[1], (int)hash(i));
  }
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bin[threadIdx.x]);
}

// transpose: tiles of 32 by 32 by blocks of 32 by 8; a column more, against bank conflicts.
__global__ void transpose(const float *in, float *out, int w, int h) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    if (x < w && y + r < h) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    if (x < h && y + r < w) out[(y + r) * h + x] = tile[threadIdx.x][threadIdx.y + r];
}

// matmul: C = A B, n by n, by tiles of 16 by 16.
__global__ void matmul(int n, const float *a, const float *b, float *c) {
  __shared__ float as[16][16], bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// stencil: 3 by 3 by 3 blocks and threads in three dimensions, with a halo in shared memory.
__global__ void stencil(int n, const float *in, float *out) {
  __shared__ float s[6][6][6];
  int x = blockIdx.x * 4 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
  int t = (threadIdx.z * 4 + threadIdx.y) * 4 + threadIdx.x;
  for (int i = t; i < 216; i += 64) {
    int sx = blockIdx.x * 4 + i % 6 - 1, sy = blockIdx.y * 4 + i / 6 % 6 - 1, sz = blockIdx.z * 4 + i / 36 - 1;
    bool inside = sx >= 0 && sx < n && sy >= 0 && sy < n && sz >= 0 && sz < n;
    s[i / 36][i / 6 % 6][i % 6] = inside ? in[(sz * n + sy) * n + sx] : 0.0f;
  }
  __syncthreads();
  int a = threadIdx.x + 1, b = threadIdx.y + 1, c = threadIdx.z + 1;
  float v = s[c - 1][b][a] + s[c + 1][b][a] + s[c][b - 1][a] + s[c][b + 1][a] + s[c][b][a - 1] + s[c][b][a + 1];
  if (x < n && y < n && z < n) out[(z * n + y) * n + x] = v - 6.0f * s[c][b][a];
}
}
