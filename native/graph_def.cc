#include "graph_def.h"

#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "error.h"
#include "graph_checks.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/grappler/costs/graph_properties.h"
#include "tensorflow/core/grappler/grappler_item.h"
#include "tensorflow/core/platform/env.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Up to this version of GraphDef, a Placeholder of unknown shape looks like one of a scalar.
constexpr int kScalarMeansUnknown = 21;
constexpr size_t kMostNamesInMessage = 8;

class Walk {
 public:
  explicit Walk(const tf::GraphDef& graph) : graph_(graph) {
    for (const tf::NodeDef& node : graph.node()) nodes_[node.name()] = &node;
  }

  const tf::NodeDef* Find(const std::string& tensor) const {
    const auto found = nodes_.find(std::string(tf::ParseTensorName(tensor).node()));
    return found == nodes_.end() ? nullptr : found->second;
  }

  // The nodes that the fetches need, in the graph's order; what only makes a fed tensor is left out.
  std::vector<const tf::NodeDef*> Needed(const std::vector<std::string>& feeds,
                                         const std::vector<std::string>& fetches) const {
    std::unordered_set<std::string> fed;
    for (const std::string& feed : feeds) fed.insert(tf::ParseTensorName(feed).ToString());
    std::unordered_set<const tf::NodeDef*> seen;
    std::vector<const tf::NodeDef*> open;
    const auto meet = [&](const std::string& tensor) {
      if (fed.count(tf::ParseTensorName(tensor).ToString()) > 0) return;
      const tf::NodeDef* node = Find(tensor);
      if (node != nullptr && seen.insert(node).second) open.push_back(node);
    };
    for (const std::string& fetch : fetches) meet(fetch);
    for (size_t i = 0; i < open.size(); ++i) {
      for (const std::string& input : open[i]->input()) meet(input);
    }
    std::vector<const tf::NodeDef*> needed;
    for (const tf::NodeDef& node : graph_.node()) {
      if (seen.count(&node) > 0) needed.push_back(&node);
    }
    return needed;
  }

  // Some nodes that no other reads: what a graph's outputs usually are.
  std::string LastNodes() const {
    std::unordered_set<const tf::NodeDef*> read;
    for (const tf::NodeDef& node : graph_.node()) {
      for (const std::string& input : node.input()) read.insert(Find(input));
    }
    std::vector<std::string> names;
    for (const tf::NodeDef& node : graph_.node()) {
      if (read.count(&node) == 0 && names.size() < kMostNamesInMessage) names.push_back(node.name());
    }
    return absl::StrJoin(names, ", ");
  }

 private:
  const tf::GraphDef& graph_;
  std::unordered_map<std::string, const tf::NodeDef*> nodes_;
};

bool IsVariable(const tf::NodeDef& node) {
  static const auto* ops = new std::unordered_set<std::string>{
      "Variable", "VariableV2", "VarHandleOp", "_VarHandlesOp", "AutoReloadVariable", "TemporaryVariable"};
  return ops->count(node.op()) > 0;
}

void RequireFrozen(const std::vector<const tf::NodeDef*>& needed,
                   const tf::FunctionLibraryDefinition& functions) {
  const auto require = [](const tf::NodeDef& node) {
    if (!IsVariable(node)) return;
    throw Error(
        "TFTRT_NOT_FROZEN",
        absl::StrCat("its outputs need the variable '", node.name(), "' (", node.op(),
                     "), whose value a GraphDef does not have: freeze the graph, so that its variables are "
                     "constants, or load the SavedModel that it is from with loadSavedModel"));
  };
  tf::GraphDef graph;
  for (const tf::NodeDef* node : needed) {
    require(*node);
    *graph.add_node() = *node;
  }
  const tf::FunctionDefLibrary reachable = functions.ReachableDefinitions(graph).ToProto();
  for (const tf::FunctionDef& function : reachable.function()) {
    for (const tf::NodeDef& node : function.node_def()) require(node);
  }
}

tf::TensorShapeProto UnknownShape() {
  tf::TensorShapeProto shape;
  shape.set_unknown_rank(true);
  return shape;
}

