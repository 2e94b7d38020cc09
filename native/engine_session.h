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

#include "tensorflow/core/public/session.h"

namespace tftrt {

// How many threads load engines of a session.
using EngineLoads = std::atomic<int>;

// While it lives, allocations of the session with these loads wait for the GPU; for `loads` null it does
// nothing.
class LoadingEngines {
 public:
  explicit LoadingEngines(EngineLoads* loads) : loads_(loads) {
    if (loads_ != nullptr) loads_->fetch_add(1);
  }
  ~LoadingEngines() {
    if (loads_ != nullptr) loads_->fetch_sub(1);
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
