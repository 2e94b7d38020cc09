// One op at a time, through TensorFlow's eager runtime.
#pragma once

#include "env_state.h"

namespace tftrt {

void RegisterEagerFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
