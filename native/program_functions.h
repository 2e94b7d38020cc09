// Programs and callables for JavaScript.
#pragma once

#include "env_state.h"

namespace tftrt {

void RegisterProgramFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
