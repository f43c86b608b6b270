// libbtrace_sanitizer.so: what the driver loads into an application that is
// recorded by way of Compute Sanitizer (CUDA_INJECTION64_PATH).
//
// It has the barrier instructions of every module patched, gives each launch
// what the patches need, and tells the recorder of modules, launches and their
// ends. Which instruction is which site the recorder says, who reads the cubin.
// The library never fails an application: what does not work is not recorded,
// and the recorder is told why.

#include <cuda.h>
#include <sanitizer.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../../cupti/native/channel.h"
#include "shared.h"

// The patches, as nvcc made them: the Makefile says where they are.
__asm__(".section .rodata\n.balign 64\nbtrace_patches:\n.incbin \"" BTRACE_PATCHES "\"\n.balign 8\n.quad 0\n.previous\n");
extern "C" const char btrace_patches[];

namespace btrace {
namespace {

// slots is how many launches can be under way in a context before their ends
// are told: of more, records have no launch.
constexpr uint32_t slots = 1 << 14;

constexpr uint32_t protocolVersion = 1;
constexpr uint32_t roleSanitizer = 3;
constexpr uint32_t doorModuleLoad = 1;
constexpr uint32_t actionReplace = 1;
constexpr uint32_t notPatched = 999;  // CUDA_ERROR_UNKNOWN: for a MODULE that could not be patched

// Mapping is a file in memory, at a multiple of what chunks are aligned to.
class Mapping {
  public:
    Mapping(int fd, size_t n, int protection) {
        size_t room = n + chunkBytes;
        void *p = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return;
        reserved = p;
        reservedSize = room;
        auto at = (reinterpret_cast<uintptr_t>(p) + chunkBytes - 1) / chunkBytes * chunkBytes;
        p = mmap(reinterpret_cast<void *>(at), n, protection, MAP_SHARED | MAP_FIXED, fd, 0);
        if (p == MAP_FAILED) return;
        madvise(p, n, MADV_DONTFORK);
        data = static_cast<char *>(p);
        size = n;
    }
    Mapping(const Mapping &) = delete;
    ~Mapping() {
        if (reserved) munmap(reserved, reservedSize);
    }
    char *data = nullptr;
    size_t size = 0;

  private:
    void *reserved = nullptr;
    size_t reservedSize = 0;
};

// Fields takes numbers and texts from bytes. Once one was not there, ok is false.
class Fields {
  public:
    Fields(const char *p, size_t n) : at(p), left(n) {}
    uint32_t u32() { return number<uint32_t>(); }
    uint64_t u64() { return number<uint64_t>(); }
    std::string text() {
        size_t n = u32();
        const char *p = take(n);
        return p ? std::string(p, n) : "";
    }
    bool ok = true;

  private:
    template <typename T> T number() {
        T x = 0;
        if (const char *p = take(sizeof x)) memcpy(&x, p, sizeof x);
        return x;
    }
    const char *take(size_t n) {
        ok = ok && n <= left;
        if (!ok) return nullptr;
        const char *p = at;
        at += n;
        left -= n;
        return p;
    }
    const char *at;
    size_t left;
};

struct Patch {
    Sanitizer_InstructionId id;
    const char *name;
};

constexpr Patch patches[] = {
    {SANITIZER_INSTRUCTION_BLOCK_ENTER, "btrace_enter"},
    {SANITIZER_INSTRUCTION_BLOCK_EXIT, "btrace_exit"},
    {SANITIZER_INSTRUCTION_BARRIER, "btrace_bar"},
    {SANITIZER_INSTRUCTION_BARRIER_RELEASE, "btrace_bar_release"},
    {SANITIZER_INSTRUCTION_SYNCWARP, "btrace_syncwarp"},
    {SANITIZER_INSTRUCTION_SYNCWARP_RELEASE, "btrace_syncwarp_release"},
    {SANITIZER_INSTRUCTION_CUDA_BARRIER, "btrace_mbarrier"},
    {SANITIZER_INSTRUCTION_CUDA_BARRIER_ATTEMPT, "btrace_mbarrier_attempt"},
    {SANITIZER_INSTRUCTION_CLUSTER_BARRIER_ARRIVE, "btrace_cluster_arrive"},
    {SANITIZER_INSTRUCTION_CLUSTER_BARRIER_WAIT_ENTRY, "btrace_cluster_wait"},
    {SANITIZER_INSTRUCTION_CLUSTER_BARRIER_WAIT, "btrace_cluster_done"},
    {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "btrace_copy"},
    {SANITIZER_INSTRUCTION_MEMCPY_ASYNC_BARRIER, "btrace_cp_async_arrive"},
};

// Table is the sites of a stretch of code, by pc.
struct Table {
    const uint32_t *sites = nullptr;  // in device memory
    uint64_t pcBase = 0;
    uint32_t pcCount = 0;
};

struct ModuleState {
    uint64_t number = 0;  // the recorder's
    uint32_t generic = 0;
    std::map<std::string, Table> tables;  // by kernel
};

struct Outstanding {
    uint64_t correlation = 0, stream = 0, threads = 0;
    uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {};
    std::string function;
    bool patched = false;
};

struct ContextState {
    uint32_t number = 0;  // the recorder's; 0: not recorded
    std::unique_ptr<Mapping> ring;
    bool patchesLoaded = false;
    Context *device = nullptr;    // in device memory
    Launch *launches = nullptr;   // slots, in device memory
    Launch *staging = nullptr;    // slots, in host memory
    Progress *progress = nullptr;  // slots, in pinned host memory
    std::vector<uint32_t> free;
    std::map<uint32_t, Outstanding> busy;  // by slot
    uint32_t sms = 0;
};

class Library {
  public:
    bool start();
    void finish();
    void callback(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void *data);

