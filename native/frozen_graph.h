// The graph of a SavedModel with its functions inlined and its variables as constants: what TF-TRT converts
// and what CUDA graphs are captured from.
#pragma once

#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/grappler/grappler_item.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/public/session.h"

namespace tftrt {

struct FrozenGraph {
  tensorflow::GraphDef graph;
  // Nodes to run once, which fill the graph's tables.
  std::vector<std::string> initializers;
};

// `session` holds `graph` with its variables restored and its tables filled. `fetches` are names of tensors.
// Throws TFTRT_NOT_FREEZABLE where a variable that the fetches need is used by anything but a read.
FrozenGraph Freeze(tensorflow::Session* session, const tensorflow::GraphDef& graph,
                   const std::vector<std::string>& feeds, const std::vector<std::string>& fetches);

// Runs grappler's optimizers of these names, in this order, and none else.
tensorflow::GraphDef Optimize(tensorflow::GraphDef graph, const std::vector<std::string>& optimizers,
                              const std::vector<std::string>& feeds, const std::vector<std::string>& fetches);

// Runs grappler on the item, with this process's devices; `what` says what for, in errors.
tensorflow::GraphDef RunGrappler(tensorflow::grappler::GrapplerItem item,
                                 const tensorflow::ConfigProto& config, const std::string& what);

}  // namespace tftrt
