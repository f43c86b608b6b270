// run launches one kernel of a PTX file on a GPU and says how it ended: what
// the files of this folder's parent are checked against. Build and use:
//
//	g++ -O1 -I/usr/local/cuda/include -o run run.cpp -L/usr/local/cuda/lib64/stubs -lcuda
//	./run FILE.ptx ENTRY GRID BLOCK CLUSTER SHARED COOPERATIVE MILLISECONDS PREFIX ARG...
//
// GRID, BLOCK and CLUSTER are X,Y,Z; SHARED is the dynamic shared memory in
// bytes, COOPERATIVE is 0 or 1. An ARG is as btrace record takes it: i32:5,
// u32:, i64:, u64:, f32:1.5, f64:, buf:4096 (zeroed), buf:@FILE. The buffer of
// argument N is written to PREFIX.N afterwards, unless PREFIX is -. One line
// goes to standard output: completed, hung, or trap:REASON; refused:REASON if
// the driver does not take the file.
#include <cuda.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static std::string errorName(CUresult r) {
  const char *s = nullptr;
  cuGetErrorString(r, &s);
  return s ? s : "error " + std::to_string((int)r);
}

static void end(const std::string &line, int code) {
  puts(line.c_str());
  fflush(stdout);
  _exit(code);  // a hung kernel would hold exit()
}

static void must(CUresult r, const char *what) {
  if (r != CUDA_SUCCESS) end(std::string("refused:") + what + ": " + errorName(r), 3);
}

static std::vector<char> slurp(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) end("refused:cannot read " + path, 3);
  return std::vector<char>(std::istreambuf_iterator<char>(in), {});
}

static void dims(const char *s, unsigned d[3]) {
  d[0] = d[1] = d[2] = 1;
  sscanf(s, "%u,%u,%u", &d[0], &d[1], &d[2]);
}

struct Arg {
  uint64_t bits = 0;
  size_t size = 0;  // of a buffer; 0 for a scalar
};

int main(int argc, char **argv) {
  if (argc < 10) end("refused:usage", 2);
  unsigned grid[3], block[3], cluster[3];
  dims(argv[3], grid);
  dims(argv[4], block);
  dims(argv[5], cluster);
  unsigned shared = strtoul(argv[6], nullptr, 10);
  bool cooperative = atoi(argv[7]);
  int limit = atoi(argv[8]);
  std::string prefix = argv[9];

  CUdevice dev;
  CUcontext ctx;
  must(cuInit(0), "cuInit");
  must(cuDeviceGet(&dev, 0), "cuDeviceGet");
  must(cuDevicePrimaryCtxRetain(&ctx, dev), "context");
  must(cuCtxSetCurrent(ctx), "context");

  auto ptx = slurp(argv[1]);
  ptx.push_back(0);
  static char log[8192];
  CUjit_option keys[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  CUmodule mod;
  if (CUresult r = cuModuleLoadDataEx(&mod, ptx.data(), 2, keys, values)) {
    for (char *c = log; *c; c++)
      if (*c == '\n') *c = ' ';
    end("refused:" + errorName(r) + ": " + log, 3);
  }
  CUfunction f;
  must(cuModuleGetFunction(&f, mod, argv[2]), "entry");
  if (shared > 48 << 10) must(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared), "shared memory");
  cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);

  std::vector<Arg> args(argc - 10);
  std::vector<void *> params;
  for (int i = 10; i < argc; i++) {
    std::string s = argv[i], type = s.substr(0, s.find(':')), value = s.substr(s.find(':') + 1);
    Arg &a = args[i - 10];
    if (type == "buf") {
      std::vector<char> data = value[0] == '@' ? slurp(value.substr(1)) : std::vector<char>(strtoull(value.c_str(), nullptr, 0));
      CUdeviceptr p;
      a.size = data.size();
      must(cuMemAlloc(&p, a.size ? a.size : 1), "memory");
      must(cuMemcpyHtoD(p, data.data(), a.size), "copy");
      a.bits = p;
    } else if (type == "f32") {
      float v = strtof(value.c_str(), nullptr);
      memcpy(&a.bits, &v, 4);
    } else if (type == "f64") {
      double v = strtod(value.c_str(), nullptr);
      memcpy(&a.bits, &v, 8);
    } else {
      a.bits = value[0] == '-' ? (uint64_t)strtoll(value.c_str(), nullptr, 0) : strtoull(value.c_str(), nullptr, 0);
    }
    params.push_back(&a.bits);
  }

  CUstream stream;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  CUlaunchConfig cfg = {};
  cfg.gridDimX = grid[0], cfg.gridDimY = grid[1], cfg.gridDimZ = grid[2];
  cfg.blockDimX = block[0], cfg.blockDimY = block[1], cfg.blockDimZ = block[2];
  cfg.sharedMemBytes = shared;
  cfg.hStream = stream;
  CUlaunchAttribute attrs[2];
  unsigned n = 0;
  if (cluster[0] * cluster[1] * cluster[2] > 1) {
    attrs[n].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attrs[n].value.clusterDim.x = cluster[0], attrs[n].value.clusterDim.y = cluster[1], attrs[n].value.clusterDim.z = cluster[2];
    n++;
  }
  if (cooperative) {
    attrs[n].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attrs[n].value.cooperative = 1;
    n++;
  }
  cfg.attrs = attrs;
  cfg.numAttrs = n;
  if (CUresult r = cuLaunchKernelEx(&cfg, f, params.data(), nullptr)) end("refused:launch: " + errorName(r), 3);

  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit);
  CUresult r;
  while ((r = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY) {
    if (std::chrono::steady_clock::now() > until) end("hung", 1);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  if (r != CUDA_SUCCESS) end("trap:" + errorName(r), 1);
  for (size_t i = 0; i < args.size() && prefix != "-"; i++) {
    if (!args[i].size) continue;
    std::vector<char> data(args[i].size);
    must(cuMemcpyDtoH(data.data(), args[i].bits, args[i].size), "copy back");
    std::ofstream(prefix + "." + std::to_string(i), std::ios::binary).write(data.data(), data.size());
  }
  end("completed", 0);
}
