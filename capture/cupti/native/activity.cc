#include "activity.h"

#include <cupti.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <atomic>

#include "channel.h"
#include "context.h"
#include "driver.h"

namespace btrace {
namespace {

#if CUPTI_API_VERSION >= 130000
using Kernel = CUpti_ActivityKernel10;
#else
using Kernel = CUpti_ActivityKernel9;
#endif

// CUPTI hands a buffer over when all of its records are complete, so one that
// holds a kernel that hangs keeps those of its neighbours back: each buffer gets
// one record.
constexpr size_t kBufferBytes = 8 << 10;
constexpr size_t kRecords = 1;

// How long the end of a kernel may stay unknown to the recorder.
constexpr auto kPeriod = std::chrono::milliseconds(20);

std::atomic<bool> running{false};

void CUPTIAPI wantBuffer(uint8_t** buffer, size_t* bytes, size_t* records) {
  *buffer = static_cast<uint8_t*>(aligned_alloc(ACTIVITY_RECORD_ALIGNMENT, kBufferBytes));
  *bytes = *buffer ? kBufferBytes : 0;
  *records = kRecords;
}

void tell(const Kernel& k) {
  // A record that was forced out of a buffer before its kernel ended.
  if (k.end == 0) return;
  auto u = [](int32_t x) { return static_cast<uint32_t>(x); };
  Message m(Type::Done);
  m.u64(k.correlationId).u64(static_cast<uint64_t>(k.gridId)).u64(k.start).u64(k.end).u32(k.contextId);
  m.dim(u(k.gridX), u(k.gridY), u(k.gridZ)).dim(u(k.blockX), u(k.blockY), u(k.blockZ));
  m.dim(k.clusterX, k.clusterY, k.clusterZ);
  m.u32(u(k.dynamicSharedMemory)).u64(k.streamId).text(k.name ? k.name : "");
  channel().send(m);
}

void CUPTIAPI fullBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t bytes) {
  Inside inside;
  CUpti_Activity* record = nullptr;
  while (channel().open() && cupti().ActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) tell(*reinterpret_cast<const Kernel*>(record));
  free(buffer);
}

void flushRegularly() {
  Inside inside;
  while (running && channel().there()) {
    std::this_thread::sleep_for(kPeriod);
    cupti().ActivityFlushAll(0);
  }
  // Whoever drops the channel, kernels may be waiting for the recorder.
  if (running) abandonRings();
}

}  // namespace

std::string startActivity() {
  CUptiResult r = cupti().ActivityRegisterCallbacks(wantBuffer, fullBuffer);
  if (r == CUPTI_SUCCESS) r = cupti().ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (r != CUPTI_SUCCESS) {
    const char* s = nullptr;
    cupti().GetResultString(r, &s);
    return std::string("kernel activity cannot be collected: ") + (s ? s : "?");
  }
  running = true;
  std::thread(flushRegularly).detach();
  return {};
}

void lastActivity() {
  if (!running.exchange(false)) return;
  Inside inside;
  cupti().ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void forgetActivity() { running = false; }

}  // namespace btrace
