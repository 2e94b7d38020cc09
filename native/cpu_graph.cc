#include "cpu_graph.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.pb.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

using Nodes = google::protobuf::RepeatedPtrField<tf::NodeDef>;

// Rewrites the nodes of a graph or of a function's body.
class Rewriter {
 public:
  // In a function's body, tensors are called `node:output:index`, and inputs may be the function's arguments.
  Rewriter(bool in_function, Nodes* nodes) : in_function_(in_function), nodes_(nodes) {
    for (const tf::NodeDef& node : *nodes) names_.insert(node.name());
  }

  void Rewrite() {
    for (tf::NodeDef& node : *nodes_) {
      if (IsFloatingPoint(node, "Pad", 2)) ProtectPad(&node);
      if (IsFloatingPoint(node, "Conv3D", 2)) CropInput(&node);
    }
    for (tf::NodeDef& node : added_) *nodes_->Add() = std::move(node);
  }

 private:
  static bool IsFloatingPoint(const tf::NodeDef& node, const char* op, int inputs) {
    if (node.op() != op || node.input_size() < inputs) return false;
    const auto found = node.attr().find("T");
    if (found == node.attr().end()) return false;
    const tf::DataType dtype = found->second.type();
    return dtype == tf::DT_FLOAT || dtype == tf::DT_HALF || dtype == tf::DT_BFLOAT16;
  }

  // Pad → PadV2 with a zero.
  void ProtectPad(tf::NodeDef* node) {
    scope_ = node;
    tf::TensorProto zero;
    zero.set_dtype((*node->mutable_attr())["T"].type());
    if (zero.dtype() == tf::DT_FLOAT) {
      zero.add_float_val(0);
    } else {
      zero.add_half_val(0);
    }
    node->set_op("PadV2");
    node->add_input(Const("zero", zero));
    // Data inputs come before control inputs: the zero is the third.
    for (int i = node->input_size() - 1; i > 2; --i) node->mutable_input()->SwapElements(i, i - 1);
  }

  // Cuts off what no window of the convolution reaches. With sizes n, windows k and steps s it reaches
  // floor((n − k) / s)·s + k of an axis when VALID, min(n, floor((n − 1) / s)·s + k) when SAME.
  void CropInput(tf::NodeDef* node) {
    scope_ = node;
    const auto& attributes = node->attr();
    const auto format = attributes.find("data_format");
    if (format != attributes.end() && format->second.s() != "NDHWC") return;  // has no kernel on the CPU
    const bool valid = attributes.at("padding").s() == "VALID";
    const auto& strides = attributes.at("strides").list().i();
    if (std::all_of(strides.begin(), strides.end(), [](int64_t step) { return step == 1; })) return;

    const std::string s = Const("steps", Ints({strides.begin(), strides.end()}));
    const std::string one = Const("one", Ints({1}));
    const tf::DataType dtype = attributes.at("T").type();
    const std::string n = Op("Shape", "size", {node->input(0)}, "output", dtype);
    const std::string filter = Op("Shape", "filter_size", {node->input(1)}, "output", dtype);
    const std::string spatial =
        Op("Slice", "spatial", {filter, Const("begin", Ints({0})), Const("three", Ints({3}))}, "output",
           tf::DT_INT32);
    (*added_.back().mutable_attr())["Index"].set_type(tf::DT_INT32);
    const std::string k =
        Op("ConcatV2", "window", {one, spatial, one, Const("axis", Scalar(0))}, "output", tf::DT_INT32);
    (*added_.back().mutable_attr())["N"].set_i(3);
    const std::string room = Op("Sub", "room", {n, valid ? k : one}, "z", tf::DT_INT32);
    const std::string count = Op("FloorDiv", "count", {room, s}, "z", tf::DT_INT32);
    const std::string distance = Op("Mul", "distance", {count, s}, "z", tf::DT_INT32);
    std::string reached = Op("AddV2", "reached", {distance, k}, "z", tf::DT_INT32);
    if (!valid) reached = Op("Minimum", "reached_of_size", {reached, n}, "z", tf::DT_INT32);
    const std::string x = Op(
        "Slice", "input", {node->input(0), Const("origin", Ints({0, 0, 0, 0, 0})), reached}, "output", dtype);
    (*added_.back().mutable_attr())["Index"].set_type(tf::DT_INT32);
    node->set_input(0, x);
  }

  static tf::TensorProto Ints(const std::vector<int64_t>& values) {
    tf::TensorProto tensor;
    tensor.set_dtype(tf::DT_INT32);
    for (const int64_t value : values) tensor.add_int_val(value);
    tensor.mutable_tensor_shape()->add_dim()->set_size(values.size());
    return tensor;
  }

  static tf::TensorProto Scalar(int value) {
    tf::TensorProto tensor;
    tensor.set_dtype(tf::DT_INT32);
    tensor.add_int_val(value);
    return tensor;
  }

  std::string Name(const char* suffix) const { return absl::StrCat(scope_->name(), "/tftrt_", suffix); }

  // Adds a constant; returns the name of its tensor. Within a loop of TensorFlow 1, a constant must be told
  // which frame it belongs to: that of the node's input.
  std::string Const(const char* suffix, const tf::TensorProto& value) {
    tf::NodeDef node;
    node.set_name(Name(suffix));
    node.set_op("Const");
    node.set_device(scope_->device());
    (*node.mutable_attr())["dtype"].set_type(value.dtype());
    *(*node.mutable_attr())["value"].mutable_tensor() = value;
    const std::string producer = scope_->input(0).substr(0, scope_->input(0).find(':'));
    if (names_.count(producer) > 0) node.add_input(absl::StrCat("^", producer));
    return Add(std::move(node), "output");
  }

  // Adds an op with the attribute T; returns the name of its first tensor.
  std::string Op(const char* op, const char* suffix, const std::vector<std::string>& inputs,
                 const char* output, tf::DataType dtype) {
    tf::NodeDef node;
    node.set_name(Name(suffix));
    node.set_op(op);
    node.set_device(scope_->device());
    for (const std::string& input : inputs) node.add_input(input);
    (*node.mutable_attr())["T"].set_type(dtype);
    return Add(std::move(node), output);
  }

  std::string Add(tf::NodeDef node, const char* output) {
    const std::string tensor = in_function_ ? absl::StrCat(node.name(), ":", output, ":0") : node.name();
    added_.push_back(std::move(node));
    return tensor;
  }

  const bool in_function_;
  Nodes* const nodes_;
  std::unordered_set<std::string> names_;
  std::vector<tf::NodeDef> added_;
  const tf::NodeDef* scope_ = nullptr;  // the node that is being rewritten: what is added is named after it
};

}  // namespace

void PrepareForCpu(tf::GraphDef* graph) {
  Rewriter(/*in_function=*/false, graph->mutable_node()).Rewrite();
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    Rewriter(/*in_function=*/true, function.mutable_node_def()).Rewrite();
  }
}

}  // namespace tftrt