// The shape that a Placeholder declares.
tf::TensorShapeProto DeclaredShape(const tf::NodeDef& node, int producer) {
  const auto shape = node.attr().find("shape");
  if (shape == node.attr().end()) return UnknownShape();
  if (producer <= kScalarMeansUnknown && shape->second.shape().dim_size() == 0) return UnknownShape();
  return shape->second.shape();
}

// The shapes of the fetches as far as they follow from the graph.
class OutputShapes {
 public:
  OutputShapes(const tf::GraphDef& graph, const std::vector<std::string>& feeds,
               const std::vector<std::string>& fetches) {
    item_.id = "tftrt_shapes";
    item_.graph = graph;
    item_.fetch = fetches;
    // Whatever is fed to a node that is no Placeholder may have any shape.
    for (const std::string& feed : feeds) item_.feed.emplace_back(feed, tf::Tensor());
    properties_ = std::make_unique<tf::grappler::GraphProperties>(item_);
    known_ = properties_->InferStatically(false, false, false, false).ok();
  }

  tf::TensorShapeProto Of(const std::string& node, int index) const {
    if (!known_ || !properties_->HasOutputProperties(node)) return UnknownShape();
    const auto& outputs = properties_->GetOutputProperties(node);
    if (static_cast<size_t>(index) >= outputs.size()) return UnknownShape();
    tf::TensorShapeProto shape = outputs[index].shape();
    // Grappler names sizes that it does not know by other numbers below zero.
    for (auto& dim : *shape.mutable_dim()) dim.set_size(std::max<int64_t>(dim.size(), -1));
    return shape;
  }

 private:
  tf::grappler::GrapplerItem item_;
  std::unique_ptr<tf::grappler::GraphProperties> properties_;
  bool known_ = false;
};

bool IsPlaceholder(const tf::NodeDef& node) {
  return node.op() == "Placeholder" || node.op() == "PlaceholderV2";
}

}  // namespace

tf::GraphDef ParseGraph(const void* data, size_t bytes) {
  tf::GraphDef graph;
  bool valid = bytes > 0 && bytes <= INT32_MAX && graph.ParseFromArray(data, static_cast<int>(bytes)) &&
               graph.node_size() > 0;
  for (const tf::NodeDef& node : graph.node()) valid = valid && !node.name().empty() && !node.op().empty();
  if (!valid) {
    throw Error(
        "TFTRT_INVALID_GRAPH_DEF",
        absl::StrCat(
            "the ", bytes,
            " bytes are no serialized tensorflow.GraphDef with nodes. Expected what a frozen `.pb` file "
            "has; a SavedModel's folder is loaded with loadSavedModel, a `.pbtxt` file is text"));
  }
  CheckAttributes(graph);
  return graph;
}

void WriteGraph(const tf::GraphDef& graph, const std::string& file) {
  ThrowIfError(tf::WriteBinaryProto(tf::Env::Default(), file, graph), absl::StrCat("writing ", file));
}

tf::GraphDef ReadGraph(const std::string& file) {
  tf::GraphDef graph;
  ThrowIfError(tf::ReadBinaryProto(tf::Env::Default(), file, &graph), absl::StrCat("reading ", file));
  return graph;
}

