#include "program.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "boundary.h"
#include "captured_graph.h"
#include "cpu_graph.h"
#include "error.h"
#include "frozen_graph.h"
#include "graph_checks.h"
#include "graph_def.h"
#include "graph_placement.h"
#include "node_effects.h"
#include "tensorflow/cc/saved_model/reader.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

tf::SessionOptions MakeSessionOptions(const tf::ConfigProto& config) {
  tf::SessionOptions options;
  options.config = config;
  // All sessions of a process must describe its devices alike.
  const tf::ConfigProto& own = Runtime::Get().config();
  *options.config.mutable_gpu_options() = own.gpu_options();
  *options.config.mutable_device_count() = own.device_count();
  return options;
}

// TensorFlow takes a SavedModel without the files of its variables for one without variables.
void RequireVariables(const std::string& directory, const tf::GraphDef& graph) {
  const std::string index = absl::StrCat(directory, "/variables/variables.index");
  for (const tf::NodeDef& node : graph.node()) {
    if (node.op() != "VarHandleOp" && node.op() != "VariableV2") continue;
    if (tf::Env::Default()->FileExists(index).ok()) return;
    throw Error("TFTRT_NOT_FOUND",
                absl::StrCat("the SavedModel ", directory, " has variables ('", node.name(),
                             "' for one), but the file ", index,
                             " is missing: the model is incomplete, copy or export it again"));
  }
}

}  // namespace

std::shared_ptr<Program> Program::FromGraph(tf::GraphDef graph, const tf::ConfigProto& config) {
  std::shared_ptr<Program> program(new Program());
  CheckAttributes(graph);
  if (Runtime::Get().gpu() == nullptr) PrepareForCpu(&graph);
  program->RememberNodes(graph);
  program->MakeSession(MakeSessionOptions(config));
  ThrowIfError(program->session_->Create(std::move(graph)), "loading the graph");
  return program;
}

std::shared_ptr<Program> Program::FromSavedModel(Runtime& runtime, const std::string& directory,
                                                 const std::vector<std::string>& tags,
                                                 const tf::ConfigProto& config) {
  std::shared_ptr<Program> program(new Program());
  const std::unordered_set<std::string> tag_set(tags.begin(), tags.end());
  const std::string context =
      absl::StrCat("loading the SavedModel ", directory, " with the tags [", absl::StrJoin(tags, ", "), "]");
  // The steps of LoadSavedModel, with a change of the graph in between.
  tf::MetaGraphDef meta_graph;
  ThrowIfError(tf::ReadMetaGraphDefFromSavedModel(directory, tag_set, &meta_graph), context);
  CheckAttributes(meta_graph.graph_def());
  RequireVariables(directory, meta_graph.graph_def());
  if (runtime.gpu() == nullptr) PrepareForCpu(meta_graph.mutable_graph_def());
  PlaceOnRuntime(runtime, meta_graph.mutable_graph_def());
  program->RememberNodes(meta_graph.graph_def());
  // Readers of the variables are added to the graph when it is frozen.
  tf::SessionOptions options = MakeSessionOptions(config);
  options.config.mutable_experimental()->set_disable_optimize_for_static_graph(true);
  std::shared_lock<std::shared_mutex> no_recording;
  if (program->has_engines_) {
    CheckConstants(meta_graph.graph_def());  // as LoadMetagraphIntoSession does
    program->MakeSession(options);
    ThrowIfError(program->session_->Create(meta_graph.graph_def()), context);
    no_recording = HoldOffRecording();
  } else {
    ThrowIfError(tf::LoadMetagraphIntoSession(options, meta_graph, &program->session_), context);
  }
  const LoadingEngines loading(program->engine_loads());
  ThrowIfError(tf::RestoreSession(tf::RunOptions(), meta_graph, directory, &program->session_), context);
  program->signatures_ = meta_graph.signature_def();
  program->directory_ = directory;
  program->tags_ = tag_set;
  return program;
}

