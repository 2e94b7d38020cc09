// For other CUDA code of the process: the compute stream, and device pointers in and out.
#pragma once

#include "env_state.h"

namespace tftrt {

void RegisterGpuFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
