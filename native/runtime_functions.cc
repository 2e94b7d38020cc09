#include "runtime_functions.h"

#include <optional>

#include "napi_helpers.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/core/framework/allocator.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

void Set(napi_env env, napi_value object, const char* name, napi_value value) {
  Check(env, napi_set_named_property(env, object, name, value));
}

napi_value NewObject(napi_env env) {
  napi_value object;
  Check(env, napi_create_object(env, &object));
  return object;
}

// Arguments: ConfigProto in JSON, command buffer (Int32Array), error class (constructor of (code, message)).
napi_value Start(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<3> arguments(env, info);
  state.SetErrorClass(env, arguments[2]);
  state.AttachCommands(env, arguments[1]);
  state.set_runtime(&Runtime::Start(GetString(env, arguments[0])));
  return ToJs(env, std::string(TF_Version()));
}

// Argument: the new, longer command buffer.
napi_value AttachCommands(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  state.AttachCommands(env, arguments[0]);
  return nullptr;
}

// [{name, type, memoryLimitBytes, description}] of TensorFlow's devices.
napi_value Devices(napi_env env, EnvState& state, napi_callback_info) {
  napi_value array;
  Check(env, napi_create_array(env, &array));
  uint32_t index = 0;
  for (tf::Device* device : state.runtime().devices()) {
    napi_value object = NewObject(env);
    Set(env, object, "name", ToJs(env, device->name()));
    Set(env, object, "type", ToJs(env, device->device_type()));
    Set(env, object, "memoryLimitBytes", ToJs(env, static_cast<double>(device->attributes().memory_limit())));
    Set(env, object, "description", ToJs(env, device->attributes().physical_device_desc()));
    Check(env, napi_set_element(env, array, index++, object));
  }
  return array;
}

napi_value DeviceName(napi_env env, EnvState& state, napi_callback_info) {
  return ToJs(env, state.runtime().device_name());
}

// Argument: dtype. Whether tensors of that dtype live in device memory.
napi_value OnDevice(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  return ToJs(env, state.runtime().OnDevice(static_cast<tf::DataType>(GetInt(env, arguments[0]))));
}

napi_value Synchronize(napi_env, EnvState& state, napi_callback_info) {
  state.runtime().Synchronize();
  return nullptr;
}

// This environment's live objects, and the device allocator's figures where there are any.
napi_value Stats(napi_env env, EnvState& state, napi_callback_info) {
  napi_value object = NewObject(env);
  Set(env, object, "tensors", ToJs(env, static_cast<double>(state.tensors.size())));
  Set(env, object, "tensorBytes", ToJs(env, static_cast<double>(state.tensor_bytes)));
  Set(env, object, "programs", ToJs(env, static_cast<double>(state.programs.size())));
  Set(env, object, "callables", ToJs(env, static_cast<double>(state.callables.size())));
  Set(env, object, "preparedOps", ToJs(env, static_cast<double>(state.ops.size())));
  if (tf::Device* gpu = state.runtime().gpu()) {
    const std::optional<tf::AllocatorStats> stats = gpu->GetAllocator(tf::AllocatorAttributes())->GetStats();
    if (stats) {
      Set(env, object, "deviceBytesInUse", ToJs(env, static_cast<double>(stats->bytes_in_use)));
      Set(env, object, "devicePeakBytes", ToJs(env, static_cast<double>(stats->peak_bytes_in_use)));
      if (stats->bytes_limit) Set(env, object, "deviceLimitBytes", ToJs(env, static_cast<double>(*stats->bytes_limit)));
    }
  }
  return object;
}

}  // namespace

void RegisterRuntimeFunctions(napi_env env, napi_value exports) {
  Export<Guarded<Start>>(env, exports, "start");
  Export<Guarded<AttachCommands>>(env, exports, "attachCommands");
  Export<Guarded<Devices>>(env, exports, "devices");
  Export<Guarded<DeviceName>>(env, exports, "deviceName");
  Export<Guarded<OnDevice>>(env, exports, "onDevice");
  Export<Guarded<Synchronize>>(env, exports, "synchronize");
  Export<Guarded<Stats>>(env, exports, "stats");
}

}  // namespace tftrt
