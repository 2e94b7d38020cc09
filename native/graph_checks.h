// Checks of a graph that TensorFlow would make too late: its passes rely on them before.
#pragma once

#include "tensorflow/core/framework/graph.pb.h"

namespace tftrt {

// Throws TFTRT_INVALID_ARGUMENT, naming node and attribute, where an attribute has a value that its op does
// not allow or a dtype that is none, where a convolution or pool lacks an attribute, or a window, its steps
// or its dilations do not have one number, above 0, for each axis. TensorFlow would end the process.
void CheckAttributes(const tensorflow::GraphDef& graph);

// Throws TFTRT_INVALID_ARGUMENT, naming the node, for a constant without a value or with a shape that is
// none.
void CheckConstants(const tensorflow::GraphDef& graph);

}  // namespace tftrt
