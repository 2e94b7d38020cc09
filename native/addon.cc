// The addon's registration: one EnvState for each JavaScript environment, and the list of functions.
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

static napi_value Initialize(napi_env env, napi_value exports) {
  try {
    auto state = std::make_unique<EnvState>(env);
    Check(env, napi_set_instance_data(
                   env, state.get(), [](napi_env, void* data, void*) { delete static_cast<EnvState*>(data); },
                   nullptr));
    state.release();
    RegisterRuntimeFunctions(env, exports);
    RegisterTensorFunctions(env, exports);
    RegisterEagerFunctions(env, exports);
    RegisterProgramFunctions(env, exports);
    RegisterGraphFunctions(env, exports);
    RegisterGraphDefFunctions(env, exports);
    RegisterGpuFunctions(env, exports);
  } catch (const Error& error) {
    napi_throw_error(env, error.code().c_str(), error.what());
    return nullptr;
  }
  return exports;
}

}  // namespace tftrt

NAPI_MODULE_INIT() { return tftrt::Initialize(env, exports); }
