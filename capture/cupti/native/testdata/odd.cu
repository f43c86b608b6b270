// Programs that use what an instrumented module could break: each checks its own
// results, so that a recording which changes what a program does is seen.
//
//   nvcc -std=c++17 -arch=sm_90 -lineinfo -o odd odd.cu
//   ./odd NAME     run one; ./odd lists them
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static void check(cudaError_t e, const char *what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "odd: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

static int expect(const char *what, long got, long want) {
  if (got == want) return 0;
  std::fprintf(stderr, "odd: %s: got %ld, want %ld\n", what, got, want);
  return 1;
}

// --- variables of every kind

__managed__ int managed_total;
__constant__ int constant_step;
__device__ int device_count = 5;
static __device__ int static_table[4] = {1, 2, 3, 4};

__global__ void variables(int *out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, constant_step * static_table[threadIdx.x % 4]);
  __syncthreads();
  if (threadIdx.x == 0) {
    managed_total += sum;
    device_count++;
    *out = sum;
  }
}

static int run_variables() {
  int *out, sum, count, step = 3;
  check(cudaMalloc(&out, sizeof sum), "memory");
  managed_total = 100;
  check(cudaMemcpyToSymbol(constant_step, &step, sizeof step), "constant");
  variables<<<1, 64>>>(out);
  check(cudaDeviceSynchronize(), "variables");
  check(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost), "result");
  check(cudaMemcpyFromSymbol(&count, device_count, sizeof count), "count");
  return expect("sum", sum, 480) | expect("managed", managed_total, 580) | expect("device", count, 6);
}

// --- printf

__global__ void printing() {
  __syncthreads();
  if (threadIdx.x % 32 == 0) printf("warp %d is here\n", threadIdx.x / 32);
  __syncthreads();
}

static int run_printf() {
  printing<<<1, 64>>>();
  check(cudaDeviceSynchronize(), "printf");
  return 0;
}

// --- 200 KB of dynamic shared memory

__global__ void large_shared(int words, int *out) {
  extern __shared__ int space[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) space[i] = i;
  __syncthreads();
  int s = 0;
  for (int i = threadIdx.x; i < words; i += blockDim.x) s += space[words - 1 - i];
  atomicAdd(out, s & 0xff);
}

static int run_large_shared() {
  const int bytes = 200 << 10, words = bytes / 4;
  int *out, got;
  check(cudaMalloc(&out, sizeof got), "memory");
  check(cudaMemset(out, 0, sizeof got), "memory");
  check(cudaFuncSetAttribute(large_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "attribute");
  large_shared<<<4, 256, bytes>>>(words, out);
  check(cudaDeviceSynchronize(), "large shared memory");
  check(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost), "result");
  long want = 0;
  for (int t = 0; t < 256; t++) {
    unsigned s = 0;
    for (int i = t; i < words; i += 256) s += static_cast<unsigned>(words - 1 - i);
    want += s & 0xff;
  }
  return expect("large shared memory", got, 4 * want);
}

// --- graphs and streams

__global__ void step(int *x, int add) {
  __syncthreads();
  if (threadIdx.x == 0) *x += add;
  __syncthreads();
}

static int run_graph() {
  int *x, got;
  check(cudaMalloc(&x, sizeof got), "memory");
  check(cudaMemset(x, 0, sizeof got), "memory");
  cudaStream_t a, b;
  cudaEvent_t fork, join;
  check(cudaStreamCreate(&a), "stream");
  check(cudaStreamCreate(&b), "stream");
  check(cudaEventCreate(&fork), "event");
  check(cudaEventCreate(&join), "event");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  check(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal), "capture");
  step<<<1, 64, 0, a>>>(x, 1);
  check(cudaEventRecord(fork, a), "event");
  check(cudaStreamWaitEvent(b, fork, 0), "event");  // b joins the capture
  step<<<1, 96, 0, b>>>(x, 10);
  check(cudaEventRecord(join, b), "event");
  check(cudaStreamWaitEvent(a, join, 0), "event");
  step<<<1, 128, 0, a>>>(x, 100);
  check(cudaStreamEndCapture(a, &graph), "capture");
  check(cudaGraphInstantiate(&exec, graph, 0), "graph");
  for (int i = 0; i < 3; i++) check(cudaGraphLaunch(exec, a), "graph");
  check(cudaStreamSynchronize(a), "graph");
  check(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost), "result");
  return expect("graph", got, 333);
}

static int run_two_streams() {
  int *x, got[2];
  check(cudaMalloc(&x, sizeof got), "memory");
  check(cudaMemset(x, 0, sizeof got), "memory");
  check(cudaDeviceSynchronize(), "memory");
  cudaStream_t s[2];
  for (auto &t : s) check(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking), "stream");
  for (int i = 0; i < 20; i++) step<<<1, 64, 0, s[i % 2]>>>(x + i % 2, i);
  check(cudaDeviceSynchronize(), "two streams");
  check(cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost), "result");
  return expect("first stream", got[0], 90) | expect("second stream", got[1], 100);
}

