#include "engine_build.h"

#include <limits>
#include <memory>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "engine_session.h"
#include "error.h"
#include "frozen_graph.h"
#include "graph_def.h"
#include "runtime.h"
#include "tensorflow/compiler/tf2tensorrt/utils/trt_engine_instance.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/tensor_id.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"
#include "tensorflow/core/public/session.h"
#include "tsl/lib/io/record_reader.h"
#include "tsl/platform/env.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

constexpr const char* kEngineOp = "TRTEngineOp";

std::string FileOf(const std::string& directory, const std::string& engine) {
  return absl::StrCat(directory, "/", engine, ".engine");
}

// The engine's name in its device's resources: TF-TRT leaves out the scopes.
std::string ResourceName(const std::string& node) {
  const size_t slash = node.find_last_of('/');
  return slash == std::string::npos ? node : node.substr(slash + 1);
}

void AddText(tf::GraphDef* graph, const std::string& name, const std::string& text) {
  tf::NodeDef* node = AddNode(graph, name, "Const");
  node->set_device("/device:CPU:0");
  (*node->mutable_attr())["dtype"].set_type(tf::DT_STRING);
  tf::TensorProto* value = (*node->mutable_attr())["value"].mutable_tensor();
  value->set_dtype(tf::DT_STRING);
  value->mutable_tensor_shape();
  value->add_string_val(text);
}

void SetEngineAttribute(tf::GraphDef* graph, const std::string& name,
                        const std::function<void(tf::AttrValue*)>& set) {
  for (tf::NodeDef& node : *graph->mutable_node()) {
    if (node.op() == kEngineOp) set(&(*node.mutable_attr())[name]);
  }
}

// The feeds' shapes, with -1 where the samples differ.
void DeclareShapes(const std::vector<std::string>& feeds, const std::vector<Tensors>& samples,
                   tf::GraphDef* graph) {
  for (tf::NodeDef& node : *graph->mutable_node()) {
    for (size_t i = 0; i < feeds.size(); ++i) {
      if (node.name() != feeds[i]) continue;
      tf::TensorShapeProto* shape = (*node.mutable_attr())["shape"].mutable_shape();
      shape->Clear();
      for (int axis = 0; axis < samples[0][i].dims(); ++axis) {
        int64_t size = samples[0][i].dim_size(axis);
        for (const Tensors& sample : samples) {
          if (sample[i].dims() != samples[0][i].dims())
            throw Error(
                "TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the shapes of the profile have different ranks: ",
                             samples[0][i].shape().DebugString(), " and ", sample[i].shape().DebugString()));
          if (sample[i].dim_size(axis) != size) size = -1;
        }
        shape->add_dim()->set_size(size);
      }
    }
  }
}

// Replaces what TensorRT can compute by TRTEngineOp nodes.
tf::GraphDef Segment(tf::GraphDef graph, const std::vector<std::string>& feeds,
                     const std::vector<std::string>& fetches, const std::vector<std::string>& initializers,
                     const EngineOptions& options, const Tensors& sample) {
  tf::grappler::GrapplerItem item;
  item.id = "tf_graph";  // TF-TRT leaves items of another name alone
  item.graph = std::move(graph);
  item.fetch = fetches;
  item.keep_ops = initializers;
  for (size_t i = 0; i < feeds.size(); ++i) item.feed.emplace_back(feeds[i], sample[i]);

  tf::ConfigProto config;
  tf::RewriterConfig* rewriter = config.mutable_graph_options()->mutable_rewrite_options();
  rewriter->set_meta_optimizer_iterations(tf::RewriterConfig::ONE);
  rewriter->set_min_graph_nodes(-1);
  rewriter->set_remapping(tf::RewriterConfig::OFF);
  rewriter->set_experimental_disable_folding_quantization_emulation(true);
  for (const char* name : {"function", "constfold", "layout", "constfold"}) rewriter->add_optimizers(name);
  tf::RewriterConfig::CustomGraphOptimizer* converter = rewriter->add_custom_optimizers();
  converter->set_name("TensorRTOptimizer");
  auto& parameters = *converter->mutable_parameter_map();
  parameters["is_dynamic_op"].set_b(true);
  parameters["minimum_segment_size"].set_i(options.minimum_segment_size);
  parameters["precision_mode"].set_s(options.precision);
  const int64_t batch = sample.empty() || sample[0].dims() == 0 ? 1 : sample[0].dim_size(0);
  parameters["max_batch_size"].set_i(options.max_batch_size > 0 ? options.max_batch_size : batch);
  parameters["max_workspace_size_bytes"].set_i(options.max_workspace_size_bytes > 0
                                                   ? options.max_workspace_size_bytes
                                                   : std::numeric_limits<int64_t>::max() - 512);
  // Each set of shapes has a graph of its own, with one engine for each segment.
  parameters["maximum_cached_engines"].set_i(1);
  parameters["use_calibration"].set_b(options.precision == "INT8" && options.use_calibration);
  parameters["profile_strategy"].set_s(options.profile_strategy);
  parameters["use_implicit_batch"].set_b(options.implicit_batch);
  parameters["allow_build_at_runtime"].set_b(true);

  return RunGrappler(std::move(item), config, "converting the graph with TF-TRT");
}

