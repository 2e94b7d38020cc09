// The TensorFlow runtimes of the process, one for each device that computes: the device, its memory and its
// streams. They share one eager context. JavaScript environments (worker threads) share the runtimes, which
// live until the process ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device_memory.h"
#include "gpu_stream.h"
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/common_runtime/eager/context.h"
#include "tensorflow/core/common_runtime/eager/tensor_handle.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/platform/threadpool.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tftrt {

struct HandleUnref {
  void operator()(tensorflow::TensorHandle* handle) const { handle->Unref(); }
};
// Owns one reference of a TensorFlow eager tensor handle: a tensor and the device it lives on.
using HandlePtr = std::unique_ptr<tensorflow::TensorHandle, HandleUnref>;
// One more reference, for whoever must not lose the tensor when its owner disposes of it.
inline HandlePtr NewReference(tensorflow::TensorHandle* handle) {
  handle->Ref();
  return HandlePtr(handle);
}

class Runtime {
 public:
  // Starts the runtimes with a tensorflow.ConfigProto in JSON. `allow_tf32`: whether GPUs may round the
  // operands of float32 matrix products and convolutions to TF32. Starting again with the same arguments does
  // nothing; with others it throws TFTRT_ALREADY_CONFIGURED, because TensorFlow's devices are made once per
  // process. Returns the runtime of device number `index`.
  static Runtime& Start(const std::string& config_json, bool allow_tf32, const MemoryLimits& limits,
                        size_t index);
  // The runtime of the first device; throws TFTRT_NOT_STARTED before Start.
  static Runtime& Get();

  tensorflow::EagerContext* eager_context() { return eager_context_; }
  const tensorflow::ConfigProto& config() const;
  // Where this runtime computes.
  tensorflow::Device* device() const { return device_; }
  // The same, or null where the CPU computes.
  tensorflow::Device* gpu() const { return gpu_; }
  const std::string& device_name() const { return device_->name(); }
  // Whether TensorFlow takes this device for what is placed nowhere.
  bool is_default() const { return index_ == 0; }
  // Where to place an eager op: null leaves it to TensorFlow.
  const char* eager_placement() const { return is_default() ? nullptr : device_->name().c_str(); }
  // The device that CUDA graphs are captured on, on the same GPU as gpu(); null where nothing is captured.
  tensorflow::Device* arena() const { return arena_; }
  int platform_device_id() const { return platform_device_id_; }
  // The streams on which TensorFlow enqueues the devices' work.
  CUstream compute_stream() const { return compute_stream_; }
  CUstream arena_stream() const { return arena_stream_; }
  // The process's, without the arenas, which are nothing to place ops on.
  std::vector<tensorflow::Device*> devices() const;
  // Threads for asynchronous runs, loads and reads.
  tensorflow::thread::ThreadPool* async_threads();

  // Whether TensorFlow keeps tensors of this dtype on the device; int32, strings and handles stay in host
  // memory.
  bool OnDevice(tensorflow::DataType dtype) const;
  // A tensor in the device allocator's memory, or in host memory where OnDevice is false.
  tensorflow::Tensor Allocate(tensorflow::DataType dtype, const tensorflow::TensorShape& shape);
  tensorflow::Tensor AllocateInArena(tensorflow::DataType dtype, const tensorflow::TensorShape& shape);
  // A host tensor that the GPU copies from fast.
  tensorflow::Tensor AllocateStaging(tensorflow::DataType dtype, const tensorflow::TensorShape& shape);
  // The compute stream of a GPU device of TensorFlow's, of this runtime or another one.
  GpuStream& StreamOf(tensorflow::Device* device);

  // Wraps a tensor: in device memory when `on_device`, else in host memory (that of the CPU device that
  // computes).
  HandlePtr Wrap(tensorflow::Tensor tensor, bool on_device);
  // The tensor behind a handle, copied to the wanted side first if it lives on the other one.
  tensorflow::Tensor TensorOn(tensorflow::TensorHandle* handle, bool on_device);
  // Whether the handle's tensor lives in device memory.
  bool IsOnDevice(tensorflow::TensorHandle* handle);
  // Waits for the device to finish all enqueued work.
  void Synchronize();
  // As Synchronize, and waits for TensorFlow's own callbacks on that work: nothing of ours uses the driver
  // after it.
  void Drain();

 private:
  // What the runtimes share.
  struct Process;
  Runtime(Process& process, size_t index, tensorflow::Device* device, tensorflow::Device* arena);

  Process& process_;
  tensorflow::EagerContext* const eager_context_;
  const size_t index_;
  tensorflow::Device* const device_;
  tensorflow::Device* const gpu_;
  tensorflow::Device* const arena_;
  // Of a second CPU device; TensorFlow has null for the first one.
  tensorflow::Device* const host_;
  int platform_device_id_ = 0;
  CUstream compute_stream_ = nullptr;
  CUstream arena_stream_ = nullptr;
};

// The tensor of a handle that is ready. Throws when TensorFlow poisoned it.
const tensorflow::Tensor& TensorOf(tensorflow::TensorHandle* handle);

// Parses proto3 JSON into `message`; errors name `what`.
void ParseJson(const std::string& json, google::protobuf::Message* message, const std::string& what);
// Prints `message` as proto3 JSON.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace tftrt
