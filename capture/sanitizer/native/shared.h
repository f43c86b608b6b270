// What the library and the patches on the device share.
#ifndef BTRACE_SANITIZER_SHARED_H
#define BTRACE_SANITIZER_SHARED_H

#include <stdint.h>

namespace btrace {

// The ring, as package ring (capture/cupti/ring/doc.go) lays it out.
constexpr uint64_t ringMagic = 0x3152454341525442;  // "BTRACER1"
constexpr uint32_t ringVersion = 1;
constexpr uint32_t chunkBytes = 16384;  // and what chunks are aligned to
constexpr uint32_t slotBytes = 16;
constexpr uint32_t recordSlots = 4;  // the most of a record
constexpr uint32_t entryBits = 20;  // of a fifo's entry: the chunk plus 1; the others are the lap
constexpr uint32_t ringDrop = 1;     // flag: drop records when no chunk is free
constexpr uint32_t siteClose = 0;
constexpr uint32_t siteGap = 1;

struct RingHeader {
    uint64_t magic;
    uint32_t version, chunkBytes, chunks, flags;
    uint64_t fifo, chunksAt;
};

// The sites of one place in the code: its number plus one of these. They are
// in the order of capture/sanitizer/sites.go.
enum Variant : uint32_t {
    vEnter,
    vExit,
    vBar,
    vBarDone,
    vSyncwarp,
    vSyncwarpDone,
    vClusterArrive,
    vClusterWait,
    vClusterDone,
    vInit,
    vArrive,
    vArriveDrop,
    vArriveNoComplete,
    vArriveDropNoComplete,
    vInval,
    vWait,
    vDone,
    vCopy,
    vCpAsyncArrive,
    variants = 32,
};

// Lane has what is known of the lane that is in a place of the hardware: an
// SM, a slot for a warp, a lane. It is kept between callbacks.
struct Lane {
    uint64_t at;     // the next slot in its chunk; 0: it has none
    uint64_t grid;   // whose lane it is
    uint32_t cta;
    uint32_t warp;
    uint32_t lost;   // records dropped since its last
    uint32_t waits;  // for this mbarrier (its address plus 1); 0: it does not wait
};

constexpr uint32_t warpsPerSM = 64;  // hardware slots for warps, at most
constexpr uint32_t lanesPerSM = 32 * warpsPerSM;

// Context is in device memory, one a CUDA context.
struct Context {
    uint64_t ring;  // device addresses
    uint64_t fifo;
    uint64_t chunks;
    uint64_t ticket;  // of a u64
    Lane *lanes;      // lanesPerSM for each SM
    uint32_t mask;    // chunks-1
    uint32_t flags;
    uint32_t sms;
    uint32_t padding;
};

// Progress is in pinned host memory, one a launch. The device writes it.
struct Progress {
    uint64_t grid;   // %gridid, set once the launch began
    uint64_t start;  // %globaltimer of its first CTA's begin
    uint64_t end;    // and of its last thread's end
    uint64_t done;   // 1 once all threads have ended
};

// Launch is in device memory; the callbacks' user data points to it.
struct Launch {
    const Context *context;
    Progress *progress;
    const uint32_t *sites;  // site of each instruction from pcBase on; 0: none
    uint64_t pcBase;
    uint64_t threads;  // of the launch
    uint64_t exited;   // of them
    uint32_t pcCount;
    uint32_t generic;  // site of a place that is not in the table
};

}  // namespace btrace

#endif
