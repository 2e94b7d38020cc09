#include "frozen_graph.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "error.h"
#include "frozen_tables.h"
#include "graph_def.h"
#include "runtime.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/grappler/clusters/virtual_cluster.h"
#include "tensorflow/core/grappler/optimizers/meta_optimizer.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

using Nodes = std::unordered_map<std::string, const tf::NodeDef*>;

std::string NodeOf(const std::string& tensor) { return std::string(tf::ParseTensorName(tensor).node()); }

// The variable whose handle reaches `tensor`, through Identity nodes; null where it is none.
const tf::NodeDef* VariableOf(const Nodes& nodes, const std::string& tensor) {
  const auto found = nodes.find(NodeOf(tensor));
  if (found == nodes.end()) return nullptr;
  const tf::NodeDef* node = found->second;
  if (node->op() == "VarHandleOp") return node;
  if (node->op() == "Identity" && node->input_size() > 0) return VariableOf(nodes, node->input(0));
  return nullptr;
}

std::vector<const tf::NodeDef*> Reachable(const Nodes& nodes, const std::vector<std::string>& fetches) {
  std::unordered_set<const tf::NodeDef*> seen;
  std::vector<const tf::NodeDef*> open;
  const auto meet = [&](const std::string& tensor) {
    const auto found = nodes.find(NodeOf(tensor));
    if (found != nodes.end() && seen.insert(found->second).second) open.push_back(found->second);
  };
  for (const std::string& fetch : fetches) meet(fetch);
  for (size_t i = 0; i < open.size(); ++i) {
    for (const std::string& input : open[i]->input()) meet(input);
  }
  return open;
}

// Values of variables, read through nodes that are added to the session's graph.
std::unordered_map<std::string, tf::Tensor> ReadVariables(tf::Session* session,
                                                          const std::vector<const tf::NodeDef*>& variables) {
  std::unordered_map<std::string, tf::Tensor> values;
  if (variables.empty()) return values;
  tf::GraphDef readers;
  std::vector<std::string> names;
  static std::atomic<int> serial{0};
  const int id = serial++;
  for (const tf::NodeDef* variable : variables) {
    tf::NodeDef* reader = AddNode(&readers, absl::StrCat("tftrt_read_", id, "_", names.size()),
                                  "ReadVariableOp", {variable->name()});
    (*reader->mutable_attr())["dtype"] = variable->attr().at("dtype");
    names.push_back(absl::StrCat(reader->name(), ":0"));
  }
  ThrowIfError(session->Extend(readers), "reading the model's variables");
  std::vector<tf::Tensor> read;
  ThrowIfError(session->Run({}, names, {}, &read), "reading the model's variables");
  for (size_t i = 0; i < variables.size(); ++i) values[variables[i]->name()] = read[i];
  return values;
}

// A ResourceGather, which reads rows of a variable, as a gather of rows of the constant `params`.
void AddGather(const tf::NodeDef& node, const std::string& params, tf::DataType dtype, tf::GraphDef* graph) {
  const auto batch_dims = node.attr().find("batch_dims");
  const int64_t axis = batch_dims == node.attr().end() ? 0 : batch_dims->second.i();
  const std::string axis_name = node.name() + "/tftrt_axis";
  AddConstant(graph, axis_name, tf::Tensor(static_cast<int32_t>(axis)));
  tf::NodeDef* gather = AddNode(graph, node.name(), "GatherV2", {params, node.input(1), axis_name});
  auto& attributes = *gather->mutable_attr();
  attributes["Tparams"].set_type(dtype);
  attributes["Tindices"] = node.attr().at("Tindices");
  attributes["Taxis"].set_type(tf::DT_INT32);
  attributes["batch_dims"].set_i(axis);
}

// Throws for a node that makes something to keep state in whose contents a frozen graph would not have.
void RequireNoState(const tf::NodeDef& node) {
  const tf::OpDef* definition = nullptr;
  if (!tf::OpRegistry::Global()->LookUpOpDef(node.op(), &definition).ok()) return;
  const bool makes = std::any_of(definition->output_arg().begin(), definition->output_arg().end(),
                                 [](const auto& output) { return output.type() == tf::DT_RESOURCE; });
  // What these hold comes and goes within a run; FillTables sees to tables.
  const bool is_within_run = node.op() == "TensorArrayV3" || node.op() == "StackV2";
  if (!makes || is_within_run || IsTable(node)) return;
  throw Error(
      "TFTRT_NOT_FREEZABLE",
      absl::StrCat(
          "the model keeps state in '", node.name(), "' (", node.op(),
          "), which a graph for TensorRT or CUDA graphs cannot have: such a graph stays in TensorFlow"));
}

}  // namespace

