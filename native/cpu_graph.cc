#include "cpu_graph.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor.h"
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
    for (const tf::NodeDef& node : *nodes) {
      names_.insert(node.name());
      const auto value = node.attr().find("value");
      if (node.op() == "Const" && value != node.attr().end())
        constants_[node.name()] = &value->second.tensor();
      for (int i = 0; i < node.input_size(); ++i) readers_[NodeOf(node.input(i))].push_back({&node, i});
    }
  }

  void Rewrite() {
    for (tf::NodeDef& node : *nodes_) {
      if (IsFloatingPointPad(node) && !MergesWell(node)) ProtectPad(&node);
      if (const tf::TensorShapeProto* filter = FilterOfOneChannel(node)) AddChannel(&node, *filter);
    }
    for (tf::NodeDef& node : added_) *nodes_->Add() = std::move(node);
  }

 private:
  static bool IsFloatingPointPad(const tf::NodeDef& node) {
    if (node.op() != "Pad" || node.input_size() < 2) return false;
    const auto found = node.attr().find("T");
    if (found == node.attr().end()) return false;
    const tf::DataType dtype = found->second.type();
    return dtype == tf::DT_FLOAT || dtype == tf::DT_HALF || dtype == tf::DT_BFLOAT16;
  }

  static std::string NodeOf(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

  // Whether the pad is of the kind that the pass merges rightly, and gains by: spatial, before a
  // two-dimensional convolution that reads it as its image.
  bool MergesWell(const tf::NodeDef& pad) const {
    const auto readers = readers_.find(pad.name());
    if (readers == readers_.end()) return false;
    for (const auto& [node, input] : readers->second) {
      if (input != 0 || (node->op() != "Conv2D" && node->op() != "_FusedConv2D")) return false;
    }
    const auto constant = constants_.find(NodeOf(pad.input(1)));
    tf::Tensor paddings;
    if (constant == constants_.end() || !paddings.FromProto(*constant->second)) return false;
    if (paddings.dtype() != tf::DT_INT32 || paddings.NumElements() != 8) return false;
    const auto sides = paddings.flat<int32_t>();  // before and after, for batch, height, width and channels
    return sides(0) == 0 && sides(1) == 0 && sides(6) == 0 && sides(7) == 0;
  }

  // Pad → PadV2 with a zero.
  void ProtectPad(tf::NodeDef* node) {
    scope_ = node;
    node->set_op("PadV2");
    node->add_input(Const("zero", ZeroOf(*node)));
    // Data inputs come before control inputs: the zero is the third.
    for (int i = node->input_size() - 1; i > 2; --i) node->mutable_input()->SwapElements(i, i - 1);
  }

  // A convolution of one channel → the same of two, the second of zeros.
  void AddChannel(tf::NodeDef* node, const tf::TensorShapeProto& filter) {
    scope_ = node;
    const int rank = filter.dim_size();
    std::vector<int64_t> of_input(2 * rank, 0);
    of_input[2 * (rank - 1) + 1] = 1;
    std::vector<int64_t> of_filter(2 * rank, 0);
    of_filter[2 * (rank - 2) + 1] = 1;
    const std::string zero = Const("zero", ZeroOf(*node));
    const std::string x = Pad("input", node->input(0), Const("input_paddings", Pairs(of_input)), zero);
    const std::string wide = Pad("filter", node->input(1), Const("filter_paddings", Pairs(of_filter)), zero);
    node->set_input(0, x);
    node->set_input(1, wide);
  }

  // The shape of the filter where oneDNN may get the convolution wrong; null for any other node.
  const tf::TensorShapeProto* FilterOfOneChannel(const tf::NodeDef& node) const {
    const bool is_convolution = node.op() == "Conv2D" || node.op() == "Conv3D" || node.op() == "_FusedConv2D";
    if (!is_convolution || node.input_size() < 2) return nullptr;
    const auto& attributes = node.attr();
    const auto format = attributes.find("data_format");
    const auto strides = attributes.find("strides");
    if (format != attributes.end() && absl::StartsWith(format->second.s(), "NC")) return nullptr;
    const auto filter = constants_.find(NodeOf(node.input(1)));
    if (strides == attributes.end() || filter == constants_.end()) return nullptr;
    const tf::TensorShapeProto& shape = filter->second->tensor_shape();
    const auto& steps = strides->second.list().i();
    const int rank = shape.dim_size();
    if (rank < 4 || steps.size() != rank) return nullptr;
    const bool exposed =
        shape.dim(rank - 2).size() == 1 && shape.dim(rank - 3).size() > 1 && steps[rank - 2] > 1;
    return exposed ? &shape : nullptr;
  }

  static tf::TensorProto Pairs(const std::vector<int64_t>& values) {
    tf::TensorProto tensor;
    tensor.set_dtype(tf::DT_INT32);
    for (const int64_t value : values) tensor.add_int_val(value);
    tensor.mutable_tensor_shape()->add_dim()->set_size(values.size() / 2);
    tensor.mutable_tensor_shape()->add_dim()->set_size(2);
    return tensor;
  }

  static tf::TensorProto ZeroOf(const tf::NodeDef& node) {
    tf::TensorProto zero;
    zero.set_dtype(node.attr().at("T").type());
    if (zero.dtype() == tf::DT_FLOAT) {
      zero.add_float_val(0);
    } else {
      zero.add_half_val(0);
    }
    return zero;
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
    const std::string producer = NodeOf(scope_->input(0));
    if (names_.count(producer) > 0) node.add_input(absl::StrCat("^", producer));
    return Add(std::move(node));
  }

  // Adds a PadV2; returns the name of its tensor.
  std::string Pad(const char* suffix, const std::string& tensor, const std::string& paddings,
                  const std::string& zero) {
    tf::NodeDef node;
    node.set_name(Name(suffix));
    node.set_op("PadV2");
    node.set_device(scope_->device());
    for (const std::string& input : {tensor, paddings, zero}) node.add_input(input);
    (*node.mutable_attr())["T"] = scope_->attr().at("T");
    (*node.mutable_attr())["Tpaddings"].set_type(tf::DT_INT32);
    return Add(std::move(node));
  }

  // Const and PadV2 both call their output `output`.
  std::string Add(tf::NodeDef node) {
    const std::string tensor = in_function_ ? absl::StrCat(node.name(), ":output:0") : node.name();
    added_.push_back(std::move(node));
    return tensor;
  }

  const bool in_function_;
  Nodes* const nodes_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, const tf::TensorProto*> constants_;
  std::unordered_map<std::string, std::vector<std::pair<const tf::NodeDef*, int>>>
      readers_;  // by name and input
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
