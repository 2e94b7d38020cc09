// Which graphs can become CUDA graphs.
#pragma once

#include <string>

#include "google/protobuf/repeated_ptr_field.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tftrt {

// Why the partitions that TensorFlow made of a graph cannot be captured as a CUDA graph on `device`; empty
// where they can. What is not known to only enqueue work of fixed memory on one stream is refused: a wait or
// a copy from the host in the middle of a capture would end the process.
std::string ReasonNotToCapture(const google::protobuf::RepeatedPtrField<tensorflow::GraphDef>& partitions,
                               const std::string& device);

// Whether kernels of the graph may call cuDNN through TensorFlow.
bool MayUseCudnn(const google::protobuf::RepeatedPtrField<tensorflow::GraphDef>& partitions);

}  // namespace tftrt