class BuildSession {
 public:
  explicit BuildSession(const tf::GraphDef& graph) {
    tf::SessionOptions options;
    options.config = Runtime::Get().config();
    // The graph was optimised already, and folding would undo the quantisation.
    options.config.mutable_graph_options()->mutable_rewrite_options()->set_disable_meta_optimizer(true);
    session_ = NewEngineSession(options, loads_);
    ThrowIfError(session_->Create(graph), "loading the converted graph");
  }
  ~BuildSession() { session_->Close().IgnoreError(); }

  void Run(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
           const Tensors& inputs) {
    std::vector<std::pair<std::string, tf::Tensor>> pairs;
    for (size_t i = 0; i < feeds.size(); ++i) pairs.emplace_back(feeds[i], inputs[i]);
    std::vector<tf::Tensor> outputs;
    ThrowIfError(session_->Run(pairs, fetches, {}, &outputs), "running the converted graph");
  }
  std::string Text(const std::string& fetch) {
    std::vector<tf::Tensor> outputs;
    ThrowIfError(session_->Run({}, {fetch}, {}, &outputs), fetch);
    return std::string(outputs[0].scalar<tf::tstring>()());
  }
  void RunTargets(const std::vector<std::string>& targets) {
    if (targets.empty()) return;
    ThrowIfError(session_->Run({}, {}, targets, nullptr), targets[0]);
  }

 private:
  // All that it does is to build engines.
  const std::shared_ptr<EngineLoads> loads_ = std::make_shared<EngineLoads>();
  const LoadingEngines loading_{loads_.get()};
  std::unique_ptr<tf::Session> session_;
};

// Nodes that hand the engines, and what calibration found, to the disk and to us.
void AddOutlets(const std::vector<std::string>& engines, const std::string& directory, bool calibrating,
                const std::string& gpu, tf::GraphDef* graph) {
  for (const std::string& engine : engines) {
    const std::string base = absl::StrCat("tftrt_", engine);
    AddText(graph, base + "_name", engine);
    AddText(graph, base + "_file", FileOf(directory, engine));
    tf::NodeDef* writer =
        AddNode(graph, base + "_write", "SerializeTRTResource", {base + "_name", base + "_file"});
    writer->set_device(gpu);
    (*writer->mutable_attr())["delete_resource"].set_b(true);
    if (calibrating)
      AddNode(graph, base + "_table", "GetCalibrationDataOp", {base + "_name"})->set_device(gpu);
  }
}

void SetCalibrationTables(const std::map<std::string, std::string>& tables, tf::GraphDef* graph) {
  for (tf::NodeDef& node : *graph->mutable_node()) {
    if (node.op() != kEngineOp) continue;
    const auto found = tables.find(ResourceName(node.name()));
    if (found == tables.end()) {
      throw Error("TFTRT_INVALID_ARGUMENT",
                  absl::StrCat("the calibration table has nothing for the engine ", ResourceName(node.name()),
                               ": it belongs to another model or other options. Calibrate with inputs"));
    }
    (*node.mutable_attr())["calibration_data"].set_s(found->second);
  }
}

