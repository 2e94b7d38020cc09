#include "runtime.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "error.h"
#include "foreign_memory.h"
#include "google/protobuf/util/json_util.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/tfe_context_internal.h"
#include "tensorflow/core/common_runtime/device/device_event_mgr.h"
#include "tensorflow/core/common_runtime/gpu/gpu_process_state.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_base.h"
#include "transfers.h"
#include "tsl/platform/cpu_info.h"
#include "tsl/platform/tensor_float_32_utils.h"
#include "xla/stream_executor/stream.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

std::mutex runtime_mutex;

absl::Status FromTF(TF_Status* status) {
  return absl::Status(static_cast<absl::StatusCode>(TF_GetCode(status)), TF_Message(status));
}

}  // namespace

void ParseJson(const std::string& json, google::protobuf::Message* message, const std::string& what) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = false;
  const auto status = google::protobuf::util::JsonStringToMessage(json, message, options);
  if (!status.ok())
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("cannot parse ", what, ": ", status.ToString()));
}

std::string ToJson(const google::protobuf::Message& message) {
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json);
  if (!status.ok())
    throw Error("TFTRT_INTERNAL", absl::StrCat("cannot print a message as JSON: ", status.ToString()));
  return json;
}

const tf::Tensor& TensorOf(tf::TensorHandle* handle) {
  const tf::Tensor* tensor = nullptr;
  ThrowIfError(handle->Tensor(&tensor), "tensor");
  return *tensor;
}

struct Runtime::Process {
  Process(const std::string& config_json, bool allow_tf32, const MemoryLimits& limits);

  const std::string config_json;
  const bool allow_tf32;
  const MemoryLimits limits;
  tf::ConfigProto config;
  tf::EagerContext* eager_context = nullptr;
  std::vector<std::unique_ptr<GpuStream>> streams;  // one for each GPU device
  std::vector<std::unique_ptr<Runtime>> runtimes;
  std::unique_ptr<tf::thread::ThreadPool> async_threads;

  // Never deleted: TensorFlow's threads may outlive main(). Guarded by runtime_mutex until it is made.
  static Process* started;
};

Runtime::Process* Runtime::Process::started = nullptr;

Runtime& Runtime::Start(const std::string& config_json, bool allow_tf32, const MemoryLimits& limits,
                        size_t index) {
  std::lock_guard<std::mutex> lock(runtime_mutex);
  Process*& process = Process::started;
  if (process == nullptr) {
    process = new Process(config_json, allow_tf32, limits);
  } else if (process->config_json != config_json || process->allow_tf32 != allow_tf32 ||
             process->limits != limits) {
    throw Error("TFTRT_ALREADY_CONFIGURED",
                absl::StrCat("TensorFlow's devices were already made with the configuration ",
                             process->config_json, "; they cannot be made again with ", config_json,
                             ". Configure before the first use of the backend, in all threads alike."));
  }
  if (index >= process->runtimes.size()) {
    throw Error(
        "TFTRT_GPU_UNAVAILABLE",
        absl::StrCat("TensorFlow has made ", process->runtimes.size(), " devices that compute (",
                     process->runtimes[0]->device_name(), " is the first); there is no number ", index,
                     ". TensorFlow's own log says why it left one out: run again with "
                     "TF_CPP_MIN_LOG_LEVEL=0"));
  }
  return *process->runtimes[index];
}

Runtime& Runtime::Get() {
  std::lock_guard<std::mutex> lock(runtime_mutex);
  if (Process::started == nullptr) throw Error("TFTRT_NOT_STARTED", "the TensorFlow runtime is not started");
  return *Process::started->runtimes[0];
}

