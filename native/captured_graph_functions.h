// Functions of the addon for CUDA graphs.
#pragma once

#include <node_api.h>

namespace tftrt {

void RegisterCapturedGraphFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
