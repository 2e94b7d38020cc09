// Dtypes at the boundary between a graph and JavaScript, which has float32, int32, bool, string and complex64
// only.
#pragma once

#include <string>

#include "runtime.h"

namespace tftrt {

// The dtype that JavaScript uses for a graph's dtype; DT_INVALID where there is none (resources, variants,
// …).
tensorflow::DataType JsType(tensorflow::DataType dtype);

// The input in the dtype that the graph wants. Throws TFTRT_INVALID_ARGUMENT unless JsType(wanted) is the
// input's dtype.
HandlePtr CastInput(Runtime& runtime, tensorflow::TensorHandle* input, tensorflow::DataType wanted,
                    const std::string& name);

// The output in its JavaScript dtype. 64-bit and uint32 values must fit int32: TFTRT_OUT_OF_RANGE otherwise.
HandlePtr CastOutput(Runtime& runtime, HandlePtr output, const std::string& name);

}  // namespace tftrt
