// Device memory that other CUDA code of the process allocated: tensors over it, and telling its owner when
// they are done with it.
#pragma once

#include <napi.h>

#include <memory>
#include <mutex>

#include "gpu_stream.h"
#include "tensorflow/core/framework/tensor.h"

namespace tftrt {

// A JavaScript function to be called once, from any thread. It does not keep the event loop alive, and is not
// called once its environment ends.
class ReleaseCallback {
 public:
  static std::shared_ptr<ReleaseCallback> Make(napi_env env, napi_value function);
  // Calls the function on the JavaScript thread as soon as all work that is enqueued on the stream has ended.
  // Returns at once; from any thread.
  static void CallWhenDone(std::shared_ptr<ReleaseCallback> callback, GpuStream& stream);
  // Waits until no other thread is at work for CallWhenDone any more.
  static void WaitForAll();

 private:
  static void OnCall(napi_env env, napi_value function, void* holder, void*);
  static void OnEnvCleanup(void* holder);

  std::mutex mutex_;
  napi_threadsafe_function call_ = nullptr;  // null once it was called or the environment ends
};

// A tensor that uses `pointer` in place. `release`, which may be null, is called when TensorFlow let go of
// the tensor and all work that was enqueued until then has ended.
tensorflow::Tensor TensorOver(GpuStream& stream, void* pointer, tensorflow::DataType dtype,
                              const tensorflow::TensorShape& shape, std::shared_ptr<ReleaseCallback> release);

}  // namespace tftrt