tf::GraphDef RunGrappler(tf::grappler::GrapplerItem item, const tf::ConfigProto& config,
                         const std::string& what) {
  tf::DeviceSet devices;
  for (tf::Device* device : Runtime::Get().devices()) devices.AddDevice(device);
  tf::grappler::VirtualCluster cluster(&devices);
  tf::GraphDef optimized;
  ThrowIfError(tf::grappler::RunMetaOptimizer(std::move(item), config, nullptr, &cluster, &optimized), what);
  return optimized;
}

tf::GraphDef Optimize(tf::GraphDef graph, const std::vector<std::string>& optimizers,
                      const std::vector<std::string>& feeds, const std::vector<std::string>& fetches) {
  tf::grappler::GrapplerItem item;
  item.id = "tf_graph";
  item.graph = std::move(graph);
  item.fetch = fetches;
  for (const std::string& feed : feeds) item.keep_ops.push_back(NodeOf(feed));
  tf::ConfigProto config;
  tf::RewriterConfig* rewriter = config.mutable_graph_options()->mutable_rewrite_options();
  rewriter->set_meta_optimizer_iterations(tf::RewriterConfig::ONE);
  rewriter->set_min_graph_nodes(-1);
  for (const std::string& name : optimizers) rewriter->add_optimizers(name);
  return RunGrappler(std::move(item), config, "inlining the graph's functions");
}

FrozenGraph Freeze(tf::Session* session, const tf::GraphDef& graph, const std::vector<std::string>& feeds,
                   const std::vector<std::string>& fetches) {
  const tf::GraphDef inlined = Optimize(graph, {"function"}, feeds, fetches);
  Nodes nodes;
  for (const tf::NodeDef& node : inlined.node()) nodes[node.name()] = &node;
  const std::vector<const tf::NodeDef*> needed = Reachable(nodes, fetches);
  std::vector<const tf::NodeDef*> variables;
  for (const tf::NodeDef* node : needed) {
    if (node->op() == "VarHandleOp") variables.push_back(node);
  }
  const std::unordered_map<std::string, tf::Tensor> values = ReadVariables(session, variables);

  // A variable that is read is a constant already; one that is only gathered from becomes one of its name.
  std::unordered_map<const tf::NodeDef*, std::string> constants;
  for (const tf::NodeDef* node : needed) {
    if (node->op() != "ReadVariableOp") continue;
    const tf::NodeDef* variable = VariableOf(nodes, node->input(0));
    if (variable != nullptr) constants.emplace(variable, node->name());
  }

  FrozenGraph result;
  tf::GraphDef& frozen = result.graph;
  *frozen.mutable_versions() = inlined.versions();
  *frozen.mutable_library() = inlined.library();
  for (const tf::NodeDef* node : needed) {
    if (node->op() == "VarHandleOp") continue;
    if (node->op() == "Identity" && VariableOf(nodes, node->name()) != nullptr) continue;
    // No control inputs: a constant may be read at any time.
    const bool gathers = node->op() == "ResourceGather";
    if (gathers || node->op() == "ReadVariableOp") {
      const tf::NodeDef* variable = VariableOf(nodes, node->input(0));
      if (variable != nullptr) {
        const tf::Tensor& value = values.at(variable->name());
        if (gathers) {
          const auto [constant, is_new] = constants.emplace(variable, variable->name());
          if (is_new) AddConstant(&frozen, constant->second, value);
          AddGather(*node, constant->second, value.dtype(), &frozen);
        } else {
          AddConstant(&frozen, node->name(), value);
        }
        continue;
      }
    }
    RequireNoState(*node);
    tf::NodeDef* copy = frozen.add_node();
    *copy = *node;
    copy->clear_input();
    for (const std::string& input : node->input()) {
      const bool is_control = !input.empty() && input[0] == '^';
      if (VariableOf(nodes, input) == nullptr || nodes.at(NodeOf(input))->op() == "ReadVariableOp") {
        copy->add_input(input);
      } else if (!is_control) {
        throw Error("TFTRT_NOT_FREEZABLE",
                    absl::StrCat("the model's variable '", VariableOf(nodes, input)->name(), "' is used by '",
                                 node->name(), "' (", node->op(),
                                 "), not only read: such a graph stays in TensorFlow"));
      }
    }
  }
  result.initializers = FillTables(session, &frozen);
  return result;
}

}  // namespace tftrt
