// The doors by which code comes into the program: what is loaded is what the
// recorder answers, and its control block is filled in before it runs.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace btrace {

// moduleCall handles the entry and exit of driver functions that load, look up
// and unload code; it says whether the function is one of them.
bool moduleCall(CUpti_CallbackId id, const CUpti_CallbackData* c);

// fillPending fills in the control blocks that could not be when their code was
// loaded: because a stream was captured, or a library came before its context.
void fillPending(CUcontext context);
// contextGone forgets what belonged to a context.
void contextGone(CUcontext context);

// moduleOf is the recorder's number of the module that a CUfunction (which may
// be a CUkernel) belongs to; 0 if it is none of the recorder's.
uint64_t moduleOf(CUfunction f);

}  // namespace btrace
