// The patches: what Compute Sanitizer calls on the device, once a thread, at
// the instructions that the library asked for.
//
// A call happens before the instruction, or after it where the name says so
// (release, attempt, wait). The lowest of the lanes that came together with the
// same operands writes one record for all of them, in its own chunk of the
// ring. Nothing here waits for lanes that did not come together; those that did
// leave together, since the instruction may need all of them.

#include <sanitizer_patching.h>

#include "shared.h"

using namespace btrace;

namespace {

constexpr uint64_t valid = 1ull << 63;

// now is the SM's clock. Alone, the instruction that reads 64 bits of it does
// not wait for the barrier before it, and would tell the time before the wait;
// the one that reads 32 bits does. So the sum takes both: it adds 0.
__device__ __forceinline__ uint64_t now() {
    uint32_t low;
    uint64_t t;
    asm volatile("mov.u32 %0, %%clock;\n\tmov.u64 %1, %%clock64;" : "=r"(low), "=l"(t)::"memory");
    return t + ((static_cast<uint32_t>(t) - low) >> 31);
}

__device__ __forceinline__ uint64_t globaltimer() {
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

__device__ __forceinline__ uint64_t gridid() {
    uint64_t t;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(t));
    return t;
}

__device__ __forceinline__ uint32_t smid() {
    uint32_t t;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(t));
    return t;
}

__device__ __forceinline__ uint32_t warpid() {
    uint32_t t;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(t));
    return t;
}

__device__ __forceinline__ uint32_t laneid() {
    uint32_t t;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(t));
    return t;
}

__device__ __forceinline__ uint32_t linearCTA() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

__device__ __forceinline__ uint32_t linearWarp() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
}

