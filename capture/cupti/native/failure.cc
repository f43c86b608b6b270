#include "failure.h"

#include <mutex>
#include <set>

#include "channel.h"
#include "context.h"
#include "driver.h"

namespace btrace {
namespace {

// breaks says whether a result means that the context cannot be used any more:
// "sticky" in the driver's documentation.
bool breaks(CUresult r) {
  switch (r) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

void tell(uint64_t correlation, uint32_t context, CUresult r) {
  Message m(Type::Failed);
  m.u64(correlation).u32(context).u32(static_cast<uint32_t>(r)).text(resultName(r));
  channel().send(m);
}

// first says whether a context was not known to be broken before.
bool first(uint32_t context) {
  static auto* lock = new std::mutex;
  static auto* broken = new std::set<uint32_t>;
  std::lock_guard<std::mutex> guard(*lock);
  return broken->insert(context).second;
}

}  // namespace

void launchResult(const CUpti_CallbackData* c) {
  CUresult r = *static_cast<const CUresult*>(c->functionReturnValue);
  if (r == CUDA_SUCCESS) return;
  tell(c->correlationId, contextNumber(c->context), r);
  callResult(c);
}

void callResult(const CUpti_CallbackData* c) {
  CUresult r = *static_cast<const CUresult*>(c->functionReturnValue);
  if (!breaks(r)) return;
  uint32_t context = contextNumber(c->context ? c->context : currentContext());
  if (first(context)) tell(0, context, r);
}

}  // namespace btrace
