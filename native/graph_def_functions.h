// The Node-API face of graph_def.h.
#pragma once

#include <node_api.h>

namespace tftrt {

void RegisterGraphDefFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