Runtime::Process::Process(const std::string& config_json, bool allow_tf32, const MemoryLimits& limits)
    : config_json(config_json), allow_tf32(allow_tf32), limits(limits) {
  tsl::enable_tensor_float_32_execution(allow_tf32);
  // RunCallable then returns once the GPU's work is enqueued, and reads are ordered by the stream. Read by
  // DirectSession when a session is made, so it is set before the first one.
  setenv("TF_SYNC_ON_FINISH", "false", /*overwrite=*/0);
  ParseJson(config_json, &config, "the configuration");
  const bool has_arena = LimitMemory(limits, &config);

  std::unique_ptr<TF_Status, void (*)(TF_Status*)> status(TF_NewStatus(), TF_DeleteStatus);
  std::unique_ptr<TFE_ContextOptions, void (*)(TFE_ContextOptions*)> options(TFE_NewContextOptions(),
                                                                             TFE_DeleteContextOptions);
  const std::string serialized = config.SerializeAsString();
  TFE_ContextOptionsSetConfig(options.get(), serialized.data(), serialized.size(), status.get());
  ThrowIfError(FromTF(status.get()), "configuration");
  // An operand that lives elsewhere (an int32 tensor in host memory, say) is copied to where the op wants it.
  TFE_ContextOptionsSetDevicePlacementPolicy(options.get(), TFE_DEVICE_PLACEMENT_SILENT);
  TFE_Context* context = TFE_NewContext(options.get(), status.get());
  ThrowIfError(FromTF(status.get()), "making TensorFlow's devices");
  eager_context = tf::ContextFromInterface(tf::unwrap(context));

  std::vector<tf::Device*> cpus, gpus;
  for (tf::Device* device : eager_context->local_device_mgr()->ListDevices()) {
    if (device->device_type() == "CPU") cpus.push_back(device);
    if (device->device_type() == "GPU") gpus.push_back(device);
  }
  const auto by_number = [](const tf::Device* a, const tf::Device* b) {
    return a->parsed_name().id < b->parsed_name().id;
  };
  std::sort(cpus.begin(), cpus.end(), by_number);
  std::sort(gpus.begin(), gpus.end(), by_number);
  for (tf::Device* gpu : gpus) {
    tf::Allocator* pinned =
        tf::GPUProcessState::singleton()->GetGpuHostAllocator(config.gpu_options(), gpu->NumaNode());
    void* stream = gpu->tensorflow_accelerator_device_info()->stream->platform_specific_handle().stream;
    streams.push_back(std::make_unique<GpuStream>(gpu, static_cast<CUstream>(stream), pinned));
  }
  const auto add = [this](tf::Device* device, tf::Device* arena) {
    runtimes.emplace_back(new Runtime(*this, runtimes.size(), device, arena));
  };
  // An arena follows its GPU's device: see LimitMemory.
  const size_t step = has_arena ? 2 : 1;
  for (size_t i = 0; i + step <= gpus.size(); i += step) add(gpus[i], has_arena ? gpus[i + 1] : nullptr);
  if (runtimes.empty()) {
    for (tf::Device* cpu : cpus) add(cpu, nullptr);
  }
}

Runtime::Runtime(Process& process, size_t index, tf::Device* device, tf::Device* arena)
    : process_(process),
      eager_context_(process.eager_context),
      index_(index),
      device_(device),
      gpu_(device->device_type() == "GPU" ? device : nullptr),
      arena_(arena),
      host_(gpu_ != nullptr ? nullptr : process.eager_context->CanonicalDevice(device)) {
  if (gpu_ != nullptr) {
    platform_device_id_ = PlatformDeviceId(*gpu_);
    compute_stream_ = StreamOf(gpu_).handle();
  }
  if (arena_ != nullptr) arena_stream_ = StreamOf(arena_).handle();
}

const tf::ConfigProto& Runtime::config() const { return process_.config; }

std::vector<tf::Device*> Runtime::devices() const {
  std::vector<tf::Device*> devices = eager_context_->local_device_mgr()->ListDevices();
  for (const auto& runtime : process_.runtimes)
    devices.erase(std::remove(devices.begin(), devices.end(), runtime->arena_), devices.end());
  return devices;
}

tf::thread::ThreadPool* Runtime::async_threads() {
  std::lock_guard<std::mutex> lock(runtime_mutex);
  std::unique_ptr<tf::thread::ThreadPool>& pool = process_.async_threads;
  if (!pool) {
    const int threads = std::max(4, tsl::port::MaxParallelism());
    pool = std::make_unique<tf::thread::ThreadPool>(tf::Env::Default(), "tftrt_async", threads);
  }
  return pool.get();
}

bool Runtime::OnDevice(tf::DataType dtype) const {
  return gpu_ != nullptr && dtype != tf::DT_INT32 && dtype != tf::DT_STRING && dtype != tf::DT_RESOURCE &&
         dtype != tf::DT_VARIANT;
}

