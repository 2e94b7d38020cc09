// Functions of the addon for canonical graphs.
#pragma once

#include <node_api.h>

namespace tftrt {

void RegisterGraphFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