__device__ __forceinline__ void store(uint64_t at, uint64_t w0, uint64_t w1) {
    asm volatile("st.volatile.global.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(w0 | valid), "l"(w1 | valid) : "memory");
}

// Here is a callback: who called, and where.
struct Here {
    Launch *launch;
    const Context *context;
    Lane *lane;  // of the calling lane
    uint32_t site;
    uint64_t clock;
    uint32_t together;  // the lanes that came
    bool off;           // nothing is to be recorded

    __device__ __forceinline__ Here(void *userdata, uint64_t pc) : launch(static_cast<Launch *>(userdata)), together(__activemask()), off(userdata == nullptr) {
        if (off) return;
        clock = now();
        context = launch->context;
        uint64_t i = (pc - launch->pcBase) / 16;
        site = i < launch->pcCount ? launch->sites[i] : 0;
        if (site == 0) site = launch->generic;
        uint32_t sm = smid(), w = warpid();
        off = sm >= context->sms || w >= warpsPerSM;
        if (off) return;
        lane = context->lanes + sm * lanesPerSM + w * 32 + laneid();
    }

    // chunkOf is the chunk plus 1 of a ticket of a later lap than the first, as
    // far as the fifo has it: more than 0xfffff otherwise, or 0.
    __device__ __forceinline__ volatile uint32_t *entry(uint64_t ticket) const {
        return reinterpret_cast<volatile uint32_t *>(context->fifo) + (ticket & context->mask);
    }
    __device__ __forceinline__ uint32_t chunkOf(uint64_t ticket) const {
        uint32_t lap = static_cast<uint32_t>(ticket >> __popc(context->mask)) & ((1u << (32 - entryBits)) - 1);
        return *entry(ticket) - (lap << entryBits);
    }
    __device__ __forceinline__ static bool isChunk(uint32_t x) { return x - 1 < (1u << entryBits) - 1; }

    __device__ __forceinline__ SanitizerPatchResult leave() const {
        __syncwarp(together);
        return SANITIZER_PATCH_SUCCESS;
    }

    // take gets a chunk, or 0 where records are dropped.
    __device__ __noinline__ uint64_t take() {
        auto *ticket = reinterpret_cast<unsigned long long *>(context->ticket);
        uint64_t n = context->mask + 1ull;
        if (context->flags & ringDrop) {
            uint64_t t = *reinterpret_cast<volatile unsigned long long *>(ticket);
            if (t >= n && !isChunk(chunkOf(t))) return 0;
        }
        // The first lap needs no fifo: ticket t has chunk t.
        uint64_t t = atomicAdd(ticket, 1ull);
        uint64_t number = t;
        if (t >= n) {
            uint32_t x;
            while (!isChunk(x = chunkOf(t))) __nanosleep(200);
            *entry(t) = 0;
            number = x - 1;
        }
        uint64_t at = context->chunks + number * chunkBytes;
        uint64_t who = static_cast<uint64_t>(smid()) << 43 | static_cast<uint64_t>(laneid()) << 38 |
                       static_cast<uint64_t>(linearWarp()) << 32 | linearCTA();
        store(at, gridid(), who);
        uint64_t c = now();
        store(at + slotBytes, c, globaltimer());
        return at + 2 * slotBytes;
    }

    // room makes sure that the lane's chunk has room for a record. It is false
    // where the record is dropped.
    __device__ __forceinline__ bool room() {
        uint64_t at = lane->at;
        // One slot is for the word that the lane is done with the chunk.
        if (at != 0 && (chunkBytes - at % chunkBytes) > recordSlots * slotBytes) return true;
        if (at != 0) put(siteClose, 0, 1u << laneid());
        at = take();
        lane->at = at;
        if (at == 0) {
            lane->lost++;
            return false;
        }
        clock = now();
        if (lane->lost > 0) {
            put(siteGap, lane->lost & 0x7fffffff, 1u << laneid());
            lane->lost = 0;
        }
        return true;
    }

    __device__ __forceinline__ void put(uint32_t s, uint32_t operand, uint32_t lanes) {
        uint64_t at = lane->at;
        store(at, static_cast<uint64_t>(s) << 40 | (clock & ((1ull << 40) - 1)), static_cast<uint64_t>(operand) << 32 | lanes);
        lane->at = at + slotBytes;
    }

    __device__ __forceinline__ void more(uint64_t v0, uint64_t v1) {
        store(lane->at, v0, v1);
        lane->at += slotBytes;
    }

    // leads says whether this lane writes for the lanes that are here with the
    // same key, and who they are.
    __device__ __forceinline__ bool leads(uint32_t key, uint32_t *lanes) {
        uint32_t here = __activemask();
        int same;
        uint32_t group = __match_all_sync(here, key, &same);
        if (!same) group = __match_any_sync(here, key);
        *lanes = group;
        return laneid() == __ffs(group) - 1;
    }

    __device__ __forceinline__ void record(uint32_t variant, uint32_t operand = 0) {
        uint32_t lanes;
        if (leads(operand, &lanes) && room()) put(site + variant, operand, lanes);
    }

    __device__ __forceinline__ void recordMask(uint32_t variant, uint32_t mask) {
        uint32_t lanes;
        if (leads(mask, &lanes) && room()) {
            put(site + variant, 0, lanes);
            more(mask, 0);
        }
    }

    // fresh makes the lane's state that of this thread. It is another's only if
    // a kernel before was ended by force, or a warp moved to another slot.
    __device__ __forceinline__ void fresh(bool begin) {
        uint64_t g = gridid();
        uint32_t c = linearCTA(), w = linearWarp();
        if (!begin && lane->grid == g && lane->cta == c && lane->warp == w) return;
        *lane = Lane{};
        lane->grid = g;
        lane->cta = c;
        lane->warp = w;
    }

    // comes is called where a lane comes to anything but a test of an mbarrier.
    __device__ __forceinline__ void comes() {
        fresh(false);
        if (lane->waits != 0) lane->waits = 0;
    }
};

}  // namespace

