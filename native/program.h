// A Program: a whole graph in a TensorFlow session. A Callable: one set of feeds and fetches of it, compiled
// to run.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine_session.h"
#include "runtime.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/public/session.h"

namespace tftrt {

struct FrozenGraph;

class Program {
 public:
  // A session with `graph`, whose constants hold their values.
  static std::shared_ptr<Program> FromGraph(tensorflow::GraphDef graph,
                                            const tensorflow::ConfigProto& config);
  // The SavedModel in `directory` with exactly these tags; its variables, tables and assets are restored.
  static std::shared_ptr<Program> FromSavedModel(Runtime& runtime, const std::string& directory,
                                                 const std::vector<std::string>& tags,
                                                 const tensorflow::ConfigProto& config);
  // A session that keeps `graph` as it is, and in which these nodes have run.
  static std::shared_ptr<Program> FromPreparedGraph(tensorflow::GraphDef graph,
                                                    const std::vector<std::string>& initializers);
  ~Program();

  // The graph of a SavedModel with its variables as constants and its tables' contents, see frozen_graph.h.
  FrozenGraph Frozen(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches);

  tensorflow::Session* session() { return session_.get(); }
  // The dtype of the tensor `name` ("node:index"); throws TFTRT_NOT_FOUND when the graph has no such tensor.
  tensorflow::DataType TypeOf(const std::string& name) const;
  // Whether computing these tensors, or nodes, writes variables.
  bool Writes(const std::vector<std::string>& fetches) const;
  // Whether TensorRT computes parts of it.
  bool has_engines() const { return has_engines_; }
  // Whether its engines were loaded when it was made.
  bool is_prepared() const { return is_prepared_; }
  // For `LoadingEngines`; null where there are none.
  EngineLoads* engine_loads() const { return engine_loads_.get(); }
  // An op of the graph that decides what else runs, or that runs functions; empty where there is none.
  const std::string& control_flow() const { return control_flow_; }
  // Whether a run may be the first to meet a function: also that of a segment whose engine does not serve,
  // but in prepared graphs, whose segments cannot run.
  bool calls_functions() const { return !control_flow_.empty() || (has_engines_ && !is_prepared_); }
  // Runs nodes for their effect (table initializers).
  void RunTargets(const std::vector<std::string>& targets);
  // The signatures of a SavedModel: {name: tensorflow.SignatureDef in JSON}.
  std::string SignaturesJson() const;

 private:
  Program() = default;
  void RememberNodes(const tensorflow::GraphDef& graph);
  void MakeSession(const tensorflow::SessionOptions& options);

  std::unique_ptr<tensorflow::Session> session_;
  bool has_engines_ = false;
  std::shared_ptr<EngineLoads> engine_loads_;
  std::string control_flow_;
  bool is_prepared_ = false;
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures_;
  // Where a SavedModel came from.
  std::string directory_;
  std::unordered_set<std::string> tags_;
  std::unordered_map<std::string, tensorflow::NodeDef> nodes_;  // without the values of constants
  std::unique_ptr<tensorflow::FunctionLibraryDefinition> functions_;
};

class Callable {
 public:
  Callable(std::shared_ptr<Program> program, tensorflow::CallableOptions options);
  ~Callable();

  size_t inputs() const { return feeds_.size(); }
  // Runs on the calling thread. The inputs are borrowed. Their dtypes and those of the outputs are the few
  // that JavaScript has (float32, int32, bool, string, complex64): where the graph has a wider or narrower
  // one, values are cast on the way in and out (see boundary.h).
  std::vector<HandlePtr> Run(Runtime& runtime, const std::vector<tensorflow::TensorHandle*>& inputs);
  // Runs on tensors of the graph's own dtypes, which are where its feeds are; tells how TensorFlow
  // partitioned the graph, if asked.
  std::vector<tensorflow::Tensor> RunTensors(const std::vector<tensorflow::Tensor>& inputs,
                                             tensorflow::RunMetadata* metadata);

 private:
  // RunTensors of a graph with engines, which a run may load or build.
  std::vector<tensorflow::Tensor> RunEngines(const std::vector<tensorflow::Tensor>& feeds);

  std::shared_ptr<Program> program_;
  tensorflow::Session::CallableHandle handle_ = 0;
  std::mutex mutex_;
  // The shapes of the last run that may have loaded engines.
  std::optional<std::vector<tensorflow::TensorShape>> loaded_for_;
  struct Endpoint {
    std::string name;
    tensorflow::DataType dtype;
    bool on_device;
  };
  std::vector<Endpoint> feeds_;
  std::vector<Endpoint> fetches_;
};

}  // namespace tftrt