// What TensorRT made, from a file that SerializeTRTResource wrote; empty where TensorRT could not make the
// engine.
std::string SerializedEngine(const std::string& file) {
  uint64_t size = 0;
  ThrowIfError(tsl::Env::Default()->GetFileSize(file, &size), "reading a TensorRT engine");
  if (size == 0) return "";
  std::unique_ptr<tsl::RandomAccessFile> opened;
  ThrowIfError(tsl::Env::Default()->NewRandomAccessFile(file, &opened), "reading a TensorRT engine");
  tsl::io::RecordReader reader(opened.get());
  uint64_t offset = 0;
  tsl::tstring record;
  ThrowIfError(reader.ReadRecord(&offset, &record), absl::StrCat("reading the TensorRT engine ", file));
  tf::tensorrt::TRTEngineInstance instance;
  if (!instance.ParseFromArray(record.data(), record.size()))
    throw Error("TFTRT_DATA_LOSS", absl::StrCat("the TensorRT engine ", file, " is damaged"));
  return instance.serialized_engine();
}

// Renames the engines and the functions of their segments.
void AddToEngineNames(const std::string& suffix, tf::GraphDef* graph) {
  std::unordered_set<std::string> nodes, functions;
  for (tf::NodeDef& node : *graph->mutable_node()) {
    if (node.op() != kEngineOp) continue;
    nodes.insert(node.name());
    node.set_name(node.name() + suffix);
    std::string* segment = (*node.mutable_attr())["segment_func"].mutable_func()->mutable_name();
    functions.insert(*segment);
    segment->append(suffix);
  }
  for (tf::NodeDef& node : *graph->mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      const tf::TensorId id = tf::ParseTensorName(input);
      if (nodes.count(std::string(id.node())) == 0) continue;
      const std::string renamed = std::string(id.node()) + suffix;
      input = id.index() < 0    ? absl::StrCat("^", renamed)
              : id.index() == 0 ? renamed
                                : absl::StrCat(renamed, ":", id.index());
    }
  }
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    std::string* name = function.mutable_signature()->mutable_name();
    if (functions.count(*name) > 0) name->append(suffix);
  }
}

}  // namespace

EngineGraph BuildEngines(tf::GraphDef graph, const std::vector<std::string>& feeds,
                         const std::vector<std::string>& fetches,
                         const std::vector<std::string>& initializers, const EngineOptions& options,
                         const std::vector<Tensors>& samples, const std::vector<Tensors>& calibration,
                         const std::string& directory,
                         const std::function<void(const std::string&)>& progress) {
  const std::string gpu = Runtime::Get().device_name();
  if (options.declare_shapes) DeclareShapes(feeds, samples, &graph);
  progress("segmenting");
  EngineGraph result;
  result.graph = Segment(std::move(graph), feeds, fetches, initializers, options, samples[0]);
  for (const tf::NodeDef& node : result.graph.node()) {
    if (node.op() == kEngineOp) result.engines.push_back(ResourceName(node.name()));
  }
  if (result.engines.empty()) return result;

  const bool quantising = options.precision == "INT8" && options.use_calibration;
  const bool calibrating = quantising && options.calibration_tables.empty();
  if (quantising && !calibrating) {
    result.calibration_tables = options.calibration_tables;
    SetCalibrationTables(result.calibration_tables, &result.graph);
  }
  // One session after the other: the first of several shapes, or samples, teaches the engines what to be.
  const bool profiling = !options.implicit_batch && samples.size() > 1;
  tf::GraphDef to_build = result.graph;
  AddOutlets(result.engines, directory, calibrating, gpu, &to_build);
  if (profiling) {
    // Both graphs in one session: they share the engines' resources by name.
    tf::GraphDef profiled = result.graph;
    SetEngineAttribute(&profiled, "_profile_generation_mode",
                       [](tf::AttrValue* value) { value->set_b(true); });
    const std::string prefix = "tftrt_profile/";
    for (tf::NodeDef node : profiled.node()) {
      node.set_name(prefix + node.name());
      for (std::string& input : *node.mutable_input()) {
        input = input[0] == '^' ? absl::StrCat("^", prefix, input.substr(1)) : prefix + input;
      }
      *to_build.add_node() = std::move(node);
    }
  }
  BuildSession session(to_build);
  session.RunTargets(initializers);
  if (profiling) {
    progress("profiling");
    std::vector<std::string> profile_feeds, profile_fetches;
    for (const std::string& feed : feeds) profile_feeds.push_back("tftrt_profile/" + feed);
    for (const std::string& fetch : fetches) profile_fetches.push_back("tftrt_profile/" + fetch);
    for (const Tensors& sample : samples) session.Run(profile_feeds, profile_fetches, sample);
  }
  if (calibrating) {
    progress("calibrating");
    for (const Tensors& inputs : calibration) session.Run(feeds, fetches, inputs);
    progress("building");
    // Ends the calibration, upon which TensorRT builds the engine.
    for (const std::string& engine : result.engines) {
      result.calibration_tables[engine] = session.Text(absl::StrCat("tftrt_", engine, "_table:0"));
    }
  } else {
    progress("building");
    session.Run(feeds, fetches, samples[0]);
  }
  progress("writing");
  for (const std::string& engine : result.engines) {
    session.RunTargets({absl::StrCat("tftrt_", engine, "_write")});
  }
  return result;
}

