#include "runtime_functions.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <optional>

#include "napi_helpers.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/util/util.h"
#include "transfers.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Arguments: ConfigProto in JSON, whether float32 may be TF32, command buffer (Int32Array), error class
// (constructor of (code, message)), limit of each GPU's memory and the arena's part of it in bytes, 0 for
// none, into how many devices to divide a GPU, the number of the device that computes, and Node.js's
// setImmediate. Returns TensorFlow's version.
Napi::Value Start(EnvState& state, const Napi::CallbackInfo& info) {
  if (!info[3].IsFunction())
    throw Error("TFTRT_INVALID_ARGUMENT", "start: the error class must be a constructor");
  state.SetErrorClass(info[3].As<Napi::Function>());
  if (!info[8].IsFunction()) throw Error("TFTRT_INVALID_ARGUMENT", "start: setImmediate must be a function");
  state.SetImmediate(info.Env(), info[8]);
  MemoryLimits limits;
  if (info[4].IsNumber()) limits.limit_bytes = info[4].As<Napi::Number>().Int64Value();
  if (info[5].IsNumber()) limits.arena_bytes = info[5].As<Napi::Number>().Int64Value();
  if (info[6].IsNumber()) limits.virtual_gpus = info[6].As<Napi::Number>();
  const uint32_t index = info[7].IsNumber() ? info[7].As<Napi::Number>().Uint32Value() : 0;
  state.set_runtime(&Runtime::Start(info[0].As<Napi::String>(), info[1].As<Napi::Boolean>(), limits, index));
  state.AttachCommands(info.Env(), info[2].As<Napi::Int32Array>());
  return Napi::String::New(info.Env(), TF_Version());
}

// Argument: the new, longer command buffer.
Napi::Value AttachCommands(EnvState& state, const Napi::CallbackInfo& info) {
  state.AttachCommands(info.Env(), info[0].As<Napi::Int32Array>());
  return info.Env().Undefined();
}

// The device for programs that are to be captured; empty where nothing is.
Napi::Value ArenaName(EnvState& state, const Napi::CallbackInfo& info) {
  tf::Device* arena = state.runtime().arena();
  return Napi::String::New(info.Env(), arena == nullptr ? "" : arena->name());
}

// [{name, type, memoryLimitBytes, description}] of TensorFlow's devices.
Napi::Value Devices(EnvState& state, const Napi::CallbackInfo& info) {
  Napi::Array array = Napi::Array::New(info.Env());
  for (tf::Device* device : state.runtime().devices()) {
    Napi::Object object = Napi::Object::New(info.Env());
    object.Set("name", device->name());
    object.Set("type", device->device_type());
    object.Set("memoryLimitBytes", static_cast<double>(device->attributes().memory_limit()));
    object.Set("description", device->attributes().physical_device_desc());
    array.Set(array.Length(), object);
  }
  return array;
}

Napi::Value DeviceName(EnvState& state, const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), state.runtime().device_name());
}

// Argument: dtype. Whether tensors of that dtype live in device memory.
Napi::Value OnDevice(EnvState& state, const Napi::CallbackInfo& info) {
  const int32_t dtype = info[0].As<Napi::Number>();
  return Napi::Boolean::New(info.Env(), state.runtime().OnDevice(static_cast<tf::DataType>(dtype)));
}

// Whether TensorFlow's CPU graphs use oneDNN's kernels (TF_ENABLE_ONEDNN_OPTS, processor).
Napi::Value OneDnnEnabled(EnvState&, const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), tf::IsMKLEnabled());
}

Napi::Value Synchronize(EnvState& state, const Napi::CallbackInfo& info) {
  state.runtime().Synchronize();
  return info.Env().Undefined();
}

Napi::Value ToObject(Napi::Env env, const Transfers::Copies& copies) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("count", static_cast<double>(copies.count));
  object.Set("bytes", static_cast<double>(copies.bytes));
  return object;
}

// This environment's live objects, the device allocator's figures where there are any, and the process's
// transfers.
Napi::Value Stats(EnvState& state, const Napi::CallbackInfo& info) {
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("tensors", static_cast<double>(state.tensors.size()));
  object.Set("tensorBytes", static_cast<double>(state.tensor_bytes));
  object.Set("programs", static_cast<double>(state.programs.size()));
  object.Set("callables", static_cast<double>(state.callables.size()));
  object.Set("graphs", static_cast<double>(state.graphs.size()));
  object.Set("capturedGraphs", static_cast<double>(state.captured_graphs.size()));
  object.Set("preparedOps", static_cast<double>(state.ops.size()));
  if (tf::Device* gpu = state.runtime().gpu()) {
    const std::optional<tf::AllocatorStats> stats = gpu->GetAllocator(tf::AllocatorAttributes())->GetStats();
    if (stats) {
      object.Set("deviceBytesInUse", static_cast<double>(stats->bytes_in_use));
      object.Set("devicePeakBytes", static_cast<double>(stats->peak_bytes_in_use));
      if (stats->bytes_limit) object.Set("deviceLimitBytes", static_cast<double>(*stats->bytes_limit));
    }
  }
  if (tf::Device* arena = state.runtime().arena()) {
    const std::optional<tf::AllocatorStats> stats =
        arena->GetAllocator(tf::AllocatorAttributes())->GetStats();
    if (stats) object.Set("graphArenaBytesInUse", static_cast<double>(stats->bytes_in_use));
  }
  const Transfers& transfers = GetTransfers();
  Napi::Object counts = Napi::Object::New(info.Env());
  counts.Set("hostToDevice", ToObject(info.Env(), transfers.host_to_device));
  counts.Set("deviceToHost", ToObject(info.Env(), transfers.device_to_host));
  counts.Set("deviceToDevice", ToObject(info.Env(), transfers.device_to_device));
  counts.Set("synchronizations", static_cast<double>(transfers.synchronizations));
  object.Set("transfers", counts);
  return object;
}

// Has the system kill this process when the thread that started it ends. Argument: the parent's process id;
// true if it still is the parent.
Napi::Value EndWithParent(EnvState&, const Napi::CallbackInfo& info) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return Napi::Boolean::New(info.Env(), getppid() == info[0].As<Napi::Number>().Int32Value());
}

}  // namespace

void RegisterRuntimeFunctions(napi_env env, napi_value exports) {
  Export<Guarded<Start>>(env, exports, "start");
  Export<Guarded<AttachCommands>>(env, exports, "attachCommands");
  Export<Guarded<Devices>>(env, exports, "devices");
  Export<Guarded<DeviceName>>(env, exports, "deviceName");
  Export<Guarded<ArenaName>>(env, exports, "arenaName");
  Export<Guarded<OnDevice>>(env, exports, "onDevice");
  Export<Guarded<OneDnnEnabled>>(env, exports, "oneDnnEnabled");
  Export<Guarded<Synchronize>>(env, exports, "synchronize");
  Export<Guarded<Stats>>(env, exports, "stats");
  Export<Guarded<EndWithParent>>(env, exports, "endWithParent");
}

}  // namespace tftrt
