#include "driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace btrace {
namespace {

Driver driver_table;
Cupti cupti_table;

// A program that has CUPTI loaded already (PyTorch has) must not get a second
// one: they do not know of each other.
void* openLibrary() {
  std::string soname = "libcupti.so." + std::to_string(CUDA_VERSION / 1000);
  if (void* l = dlopen(soname.c_str(), RTLD_NOW | RTLD_NOLOAD)) return l;
  const char* path = getenv("BTRACE_CUPTI");
  if (path && *path) return dlopen(path, RTLD_NOW);
  if (*BTRACE_CUPTI_LIB) {
    if (void* l = dlopen(BTRACE_CUPTI_LIB, RTLD_NOW)) return l;
  }
  return dlopen(soname.c_str(), RTLD_NOW);
}

}  // namespace

std::string openDriver() {
  void* l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!l) return "the CUDA driver (libcuda.so.1) is not in this program";
#define X(field, symbol)                                                          \
  driver_table.field = reinterpret_cast<decltype(&::symbol)>(dlsym(l, #symbol)); \
  if (!driver_table.field) return "the CUDA driver has no " #symbol;
  DRIVER_CALLS(X)
#undef X
  return {};
}

std::string openCupti() {
  void* l = openLibrary();
  if (!l) return "CUPTI (libcupti.so) cannot be loaded: " + std::string(dlerror());
#define X(field, symbol)                                                         \
  cupti_table.field = reinterpret_cast<decltype(&::symbol)>(dlsym(l, #symbol)); \
  if (!cupti_table.field) return "CUPTI has no " #symbol;
  CUPTI_CALLS(X)
#undef X
  // Newer ones fill in the records of older ones' shape, and more behind them.
  uint32_t version = 0;
  if (cupti_table.GetVersion(&version) != CUPTI_SUCCESS || version < CUPTI_API_VERSION)
    return "CUPTI is of version " + std::to_string(version) + ", older than the " +
           std::to_string(CUPTI_API_VERSION) + " that the recorder's library was built with";
  return {};
}

const Driver& cu() { return driver_table; }
const Cupti& cupti() { return cupti_table; }

std::string resultName(CUresult r) {
  const char* s = nullptr;
  if (cu().GetErrorName(r, &s) == CUDA_SUCCESS && s) return s;
  return "CUresult " + std::to_string(static_cast<int>(r));
}

}  // namespace btrace