std::shared_ptr<Program> Program::FromPreparedGraph(tf::GraphDef graph,
                                                    const std::vector<std::string>& initializers) {
  std::shared_ptr<Program> program(new Program());
  program->is_prepared_ = true;
  program->RememberNodes(graph);
  tf::ConfigProto config = Runtime::Get().config();
  config.mutable_graph_options()->mutable_rewrite_options()->set_disable_meta_optimizer(true);
  program->MakeSession(MakeSessionOptions(config));
  ThrowIfError(program->session_->Create(std::move(graph)), "loading the graph");
  const LoadingEngines loading(program->engine_loads());
  if (!initializers.empty()) program->RunTargets(initializers);
  return program;
}

void Program::MakeSession(const tf::SessionOptions& options) {
  if (has_engines_ && Runtime::Get().gpu() != nullptr) {
    engine_loads_ = std::make_shared<EngineLoads>();
    session_ = NewEngineSession(options, engine_loads_);
    return;
  }
  tf::Session* session = nullptr;
  ThrowIfError(tf::NewSession(options, &session), "making a session");
  session_.reset(session);
}

FrozenGraph Program::Frozen(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches) {
  if (has_engines_) {
    throw Error("TFTRT_NOT_FREEZABLE",
                absl::StrCat("the SavedModel ", directory_,
                             " has TensorRT engines already: take the model that it was "
                             "converted from"));
  }
  tf::MetaGraphDef meta_graph;
  ThrowIfError(tf::ReadMetaGraphDefFromSavedModel(directory_, tags_, &meta_graph),
               absl::StrCat("reading the SavedModel ", directory_));
  return Freeze(session_.get(), meta_graph.graph_def(), feeds, fetches);
}

Program::~Program() {
  if (session_ != nullptr) session_->Close().IgnoreError();
}

void Program::RememberNodes(const tf::GraphDef& graph) {
  if (!functions_) {
    functions_ = std::make_unique<tf::FunctionLibraryDefinition>(tf::OpRegistry::Global(), graph.library());
    for (const tf::FunctionDef& function : graph.library().function()) {
      for (const tf::NodeDef& node : function.node_def()) has_engines_ |= node.op() == "TRTEngineOp";
    }
  }
  SeenFunctions seen;
  for (const tf::NodeDef& node : graph.node()) {
    tf::NodeDef& kept = nodes_[node.name()];
    kept.set_name(node.name());
    kept.set_op(node.op());
    *kept.mutable_input() = node.input();
    has_engines_ |= node.op() == "TRTEngineOp";
    if (control_flow_.empty()) control_flow_ = ControlFlowOf(*functions_, node, &seen);
    for (const auto& [name, value] : node.attr()) {
      if (!value.has_tensor()) (*kept.mutable_attr())[name] = value;
    }
  }
}

tf::DataType Program::TypeOf(const std::string& name) const {
  const tf::TensorId id = tf::ParseTensorName(name);
  const auto found = nodes_.find(std::string(id.node()));
  if (found == nodes_.end())
    throw Error("TFTRT_NOT_FOUND", absl::StrCat("the graph has no node '", id.node(), "'"));
  return OutputType(*functions_, found->second, id.index());
}

bool Program::Writes(const std::vector<std::string>& fetches) const {
  SeenFunctions functions;
  std::unordered_set<std::string> met;
  std::vector<std::string> open;
  const auto meet = [&](const std::string& tensor) {
    std::string node(tf::ParseTensorName(tensor).node());
    if (met.insert(node).second) open.push_back(std::move(node));
  };
  for (const std::string& fetch : fetches) meet(fetch);
  while (!open.empty()) {
    const auto found = nodes_.find(open.back());
    open.pop_back();
    if (found == nodes_.end()) continue;
    if (WritesVariables(*functions_, found->second, &functions)) return true;
    for (const std::string& input : found->second.input()) meet(input);
  }
  return false;
}

