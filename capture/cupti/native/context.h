// Contexts, and the ring that the kernels of each write to: memory of the
// recorder's, registered with the driver, and a ticket counter on the device.
// ../ring/doc.go says what lies where in it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace btrace {

// contextCreated gets a ring for a context from the recorder. Without one, the
// control blocks of the context's modules stay 0 and nothing is recorded.
void contextCreated(CUcontext context);
// announceFirst tells the recorder of the first context before there is one: it
// has to know the device before it answers an image, and the runtime loads code
// first. Contexts are numbered from 1, and the first is on device 0 but in
// programs that choose another, where the devices are of one kind as a rule.
void announceFirst();
// contextEnding is called when a context begins to go away, contextsEnded when
// a call that ends contexts is over.
void contextEnding(CUcontext context);
void contextsEnded();

// abandonRings tells the lanes that wait for the recorder to free memory that it
// will not: they drop their records and go on. For when the recorder is gone.
void abandonRings();

// contextNumber is CUPTI's number for a context: from 1, 0 for none.
uint32_t contextNumber(CUcontext context);
// currentContext is this thread's.
CUcontext currentContext();

// fillControl writes a context's control block to a variable of that many bytes
// at a device address. The context is current. It does not wait for the
// program's own streams: a kernel that hangs must not hold up a load.
CUresult fillControl(CUcontext context, CUdeviceptr at, size_t bytes);

}  // namespace btrace
