// The runtime and this environment's state for JavaScript.
#pragma once

#include "env_state.h"

namespace tftrt {

void RegisterRuntimeFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
