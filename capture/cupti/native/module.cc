#include "module.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "capture.h"
#include "channel.h"
#include "context.h"
#include "driver.h"
#include "image.h"

namespace btrace {
namespace {

constexpr char kControl[] = "__btrace_ctl";

// Loaded is code that has probes.
struct Loaded {
  uint64_t module = 0;
  CUcontext context = nullptr;     // of a module
  std::set<CUcontext> filled;      // where the control block is filled in
};

// Table knows what was loaded, by the driver's handles. A handle is forgotten
// when it is unloaded: the driver uses it again.
struct Table {
  std::mutex lock;
  std::unordered_map<CUmodule, Loaded> modules;
  std::unordered_map<CUlibrary, Loaded> libraries;
  // Of functions and kernels, also those without probes (0).
  std::unordered_map<CUfunction, uint64_t> functions;
  // Contexts in which every control block is filled in.
  std::set<CUcontext> settled;
};

Table& table() {
  static auto* t = new Table;
  return *t;
}

// Load is a load in progress on this thread: from its entry to its exit.
struct Load {
  Image image;
  const void* original = nullptr;  // pointer to the image, or to its file's name
};

std::unique_ptr<Load>& load() {
  static thread_local std::unique_ptr<Load> l;
  return l;
}

void tell(uint64_t module, CUcontext context, CUresult r) {
  Message m(Type::Module);
  m.u64(module).u32(contextNumber(context)).u32(static_cast<uint32_t>(r));
  m.text(r == CUDA_SUCCESS ? "" : resultName(r));
  channel().send(m);
}

CUresult fillModule(CUcontext context, CUmodule module) {
  CUdeviceptr at = 0;
  size_t bytes = 0;
  CUresult r = cu().ModuleGetGlobal(&at, &bytes, module, kControl);
  return r != CUDA_SUCCESS ? r : fillControl(context, at, bytes);
}

CUresult fillLibrary(CUcontext context, CUlibrary library) {
  CUdeviceptr at = 0;
  size_t bytes = 0;
  CUresult r = cu().LibraryGetGlobal(&at, &bytes, library, kControl);
  return r != CUDA_SUCCESS ? r : fillControl(context, at, bytes);
}

// fill fills in what is loaded in the current context and not yet filled in.
// The lock is not held over calls into the driver, whose own locks come first.
// It returns the first thing that went wrong.
CUresult fill(CUcontext context) {
  std::set<CUmodule> modules;
  std::set<CUlibrary> libraries;
  Table& t = table();
  {
    std::lock_guard<std::mutex> guard(t.lock);
    for (auto& [handle, l] : t.modules)
      if (l.context == context && l.filled.insert(context).second) modules.insert(handle);
    for (auto& [handle, l] : t.libraries)
      if (l.filled.insert(context).second) libraries.insert(handle);
  }
  auto number = [&t](auto& loaded, auto handle) {
    std::lock_guard<std::mutex> guard(t.lock);
    auto it = loaded.find(handle);
    return it == loaded.end() ? uint64_t{0} : it->second.module;
  };
  CUresult worst = CUDA_SUCCESS;
  auto told = [context, &worst](uint64_t module, CUresult r) {
    tell(module, context, r);
    if (worst == CUDA_SUCCESS) worst = r;
  };
  for (CUmodule m : modules) told(number(t.modules, m), fillModule(context, m));
  for (CUlibrary l : libraries) told(number(t.libraries, l), fillLibrary(context, l));
  return worst;
}

// loaded is called with what a load returned. It says how filling in the control
// block went: the driver looks at a library's code only when something of it is
// asked for, so that may be the first to see that the code cannot be loaded.
template <typename Handle>
CUresult loaded(std::unordered_map<Handle, Loaded>& to, Handle handle, uint64_t module, CUcontext context) {
  {
    std::lock_guard<std::mutex> guard(table().lock);
    Loaded& l = to[handle];
    l = Loaded{};
    l.module = module;
    l.context = context;
    table().settled.clear();
  }
  // A library can come before there is a context.
  return context && !captures().any() ? fill(context) : CUDA_SUCCESS;
}

CUresult drop(CUmodule m) { return cu().ModuleUnload(m); }
CUresult drop(CUlibrary l) { return cu().LibraryUnload(l); }

// exitLoad is the exit of a load: again calls the function with the original
// image, which is needed where the replacement could not be loaded.
template <typename Handle, typename Again>
void exitLoad(const CUpti_CallbackData* c, std::unordered_map<Handle, Loaded>& to, const Handle* handle, Again again) {
  std::unique_ptr<Load> l = std::move(load());
  if (!l || l->image.module() == 0) return;
  auto* result = static_cast<CUresult*>(c->functionReturnValue);
  CUcontext context = c->context ? c->context : currentContext();
  if (*result != CUDA_SUCCESS) {
    tell(l->image.module(), context, *result);
  } else {
    if (loaded(to, *handle, l->image.module(), context) == CUDA_SUCCESS || !l->image.replaced()) return;
    {
      std::lock_guard<std::mutex> guard(table().lock);
      to.erase(*handle);
    }
    drop(*handle);
  }
  if (l->image.replaced()) *result = again(l->original);
}

// enterData and enterFile ask the recorder, and put its answer in the place of
// the parameter.
void enterData(Door door, const CUpti_CallbackData* c, const void** image, bool keep = false) {
  load() = std::make_unique<Load>();
  Load& l = *load();
  l.original = *image;
  l.image.askData(door, contextNumber(c->context), *image);
  if (keep) l.image.keep();
  if (l.image.replaced()) *image = l.image.data();
}

void enterFile(Door door, const CUpti_CallbackData* c, const char** file) {
  load() = std::make_unique<Load>();
  Load& l = *load();
  l.original = *file;
  l.image.askFile(door, contextNumber(c->context), *file);
  if (l.image.replaced()) *file = l.image.path();
}

// preserved says that the program promised to keep the image: the driver may
// look at it later.
bool preserved(const cuLibraryLoadData_params* p) {
  for (unsigned i = 0; i < p->numLibraryOptions; i++)
    if (p->libraryOptions[i] == CU_LIBRARY_BINARY_IS_PRESERVED) return true;
  return false;
}

void learn(CUfunction f, uint64_t module) {
  std::lock_guard<std::mutex> guard(table().lock);
  table().functions[f] = module;
}

template <typename Handle>
uint64_t numberOf(std::unordered_map<Handle, Loaded>& in, Handle handle) {
  std::lock_guard<std::mutex> guard(table().lock);
  auto it = in.find(handle);
  return it == in.end() ? 0 : it->second.module;
}

// unload forgets a handle, and the functions that may have been its.
template <typename Handle>
void unload(std::unordered_map<Handle, Loaded>& from, Handle handle) {
  std::lock_guard<std::mutex> guard(table().lock);
  from.erase(handle);
  table().functions.clear();
}

}  // namespace

bool moduleCall(CUpti_CallbackId id, const CUpti_CallbackData* c) {
  const bool enter = c->callbackSite == CUPTI_API_ENTER;
  const bool good = !enter && *static_cast<const CUresult*>(c->functionReturnValue) == CUDA_SUCCESS;
  void* params = const_cast<void*>(c->functionParams);
  Table& t = table();
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad: {
      auto* p = static_cast<cuModuleLoad_params*>(params);
      if (enter)
        enterFile(Door::ModuleLoad, c, &p->fname);
      else
        exitLoad(c, t.modules, p->module,
                 [p](const void* o) { return cu().ModuleLoad(p->module, static_cast<const char*>(o)); });
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData: {
      auto* p = static_cast<cuModuleLoadData_params*>(params);
      if (enter)
        enterData(Door::ModuleLoadData, c, &p->image);
      else
        exitLoad(c, t.modules, p->module, [p](const void* o) { return cu().ModuleLoadData(p->module, o); });
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx: {
      auto* p = static_cast<cuModuleLoadDataEx_params*>(params);
      if (enter)
        enterData(Door::ModuleLoadDataEx, c, &p->image);
      else
        exitLoad(c, t.modules, p->module, [p](const void* o) {
          return cu().ModuleLoadDataEx(p->module, o, p->numOptions, p->options, p->optionValues);
        });
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary: {
      auto* p = static_cast<cuModuleLoadFatBinary_params*>(params);
      if (enter)
        enterData(Door::ModuleLoadFatBinary, c, &p->fatCubin);
      else
        exitLoad(c, t.modules, p->module, [p](const void* o) { return cu().ModuleLoadFatBinary(p->module, o); });
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData: {
      auto* p = static_cast<cuLibraryLoadData_params*>(params);
      if (enter)
        enterData(Door::LibraryLoadData, c, &p->code, preserved(p));
      else
        exitLoad(c, t.libraries, p->library, [p](const void* o) {
          return cu().LibraryLoadData(p->library, o, p->jitOptions, p->jitOptionsValues, p->numJitOptions,
                                      p->libraryOptions, p->libraryOptionValues, p->numLibraryOptions);
        });
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile: {
      auto* p = static_cast<cuLibraryLoadFromFile_params*>(params);
      if (enter)
        enterFile(Door::LibraryLoadFromFile, c, &p->fileName);
      else
        exitLoad(c, t.libraries, p->library, [p](const void* o) {
          return cu().LibraryLoadFromFile(p->library, static_cast<const char*>(o), p->jitOptions, p->jitOptionsValues,
                                          p->numJitOptions, p->libraryOptions, p->libraryOptionValues,
                                          p->numLibraryOptions);
        });
      return true;
    }
    // What is linked comes out as a cubin and in by one of the doors above;
    // its parts are only reported.
    case CUPTI_DRIVER_TRACE_CBID_cuLinkAddData_v2: {
      auto* p = static_cast<cuLinkAddData_v2_params*>(params);
      if (enter) Image().askData(Door::LinkAddData, contextNumber(c->context), p->data, p->size, p->name);
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLinkAddFile_v2: {
      auto* p = static_cast<cuLinkAddFile_v2_params*>(params);
      if (enter) Image().askFile(Door::LinkAddFile, contextNumber(c->context), p->path);
      return true;
    }

    case CUPTI_DRIVER_TRACE_CBID_cuModuleUnload:
      if (enter) unload(t.modules, static_cast<cuModuleUnload_params*>(params)->hmod);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload:
      if (enter) unload(t.libraries, static_cast<cuLibraryUnload_params*>(params)->library);
      return true;

    // Learnt here, so that a launch that is captured needs no question.
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction: {
      auto* p = static_cast<cuModuleGetFunction_params*>(params);
      if (good) learn(*p->hfunc, numberOf(t.modules, p->hmod));
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel: {
      auto* p = static_cast<cuLibraryGetKernel_params*>(params);
      if (good) learn(reinterpret_cast<CUfunction>(*p->pKernel), numberOf(t.libraries, p->library));
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction: {
      auto* p = static_cast<cuKernelGetFunction_params*>(params);
      if (good) learn(*p->pFunc, moduleOf(reinterpret_cast<CUfunction>(p->kernel)));
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule: {
      auto* p = static_cast<cuLibraryGetModule_params*>(params);
      uint64_t module = good ? numberOf(t.libraries, p->library) : 0;
      if (module) {
        std::lock_guard<std::mutex> guard(t.lock);
        Loaded& l = t.modules[*p->pMod];
        l.module = module;
        l.context = nullptr;  // the library's control block is this module's
      }
      return true;
    }
    default:
      return false;
  }
}

void fillPending(CUcontext context) {
  if (!context || captures().any()) return;
  {
    std::lock_guard<std::mutex> guard(table().lock);
    if (!table().settled.insert(context).second) return;
  }
  fill(context);
}

void contextGone(CUcontext context) {
  std::lock_guard<std::mutex> guard(table().lock);
  for (auto it = table().modules.begin(); it != table().modules.end();)
    it = it->second.context == context ? table().modules.erase(it) : std::next(it);
  for (auto& [handle, l] : table().libraries) l.filled.erase(context);
  table().settled.erase(context);
  table().functions.clear();
}

uint64_t moduleOf(CUfunction f) {
  {
    std::lock_guard<std::mutex> guard(table().lock);
    auto it = table().functions.find(f);
    if (it != table().functions.end()) return it->second;
  }
  if (captures().any()) return 0;
  uint64_t module = 0;
  CUlibrary library = nullptr;
  CUmodule m = nullptr;
  // The driver tells kernels and functions apart; it takes either at a launch.
  if (cu().KernelGetLibrary(&library, reinterpret_cast<CUkernel>(f)) == CUDA_SUCCESS) {
    module = numberOf(table().libraries, library);
  } else if (cu().FuncGetModule(&m, f) == CUDA_SUCCESS) {
    module = numberOf(table().modules, m);
    if (module == 0) {  // a library's module has a handle of its own
      std::unordered_map<CUlibrary, uint64_t> libraries;
      {
        std::lock_guard<std::mutex> guard(table().lock);
        for (auto& [handle, l] : table().libraries) libraries[handle] = l.module;
      }
      for (auto [handle, number] : libraries) {
        CUmodule its = nullptr;
        if (cu().LibraryGetModule(&its, handle) == CUDA_SUCCESS && its == m) module = number;
      }
    }
  }
  learn(f, module);
  return module;
}

}  // namespace btrace