void StripSegments(tf::GraphDef* graph) {
  std::unordered_set<std::string> segments;
  for (const tf::NodeDef& node : graph->node()) {
    if (node.op() == kEngineOp) segments.insert(node.attr().at("segment_func").func().name());
  }
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    if (segments.count(function.signature().name()) == 0) continue;
    for (tf::NodeDef& node : *function.mutable_node_def()) {
      node.clear_device();
      if (node.op() != "Const") continue;
      // Small ones may say a shape or an axis, which TensorFlow reads when it loads the graph.
      if (node.attr().at("value").tensor().ByteSizeLong() < 256) continue;
      tf::AttrValue shape;
      *shape.mutable_shape() = node.attr().at("value").tensor().tensor_shape();
      node.set_op("Placeholder");  // has the constant's shape, and is an error when it is run
      node.mutable_attr()->erase("value");
      (*node.mutable_attr())["shape"] = shape;
    }
  }
}

std::vector<std::string> LoadEnginesFrom(const std::string& directory,
                                         const std::vector<std::string>& engines, tf::GraphDef* graph) {
  std::vector<std::string> targets;
  std::string device;
  for (tf::NodeDef& node : *graph->mutable_node()) {
    if (node.op() != kEngineOp) continue;
    device = node.device();
    (*node.mutable_attr())["_allow_build_at_runtime"].set_b(false);
  }
  for (const std::string& engine : engines) {
    const std::string base = absl::StrCat("tftrt_", engine);
    AddText(graph, base + "_file", FileOf(directory, engine));
    tf::NodeDef* handle = AddNode(graph, base + "_handle", "CreateTRTResourceHandle");
    handle->set_device(device);
    (*handle->mutable_attr())["resource_name"].set_s(engine);
    tf::NodeDef* loader =
        AddNode(graph, base + "_load", "InitializeTRTResource", {base + "_handle", base + "_file"});
    loader->set_device(device);
    (*loader->mutable_attr())["max_cached_engines_count"].set_i(1);
    targets.push_back(loader->name());
  }
  return targets;
}

void EmbedEngines(const std::string& directory, const EngineGraph& built, const std::string& suffix,
                  tf::GraphDef* graph) {
  if (!built.calibration_tables.empty()) SetCalibrationTables(built.calibration_tables, graph);
  for (const std::string& engine : built.engines) {
    const std::string serialized = SerializedEngine(FileOf(directory, engine));
    for (tf::NodeDef& node : *graph->mutable_node()) {
      if (node.op() != kEngineOp || ResourceName(node.name()) != engine) continue;
      (*node.mutable_attr())["static_engine"].set_b(true);
      (*node.mutable_attr())["serialized_segment"].set_s(serialized);
      // Where there is no engine, or it cannot run, its segment does; a run never waits for an engine to be
      // built.
      (*node.mutable_attr())["_allow_build_at_runtime"].set_b(false);
    }
  }
  AddToEngineNames(suffix, graph);
}

}  // namespace tftrt