  private:
    void contextCreated(const Sanitizer_ResourceContextData &d);
    bool prepare(ContextState &c, CUcontext context, uint32_t chunks, uint32_t flags, uint64_t fifo, uint64_t chunksAt, std::string &why);
    void moduleLoaded(const Sanitizer_ResourceModuleData &d);
    std::string patch(ContextState &c, const Sanitizer_ResourceModuleData &d);
    std::string makeTables(const Sanitizer_ResourceModuleData &d, int fd, size_t size, ModuleState &m);
    void launchBegins(const Sanitizer_LaunchData &d);
    void synchronized(const Sanitizer_SynchronizeData &d, bool all);
    void apiEnds(const Sanitizer_CallbackData &d);
    void poll();
    void done(ContextState &c, uint32_t slot, const Outstanding &o, Progress p);
    void note(const std::string &s) {
        Message m(Type::Note);
        channel().send(m.text("Compute Sanitizer: " + s));
    }

    std::mutex mutex;
    std::map<CUcontext, ContextState> contexts;
    std::map<CUmodule, ModuleState> modules;
    uint32_t contextCount = 0;
    uint64_t correlations = 0;
    bool failed = false;
    std::thread poller;
    std::atomic<bool> stopping{false};
    pid_t owner = 0;
};

std::string text(SanitizerResult r) {
    const char *s = nullptr;
    sanitizerGetResultString(r, &s);
    return s ? s : "error " + std::to_string(r);
}

std::string text(CUresult r) {
    const char *s = nullptr;
    cuGetErrorName(r, &s);
    return s ? s : "error " + std::to_string(r);
}

std::string program() {
    char b[4096];
    ssize_t n = readlink("/proc/self/exe", b, sizeof b);
    return n > 0 ? std::string(b, static_cast<size_t>(n)) : "";
}

bool Library::start() {
    if (!channel().connect(getenv("BTRACE_SOCKET"))) return false;
    owner = getpid();
    int version = 0;
    cuDriverGetVersion(&version);
    Message hello(Type::Hello);
    hello.u32(protocolVersion).u32(roleSanitizer).u32(static_cast<uint32_t>(owner)).u32(static_cast<uint32_t>(version)).text(program());
    Reply r;
    if (!channel().ask(hello, -1, Type::Welcome, r)) return false;
    uint32_t theirs = r.u32();
    r.u32();
    std::string error = r.text();
    if (!r.whole() || theirs != protocolVersion || !error.empty()) {
        channel().close();
        return false;
    }
    return true;
}

void Library::finish() {
    // After a fork the connection is the parent's.
    if (getpid() != owner) return;
    stopping = true;
    if (poller.joinable()) poller.join();
    poll();
    std::lock_guard<std::mutex> lock(mutex);
    Message bye(Type::Bye);
    channel().send(bye);
    channel().close();
}

void Library::callback(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void *data) {
    if (domain == SANITIZER_CB_DOMAIN_DRIVER_API) return apiEnds(*static_cast<const Sanitizer_CallbackData *>(data));
    std::lock_guard<std::mutex> lock(mutex);
    if (!channel().open()) return;
    switch (domain) {
    case SANITIZER_CB_DOMAIN_RESOURCE:
        if (id == SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED)
            contextCreated(*static_cast<const Sanitizer_ResourceContextData *>(data));
        else if (id == SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
            contexts.erase(static_cast<const Sanitizer_ResourceContextData *>(data)->context);
        else if (id == SANITIZER_CBID_RESOURCE_MODULE_LOADED)
            moduleLoaded(*static_cast<const Sanitizer_ResourceModuleData *>(data));
        else if (id == SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
            modules.erase(static_cast<const Sanitizer_ResourceModuleData *>(data)->module);
        break;
    case SANITIZER_CB_DOMAIN_LAUNCH:
        if (id == SANITIZER_CBID_LAUNCH_BEGIN) launchBegins(*static_cast<const Sanitizer_LaunchData *>(data));
        break;
    case SANITIZER_CB_DOMAIN_SYNCHRONIZE:
        synchronized(*static_cast<const Sanitizer_SynchronizeData *>(data), id == SANITIZER_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
        break;
    default:
        break;
    }
}

uint32_t attribute(CUdevice_attribute a, CUdevice d) {
    int x = 0;
    cuDeviceGetAttribute(&x, a, d);
    return static_cast<uint32_t>(x);
}

void Library::contextCreated(const Sanitizer_ResourceContextData &d) {
    ContextState &c = contexts[d.context];
    c.sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d.device);
    char name[256] = "";
    cuDeviceGetName(name, sizeof name, d.device);
    uint32_t number = ++contextCount;
    Message m(Type::Context);
    m.u32(number)
        .u32(static_cast<uint32_t>(d.device))
        .u32(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d.device))
        .u32(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d.device))
        .u32(c.sms)
        .u32(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, d.device))
        .u32(attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, d.device))
        .u32(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, d.device))
        .text(name);
    Reply r;
    if (!channel().ask(m, -1, Type::Ring, r)) return;
    r.u32();
    r.u32();
    uint64_t size = r.u64();
    std::string error = r.text();
    if (!r.hasFd() || !r.whole() || !error.empty() || size < sizeof(RingHeader)) return;
    int fd = r.takeFd();
    c.ring = std::make_unique<Mapping>(fd, size, PROT_READ | PROT_WRITE);
    close(fd);
    RingHeader h{};
    if (c.ring->data) memcpy(&h, c.ring->data, sizeof h);
    std::string why = "the recorder's memory cannot be used";
    bool known = h.magic == ringMagic && h.version == ringVersion && h.chunkBytes == chunkBytes && h.chunks > 0;
    if (!known || !prepare(c, d.context, h.chunks, h.flags, h.fifo, h.chunksAt, why)) {
        note("device " + std::to_string(d.device) + " is not recorded: " + why);
        return;
    }
    c.number = number;
    if (!poller.joinable())
        poller = std::thread([this] {
            while (!stopping) {
                poll();
                std::this_thread::sleep_for(std::chrono::microseconds(500));
            }
        });
}

