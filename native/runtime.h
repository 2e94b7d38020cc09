// The one TensorFlow runtime of the process: its eager context, its device and that device's memory. It is
// shared by all JavaScript environments (worker threads) and lives until the process ends.
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

class Runtime {
 public:
  // Starts the runtime with a tensorflow.ConfigProto in JSON. `allow_tf32`: whether GPUs may round the
  // operands of float32 matrix products and convolutions to TF32. Starting again with the same arguments does
  // nothing; with others it throws TFTRT_ALREADY_CONFIGURED, because TensorFlow's devices are made once per
  // process.
  static Runtime& Start(const std::string& config_json, bool allow_tf32, const MemoryLimits& limits);
  // The started runtime; throws TFTRT_NOT_STARTED before Start.
  static Runtime& Get();

  tensorflow::EagerContext* eager_context() { return eager_context_; }
  const tensorflow::ConfigProto& config() const { return config_; }
  // The first GPU, or null where the CPU computes.
  tensorflow::Device* gpu() { return gpu_; }
  const std::string& device_name() const { return device_name_; }
  // The device that CUDA graphs are captured on, on the same GPU as gpu(); null where nothing is captured.
  tensorflow::Device* arena() { return arena_; }
  int platform_device_id() const { return platform_device_id_; }
  // The streams on which TensorFlow enqueues the devices' work.
  CUstream compute_stream() const { return compute_stream_; }
  CUstream arena_stream() const { return arena_stream_; }
  // Without the arena, which is nothing to place ops on.
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
  // The compute stream of a GPU device of TensorFlow's.
  GpuStream& StreamOf(tensorflow::Device* device);

  // Wraps a tensor: in device memory when `on_device`, else in host memory.
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
  Runtime(const std::string& config_json, bool allow_tf32, const MemoryLimits& limits);

  const std::string config_json_;
  const bool allow_tf32_;
  const MemoryLimits limits_;
  tensorflow::ConfigProto config_;
  tensorflow::EagerContext* eager_context_ = nullptr;
  tensorflow::Device* gpu_ = nullptr;
  tensorflow::Device* arena_ = nullptr;
  int platform_device_id_ = 0;
  CUstream compute_stream_ = nullptr;
  CUstream arena_stream_ = nullptr;
  std::string device_name_;
  std::vector<std::unique_ptr<GpuStream>> streams_;  // one for each GPU device
  std::unique_ptr<tensorflow::thread::ThreadPool> async_threads_;
};

// The tensor of a handle that is ready. Throws when TensorFlow poisoned it.
const tensorflow::Tensor& TensorOf(tensorflow::TensorHandle* handle);

// Parses proto3 JSON into `message`; errors name `what`.
void ParseJson(const std::string& json, google::protobuf::Message* message, const std::string& what);
// Prints `message` as proto3 JSON.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace tftrt
