// Failures that the recorder has to know of: launches that were refused, and
// contexts that a kernel broke (a trap, a bad address).
#pragma once

#include <cupti.h>

namespace btrace {

// launchResult is called at the exit of a launch.
void launchResult(const CUpti_CallbackData* c);
// callResult is called at the exit of every other driver function: whichever is
// the first to answer with the error of a broken context.
void callResult(const CUpti_CallbackData* c);

}  // namespace btrace