// prepare makes what the patches of a context need.
bool Library::prepare(ContextState &c, CUcontext context, uint32_t chunks, uint32_t flags, uint64_t fifo, uint64_t chunksAt, std::string &why) {
    CUcontext before = nullptr;
    CUresult r = cuCtxPushCurrent(context);
    if (r == CUDA_SUCCESS) r = cuMemHostRegister(c.ring->data, c.ring->size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    CUdeviceptr ring = 0;
    if (r == CUDA_SUCCESS) r = cuMemHostGetDevicePointer(&ring, c.ring->data, 0);
    cuCtxPopCurrent(&before);
    if (r == CUDA_SUCCESS && (ring + chunksAt) % chunkBytes != 0) r = CUDA_ERROR_MISALIGNED_ADDRESS;
    if (r != CUDA_SUCCESS) {
        why = "registering its memory: " + text(r);
        return false;
    }
    size_t lanes = static_cast<size_t>(c.sms) * lanesPerSM * sizeof(Lane);
    void *state = nullptr, *device = nullptr, *launches = nullptr, *progress = nullptr;
    Sanitizer_StreamHandle stream = nullptr;
    SanitizerResult s = sanitizerAlloc(context, &state, lanes);
    if (s == SANITIZER_SUCCESS) s = sanitizerAlloc(context, &device, sizeof(Context) + sizeof(uint64_t));
    if (s == SANITIZER_SUCCESS) s = sanitizerAlloc(context, &launches, slots * sizeof(Launch));
    if (s == SANITIZER_SUCCESS) s = sanitizerAllocHost(context, &progress, slots * sizeof(Progress));
    if (s == SANITIZER_SUCCESS) s = sanitizerGetStreamHandle(context, nullptr, &stream);
    if (s == SANITIZER_SUCCESS) s = sanitizerMemset(state, 0, lanes, stream);
    struct {
        Context context;
        uint64_t ticket;
    } image{};
    static_assert(sizeof image == sizeof(Context) + sizeof(uint64_t), "the ticket counter stands behind the context");
    image.context.ring = ring;
    image.context.fifo = ring + fifo;
    image.context.chunks = ring + chunksAt;
    image.context.ticket = reinterpret_cast<uint64_t>(device) + sizeof(Context);
    image.context.lanes = static_cast<Lane *>(state);
    image.context.mask = chunks - 1;
    image.context.flags = flags;
    image.context.sms = c.sms;
    if (s == SANITIZER_SUCCESS) s = sanitizerMemcpyHostToDeviceAsync(device, &image, sizeof image, stream);
    if (s == SANITIZER_SUCCESS) s = sanitizerStreamSynchronize(stream);
    if (s != SANITIZER_SUCCESS) {
        why = "memory for the patches: " + text(s);
        return false;
    }
    c.device = static_cast<Context *>(device);
    c.launches = static_cast<Launch *>(launches);
    c.progress = static_cast<Progress *>(progress);
    c.staging = new Launch[slots]();
    for (uint32_t i = slots; i-- > 0;) c.free.push_back(i);
    return true;
}

void Library::moduleLoaded(const Sanitizer_ResourceModuleData &d) {
    auto it = contexts.find(d.context);
    if (it == contexts.end() || it->second.number == 0 || !d.pCubin || d.cubinSize == 0) return;
    ContextState &c = it->second;
    int image = memfd_create("btrace-image", MFD_CLOEXEC);
    bool written = image >= 0;
    for (size_t at = 0; written && at < d.cubinSize;) {
        ssize_t n = write(image, d.pCubin + at, d.cubinSize - at);
        written = n > 0;
        at += static_cast<size_t>(n > 0 ? n : 0);
    }
    Message m(Type::Image);
    m.u32(c.number).u32(doorModuleLoad).u64(d.cubinSize).text("");
    Reply r;
    bool answered = written && channel().ask(m, image, Type::Answer, r);
    if (image >= 0) close(image);
    if (!answered) return;
    uint32_t action = r.u32();
    uint64_t number = r.u64(), size = r.u64();
    if (action != actionReplace || !r.hasFd()) return;
    int fd = r.takeFd();
    ModuleState state;
    state.number = number;
    std::string why = patch(c, d);
    if (why.empty()) why = makeTables(d, fd, size, state);
    close(fd);
    if (why.empty()) modules[d.module] = std::move(state);
    Message loaded(Type::Module);
    loaded.u64(number).u32(c.number).u32(why.empty() ? 0 : notPatched).text(why);
    channel().send(loaded);
}

// patch has the module patched.
std::string Library::patch(ContextState &c, const Sanitizer_ResourceModuleData &d) {
    if (!c.patchesLoaded) {
        SanitizerResult s = sanitizerAddPatches(btrace_patches, d.context);
        if (s != SANITIZER_SUCCESS) return "loading the patches: " + text(s);
        c.patchesLoaded = true;
    }
    for (const Patch &p : patches) {
        SanitizerResult s = sanitizerPatchInstructions(p.id, d.module, p.name);
        if (s != SANITIZER_SUCCESS) return std::string("patching by ") + p.name + ": " + text(s);
    }
    SanitizerResult s = sanitizerPatchModule(d.module);
    if (s != SANITIZER_SUCCESS) return "patching the module: " + text(s);
    return "";
}

// makeTables finds where in memory the places are that the recorder told of the
// cubin's functions; ../table.go says how it is laid out. Functions need not
// lie together, so there is a table for each stretch of code with places. A
// kernel gets the one that it is in: places elsewhere, in functions that it
// calls, are not told apart, and neither are those of functions that are not
// loaded yet (the recorder asks for all to be).
std::string Library::makeTables(const Sanitizer_ResourceModuleData &d, int fd, size_t size, ModuleState &m) {
    Mapping file(fd, size, PROT_READ);
    if (!file.data) return "reading the table of sites";
    Fields r(file.data, size);
    m.generic = r.u32();
    uint32_t functions = r.u32();
    std::map<uint64_t, uint32_t> places;
    std::map<std::string, uint64_t> kernels;
    for (uint32_t i = 0; i < functions && r.ok; i++) {
        std::string name = r.text();
        bool kernel = r.u32() != 0;
        uint32_t n = r.u32();
        uint64_t pc = 0, bytes = 0;
        bool loaded = sanitizerGetFunctionPcAndSize(d.module, name.c_str(), &pc, &bytes) == SANITIZER_SUCCESS;
        for (uint32_t k = 0; k < n && r.ok; k++) {
            uint64_t offset = r.u64();
            uint32_t site = r.u32();
            if (loaded) places[pc + offset] = site;
        }
        if (loaded && kernel) kernels[name] = pc;
    }
    if (!r.ok) return "the table of sites is cut";

    // gap ends a stretch, most bounds all tables together.
    constexpr uint64_t gap = 64 << 10, most = 64 << 20;
    struct Stretch {
        uint64_t base;
        size_t first, count;  // in sites
    };
    std::vector<Stretch> stretches;
    std::vector<uint32_t> sites;
    for (const auto &p : places) {
        bool next = stretches.empty() || p.first - (stretches.back().base + 16 * (stretches.back().count - 1)) > gap;
        if (sites.size() + gap / 16 > most) break;
        if (next) stretches.push_back({p.first, sites.size(), 0});
        Stretch &s = stretches.back();
        s.count = (p.first - s.base) / 16 + 1;
        sites.resize(s.first + s.count);
        sites.back() = p.second;
    }
    if (sites.empty()) return "";
    void *device = nullptr;
    Sanitizer_StreamHandle stream = nullptr;
    size_t n = sites.size() * sizeof sites[0];
    SanitizerResult s = sanitizerAlloc(d.context, &device, n);
    if (s == SANITIZER_SUCCESS) s = sanitizerGetStreamHandle(d.context, nullptr, &stream);
    if (s == SANITIZER_SUCCESS) s = sanitizerMemcpyHostToDeviceAsync(device, sites.data(), n, stream);
    if (s == SANITIZER_SUCCESS) s = sanitizerStreamSynchronize(stream);
    if (s != SANITIZER_SUCCESS) return "memory for the table of sites: " + text(s);
    for (const auto &k : kernels) {
        for (const Stretch &x : stretches) {
            if (k.second < x.base || (k.second - x.base) / 16 >= x.count) continue;
            m.tables[k.first] = {static_cast<const uint32_t *>(device) + x.first, x.base, static_cast<uint32_t>(x.count)};
            break;
        }
    }
    return "";
}

void Library::launchBegins(const Sanitizer_LaunchData &d) {
    auto it = contexts.find(d.context);
    if (it == contexts.end() || it->second.number == 0 || !d.functionName) return;
    ContextState &c = it->second;
    auto module = modules.find(d.module);
    Outstanding o;
    o.patched = module != modules.end();
    o.correlation = ++correlations;
    o.stream = reinterpret_cast<uint64_t>(d.stream);
    uint32_t grid[3] = {d.gridDim_x, d.gridDim_y, d.gridDim_z}, block[3] = {d.blockDim_x, d.blockDim_y, d.blockDim_z};
    uint32_t cluster[3] = {d.clusterDim_x, d.clusterDim_y, d.clusterDim_z};
    o.threads = 1;
    for (int i = 0; i < 3; i++) {
        o.grid[i] = grid[i];
        o.block[i] = block[i];
        o.cluster[i] = cluster[i];
        o.threads *= static_cast<uint64_t>(grid[i]) * block[i];
    }
    o.function = d.functionName;
    if (o.patched && c.free.empty()) {
        o.patched = false;
        note("too many launches are under way: " + o.function + " is not recorded");
    }
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    Message m(Type::Launch);
    m.u64(o.correlation)
        .u64(o.stream)
        .u64(o.patched ? module->second.number : 0)
        .u64(static_cast<uint64_t>(now.tv_sec) * 1000000000ull + static_cast<uint64_t>(now.tv_nsec))
        .u32(c.number)
        .u32(0)
        .dim(grid[0], grid[1], grid[2])
        .dim(block[0], block[1], block[2])
        .dim(cluster[0], cluster[1], cluster[2])
        .u32(0)
        .text(o.function);
    channel().send(m);
    const void *data = nullptr;
    uint32_t slot = slots;
    if (o.patched) {
        slot = c.free.back();
        c.free.pop_back();
        memset(&c.progress[slot], 0, sizeof c.progress[slot]);
        Launch &l = c.staging[slot];
        l = Launch{};
        l.context = c.device;
        l.progress = &c.progress[slot];
        const Table &t = module->second.tables[d.functionName];
        l.sites = t.sites;
        l.pcBase = t.pcBase;
        l.pcCount = t.pcCount;
        l.generic = module->second.generic;
        l.threads = o.threads;
        if (sanitizerMemcpyHostToDeviceAsync(&c.launches[slot], &l, sizeof l, d.hStream) == SANITIZER_SUCCESS) data = &c.launches[slot];
    } else {
        // Told of when its stream is next synchronized.
        slot = slots + static_cast<uint32_t>(o.correlation);
    }
    sanitizerSetLaunchCallbackData(d.hLaunch, d.function, d.hStream, data);
    c.busy.emplace(slot, std::move(o));
}

void Library::done(ContextState &c, uint32_t slot, const Outstanding &o, Progress p) {
    Message m(Type::Done);
    m.u64(o.correlation).u64(p.grid).u64(p.start).u64(p.end).u32(c.number).dim(o.grid[0], o.grid[1], o.grid[2]).dim(o.block[0], o.block[1], o.block[2]).dim(o.cluster[0], o.cluster[1], o.cluster[2]).u32(0).u64(o.stream).text(o.function);
    channel().send(m);
    if (slot < slots) c.free.push_back(slot);
}

// poll tells of the launches whose threads have all ended.
void Library::poll() {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &entry : contexts) {
        ContextState &c = entry.second;
        for (auto it = c.busy.begin(); it != c.busy.end();) {
            bool over = it->first < slots && *static_cast<volatile uint64_t *>(&c.progress[it->first].done) != 0;
            if (!over) {
                ++it;
                continue;
            }
            std::atomic_thread_fence(std::memory_order_acquire);
            done(c, it->first, it->second, c.progress[it->first]);
            it = c.busy.erase(it);
        }
    }
}