namespace {

tf::Tensor AllocateFrom(tf::Allocator* allocator, tf::DataType dtype, const tf::TensorShape& shape) {
  tf::AllocationAttributes attributes;
  tf::Tensor tensor(allocator, dtype, shape, attributes);
  if (!tensor.IsInitialized()) {
    throw Error("TFTRT_RESOURCE_EXHAUSTED",
                absl::StrCat("cannot allocate a tensor of shape ", shape.DebugString(), " and dtype ",
                             tf::DataTypeString(dtype), " (", shape.num_elements() * tf::DataTypeSize(dtype),
                             " bytes) from ", allocator->Name(),
                             ": dispose tensors that are no longer needed, or use smaller ones"));
  }
  return tensor;
}

}  // namespace

tf::Tensor Runtime::Allocate(tf::DataType dtype, const tf::TensorShape& shape) {
  if (!OnDevice(dtype)) return AllocateFrom(tf::cpu_allocator(), dtype, shape);
  // The context's device was made with the process's GPU options; this is the same allocator that
  // GPUProcessState::GetGPUAllocator(TfDeviceId(0)) returns once that device exists.
  return AllocateFrom(gpu_->GetAllocator(tf::AllocatorAttributes()), dtype, shape);
}

tf::Tensor Runtime::AllocateInArena(tf::DataType dtype, const tf::TensorShape& shape) {
  return AllocateFrom(arena_->GetAllocator(tf::AllocatorAttributes()), dtype, shape);
}

tf::Tensor Runtime::AllocateStaging(tf::DataType dtype, const tf::TensorShape& shape) {
  if (gpu_ == nullptr || dtype == tf::DT_STRING) return AllocateFrom(tf::cpu_allocator(), dtype, shape);
  tf::Allocator* pinned =
      tf::GPUProcessState::singleton()->GetGpuHostAllocator(config().gpu_options(), gpu_->NumaNode());
  return AllocateFrom(pinned, dtype, shape);
}

GpuStream& Runtime::StreamOf(tf::Device* device) {
  for (const auto& stream : process_.streams) {
    if (stream->device() == device) return *stream;
  }
  throw Error("TFTRT_INTERNAL",
              absl::StrCat(device == nullptr ? "the host" : device->name(), " has no stream"));
}

HandlePtr Runtime::Wrap(tf::Tensor tensor, bool on_device) {
  tf::Device* device = on_device ? gpu_ : host_;
  return HandlePtr(tf::TensorHandle::CreateLocalHandle(std::move(tensor), device, device, eager_context_));
}

bool Runtime::IsOnDevice(tf::TensorHandle* handle) {
  tf::Device* device = handle->device();
  return gpu_ != nullptr && device != nullptr && device->device_type() == "GPU";
}

tf::Tensor Runtime::TensorOn(tf::TensorHandle* handle, bool on_device) {
  const tf::Tensor& tensor = TensorOf(handle);
  if (gpu_ == nullptr || on_device == IsOnDevice(handle)) return tensor;
  const size_t bytes = tensor.TotalBytes();
  if (on_device) {
    tf::Tensor copy =
        AllocateFrom(gpu_->GetAllocator(tf::AllocatorAttributes()), tensor.dtype(), tensor.shape());
    StreamOf(gpu_).CopyFromHost(copy.data(), tensor.data(), bytes, /*booleans=*/false);
    return copy;
  }
  tf::Tensor copy = AllocateFrom(tf::cpu_allocator(), tensor.dtype(), tensor.shape());
  GpuRead(StreamOf(handle->device()), tensor.data(), bytes).Finish(copy.data(), kPatientRead);
  return copy;
}

void Runtime::Drain() {
  if (gpu_ == nullptr) return;
  ReleaseCallback::WaitForAll();
  GetTransfers().AddSynchronization();
  const auto* device = gpu_->tensorflow_accelerator_device_info();
  absl::Notification drained;
  device->event_mgr->ThenExecute(device->stream, [&drained] { drained.Notify(); });
  drained.WaitForNotification();
}

void Runtime::Synchronize() {
  // Not for the whole device: that is an error while a CUDA graph is recorded on another stream.
  if (gpu_ != nullptr) StreamOf(gpu_).Synchronize();
}

}  // namespace tftrt
