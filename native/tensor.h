// Tensors between JavaScript's typed arrays and TensorFlow's memory.
#pragma once

#include "env_state.h"

namespace tftrt {

// The shape whose dimensions are in the command buffer.
tensorflow::TensorShape ShapeFromCommands(EnvState& state, int rank);
// A dtype from its number.
tensorflow::DataType GetDataType(napi_env env, napi_value value);

void RegisterTensorFunctions(napi_env env, napi_value exports);

}  // namespace tftrt