void Program::RunTargets(const std::vector<std::string>& targets) {
  ThrowIfError(session_->Run({}, {}, targets, nullptr),
               absl::StrCat("running ", absl::StrJoin(targets, ", ")));
}

std::string Program::SignaturesJson() const {
  tf::MetaGraphDef meta_graph;
  *meta_graph.mutable_signature_def() = signatures_;
  return ToJson(meta_graph);
}

Callable::Callable(std::shared_ptr<Program> program, tf::CallableOptions options)
    : program_(std::move(program)) {
  // A run stays on the thread that asks for it: handing it to another costs more than a small graph takes.
  // But a run that waits for a value from the GPU then goes on in the one thread that tells of finished
  // copies. A function that is first met there makes its constants there, and waits for their copies for
  // ever.
  if (Runtime::Get().gpu() == nullptr || !program_->calls_functions())
    options.mutable_run_options()->set_inter_op_thread_pool(-1);
  // The caller orders its reads on the stream; and DirectSession has no other way for outputs that stay on
  // the device.
  options.set_fetch_skip_sync(true);
  for (const std::string& name : options.feed()) {
    feeds_.push_back({name, program_->TypeOf(name), options.feed_devices().contains(name)});
  }
  for (const std::string& name : options.fetch()) {
    fetches_.push_back({name, program_->TypeOf(name), options.fetch_devices().contains(name)});
  }
  ThrowIfError(program_->session()->MakeCallable(options, &handle_), "compiling the graph");
}

Callable::~Callable() { program_->session()->ReleaseCallable(handle_).IgnoreError(); }

std::vector<tf::Tensor> Callable::RunTensors(const std::vector<tf::Tensor>& inputs,
                                             tf::RunMetadata* metadata) {
  std::vector<tf::Tensor> outputs;
  ThrowIfError(program_->session()->RunCallable(handle_, inputs, &outputs, metadata), "running the graph");
  return outputs;
}

std::vector<tf::Tensor> Callable::RunEngines(const std::vector<tf::Tensor>& feeds) {
  std::vector<tf::TensorShape> shapes;
  for (const tf::Tensor& feed : feeds) shapes.push_back(feed.shape());
  bool may_load;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // Those of a prepared graph are loaded, but what they need may come with the first run. In others, a run
    // may take another branch, to another engine.
    may_load = !loaded_for_ ||
               (!program_->is_prepared() && (!program_->control_flow().empty() || loaded_for_ != shapes));
  }
  const std::shared_lock<std::shared_mutex> no_recording = HoldOffRecording();
  const LoadingEngines loading(may_load ? program_->engine_loads() : nullptr);
  std::vector<tf::Tensor> fetched = RunTensors(feeds, /*metadata=*/nullptr);
  if (may_load) {
    std::lock_guard<std::mutex> lock(mutex_);
    loaded_for_ = std::move(shapes);
  }
  return fetched;
}

std::vector<HandlePtr> Callable::Run(Runtime& runtime, const std::vector<tf::TensorHandle*>& inputs) {
  std::vector<tf::Tensor> feeds;
  feeds.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Endpoint& feed = feeds_[i];
    HandlePtr cast;
    if (inputs[i]->dtype != feed.dtype) cast = CastInput(runtime, inputs[i], feed.dtype, feed.name);
    feeds.push_back(runtime.TensorOn(cast ? cast.get() : inputs[i], feed.on_device));
  }
  std::vector<tf::Tensor> fetched =
      program_->has_engines() ? RunEngines(feeds) : RunTensors(feeds, /*metadata=*/nullptr);
  std::vector<HandlePtr> outputs;
  outputs.reserve(fetched.size());
  for (size_t i = 0; i < fetched.size(); ++i) {
    const Endpoint& fetch = fetches_[i];
    outputs.push_back(CastOutput(runtime, runtime.Wrap(std::move(fetched[i]), fetch.on_device), fetch.name));
  }
  return outputs;
}

}  // namespace tftrt