extern "C" {

__device__ __noinline__ SanitizerPatchResult btrace_enter(void *userdata, uint64_t pc) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.fresh(true);
    if (linearCTA() == 0 && threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        volatile Progress *p = h.launch->progress;
        p->start = globaltimer();
        p->grid = gridid();
    }
    h.record(vEnter);
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_exit(void *userdata, uint64_t pc) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vExit);
    uint32_t lanes;
    bool leads = h.leads(0, &lanes);
    if (h.lane->at != 0) {
        h.put(siteClose, 0, 1u << laneid());
        h.lane->at = 0;
    }
    if (leads) {
        Launch *l = h.launch;
        uint64_t n = __popc(lanes);
        __threadfence_system();
        uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(&l->exited), static_cast<unsigned long long>(n));
        if (before + n == l->threads) {
            volatile Progress *p = l->progress;
            p->end = globaltimer();
            __threadfence_system();
            p->done = 1;
        }
    }
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_bar(void *userdata, uint64_t pc, uint32_t bar, uint32_t count, uint32_t) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vBar, (count & 0xffff) << 15 | (bar & 0x7fff));
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_bar_release(void *userdata, uint64_t pc, uint32_t bar, uint32_t, uint32_t) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vBarDone, bar & 0x7fff);
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_syncwarp(void *userdata, uint64_t pc, uint32_t mask) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.recordMask(vSyncwarp, mask);
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_syncwarp_release(void *userdata, uint64_t pc, uint32_t mask) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.recordMask(vSyncwarpDone, mask);
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_cluster_arrive(void *userdata, uint64_t pc) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vClusterArrive);
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_cluster_wait(void *userdata, uint64_t pc) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vClusterWait);
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_cluster_done(void *userdata, uint64_t pc) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vClusterDone);
    return h.leave();
}

// The mbarrier operations but waits: what they are is told by kind. What is
// passed beside that is not used: see package sanitizer.
__device__ __noinline__ SanitizerPatchResult btrace_mbarrier(void *userdata, uint64_t pc, void *, uint32_t kind, uint32_t) {
    uint32_t variant;
    switch (kind) {
    case SANITIZER_CUDA_BARRIER_INIT: variant = vInit; break;
    case SANITIZER_CUDA_BARRIER_ARRIVE: variant = vArrive; break;
    case SANITIZER_CUDA_BARRIER_ARRIVE_DROP: variant = vArriveDrop; break;
    case SANITIZER_CUDA_BARRIER_ARRIVE_NOCOMPLETE: variant = vArriveNoComplete; break;
    case SANITIZER_CUDA_BARRIER_ARRIVE_DROP_NOCOMPLETE: variant = vArriveDropNoComplete; break;
    case SANITIZER_CUDA_BARRIER_INVALIDATE: variant = vInval; break;
    default: return SANITIZER_PATCH_SUCCESS;
    }
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(variant);
    return h.leave();
}

// One answer to a test_wait or try_wait. A lane that is told no again and again
// is recorded once.
__device__ __noinline__ SanitizerPatchResult btrace_mbarrier_attempt(void *userdata, uint64_t pc, void *barrier, uint32_t kind, uint32_t,
                                                                     uint32_t result) {
    if (kind != SANITIZER_CUDA_BARRIER_WAIT) return SANITIZER_PATCH_SUCCESS;
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.fresh(false);
    uint32_t waits = static_cast<uint32_t>(reinterpret_cast<uint64_t>(barrier)) + 1;
    if (result) {
        h.record(vDone);
        h.lane->waits = 0;
    } else if (h.lane->waits != waits) {
        h.record(vWait);
        h.lane->waits = waits;
    }
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_copy(void *userdata, uint64_t pc, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vCopy);
    return h.leave();
}

__device__ __noinline__ SanitizerPatchResult btrace_cp_async_arrive(void *userdata, uint64_t pc, uint32_t) {
    Here h(userdata, pc);
    if (h.off) return SANITIZER_PATCH_SUCCESS;
    h.comes();
    h.record(vCpAsyncArrive);
    return h.leave();
}
}
