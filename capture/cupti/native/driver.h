// What the library calls of the CUDA driver and of CUPTI, looked up when it is
// loaded: linking with either would tie it to where they lie, and a program
// whose runtime opened the driver by dlopen offers its symbols to nobody.
#pragma once

#include <cupti.h>

#include <string>

namespace btrace {

// DRIVER_CALLS are the driver functions, by the name under which the driver
// exports the version that the headers mean.
#define DRIVER_CALLS(X)                                                \
  X(DriverGetVersion, cuDriverGetVersion)                              \
  X(GetErrorName, cuGetErrorName)                                      \
  X(CtxGetCurrent, cuCtxGetCurrent)                                    \
  X(CtxPushCurrent, cuCtxPushCurrent_v2)                               \
  X(CtxPopCurrent, cuCtxPopCurrent_v2)                                 \
  X(CtxGetDevice, cuCtxGetDevice)                                      \
  X(DeviceGet, cuDeviceGet)                                            \
  X(DeviceGetName, cuDeviceGetName)                                    \
  X(DeviceGetAttribute, cuDeviceGetAttribute)                          \
  X(MemHostRegister, cuMemHostRegister_v2)                             \
  X(MemHostUnregister, cuMemHostUnregister)                            \
  X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2)             \
  X(MemAlloc, cuMemAlloc_v2)                                           \
  X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                             \
  X(StreamCreate, cuStreamCreate)                                      \
  X(StreamSynchronize, cuStreamSynchronize)                            \
  X(ModuleLoad, cuModuleLoad)                                          \
  X(ModuleLoadData, cuModuleLoadData)                                  \
  X(ModuleLoadDataEx, cuModuleLoadDataEx)                              \
  X(ModuleLoadFatBinary, cuModuleLoadFatBinary)                        \
  X(ModuleUnload, cuModuleUnload)                                      \
  X(LibraryUnload, cuLibraryUnload)                                    \
  X(ModuleGetGlobal, cuModuleGetGlobal_v2)                             \
  X(FuncGetModule, cuFuncGetModule)                                    \
  X(LibraryLoadData, cuLibraryLoadData)                                \
  X(LibraryLoadFromFile, cuLibraryLoadFromFile)                        \
  X(LibraryGetGlobal, cuLibraryGetGlobal)                              \
  X(LibraryGetModule, cuLibraryGetModule)                              \
  X(KernelGetLibrary, cuKernelGetLibrary)

#define CUPTI_CALLS(X)                                     \
  X(GetVersion, cuptiGetVersion)                           \
  X(Subscribe, cuptiSubscribe)                             \
  X(EnableDomain, cuptiEnableDomain)                       \
  X(EnableCallback, cuptiEnableCallback)                   \
  X(GetContextId, cuptiGetContextId)                       \
  X(ActivityRegisterCallbacks, cuptiActivityRegisterCallbacks) \
  X(ActivityEnable, cuptiActivityEnable)                   \
  X(ActivityFlushAll, cuptiActivityFlushAll)               \
  X(ActivityGetNextRecord, cuptiActivityGetNextRecord)     \
  X(GetResultString, cuptiGetResultString)

struct Driver {
#define X(field, symbol) decltype(&::symbol) field;
  DRIVER_CALLS(X)
#undef X
};

struct Cupti {
#define X(field, symbol) decltype(&::symbol) field;
  CUPTI_CALLS(X)
#undef X
};

// openDriver and openCupti fill in the tables below; they return what is
// missing, or nothing.
std::string openDriver();
std::string openCupti();

const Driver& cu();
const Cupti& cupti();

// resultName is CUDA_ERROR_… of a result.
std::string resultName(CUresult r);

// Inside marks that this thread runs the library's own calls: their callbacks
// are not the program's.
class Inside {
 public:
  Inside() { ++depth(); }
  ~Inside() { --depth(); }
  Inside(const Inside&) = delete;
  static int& depth() {
    static thread_local int n = 0;
    return n;
  }
};

}  // namespace btrace
