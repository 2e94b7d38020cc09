// Functions of the addon for TensorRT engines.
#pragma once

#include <node_api.h>

namespace tftrt {

void RegisterEngineFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