// synchronized tells of the launches without patches, whose end nothing else
// shows.
void Library::synchronized(const Sanitizer_SynchronizeData &d, bool all) {
    auto found = contexts.find(d.context);
    if (found == contexts.end()) return;
    ContextState &c = found->second;
    for (auto it = c.busy.lower_bound(slots); it != c.busy.end();) {
        if (!all && it->second.stream != reinterpret_cast<uint64_t>(d.stream)) {
            ++it;
            continue;
        }
        done(c, it->first, it->second, Progress{});
        it = c.busy.erase(it);
    }
}

// apiEnds looks for the first error after which a context is broken.
void Library::apiEnds(const Sanitizer_CallbackData &d) {
    if (d.callbackSite != SANITIZER_API_EXIT || !d.functionReturnValue) return;
    CUresult r = *static_cast<const CUresult *>(d.functionReturnValue);
    switch (r) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        break;
    default:
        return;
    }
    std::lock_guard<std::mutex> lock(mutex);
    auto c = contexts.find(d.context);
    if (failed || c == contexts.end()) return;
    failed = true;
    Message m(Type::Failed);
    channel().send(m.u64(0).u32(c->second.number).u32(static_cast<uint32_t>(r)).text(text(r)));
}

Library *library;

// inside is set while a callback runs: what the library itself asks of CUDA
// calls back, too, and is none of the application's.
thread_local bool inside;

void SANITIZERAPI onCallback(void *, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void *data) {
    if (inside) return;
    inside = true;
    library->callback(domain, id, data);
    inside = false;
}

}  // namespace
}  // namespace btrace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    using namespace btrace;
    // The library lives as long as the process: threads may still call back
    // while static objects are destroyed.
    library = new Library;
    if (!library->start()) return 1;
    Sanitizer_SubscriberHandle handle;
    if (sanitizerSubscribe(&handle, onCallback, nullptr) != SANITIZER_SUCCESS) return 1;
    for (auto domain : {SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CB_DOMAIN_SYNCHRONIZE, SANITIZER_CB_DOMAIN_DRIVER_API})
        sanitizerEnableDomain(1, handle, domain);
    atexit([] { library->finish(); });
    return 1;
}
