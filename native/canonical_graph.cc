#include "canonical_graph.h"

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "error.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tsl/platform/fingerprint.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Attributes that say where a node came from or what somebody inferred about it.
constexpr const char* kIncidentalAttributes[] = {"_output_shapes", "_class", "_user_specified_name"};

class Canonicalizer {
 public:
  explicit Canonicalizer(const tf::GraphDef& graph) : source_(graph) {
    for (const tf::NodeDef& node : graph.node()) nodes_[node.name()] = &node;
  }

  CanonicalGraph Run(const std::vector<std::string>& feeds, const std::vector<tf::DataType>& feed_dtypes,
                     const std::vector<std::string>& fetches, const std::vector<std::string>& initializers) {
    *result_.graph.mutable_versions() = source_.versions();
    for (size_t i = 0; i < feeds.size(); ++i) AddFeed(feeds[i], feed_dtypes[i]);
    for (const std::string& fetch : fetches) {
      const tf::TensorId id = tf::ParseTensorName(fetch);
      result_.fetches.push_back(absl::StrCat(Visit(std::string(id.node())), ":", id.index()));
    }
    for (const std::string& node : initializers) result_.initializers.push_back(Visit(node));
    Emit();
    *result_.graph.mutable_library() =
        tf::FunctionLibraryDefinition(tf::OpRegistry::Global(), source_.library())
            .ReachableDefinitions(result_.graph)
            .ToProto();
    result_.fingerprint = Fingerprint();
    return std::move(result_);
  }

 private:
  void AddFeed(const std::string& feed, tf::DataType dtype) {
    const std::string name = absl::StrCat("feed_", result_.feeds.size());
    tf::NodeDef* node = result_.graph.add_node();
    node->set_name(name);
    node->set_op("Placeholder");
    (*node->mutable_attr())["dtype"].set_type(dtype);
    (*node->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
    // The declared shape holds for whatever is fed.
    const auto found = nodes_.find(std::string(tf::ParseTensorName(feed).node()));
    if (found != nodes_.end() && found->second->op() == "Placeholder") {
      const auto shape = found->second->attr().find("shape");
      if (shape != found->second->attr().end()) (*node->mutable_attr())["shape"] = shape->second;
    }
    fed_[tf::ParseTensorName(feed).ToString()] = name;
    result_.feeds.push_back(name);
  }

  // The new name of a node. Names are given in the order in which a walk from the outputs meets the nodes.
  std::string Visit(const std::string& name) {
    const auto known = names_.find(name);
    if (known != names_.end()) return known->second;
    const auto found = nodes_.find(name);
    if (found == nodes_.end())
      throw Error("TFTRT_NOT_FOUND", absl::StrCat("the graph has no node '", name, "'"));
    std::string renamed = absl::StrCat("n", names_.size());
    names_.emplace(name, renamed);
    open_.push_back(found->second);
    return renamed;
  }

  // Copies the nodes that were met, and meets their inputs.
  void Emit() {
    for (size_t i = 0; i < open_.size(); ++i) {
      const tf::NodeDef& source = *open_[i];
      tf::NodeDef* node = result_.graph.add_node();
      node->set_name(names_.at(source.name()));
      node->set_op(source.op());
      *node->mutable_attr() = source.attr();
      for (const char* attribute : kIncidentalAttributes) node->mutable_attr()->erase(attribute);
      // Some writers leave attributes out that have their default value.
      const tf::OpDef* definition = nullptr;
      if (tf::OpRegistry::Global()->LookUpOpDef(source.op(), &definition).ok())
        tf::AddDefaultsToNodeDef(*definition, node);
      for (const std::string& input : source.input()) {
        const tf::TensorId id = tf::ParseTensorName(input);
        const auto fed = fed_.find(id.ToString());
        if (fed != fed_.end()) {
          node->add_input(fed->second);
        } else if (id.index() < 0) {
          node->add_input(absl::StrCat("^", Visit(std::string(id.node()))));
        } else {
          const std::string renamed = Visit(std::string(id.node()));
          node->add_input(id.index() == 0 ? renamed : absl::StrCat(renamed, ":", id.index()));
        }
      }
    }
  }

  std::string Fingerprint() const {
    std::string bytes;
    if (!tf::SerializeToStringDeterministic(result_.graph, &bytes)) {
      throw Error("TFTRT_RESOURCE_EXHAUSTED",
                  "the graph with its weights is larger than 2 GiB, the most that TensorFlow can convert");
    }
    for (const std::string& fetch : result_.fetches) absl::StrAppend(&bytes, " ", fetch);
    const tsl::Fprint128 hash = tsl::Fingerprint128(bytes);
    return absl::StrCat(absl::Hex(hash.high64, absl::kZeroPad16), absl::Hex(hash.low64, absl::kZeroPad16));
  }

  const tf::GraphDef& source_;
  std::unordered_map<std::string, const tf::NodeDef*> nodes_;
  std::unordered_map<std::string, std::string> fed_;
  std::unordered_map<std::string, std::string> names_;
  std::vector<const tf::NodeDef*> open_;
  CanonicalGraph result_;
};

}  // namespace

CanonicalGraph Canonicalize(const tf::GraphDef& graph, const std::vector<std::string>& feeds,
                            const std::vector<tf::DataType>& feed_dtypes,
                            const std::vector<std::string>& fetches,
                            const std::vector<std::string>& initializers) {
  return Canonicalizer(graph).Run(feeds, feed_dtypes, fetches, initializers);
}

}  // namespace tftrt
