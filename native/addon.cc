// The addon's registration: one EnvState for each load and device, and the list of functions.
#include <memory>

#include "captured_graph_functions.h"
#include "eager.h"
#include "engine_functions.h"
#include "env_state.h"
#include "gpu_functions.h"
#include "graph_def_functions.h"
#include "graph_functions.h"
#include "host_allocator.h"
#include "napi_helpers.h"
#include "program_functions.h"
#include "runtime_functions.h"
#include "tensor.h"

namespace tftrt {

namespace {

// Gives `exports` the functions, bound to a state that lives as long as it does.
void Register(napi_env env, napi_value exports) {
  auto state = std::make_unique<EnvState>(env, exports);
  Check(env, napi_wrap(
                 env, exports, state.get(),
                 [](napi_env, void* data, void*) { delete static_cast<EnvState*>(data); }, nullptr, nullptr));
  state.release();
  RegisterRuntimeFunctions(env, exports);
  RegisterTensorFunctions(env, exports);
  RegisterEagerFunctions(env, exports);
  RegisterProgramFunctions(env, exports);
  RegisterGraphFunctions(env, exports);
  RegisterEngineFunctions(env, exports);
  RegisterCapturedGraphFunctions(env, exports);
  RegisterGraphDefFunctions(env, exports);
  RegisterGpuFunctions(env, exports);
}

// Returns an object with the addon's functions for one more device: `start` says which.
napi_value ForAnotherDevice(napi_env env, EnvState&, napi_callback_info) {
  napi_value exports;
  Check(env, napi_create_object(env, &exports));
  Register(env, exports);
  return exports;
}

thread_local bool listens = false;

napi_value OnExit(napi_env, napi_callback_info) {
  listens = false;  // a program may emit the event itself, and go on
  EnvState::FinishThread();
  return nullptr;
}

// For the end of the process: nothing may ask the GPU's driver once that is unloaded, and Node.js does not
// clean environments up when a program calls process.exit(). One listener serves all vm contexts of a thread
// and belongs to none of them; it is on the thread's own `process`, which test runners give contexts copies
// of.
void ListenForExit(napi_env env) {
  if (listens) return;
  napi_value global, process, once, event, listener;
  Check(env, napi_get_global(env, &global));
  Check(env, napi_get_named_property(env, global, "process", &process));
  Check(env, napi_get_named_property(env, process, "once", &once));
  Check(env, napi_create_string_utf8(env, "exit", NAPI_AUTO_LENGTH, &event));
  Check(env, napi_create_function(env, "tftrtExit", NAPI_AUTO_LENGTH, OnExit, nullptr, &listener));
  const napi_value arguments[] = {event, listener};
  Check(env, napi_call_function(env, process, once, 2, arguments, nullptr));
  listens = true;
}

napi_value Initialize(napi_env env, napi_value exports) {
  try {
    UseHostAllocator();
    Register(env, exports);
    Export<Guarded<ForAnotherDevice>>(env, exports, "forAnotherDevice");
    ListenForExit(env);
  } catch (const Error& error) {
    napi_throw_error(env, error.code().c_str(), error.what());
    return nullptr;
  }
  return exports;
}

}  // namespace

}  // namespace tftrt

NAPI_MODULE_INIT() { return tftrt::Initialize(env, exports); }
