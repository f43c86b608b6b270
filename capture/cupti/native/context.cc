#include "context.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "capture.h"
#include "channel.h"
#include "driver.h"

namespace btrace {
namespace {

constexpr uint64_t kRingMagic = 0x3152454341525442;  // "BTRACER1"
constexpr uint32_t kRingVersion = 1;
constexpr size_t kRingHeader = 4096;
constexpr size_t kRingFlags = 0x14;
constexpr size_t kRingChosen = 0x28;
constexpr uint32_t kDrop = 1;
constexpr uint32_t kMaxChunk = 1 << 20;

// Control is what the probes read; the variable may be longer.
struct Control {
  uint64_t ring = 0;
  uint64_t tickets = 0;
  uint32_t mask = 0;
  uint32_t flags = 0;
  uint64_t fifo = 0;
  uint64_t chunks = 0;
  uint32_t chosen[4] = {};  // the first and the last CTA and warp to record
  uint64_t unused = 0;
};
static_assert(sizeof(Control) == 64);

struct Context {
  uint32_t number = 0;
  void* memory = nullptr;
  size_t bytes = 0;
  CUstream stream = nullptr;  // of the library's own copies
  bool recorded = false;
  Control control;
};

struct Contexts {
  std::mutex lock;
  std::map<CUcontext, Context> live;
  std::vector<Context> ending;
  // The first context, where it had to be announced before it was there, and
  // why it is not recorded.
  bool announced = false;
  Context first;
  std::string first_error;
};

Contexts& contexts() {
  static auto* c = new Contexts;
  return *c;
}

uint32_t attribute(CUdevice device, CUdevice_attribute a) {
  int x = 0;
  cu().DeviceGetAttribute(&x, a, device);
  return x > 0 ? static_cast<uint32_t>(x) : 0;
}

// mapAligned maps a file at a multiple of align: by its low bits a probe knows
// where in a chunk an address is.
void* mapAligned(int fd, size_t bytes, size_t align) {
  size_t reserved = bytes + align;
  void* r = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (r == MAP_FAILED) return r;
  auto from = reinterpret_cast<uintptr_t>(r);
  uintptr_t at = (from + align - 1) & ~(uintptr_t{align} - 1);
  void* p = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  int error = errno;
  if (p == MAP_FAILED) {
    munmap(r, reserved);
    errno = error;
    return p;
  }
  if (at > from) munmap(r, at - from);
  uintptr_t end = (at + bytes + 4095) & ~uintptr_t{4095};
  if (from + reserved > end) munmap(reinterpret_cast<void*>(end), from + reserved - end);
  return p;
}

// mapRing maps what the recorder sent and checks that it is a ring.
std::string mapRing(int fd, uint64_t bytes, Context& c) {
  struct stat st {};
  if (fstat(fd, &st) != 0 || st.st_size < 0 || static_cast<uint64_t>(st.st_size) < bytes || bytes < kRingHeader)
    return "the recorder's ring is smaller than it says";
  uint32_t align = 0;
  if (pread(fd, &align, sizeof align, 0x0c) != sizeof align || align == 0 || (align & (align - 1)) != 0 || align > kMaxChunk)
    return "the recorder's ring is not one that this library knows";
  void* p = mapAligned(fd, bytes, align);
  if (p == MAP_FAILED) return "the recorder's ring cannot be mapped: " + std::string(strerror(errno));
  madvise(p, bytes, MADV_DONTFORK);
  c.memory = p;
  c.bytes = bytes;
  auto* at = static_cast<const char*>(p);
  auto u32 = [at](size_t o) {
    uint32_t x;
    memcpy(&x, at + o, sizeof x);
    return x;
  };
  auto u64 = [at](size_t o) {
    uint64_t x;
    memcpy(&x, at + o, sizeof x);
    return x;
  };
  uint64_t chunk = u32(0x0c), chunks = u32(0x10), fifo = u64(0x18), first = u64(0x20);
  if (u64(0) != kRingMagic || u32(0x08) != kRingVersion || chunk == 0 || chunks == 0 || (chunks & (chunks - 1)) != 0 ||
      fifo > bytes || 4 * chunks > bytes - fifo || first > bytes || chunk * chunks > bytes - first)
    return "the recorder's ring is not one that this library knows";
  c.control.mask = static_cast<uint32_t>(chunks - 1);
  c.control.flags = u32(kRingFlags);
  memcpy(c.control.chosen, at + kRingChosen, sizeof c.control.chosen);
  c.control.fifo = fifo;
  c.control.chunks = first;
  return {};
}

// registerRing makes the ring known to the device, with a counter beside it.
// The context is current.
std::string registerRing(Context& c) {
  CUresult r = cu().MemHostRegister(c.memory, c.bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (r != CUDA_SUCCESS) return "the ring cannot be registered: " + resultName(r);
  CUdeviceptr at = 0, tickets = 0;
  r = cu().MemHostGetDevicePointer(&at, c.memory, 0);
  if (r == CUDA_SUCCESS) r = cu().MemAlloc(&tickets, sizeof(uint64_t));
  if (r == CUDA_SUCCESS) r = cu().StreamCreate(&c.stream, CU_STREAM_NON_BLOCKING);
  const uint64_t zero = 0;
  if (r == CUDA_SUCCESS) r = cu().MemcpyHtoDAsync(tickets, &zero, sizeof zero, c.stream);
  if (r == CUDA_SUCCESS) r = cu().StreamSynchronize(c.stream);
  if (r != CUDA_SUCCESS) return "no memory for the ring on the device: " + resultName(r);
  c.control.ring = at;
  c.control.tickets = tickets;
  c.control.fifo += at;
  c.control.chunks += at;
  return {};
}

// askForRing announces a context on a device and maps the ring that it gets.
std::string askForRing(Context& c, CUdevice device) {
  char name[256] = "";
  cu().DeviceGetName(name, sizeof name, device);
  Message m(Type::Context);
  m.u32(c.number).u32(static_cast<uint32_t>(device));
  for (auto a : {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                 CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                 CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_CLOCK_RATE})
    m.u32(attribute(device, a));
  m.text(name);
  Reply reply;
  if (!channel().ask(m, -1, Type::Ring, reply)) return "the recorder is gone";
  uint32_t number = reply.u32();
  reply.u32();  // the flags are in the ring too
  uint64_t bytes = reply.u64();
  std::string error = reply.text();
  if (!reply.whole() || number != c.number) return "the recorder's answer makes no sense";
  if (!error.empty()) return error;
  if (!reply.hasFd()) return "the recorder sent no ring";
  int fd = reply.takeFd();
  error = mapRing(fd, bytes, c);
  ::close(fd);
  return error;
}

void note(const std::string& text) {
  Message m(Type::Note);
  m.text(text);
  channel().send(m);
}

}  // namespace

uint32_t contextNumber(CUcontext context) {
  uint32_t n = 0;
  if (!context || cupti().GetContextId(context, &n) != CUPTI_SUCCESS) return 0;
  return n;
}

CUcontext currentContext() {
  CUcontext c = nullptr;
  cu().CtxGetCurrent(&c);
  return c;
}

void announceFirst() {
  std::lock_guard<std::mutex> guard(contexts().lock);
  if (contexts().announced) return;
  contexts().announced = true;
  CUdevice device = 0;
  if (cu().DeviceGet(&device, 0) != CUDA_SUCCESS) return;
  contexts().first.number = 1;
  contexts().first_error = askForRing(contexts().first, device);
}

void contextCreated(CUcontext context) {
  if (!channel().open()) return;
  Context c;
  c.number = contextNumber(context);
  if (captures().any()) {
    note("context " + std::to_string(c.number) + " is not recorded: it was made while a stream was captured");
    return;
  }
  if (cu().CtxPushCurrent(context) != CUDA_SUCCESS) return;
  std::string error;
  {
    std::lock_guard<std::mutex> guard(contexts().lock);
    if (contexts().announced && c.number == contexts().first.number) {
      c = contexts().first;
      error = contexts().first_error;
    }
    contexts().announced = true;
  }
  CUdevice device = 0;
  if (!c.memory && error.empty()) {
    cu().CtxGetDevice(&device);
    error = askForRing(c, device);
  }
  if (error.empty()) error = registerRing(c);
  CUcontext popped;
  cu().CtxPopCurrent(&popped);
  c.recorded = error.empty();
  if (!c.recorded) note("context " + std::to_string(c.number) + " is not recorded: " + error);
  std::lock_guard<std::mutex> guard(contexts().lock);
  contexts().live[context] = c;
}

void contextEnding(CUcontext context) {
  std::lock_guard<std::mutex> guard(contexts().lock);
  auto it = contexts().live.find(context);
  if (it == contexts().live.end()) return;
  contexts().ending.push_back(it->second);
  contexts().live.erase(it);
}

// The ring is unmapped only here: kernels may have run until now. The driver
// has dropped its registration with the context.
void contextsEnded() {
  std::vector<Context> ended;
  {
    std::lock_guard<std::mutex> guard(contexts().lock);
    ended.swap(contexts().ending);
  }
  for (const Context& c : ended) {
    if (!c.memory) continue;
    cu().MemHostUnregister(c.memory);
    munmap(c.memory, c.bytes);
  }
}

void abandonRings() {
  std::lock_guard<std::mutex> guard(contexts().lock);
  for (auto& [handle, c] : contexts().live) {
    if (!c.memory) continue;
    auto* flags = reinterpret_cast<uint32_t*>(static_cast<char*>(c.memory) + kRingFlags);
    __atomic_fetch_or(flags, kDrop, __ATOMIC_RELEASE);
    c.control.flags |= kDrop;
  }
}

CUresult fillControl(CUcontext context, CUdeviceptr at, size_t bytes) {
  Context c;
  {
    std::lock_guard<std::mutex> guard(contexts().lock);
    auto it = contexts().live.find(context);
    if (it == contexts().live.end() || !it->second.recorded) return CUDA_SUCCESS;
    c = it->second;
  }
  if (bytes < sizeof c.control) return CUDA_ERROR_INVALID_VALUE;
  CUresult r = cu().MemcpyHtoDAsync(at, &c.control, sizeof c.control, c.stream);
  return r != CUDA_SUCCESS ? r : cu().StreamSynchronize(c.stream);
}

}  // namespace btrace
