// The addon's registration: one EnvState for each JavaScript environment and device, and the list of
// functions.
#include "eager.h"
#include "env_state.h"
#include "gpu_functions.h"
#include "graph_def_functions.h"
#include "graph_functions.h"
#include "napi_helpers.h"
#include "program_functions.h"
#include "runtime_functions.h"
#include "tensor.h"

namespace tftrt {

namespace {

// Gives `exports` the functions, bound to the state.
void RegisterFunctions(napi_env env, napi_value exports, EnvState* state) {
  Check(env, napi_wrap(env, exports, state, nullptr, nullptr, nullptr));
  RegisterRuntimeFunctions(env, exports);
  RegisterTensorFunctions(env, exports);
  RegisterEagerFunctions(env, exports);
  RegisterProgramFunctions(env, exports);
  RegisterGraphFunctions(env, exports);
  RegisterGraphDefFunctions(env, exports);
  RegisterGpuFunctions(env, exports);
}

// Returns an object with the addon's functions for one more device: `start` says which.
napi_value ForAnotherDevice(napi_env env, EnvState& state, napi_callback_info) {
  napi_value exports;
  Check(env, napi_create_object(env, &exports));
  state.others.push_back(std::make_unique<EnvState>(env));
  RegisterFunctions(env, exports, state.others.back().get());
  return exports;
}

napi_value Initialize(napi_env env, napi_value exports) {
  try {
    auto state = std::make_unique<EnvState>(env);
    Check(env, napi_set_instance_data(
                   env, state.get(), [](napi_env, void* data, void*) { delete static_cast<EnvState*>(data); },
                   nullptr));
    RegisterFunctions(env, exports, state.release());
    Export<Guarded<ForAnotherDevice>>(env, exports, "forAnotherDevice");
  } catch (const Error& error) {
    napi_throw_error(env, error.code().c_str(), error.what());
    return nullptr;
  }
  return exports;
}

}  // namespace

}  // namespace tftrt

NAPI_MODULE_INIT() { return tftrt::Initialize(env, exports); }
