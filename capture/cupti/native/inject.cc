// The injection library of btrace record: the CUDA driver loads it into the
// program that is recorded (CUDA_INJECTION64_PATH) and calls InitializeInjection
// from cuInit.
//
// It tells the recorder, over a socket, of contexts, code, launches and failures,
// loads what the recorder answers in place of the program's code, and gives that
// code the memory to write its records to. It reads no record itself. Without a
// recorder it does nothing.
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "activity.h"
#include "capture.h"
#include "channel.h"
#include "context.h"
#include "driver.h"
#include "failure.h"
#include "launch.h"
#include "module.h"

namespace btrace {
namespace {

constexpr uint32_t kProtocol = 1;
constexpr uint32_t kRole = 1;

void note(const std::string& text) {
  Message m(Type::Note);
  m.text(text);
  channel().send(m);
}

void onResource(CUpti_CallbackId id, const CUpti_ResourceData* r) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      contextCreated(r->context);
      break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      contextEnding(r->context);
      contextGone(r->context);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      nodeCreated();
      break;
    default:
      break;
  }
}

void onDriverCall(CUpti_CallbackId id, const CUpti_CallbackData* c) {
  if (launchCall(id, c) || captureCall(id, c)) return;
  if (moduleCall(id, c) || c->callbackSite != CUPTI_API_EXIT) return;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2:
      contextsEnded();
      break;
    default:
      callResult(c);
  }
}

void CUPTIAPI onCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (Inside::depth() > 0 || !channel().open()) return;
  Inside inside;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    onResource(id, static_cast<const CUpti_ResourceData*>(data));
  else if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
    onDriverCall(id, static_cast<const CUpti_CallbackData*>(data));
}

// subscribe returns what went wrong, or nothing.
std::string subscribe() {
  static CUpti_SubscriberHandle subscriber;
  CUptiResult r = cupti().Subscribe(&subscriber, onCallback, nullptr);
  if (r == CUPTI_SUCCESS) r = cupti().EnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  if (r == CUPTI_SUCCESS) r = cupti().EnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
  if (r == CUPTI_SUCCESS) return startActivity();
  if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return "another tool (a profiler, a sanitizer) is at work in this program: end it, or record without it";
  const char* s = nullptr;
  cupti().GetResultString(r, &s);
  return std::string("CUPTI cannot be subscribed to: ") + (s ? s : "?");
}

bool greet() {
  int version = 0;
  cu().DriverGetVersion(&version);
  Message m(Type::Hello);
  m.u32(kProtocol).u32(kRole).u32(static_cast<uint32_t>(getpid())).u32(static_cast<uint32_t>(version));
  m.text(program_invocation_name);
  Reply reply;
  if (!channel().ask(m, -1, Type::Welcome, reply)) return false;
  uint32_t protocol = reply.u32();
  reply.u32();
  std::string error = reply.text();
  return reply.whole() && protocol == kProtocol && error.empty();
}

// A forked child cannot use CUDA, and the conversation is its parent's.
void inChild() {
  forgetActivity();
  channel().abandon();
}

void atEnd() {
  if (!channel().open()) return;
  lastActivity();
  Message m(Type::Bye);
  channel().send(m);
  channel().close();
}

void start() {
  const char* path = getenv("BTRACE_SOCKET");
  if (!path || !*path || !channel().connect(path)) return;
  std::string error = openDriver();
  if (error.empty()) {
    if (!greet()) return channel().close();
    error = openCupti();
  }
  if (error.empty()) error = subscribe();
  if (!error.empty()) {
    note("nothing is recorded of " + std::string(program_invocation_short_name) + ": " + error);
    return channel().close();
  }
  pthread_atfork(nullptr, nullptr, inChild);
  atexit(atEnd);
}

}  // namespace
}  // namespace btrace

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  btrace::start();
  return 1;
}
