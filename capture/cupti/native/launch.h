// Launches: what the recorder is told before a kernel runs.
#pragma once

#include <cupti.h>

namespace btrace {

// launchCall handles the entry and exit of driver functions that launch; it says
// whether the function is one of them.
bool launchCall(CUpti_CallbackId id, const CUpti_CallbackData* c);

// captureCall does so for functions that begin and end stream captures.
bool captureCall(CUpti_CallbackId id, const CUpti_CallbackData* c);

// nodeCreated is called when a node is added to a graph: by a launch, if that is
// captured.
void nodeCreated();

}  // namespace btrace
