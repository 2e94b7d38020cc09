// A graph cut down to what a set of outputs needs, under names that depend on nothing but its structure: what
// engines are built from and found again by, whoever loaded the model and from what format.
#pragma once

#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace tftrt {

struct CanonicalGraph {
  tensorflow::GraphDef graph;
  // Each feed is a Placeholder.
  std::vector<std::string> feeds;
  // "node:index".
  std::vector<std::string> fetches;
  // Nodes to run once, in this order.
  std::vector<std::string> initializers;
  // Differs where graph, constants, feeds or fetches do.
  std::string fingerprint;
};

// `feeds` and `fetches` are names of tensors ("node:index"), no fetch is fed. Throws TFTRT_NOT_FOUND for a
// tensor that the graph does not have.
CanonicalGraph Canonicalize(const tensorflow::GraphDef& graph, const std::vector<std::string>& feeds,
                            const std::vector<tensorflow::DataType>& feed_dtypes,
                            const std::vector<std::string>& fetches,
                            const std::vector<std::string>& initializers);

}  // namespace tftrt
