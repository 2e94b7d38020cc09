#include "cpu_graph.h"

#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.pb.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

using Nodes = google::protobuf::RepeatedPtrField<tf::NodeDef>;

bool IsFloatingPointPad(const tf::NodeDef& node) {
  if (node.op() != "Pad" || node.input_size() < 2) return false;
  const auto found = node.attr().find("T");
  if (found == node.attr().end()) return false;
  const tf::DataType dtype = found->second.type();
  return dtype == tf::DT_FLOAT || dtype == tf::DT_HALF || dtype == tf::DT_BFLOAT16;
}

tf::NodeDef Zero(const std::string& name, tf::DataType dtype) {
  tf::NodeDef zero;
  zero.set_name(name);
  zero.set_op("Const");
  (*zero.mutable_attr())["dtype"].set_type(dtype);
  tf::TensorProto* value = (*zero.mutable_attr())["value"].mutable_tensor();
  value->set_dtype(dtype);
  value->mutable_tensor_shape();  // a scalar
  if (dtype == tf::DT_FLOAT) {
    value->add_float_val(0);
  } else {
    value->add_half_val(0);
  }
  return zero;
}

// In a function's body, tensors are called `node:output:index`, and inputs may be the function's arguments.
void ProtectPads(bool in_function, Nodes* nodes) {
  std::unordered_set<std::string> names;
  for (const tf::NodeDef& node : *nodes) names.insert(node.name());
  std::vector<tf::NodeDef> zeros;
  for (tf::NodeDef& node : *nodes) {
    if (!IsFloatingPointPad(node)) continue;
    tf::NodeDef zero = Zero(absl::StrCat(node.name(), "/tftrt_zero"), (*node.mutable_attr())["T"].type());
    zero.set_device(node.device());
    // Within a loop of TensorFlow 1 a constant must be told which frame it belongs to: that of the pad's
    // input.
    const std::string producer = node.input(0).substr(0, node.input(0).find(':'));
    if (names.count(producer) > 0) zero.add_input(absl::StrCat("^", producer));

    node.set_op("PadV2");
    node.add_input(in_function ? absl::StrCat(zero.name(), ":output:0") : zero.name());
    // Data inputs come before control inputs: the zero is the third.
    for (int i = node.input_size() - 1; i > 2; --i) node.mutable_input()->SwapElements(i, i - 1);
    zeros.push_back(std::move(zero));
  }
  for (tf::NodeDef& zero : zeros) *nodes->Add() = std::move(zero);
}

// oneDNN's pass leaves alone what the user wants on another device; with soft placement it runs on the CPU all the same.
void AvoidOneDnn(Nodes* nodes) {
  for (tf::NodeDef& node : *nodes) {
    if (node.op() == "Conv3D") node.set_device("/device:GPU:0");
  }
}

}  // namespace

void PrepareForCpu(tf::GraphDef* graph) {
  ProtectPads(/*in_function=*/false, graph->mutable_node());
  AvoidOneDnn(graph->mutable_node());
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    ProtectPads(/*in_function=*/true, function.mutable_node_def());
    AvoidOneDnn(function.mutable_node_def());
  }
}

}  // namespace tftrt
