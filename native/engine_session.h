// Sessions of graphs with TensorRT engines.
//
// TensorFlow's allocator takes the GPU's memory back when the work that uses it is enqueued: whoever gets it
// next enqueues work of his own behind that, on the same stream. Not so TensorRT when it loads an engine: it
// copies the weights at once, on a stream of its own, to where work of other graphs may still read and write.
// So while engines are loaded, their session gets memory, and gives it back, as from cudaMalloc and cudaFree:
// the GPU has done before what was enqueued until then.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "tensorflow/core/public/session.h"

namespace tftrt {

// The loads of engines that go on in a session.
class EngineLoads {
 public:
  void Begin() { ++loads_; }
  // After the last, returns once nobody waits for the GPU on account of them: a recording, which may follow,
  // suffers no wait.
  void End() {
    if (--loads_ > 0) return;
    while (waits_ > 0) std::this_thread::yield();
  }
  // Calls `wait` if engines are loaded.
  template <typename Wait>
  void IfLoading(const Wait& wait) {
    if (loads_ == 0) return;
    ++waits_;
    if (loads_ > 0) wait();
    --waits_;
  }

 private:
  std::atomic<int> loads_{0};
  std::atomic<int> waits_{0};
};

// While it lives, allocations of the session with these loads wait for the GPU; for `loads` null it does
// nothing.
class LoadingEngines {
 public:
  explicit LoadingEngines(EngineLoads* loads) : loads_(loads) {
    if (loads_ != nullptr) loads_->Begin();
  }
  ~LoadingEngines() {
    if (loads_ != nullptr) loads_->End();
  }
  LoadingEngines(const LoadingEngines&) = delete;
  LoadingEngines& operator=(const LoadingEngines&) = delete;

 private:
  EngineLoads* const loads_;
};

// As tensorflow::NewSession, with devices whose allocations obey `loads`.
std::unique_ptr<tensorflow::Session> NewEngineSession(const tensorflow::SessionOptions& options,
                                                      std::shared_ptr<EngineLoads> loads);

}  // namespace tftrt