tf::NodeDef* AddNode(tf::GraphDef* graph, const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs) {
  tf::NodeDef* node = graph->add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

void AddConstant(tf::GraphDef* graph, const std::string& name, const tf::Tensor& value) {
  tf::NodeDef* node = AddNode(graph, name, "Const");
  (*node->mutable_attr())["dtype"].set_type(value.dtype());
  value.AsProtoTensorContent((*node->mutable_attr())["value"].mutable_tensor());
}

tf::DataType OutputType(const tf::FunctionLibraryDefinition& functions, const tf::NodeDef& node, int index) {
  const std::string context = absl::StrCat("node '", node.name(), "'");
  const tf::OpDef* definition = nullptr;
  ThrowIfError(functions.LookUpOpDef(node.op(), &definition), context);
  tf::NodeDef complete = node;
  tf::AddDefaultsToNodeDef(*definition, &complete);
  tf::DataTypeVector types;
  ThrowIfError(tf::OutputTypesForNode(complete, *definition, &types), context);
  if (index < 0 || static_cast<size_t>(index) >= types.size()) {
    throw Error("TFTRT_NOT_FOUND", absl::StrCat(context, " (", node.op(), ") has ", types.size(),
                                                " outputs; there is no output ", index));
  }
  return tf::BaseType(types[index]);
}

GraphEndpoints DescribeEndpoints(const tf::GraphDef& graph, const std::vector<std::string>& feeds,
                                 const std::vector<std::string>& fetches) {
  const Walk walk(graph);
  const tf::FunctionLibraryDefinition functions(tf::OpRegistry::Global(), graph.library());
  const auto describe = [&](const std::string& name, const char* kind, const char* code) {
    const tf::NodeDef* node = walk.Find(name);
    const tf::TensorId id = tf::ParseTensorName(name);
    tf::TensorInfo info;
    if (node == nullptr || id.index() < 0) {
      throw Error(code, absl::StrCat("it has no node for the ", kind, " '", name,
                                     "'; among the nodes that no other reads are: ", walk.LastNodes()));
    }
    try {
      info.set_dtype(OutputType(functions, *node, id.index()));
    } catch (const Error& error) {
      throw Error(error.code() == "TFTRT_NOT_FOUND" ? code : error.code(), error.what());
    }
    info.set_name(id.ToString().find(':') == std::string::npos ? absl::StrCat(id.ToString(), ":0")
                                                               : id.ToString());
    *info.mutable_tensor_shape() = UnknownShape();
    return info;
  };

  GraphEndpoints endpoints;
  for (const std::string& name : fetches)
    endpoints.outputs.push_back(describe(name, "output", "TFTRT_UNKNOWN_OUTPUT"));
  for (const std::string& name : feeds)
    endpoints.inputs.push_back(describe(name, "input", "TFTRT_UNKNOWN_INPUT"));
  const std::vector<const tf::NodeDef*> needed = walk.Needed(feeds, fetches);
  RequireFrozen(needed, functions);
  for (const tf::NodeDef* node : needed) {
    if (node->op() == "TRTEngineOp") endpoints.engines.push_back(node->name());
    if (!IsPlaceholder(*node)) continue;
    if (feeds.empty()) {
      endpoints.inputs.push_back(describe(node->name(), "input", "TFTRT_UNKNOWN_INPUT"));
    } else {
      throw Error("TFTRT_MISSING_INPUT",
                  absl::StrCat("its outputs need the Placeholder '", node->name(),
                               "', which is not among the inputs [", absl::StrJoin(feeds, ", "), "]"));
    }
  }
  std::vector<std::string> fed;
  for (tf::TensorInfo& input : endpoints.inputs) {
    const tf::NodeDef* node = walk.Find(input.name());
    if (IsPlaceholder(*node)) {
      *input.mutable_tensor_shape() = DeclaredShape(*node, graph.versions().producer());
    } else {
      fed.push_back(input.name());
    }
  }
  const OutputShapes shapes(CutDown(graph, fetches, {}), fed, fetches);
  for (tf::TensorInfo& output : endpoints.outputs) {
    const tf::TensorId id = tf::ParseTensorName(output.name());
    *output.mutable_tensor_shape() = shapes.Of(std::string(id.node()), id.index());
  }
  return endpoints;
}

tf::GraphDef CutDown(const tf::GraphDef& graph, const std::vector<std::string>& fetches,
                     const std::unordered_map<std::string, tf::TensorShapeProto>& shapes) {
  tf::GraphDef result;
  *result.mutable_versions() = graph.versions();
  *result.mutable_library() = graph.library();
  for (const tf::NodeDef* node : Walk(graph).Needed({}, fetches)) {
    tf::NodeDef* copy = result.add_node();
    *copy = *node;
    const auto shape = shapes.find(node->name());
    if (shape == shapes.end()) continue;
    *(*copy->mutable_attr())["shape"].mutable_shape() = shape->second;
    copy->mutable_attr()->erase("_output_shapes");
  }
  return result;
}

}  // namespace tftrt
