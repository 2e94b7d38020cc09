// GraphDefs as users bring them: reading, describing and cutting them down, under their own names.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tftrt {

// The bytes of a serialized tensorflow.GraphDef. Throws TFTRT_INVALID_GRAPH_DEF for anything else.
tensorflow::GraphDef ParseGraph(const void* data, size_t bytes);

// A GraphDef in a file, serialized.
tensorflow::GraphDef ReadGraph(const std::string& file);
void WriteGraph(const tensorflow::GraphDef& graph, const std::string& file);

// Adds a node without attributes.
tensorflow::NodeDef* AddNode(tensorflow::GraphDef* graph, const std::string& name, const std::string& op,
                             const std::vector<std::string>& inputs = {});
void AddConstant(tensorflow::GraphDef* graph, const std::string& name, const tensorflow::Tensor& value);

// What outputs need of a graph, and what they are.
struct GraphEndpoints {
  // Named "node:index".
  std::vector<tensorflow::TensorInfo> inputs;
  std::vector<tensorflow::TensorInfo> outputs;
  // The TRTEngineOp nodes among what the outputs need.
  std::vector<std::string> engines;
};

// `feeds`: names of tensors, or empty for all Placeholders that the outputs need, in the graph's order.
// Throws TFTRT_UNKNOWN_OUTPUT, TFTRT_UNKNOWN_INPUT, TFTRT_MISSING_INPUT for a Placeholder that is needed and
// not fed, TFTRT_NOT_FROZEN where the outputs need a variable.
GraphEndpoints DescribeEndpoints(const tensorflow::GraphDef& graph, const std::vector<std::string>& feeds,
                                 const std::vector<std::string>& fetches);

// What the fetches need of the graph, in the graph's order. Placeholders get these shapes.
tensorflow::GraphDef CutDown(const tensorflow::GraphDef& graph, const std::vector<std::string>& fetches,
                             const std::unordered_map<std::string, tensorflow::TensorShapeProto>& shapes);

// The dtype of an output of a node; throws TFTRT_NOT_FOUND where there is no such output.
tensorflow::DataType OutputType(const tensorflow::FunctionLibraryDefinition& functions,
                                const tensorflow::NodeDef& node, int index);

}  // namespace tftrt
