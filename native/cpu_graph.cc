#include "cpu_graph.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "error.h"
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
      by_name_[node.name()] = &node;
      const auto value = node.attr().find("value");
      if (node.op() == "Const" && value != node.attr().end())
        constants_[node.name()] = &value->second.tensor();
      for (int i = 0; i < node.input_size(); ++i) readers_[NodeOf(node.input(i))].push_back({&node, i});
    }
  }

  void Rewrite() {
    for (tf::NodeDef& node : *nodes_) {
      if (IsFloatingPointPad(node) && !MergesWell(node)) ProtectPad(&node);
      GuardOperands(&node);
      if (const tf::TensorShapeProto* filter = FilterOfOneChannel(node)) AddChannel(&node, *filter);
    }
    for (tf::NodeDef& node : added_) *nodes_->Add() = std::move(node);
  }

 private:
  static bool IsFloatingPointPad(const tf::NodeDef& node) {
    if (node.op() != "Pad" || node.input_size() < 2) return false;
    const tf::DataType dtype = TypeOf(node);
    return dtype == tf::DT_FLOAT || dtype == tf::DT_HALF || dtype == tf::DT_BFLOAT16;
  }

  // SavedModels leave out attributes that have their default; that of T, where there is one, is float.
  static tf::DataType TypeOf(const tf::NodeDef& node) {
    const auto found = node.attr().find("T");
    return found == node.attr().end() ? tf::DT_FLOAT : found->second.type();
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

  // The rank of the images (or volumes) that an op takes; 0 for other ops.
  static int ImageRank(const std::string& op) {
    static const auto* const kRanks = new std::unordered_map<std::string, int>{
        {"AvgPool", 4},
        {"AvgPool3D", 5},
        {"Conv2D", 4},
        {"Conv3D", 5},
        {"MaxPool", 4},
        {"MaxPool3D", 5},
        {"_FusedConv2D", 4},
        {"DepthwiseConv2dNative", 4},
        {"_FusedDepthwiseConv2dNative", 4},
    };
    const auto found = kRanks->find(op);
    return found == kRanks->end() ? 0 : found->second;
  }

  // oneDNN's kernels take it for granted that operands have the rank that the op wants, and that windows fit:
  // for what is only known at run time, nodes that check it go in front.
  void GuardOperands(tf::NodeDef* node) {
    scope_ = node;
    const int rank = ImageRank(node->op());
    if (rank > 0) {
      if (!HasImageRank(node->input(0), rank)) node->set_input(0, EnsureRank("image", node->input(0), rank));
      const bool has_filter = !absl::StrContains(node->op(), "Pool");
      if (has_filter) GuardRank(node, 1, rank, "filter");
      GuardWindow(node, rank);
    }
    if (absl::StartsWith(node->op(), "_Fused") && node->input_size() > 2) GuardRank(node, 2, 1, "bias");
    if (node->op() == "BiasAdd" && node->input_size() > 1) GuardRank(node, 1, 1, "bias");
  }

  // Constants are checked here and now, other operands by a node.
  void GuardRank(tf::NodeDef* node, int input, int rank, const char* what) {
    const auto constant = constants_.find(NodeOf(node->input(input)));
    if (constant == constants_.end())
      return node->set_input(input, EnsureRank(what, node->input(input), rank));
    const int given = constant->second->tensor_shape().dim_size();
    if (given != rank) {
      throw Error("TFTRT_INVALID_ARGUMENT",
                  absl::StrCat("the ", what, " of node '", node->name(), "' (", node->op(), ") has ", given,
                               " dimensions; it must have ", rank));
    }
  }

  // Whether the tensor comes out of an op whose results have the rank, by way of ops that keep it.
  bool HasImageRank(const std::string& tensor, int rank) const {
    static const auto* const kKeepRank = new std::unordered_set<std::string>{
        "BiasAdd", "Elu", "FusedBatchNormV3", "Identity", "LeakyRelu", "Relu", "Relu6"};
    auto found = by_name_.find(NodeOf(tensor));
    for (int steps = 0; steps < 16 && found != by_name_.end(); ++steps) {
      const tf::NodeDef& node = *found->second;
      if (ImageRank(node.op()) > 0) return ImageRank(node.op()) == rank;
      if (kKeepRank->count(node.op()) == 0 || node.input_size() == 0) return false;
      found = by_name_.find(NodeOf(node.input(0)));
    }
    return false;
  }

  std::string EnsureRank(const char* suffix, const std::string& tensor, int rank) {
    tf::NodeDef node =
        Node("EnsureShape", absl::StrCat("ranked_", suffix).c_str(), {tensor}, TypeOf(*scope_));
    tf::TensorShapeProto* shape = (*node.mutable_attr())["shape"].mutable_shape();
    for (int i = 0; i < rank; ++i) shape->add_dim()->set_size(-1);
    return Add(std::move(node));
  }

  // The extents of the op's window along the spatial axes; empty where they are not known.
  std::vector<int64_t> Window(const tf::NodeDef& node, int rank) const {
    std::vector<int64_t> window;
    if (absl::StrContains(node.op(), "Pool")) {
      const auto& sizes = node.attr().at("ksize").list().i();
      window.assign(sizes.begin() + 1, sizes.begin() + rank - 1);
      return window;
    }
    const auto filter = constants_.find(NodeOf(node.input(1)));
    if (filter == constants_.end()) return {};
    const auto dilations = node.attr().find("dilations");
    for (int i = 0; i < rank - 2; ++i) {
      const int64_t size = filter->second->tensor_shape().dim(i).size();
      const int64_t dilation = dilations == node.attr().end() ? 1 : dilations->second.list().i(i + 1);
      window.push_back((size - 1) * dilation + 1);
    }
    return window;
  }

  // Without padding, a window must not be larger than the image.
  void GuardWindow(tf::NodeDef* node, int rank) {
    const auto format = node->attr().find("data_format");
    const auto padding = node->attr().find("padding");
    if (padding == node->attr().end() || padding->second.s() != "VALID") return;
    if (format != node->attr().end() && absl::StartsWith(format->second.s(), "NC")) return;
    const std::vector<int64_t> window = Window(*node, rank);
    if (window.empty() || std::all_of(window.begin(), window.end(), [](int64_t size) { return size == 1; }))
      return;
    const tf::DataType dtype = TypeOf(*node);
    const std::string size = Add(Node("Shape", "image_size", {node->input(0)}, dtype));
    tf::NodeDef slice = Node("Slice", "image_extent",
                             {size, Const("one", List({1})), Const("axes", List({rank - 2}))}, tf::DT_INT32);
    (*slice.mutable_attr())["Index"].set_type(tf::DT_INT32);
    const std::string extent = Add(std::move(slice));
    const std::string fits =
        Add(Node("GreaterEqual", "window_fits", {extent, Const("window", List(window))}, tf::DT_INT32), "z");
    tf::NodeDef all = Node("All", "window_fits_all", {fits, Const("axis", List({0}))}, tf::DT_INVALID);
    (*all.mutable_attr())["Tidx"].set_type(tf::DT_INT32);
    const std::string fits_all = Add(std::move(all));
    tf::NodeDef check =
        Node("Assert", "window_check",
             {fits_all, Const("message", Text("the window is larger than the image, whose shape is")), size},
             tf::DT_INVALID);
    tf::AttrValue* types = &(*check.mutable_attr())["T"];
    types->mutable_list()->add_type(tf::DT_STRING);
    types->mutable_list()->add_type(tf::DT_INT32);
    node->add_input(absl::StrCat("^", check.name()));
    Add(std::move(check));
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

  static tf::TensorProto List(const std::vector<int64_t>& values) {
    tf::TensorProto tensor;
    tensor.set_dtype(tf::DT_INT32);
    for (const int64_t value : values) tensor.add_int_val(value);
    tensor.mutable_tensor_shape()->add_dim()->set_size(values.size());
    return tensor;
  }

  static tf::TensorProto Text(const std::string& text) {
    tf::TensorProto tensor;
    tensor.set_dtype(tf::DT_STRING);
    tensor.add_string_val(text);
    return tensor;
  }

  static tf::TensorProto ZeroOf(const tf::NodeDef& node) {
    tf::TensorProto zero;
    zero.set_dtype(TypeOf(node));
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
    if (by_name_.count(producer) > 0) node.add_input(absl::StrCat("^", producer));
    return Add(std::move(node));
  }

  // A node named after the one that is rewritten, with the attribute T unless `dtype` is DT_INVALID.
  tf::NodeDef Node(const char* op, const char* suffix, const std::vector<std::string>& inputs,
                   tf::DataType dtype) const {
    tf::NodeDef node;
    node.set_name(Name(suffix));
    node.set_op(op);
    node.set_device(scope_->device());
    for (const std::string& input : inputs) node.add_input(input);
    if (dtype != tf::DT_INVALID) (*node.mutable_attr())["T"].set_type(dtype);
    return node;
  }

  // Adds a PadV2; returns the name of its tensor.
  std::string Pad(const char* suffix, const std::string& tensor, const std::string& paddings,
                  const std::string& zero) {
    tf::NodeDef node = Node("PadV2", suffix, {tensor, paddings, zero}, TypeOf(*scope_));
    (*node.mutable_attr())["Tpaddings"].set_type(tf::DT_INT32);
    return Add(std::move(node));
  }

  // Adds the node; returns the name of its tensor, which most ops call `output`.
  std::string Add(tf::NodeDef node, const char* output = "output") {
    const std::string tensor = in_function_ ? absl::StrCat(node.name(), ":", output, ":0") : node.name();
    added_.push_back(std::move(node));
    return tensor;
  }

  const bool in_function_;
  Nodes* const nodes_;
  std::unordered_map<std::string, const tf::NodeDef*> by_name_;
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