// Two launches of one kernel at once, which need each other to end.
__global__ void meet(volatile int *flags, int me) {
  __syncthreads();
  if (threadIdx.x == 0) {
    flags[me] = 1;
    __threadfence();
    while (flags[1 - me] == 0) {
    }
  }
  __syncthreads();
}

static int run_at_once() {
  int *flags;
  check(cudaMalloc(&flags, 2 * sizeof *flags), "memory");
  check(cudaMemset(flags, 0, 2 * sizeof *flags), "memory");
  check(cudaDeviceSynchronize(), "memory");
  cudaStream_t s[2];
  for (int i = 0; i < 2; i++) {
    check(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking), "stream");
    meet<<<1, 64, 0, s[i]>>>(flags, i);
  }
  check(cudaDeviceSynchronize(), "two at once");
  return 0;
}

// --- a cooperative launch

__global__ void cooperative(int *total) {
  auto grid = cg::this_grid();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, 1);
  grid.sync();
  if (threadIdx.x == 0) atomicAdd(total, *static_cast<volatile int *>(total) >= static_cast<int>(gridDim.x) ? 1000 : 0);
}

static int run_cooperative() {
  int *total, got;
  check(cudaMalloc(&total, sizeof got), "memory");
  check(cudaMemset(total, 0, sizeof got), "memory");
  void *args[] = {&total};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<void *>(cooperative), dim3(8), dim3(64), args, 0, nullptr), "launch");
  check(cudaDeviceSynchronize(), "cooperative");
  check(cudaMemcpy(&got, total, sizeof got, cudaMemcpyDeviceToHost), "result");
  return expect("cooperative", got, 8008);
}

// --- a cluster of a launch's own size

__global__ void clustered(int *out) {
  auto cluster = cg::this_cluster();
  __shared__ int mine;
  if (threadIdx.x == 0) mine = static_cast<int>(cluster.block_rank()) + 1;
  cluster.sync();
  if (threadIdx.x == 0) atomicAdd(out, *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % cluster.num_blocks()));
  cluster.sync();
}

static int run_cluster() {
  int *out, got;
  check(cudaMalloc(&out, sizeof got), "memory");
  check(cudaMemset(out, 0, sizeof got), "memory");
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(8);
  c.blockDim = dim3(64);
  cudaLaunchAttribute a[1];
  a[0].id = cudaLaunchAttributeClusterDimension;
  a[0].val.clusterDim.x = 4;
  a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
  c.attrs = a;
  c.numAttrs = 1;
  check(cudaLaunchKernelEx(&c, clustered, out), "launch");
  check(cudaDeviceSynchronize(), "cluster");
  check(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost), "result");
  return expect("cluster", got, 20);
}

// --- refused, many, children

static int run_refused() {
  int *x;
  check(cudaMalloc(&x, sizeof *x), "memory");
  step<<<1, 2048>>>(x, 1);
  int bad = expect("a block of 2048 threads", cudaGetLastError(), cudaErrorInvalidValue);
  step<<<1, 64>>>(x, 1);
  check(cudaDeviceSynchronize(), "after a refused launch");
  return bad;
}

static int run_many() {
  int *x, got;
  check(cudaMalloc(&x, sizeof got), "memory");
  check(cudaMemset(x, 0, sizeof got), "memory");
  for (int i = 0; i < 2000; i++) step<<<1, 32>>>(x, 1);
  check(cudaDeviceSynchronize(), "many launches");
  check(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost), "result");
  return expect("many launches", got, 2000);
}

static int run_children() {
  int bad = run_variables();
  for (int i = 0; i < 2; i++) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      if (i == 0) std::exit(0);  // its exit handlers are the parent's
      execl("/bin/true", "true", static_cast<char *>(nullptr));
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bad |= expect("child", status, 0);
  }
  int *x;
  check(cudaMalloc(&x, sizeof *x), "memory");
  step<<<1, 64>>>(x, 1);
  check(cudaDeviceSynchronize(), "after children");
  return bad;
}

// Everything is thrown away and made again.
static int run_reset() {
  int bad = run_two_streams();
  check(cudaDeviceReset(), "reset");
  return bad | run_two_streams();
}

struct Program {
  const char *name;
  int (*run)();
};

static const Program programs[] = {
    {"variables", run_variables},     {"printf", run_printf},       {"large-shared", run_large_shared},
    {"graph", run_graph},             {"two-streams", run_two_streams}, {"at-once", run_at_once},
    {"cooperative", run_cooperative}, {"cluster", run_cluster},     {"refused", run_refused},
    {"many", run_many},               {"children", run_children},   {"reset", run_reset},
};

int main(int argc, char **argv) {
  for (const Program &p : programs) {
    if (argc < 2) std::printf("%s\n", p.name);
    if (argc < 2 || std::strcmp(argv[1], p.name) != 0) continue;
    const int bad = p.run();
    std::printf("%s: %s\n", p.name, bad ? "WRONG" : "right");
    return bad;
  }
  if (argc < 2) return 0;
  std::fprintf(stderr, "odd: no program %s; run without a name for a list\n", argv[1]);
  return 2;
}
