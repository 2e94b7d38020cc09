// Tensors between JavaScript's typed arrays and TensorFlow's memory.
#pragma once

#include "env_state.h"

namespace tftrt {

void RegisterTensorFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
