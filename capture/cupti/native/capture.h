// Stream captures in progress. While there is one the library makes no CUDA
// call: it could end the capture, or become part of it.
#pragma once

#include <cuda.h>

#include <atomic>
#include <mutex>
#include <set>

namespace btrace {

class Captures {
 public:
  void begin(CUstream s) {
    std::lock_guard<std::mutex> guard(lock_);
    streams_.insert(s);
    count_ = static_cast<int>(streams_.size());
  }
  void end(CUstream s) {
    std::lock_guard<std::mutex> guard(lock_);
    streams_.erase(s);
    count_ = static_cast<int>(streams_.size());
  }
  bool any() const { return count_ != 0; }
  // has says whether a capture began on this stream. Others may have joined it.
  bool has(CUstream s) {
    std::lock_guard<std::mutex> guard(lock_);
    return streams_.count(s) != 0;
  }

 private:
  std::mutex lock_;
  std::set<CUstream> streams_;
  std::atomic<int> count_{0};
};

// captures are those of this process.
Captures& captures();

}  // namespace btrace
