// On which device the nodes of a graph run.
#pragma once

#include <string>

#include "runtime.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tftrt {

// Has all nodes run on this device, but those that are put on the CPU.
void PlaceOn(const std::string& device, tensorflow::GraphDef* graph);

// Has the graph run on the runtime's device, whichever GPUs it names: TensorFlow's numbers are not those of
// the GPUs (the memory for CUDA graphs is a device, too).
void PlaceOnRuntime(const Runtime& runtime, tensorflow::GraphDef* graph);

}  // namespace tftrt
