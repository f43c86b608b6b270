#include "launch.h"

#include <time.h>

#include <cstdint>

#include "capture.h"
#include "channel.h"
#include "context.h"
#include "driver.h"
#include "failure.h"
#include "module.h"

namespace btrace {
namespace {

enum : uint32_t { kCooperative = 1, kCaptured = 2 };

struct Dim {
  uint32_t x = 0, y = 0, z = 0;
};

struct Launch {
  CUfunction f = nullptr;
  CUstream stream = nullptr;
  Dim grid, block, cluster;
  uint32_t shared = 0;
  uint32_t flags = 0;
  bool graph = false;  // of which the kernels' own records tell when they end
};

// Whether a launch is captured is not known at its entry if its stream may have
// joined a capture that began on another: then the launch made a graph node when
// it is over.
thread_local bool undecided;
thread_local bool made_node;

uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

// describe reads the parameters; the _ptsz forms (streams of a thread's own)
// have the same.
bool describe(CUpti_CallbackId id, const void* params, Launch& l) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
      auto* p = static_cast<const cuLaunchKernel_params*>(params);
      l.f = p->f;
      l.stream = p->hStream;
      l.grid = {p->gridDimX, p->gridDimY, p->gridDimZ};
      l.block = {p->blockDimX, p->blockDimY, p->blockDimZ};
      l.shared = p->sharedMemBytes;
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      auto* p = static_cast<const cuLaunchCooperativeKernel_params*>(params);
      l.f = p->f;
      l.stream = p->hStream;
      l.grid = {p->gridDimX, p->gridDimY, p->gridDimZ};
      l.block = {p->blockDimX, p->blockDimY, p->blockDimZ};
      l.shared = p->sharedMemBytes;
      l.flags = kCooperative;
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      auto* p = static_cast<const cuLaunchKernelEx_params*>(params);
      const CUlaunchConfig* g = p->config;
      if (!g) return true;
      l.f = p->f;
      l.stream = g->hStream;
      l.grid = {g->gridDimX, g->gridDimY, g->gridDimZ};
      l.block = {g->blockDimX, g->blockDimY, g->blockDimZ};
      l.shared = g->sharedMemBytes;
      for (unsigned i = 0; g->attrs && i < g->numAttrs; i++) {
        const CUlaunchAttribute& a = g->attrs[i];
        if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
          l.cluster = {a.value.clusterDim.x, a.value.clusterDim.y, a.value.clusterDim.z};
        if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && a.value.cooperative) l.flags |= kCooperative;
      }
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      l.stream = static_cast<const cuGraphLaunch_params*>(params)->hStream;
      l.graph = true;
      return true;
    default:
      return false;
  }
}

void tell(const CUpti_CallbackData* c, const Launch& l) {
  Message m(Type::Launch);
  m.u64(c->correlationId).u64(reinterpret_cast<uintptr_t>(l.stream)).u64(moduleOf(l.f)).u64(now());
  m.u32(c->contextUid).u32(l.flags);
  m.dim(l.grid.x, l.grid.y, l.grid.z).dim(l.block.x, l.block.y, l.block.z);
  m.dim(l.cluster.x, l.cluster.y, l.cluster.z).u32(l.shared);
  m.text(c->symbolName ? c->symbolName : "");
  channel().send(m);
}

}  // namespace

bool launchCall(CUpti_CallbackId id, const CUpti_CallbackData* c) {
  Launch l;
  if (!describe(id, c->functionParams, l)) return false;
  if (c->callbackSite == CUPTI_API_ENTER) {
    const bool captured = captures().has(l.stream);
    undecided = !captured && !l.graph && captures().any();
    made_node = false;
    if (undecided) return true;
    if (captured)
      l.flags |= kCaptured;
    else
      fillPending(c->context);
    if (!l.graph) tell(c, l);
    return true;
  }
  if (undecided) {
    undecided = false;
    if (made_node) l.flags |= kCaptured;
    tell(c, l);
  }
  launchResult(c);
  return true;
}

void nodeCreated() { made_node = true; }

bool captureCall(CUpti_CallbackId id, const CUpti_CallbackData* c) {
  const bool exit = c->callbackSite == CUPTI_API_EXIT;
  const bool good = exit && *static_cast<const CUresult*>(c->functionReturnValue) == CUDA_SUCCESS;
  CUstream s = nullptr;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
      // The stream is the first parameter of all of them.
      s = static_cast<const cuStreamBeginCapture_v2_params*>(c->functionParams)->hStream;
      if (good) captures().begin(s);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
      s = static_cast<const cuStreamBeginCaptureToGraph_params*>(c->functionParams)->hStream;
      if (good) captures().begin(s);
      return true;
    // A capture is over also when it failed.
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz:
      s = static_cast<const cuStreamEndCapture_params*>(c->functionParams)->hStream;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2:
      s = static_cast<const cuStreamDestroy_v2_params*>(c->functionParams)->hStream;
      break;
    default:
      return false;
  }
  if (exit) {
    captures().end(s);
    fillPending(c->context);
  }
  return true;
}

Captures& captures() {
  static auto* c = new Captures;
  return *c;
}

}  // namespace btrace
