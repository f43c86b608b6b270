// gemm SIZE ROUNDS small|large multiplies two SIZE x SIZE matrices of floats by
// tiles in shared memory, ROUNDS times after a first, and says how long the
// fastest took: what recording costs a kernel that computes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

constexpr int threads = 256, depth = 16;

// Tiles of 64 x 64, 4 x 4 of them a thread; two barriers for each step.
constexpr int smallTile = 64;
__global__ void small(const float *a, const float *b, float *c, int n) {
  __shared__ float as[depth][smallTile], bs[depth][smallTile];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row = blockIdx.y * smallTile, col = blockIdx.x * smallTile;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += depth) {
    for (int i = threadIdx.x; i < smallTile * depth; i += threads) {
      as[i % depth][i / depth] = a[(row + i / depth) * n + k0 + i % depth];
      bs[i / smallTile][i % smallTile] = b[(k0 + i / smallTile) * n + col + i % smallTile];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; k++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] += as[k][ty * 4 + i] * bs[k][tx * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + col + tx * 4 + j] = sum[i][j];
}

// Tiles of 128 x 128, 8 x 8 of them a thread; two buffers, one barrier for each
// step.
constexpr int largeTile = 128;
__global__ __launch_bounds__(threads) void large(const float *a, const float *b, float *c, int n) {
  __shared__ float as[2][depth][largeTile + 4], bs[2][depth][largeTile];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row = blockIdx.y * largeTile, col = blockIdx.x * largeTile;
  float sum[8][8] = {};
  auto load = [&](int s, int k0) {
    for (int i = threadIdx.x; i < largeTile * depth / 4; i += threads) {
      const int r = i / (depth / 4), q = i % (depth / 4) * 4;
      const float4 v = *reinterpret_cast<const float4 *>(&a[(row + r) * n + k0 + q]);
      as[s][q][r] = v.x, as[s][q + 1][r] = v.y, as[s][q + 2][r] = v.z, as[s][q + 3][r] = v.w;
      const int kr = i / (largeTile / 4), kc = i % (largeTile / 4) * 4;
      *reinterpret_cast<float4 *>(&bs[s][kr][kc]) = *reinterpret_cast<const float4 *>(&b[(k0 + kr) * n + col + kc]);
    }
  };
  load(0, 0);
  __syncthreads();
  for (int k0 = 0, s = 0; k0 < n; k0 += depth, s ^= 1) {
    if (k0 + depth < n) load(s ^ 1, k0 + depth);
#pragma unroll
    for (int k = 0; k < depth; k++) {
      float x[8], y[8];
      for (int i = 0; i < 8; i += 4) *reinterpret_cast<float4 *>(&x[i]) = *reinterpret_cast<float4 *>(&as[s][k][ty * 8 + i]);
      for (int i = 0; i < 8; i += 4) *reinterpret_cast<float4 *>(&y[i]) = *reinterpret_cast<float4 *>(&bs[s][k][tx * 8 + i]);
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) c[(row + ty * 8 + i) * n + col + tx * 8 + j] = sum[i][j];
}

int main(int argc, char **argv) {
  const bool isLarge = argc > 3 && std::strcmp(argv[3], "large") == 0;
  const int tile = isLarge ? largeTile : smallTile;
  const int n = argc > 1 ? std::atoi(argv[1]) : 2048, rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (n < tile || n % tile != 0 || n > 1 << 14 || rounds < 1) {
    std::fprintf(stderr, "gemm: SIZE is a multiple of %d, ROUNDS at least 1\n", tile);
    return 2;
  }
  const size_t bytes = sizeof(float) * n * n;
  float *a, *b, *c;
  if (cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaMalloc(&c, bytes)) return 1;
  cudaMemset(a, 0, bytes);
  cudaMemset(b, 0, bytes);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = 1e30f;
  for (int i = 0; i <= rounds; i++) {
    cudaEventRecord(begin);
    if (isLarge)
      large<<<dim3(n / tile, n / tile), threads>>>(a, b, c, n);
    else
      small<<<dim3(n / tile, n / tile), threads>>>(a, b, c, n);
    cudaEventRecord(end);
    if (cudaError_t e = cudaDeviceSynchronize()) {
      std::fprintf(stderr, "gemm: %s\n", cudaGetErrorString(e));
      return 1;
    }
    float ms;
    cudaEventElapsedTime(&ms, begin, end);
    if (i > 0 && ms < best) best = ms;
  }
  std::printf("gemm %d %s: %.3f ms\n", n, isLarge ? "large" : "small", best);
}
