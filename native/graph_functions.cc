#include "graph_functions.h"

#include <tuple>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "boundary.h"
#include "canonical_graph.h"
#include "captured_graph.h"
#include "engine_build.h"
#include "graph_checks.h"
#include "model_arguments.h"
#include "tensorflow/core/platform/env.h"

// From tensorflow/compiler/tf2tensorrt/utils/py_utils.h, which is not among the wheel's headers.
namespace tensorflow::tensorrt {
std::tuple<int, int, int> GetLinkedTensorRTVersion();
std::tuple<int, int, int> GetLoadedTensorRTVersion();
}  // namespace tensorflow::tensorrt

namespace tftrt {

namespace tf = tensorflow;

namespace {

Napi::Array FromStrings(Napi::Env env, const std::vector<std::string>& strings) {
  Napi::Array array = Napi::Array::New(env, strings.size());
  for (uint32_t i = 0; i < strings.size(); ++i) array.Set(i, strings[i]);
  return array;
}

void WriteGraph(const tf::GraphDef& graph, const std::string& file) {
  ThrowIfError(tf::WriteBinaryProto(tf::Env::Default(), file, graph), absl::StrCat("writing ", file));
}

tf::GraphDef ReadGraph(const std::string& file) {
  tf::GraphDef graph;
  ThrowIfError(tf::ReadBinaryProto(tf::Env::Default(), file, &graph), absl::StrCat("reading ", file));
  return graph;
}

// Arguments: async, GraphDef in JSON, weights (four arrays), feeds, their dtypes, fetches, initializers.
Napi::Value CreateGraph(EnvState& state, const Napi::CallbackInfo& info) {
  state.runtime();
  const auto weights = ToWeights(info, 2);
  std::vector<tf::DataType> dtypes;
  const Napi::Array numbers = info[7].As<Napi::Array>();
  for (uint32_t i = 0; i < numbers.Length(); ++i)
    dtypes.push_back(static_cast<tf::DataType>(numbers.Get(i).As<Napi::Number>().Int32Value()));
  auto job = NewMakeJob<CanonicalGraph>(state.graphs, [json = info[1].As<Napi::String>().Utf8Value(), weights,
                                                       feeds = ToStrings(info[6].As<Napi::Array>()), dtypes,
                                                       fetches = ToStrings(info[8].As<Napi::Array>()),
                                                       initializers = ToStrings(info[9].As<Napi::Array>())] {
    tf::GraphDef graph;
    ParseJson(json, &graph, "the model's graph");
    SetWeights(*weights, &graph);
    CheckAttributes(graph);
    return std::make_shared<CanonicalGraph>(Canonicalize(graph, feeds, dtypes, fetches, initializers));
  });
  const bool async = info[0].As<Napi::Boolean>();
  if (async) job->Keep(info.Env(), info[5]);
  return RunJob(info, state, async, std::move(job));
}

// Arguments: async, program of a SavedModel, feeds, fetches.
Napi::Value FreezeProgram(EnvState& state, const Napi::CallbackInfo& info) {
  std::shared_ptr<Program> program = state.programs.Get(info[1].As<Napi::Number>().Int32Value());
  auto job = NewMakeJob<CanonicalGraph>(state.graphs, [program, feeds = ToStrings(info[2].As<Napi::Array>()),
                                                       fetches = ToStrings(info[3].As<Napi::Array>())] {
    std::vector<tf::DataType> dtypes;
    for (const std::string& feed : feeds) dtypes.push_back(program->TypeOf(feed));
    return std::make_shared<CanonicalGraph>(
        Canonicalize(program->Frozen(feeds, fetches), feeds, dtypes, fetches, {}));
  });
  return RunJob(info, state, info[0].As<Napi::Boolean>(), std::move(job));
}

// Argument: graph. {feeds, fetches, initializers, fingerprint}.
Napi::Value DescribeGraph(EnvState& state, const Napi::CallbackInfo& info) {
  const CanonicalGraph& graph = *state.graphs.Get(info[0].As<Napi::Number>().Int32Value());
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("feeds", FromStrings(info.Env(), graph.feeds));
  object.Set("fetches", FromStrings(info.Env(), graph.fetches));
  object.Set("initializers", FromStrings(info.Env(), graph.initializers));
  object.Set("fingerprint", graph.fingerprint);
  return object;
}

class WriteGraphJob : public Job {
 public:
  WriteGraphJob(std::shared_ptr<CanonicalGraph> graph, std::string file)
      : graph_(std::move(graph)), file_(std::move(file)) {}
  void Work() override { WriteGraph(graph_->graph, file_); }
  napi_value Finish(napi_env env) override { return Undefined(env); }

 private:
  std::shared_ptr<CanonicalGraph> graph_;
  std::string file_;
};

// Arguments: graph, file.
Napi::Value WriteGraphFile(EnvState& state, const Napi::CallbackInfo& info) {
  auto job = std::make_unique<WriteGraphJob>(state.graphs.Get(info[0].As<Napi::Number>().Int32Value()),
                                             info[1].As<Napi::String>());
  return Napi::Value(info.Env(), state.Start(info.Env(), std::move(job)));
}

Napi::Value ReleaseGraph(EnvState& state, const Napi::CallbackInfo& info) {
  state.graphs.Remove(info[0].As<Napi::Number>().Int32Value());
  return info.Env().Undefined();
}

// Arguments: graph, ConfigProto in JSON. Resolves to a program of it on the arena.
Napi::Value CreateArenaProgram(EnvState& state, const Napi::CallbackInfo& info) {
  std::shared_ptr<CanonicalGraph> graph = state.graphs.Get(info[0].As<Napi::Number>().Int32Value());
  Runtime& runtime = state.runtime();
  tf::ConfigProto config;
  ParseJson(info[1].As<Napi::String>(), &config, "the session configuration");
  auto job = NewMakeJob<Program>(state.programs, [graph, config, &runtime] {
    tf::GraphDef placed = graph->graph;
    PlaceOn(runtime.arena()->name(), &placed);
    std::shared_ptr<Program> program = Program::FromGraph(std::move(placed), config);
    if (!graph->initializers.empty()) {
      const std::lock_guard<std::mutex> arena(ArenaMutex());
      program->RunTargets(graph->initializers);
    }
    return program;
  });
  return RunJob(info, state, true, std::move(job));
}

// TensorFlow does not survive an engine that cannot be loaded, so its memory must be there before.
void RequireRoom(tf::Allocator* allocator, const std::string& directory,
                 const std::vector<std::string>& engines) {
  tf::uint64 bytes = 32 << 20;
  for (const std::string& engine : engines) {
    tf::uint64 size = 0;
    const std::string file = absl::StrCat(directory, "/", engine, ".engine");
    ThrowIfError(tf::Env::Default()->GetFileSize(file, &size), "loading a TensorRT engine");
    bytes += size;
  }
  tf::AllocationAttributes attributes;
  attributes.retry_on_failure = false;
  void* room = allocator->AllocateRaw(tf::Allocator::kAllocatorAlignment, bytes, attributes);
  if (room == nullptr) {
    throw Error(
        "TFTRT_RESOURCE_EXHAUSTED",
        absl::StrCat("the TensorRT engines need ", bytes, " bytes, which ", allocator->Name(),
                     " has not free: dispose of models and tensors, or raise memoryLimitBytes (for CUDA "
                     "graphs, graphArenaBytes)"));
  }
  allocator->DeallocateRaw(room);
}

// Arguments: directory that buildEngines filled, its engines, initializers, whether on the arena. Resolves to
// a program.
Napi::Value LoadEngineProgram(EnvState& state, const Napi::CallbackInfo& info) {
  Runtime& runtime = state.runtime();
  const bool on_arena = info[3].As<Napi::Boolean>();
  tf::Device* target = on_arena ? runtime.arena() : runtime.gpu();
  if (target == nullptr) throw Error("TFTRT_GPU_UNAVAILABLE", "there is no GPU to load TensorRT engines on");
  const std::string device = target->name();
  tf::Allocator* allocator = target->GetAllocator(tf::AllocatorAttributes());
  auto job = NewMakeJob<Program>(
      state.programs,
      [directory = info[0].As<Napi::String>().Utf8Value(), engines = ToStrings(info[1].As<Napi::Array>()),
       initializers = ToStrings(info[2].As<Napi::Array>()), device, allocator, on_arena] {
        tf::GraphDef graph = ReadGraph(absl::StrCat(directory, "/graph.pb"));
        PlaceOn(device, &graph);
        std::vector<std::string> targets = LoadEnginesFrom(directory, engines, &graph);
        targets.insert(targets.end(), initializers.begin(), initializers.end());
        std::unique_lock<std::mutex> arena(ArenaMutex(), std::defer_lock);
        if (on_arena) arena.lock();
        const std::shared_lock<std::shared_mutex> no_recording = HoldOffRecording();
        RequireRoom(allocator, directory, engines);
        return Program::FromPreparedGraph(std::move(graph), targets);
      });
  return RunJob(info, state, true, std::move(job));
}

std::vector<HandlePtr> InputsFromCommands(EnvState& state, int count) {
  if (count < 0 || static_cast<size_t>(count) > state.commands_length())
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("wrong number of inputs: ", count));
  std::vector<HandlePtr> handles(count);
  for (int i = 0; i < count; ++i) {
    if (state.commands()[i] == 0) continue;
    tf::TensorHandle* handle = state.tensors.Get(state.commands()[i]).handle.get();
    handle->Ref();
    handles[i].reset(handle);
  }
  return handles;
}

// Arguments: program on the arena, CallableOptions in JSON, number of samples (handles in the command
// buffer).
Napi::Value CaptureGraph(EnvState& state, const Napi::CallbackInfo& info) {
  std::shared_ptr<Program> program = state.programs.Get(info[0].As<Napi::Number>().Int32Value());
  tf::CallableOptions options;
  ParseJson(info[1].As<Napi::String>(), &options, "the callable's options");
  auto samples = std::make_shared<std::vector<HandlePtr>>(
      InputsFromCommands(state, info[2].As<Napi::Number>().Int32Value()));
  Runtime& runtime = state.runtime();
  auto job = NewMakeJob<CapturedGraph>(state.captured_graphs, [program, options, samples, &runtime] {
    auto captured = std::make_shared<CapturedGraph>(runtime, program, options, *samples);
    samples->clear();
    return captured;
  });
  return RunJob(info, state, true, std::move(job));
}

// Lets go of a CUDA graph, which waits for its replays and for one that is being recorded.
class ReleaseCapturedGraphJob : public Job {
 public:
  explicit ReleaseCapturedGraphJob(std::shared_ptr<CapturedGraph> graph) : graph_(std::move(graph)) {}
  void Work() override { graph_.reset(); }
  napi_value Finish(napi_env env) override { return Undefined(env); }

 private:
  std::shared_ptr<CapturedGraph> graph_;
};

// Resolves when the memory is free.
Napi::Value ReleaseCapturedGraph(EnvState& state, const Napi::CallbackInfo& info) {
  auto job = std::make_unique<ReleaseCapturedGraphJob>(
      state.captured_graphs.Remove(info[0].As<Napi::Number>().Int32Value()));
  return Napi::Value(info.Env(), state.Start(info.Env(), std::move(job)));
}

// The inputs of a replay: handles in the command buffer, or, where that has a 0, typed arrays of a JavaScript
// array.
std::vector<CapturedInput> ReplayInputs(napi_env env, const CapturedGraph& graph,
                                        const std::vector<HandlePtr>& handles, napi_value arrays) {
  if (handles.size() != graph.inputs()) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the graph takes ", graph.inputs(), " inputs, got ", handles.size()));
  }
  std::vector<CapturedInput> inputs(handles.size());
  for (size_t i = 0; i < handles.size(); ++i) {
    size_t bytes;
    if (handles[i]) {
      inputs[i].tensor = handles[i].get();
      bytes = TensorOf(handles[i].get()).TotalBytes();
    } else {
      const TypedArray array = GetTypedArray(env, GetElement(env, arrays, i));
      inputs[i].host = array.data;
      bytes = array.byte_length;
    }
    if (bytes != graph.input_bytes(i)) {
      throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("input ", i, " has ", bytes,
                                                         " bytes; the CUDA graph was "
                                                         "recorded with ",
                                                         graph.input_bytes(i)));
    }
  }
  return inputs;
}

// Arguments: CUDA graph, number of inputs, array of typed arrays. As runCallable.
napi_value RunCapturedGraph(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<3> arguments(env, info);
  CapturedGraph& graph = *state.captured_graphs.Get(GetInt(env, arguments[0]));
  const std::vector<HandlePtr> handles = InputsFromCommands(state, GetInt(env, arguments[1]));
  std::vector<std::unique_ptr<OutputRead>> reads;
  std::vector<HandlePtr> outputs = graph.Run(ReplayInputs(env, graph, handles, arguments[2]), &reads);
  return state.PublishToCommands(env, std::move(outputs), std::move(reads));
}

class RunCapturedGraphJob : public Job {
 public:
  RunCapturedGraphJob(EnvState& state, std::shared_ptr<CapturedGraph> graph, std::vector<HandlePtr> handles,
                      std::vector<CapturedInput> inputs)
      : state_(state), graph_(std::move(graph)), handles_(std::move(handles)), inputs_(std::move(inputs)) {}
  void Work() override {
    outputs_ = graph_->Run(inputs_, nullptr);
    handles_.clear();
    graph_.reset();
  }
  napi_value Finish(napi_env env) override { return state_.PublishAll(env, std::move(outputs_)); }

 private:
  EnvState& state_;
  std::shared_ptr<CapturedGraph> graph_;
  std::vector<HandlePtr> handles_;
  std::vector<CapturedInput> inputs_;
  std::vector<HandlePtr> outputs_;
};

napi_value RunCapturedGraphAsync(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<3> arguments(env, info);
  std::shared_ptr<CapturedGraph> graph = state.captured_graphs.Get(GetInt(env, arguments[0]));
  std::vector<HandlePtr> handles = InputsFromCommands(state, GetInt(env, arguments[1]));
  std::vector<CapturedInput> inputs = ReplayInputs(env, *graph, handles, arguments[2]);
  auto job =
      std::make_unique<RunCapturedGraphJob>(state, std::move(graph), std::move(handles), std::move(inputs));
  job->Keep(env, arguments[2]);
  return state.Start(env, std::move(job));
}

// Sets of tensors in the dtypes of the graph's feeds, which are nodes.
std::vector<Tensors> SampleTensors(EnvState& state, const Napi::Array& sets, const tf::GraphDef& graph,
                                   const std::vector<std::string>& feeds) {
  std::unordered_map<std::string, tf::DataType> dtypes;
  for (const tf::NodeDef& node : graph.node()) {
    const auto dtype = node.attr().find("dtype");
    if (dtype != node.attr().end()) dtypes[node.name()] = dtype->second.type();
  }
  Runtime& runtime = state.runtime();
  std::vector<Tensors> samples;
  for (uint32_t i = 0; i < sets.Length(); ++i) {
    const Napi::Array set = sets.Get(i).As<Napi::Array>();
    Tensors tensors;
    for (uint32_t j = 0; j < set.Length(); ++j) {
      tf::TensorHandle* handle = state.tensors.Get(set.Get(j).As<Napi::Number>().Int32Value()).handle.get();
      HandlePtr cast;
      if (handle->dtype != dtypes.at(feeds[j]))
        cast = CastInput(runtime, handle, dtypes.at(feeds[j]), feeds[j]);
      tensors.push_back(runtime.TensorOn(cast ? cast.get() : handle, false));
    }
    samples.push_back(std::move(tensors));
  }
  return samples;
}

std::string TextOf(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::String>().Utf8Value();
}

// Converts the graph in `graphFile` and leaves `graph.pb` and an `.engine` file for each engine in
// `directory`, or with `embed` only `graph.pb`, with the engines inside. Argument: an object, see
// src/native.ts, and a function that is told of each stage. Returns {engines, segments: [{engine, ops}],
// calibrationTables}.
Napi::Value BuildEngineFiles(EnvState& state, const Napi::CallbackInfo& info) {
  const Napi::Object request = info[0].As<Napi::Object>();
  const Napi::Function progress = info[1].As<Napi::Function>();
  EngineOptions options;
  options.precision = TextOf(request, "precision");
  options.profile_strategy = TextOf(request, "profileStrategy");
  options.minimum_segment_size = request.Get("minimumSegmentSize").As<Napi::Number>();
  options.max_workspace_size_bytes = request.Get("maxWorkspaceSizeBytes").As<Napi::Number>();
  options.maximum_cached_engines = request.Get("maximumCachedEngines").As<Napi::Number>();
  options.implicit_batch = request.Get("implicitBatch").As<Napi::Boolean>();
  options.use_calibration = request.Get("useCalibration").As<Napi::Boolean>();
  options.max_batch_size = request.Get("maxBatchSize").As<Napi::Number>();
  const bool embed = request.Get("embed").As<Napi::Boolean>();
  options.declare_shapes = !embed;
  const Napi::Object tables = request.Get("calibrationTables").As<Napi::Object>();
  const Napi::Array table_names = tables.GetPropertyNames();
  for (uint32_t i = 0; i < table_names.Length(); ++i) {
    const std::string name = table_names.Get(i).As<Napi::String>();
    options.calibration_tables[name] = TextOf(tables, name.c_str());
  }
  const std::string directory = TextOf(request, "directory");
  tf::GraphDef graph = ReadGraph(TextOf(request, "graphFile"));
  const std::vector<std::string> feeds = ToStrings(request.Get("feeds").As<Napi::Array>());
  const std::vector<Tensors> samples =
      SampleTensors(state, request.Get("samples").As<Napi::Array>(), graph, feeds);
  const std::vector<Tensors> calibration =
      SampleTensors(state, request.Get("calibration").As<Napi::Array>(), graph, feeds);
  EngineGraph built = BuildEngines(
      std::move(graph), feeds, ToStrings(request.Get("fetches").As<Napi::Array>()),
      ToStrings(request.Get("initializers").As<Napi::Array>()), options, samples, calibration, directory,
      [&](const std::string& stage) { progress.Call({Napi::String::New(info.Env(), stage)}); });

  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("engines", FromStrings(info.Env(), built.engines));
  Napi::Object segments = Napi::Object::New(info.Env());
  Napi::Array native = Napi::Array::New(info.Env());
  for (const tf::NodeDef& node : built.graph.node()) {
    if (node.op() != "TRTEngineOp") {
      native.Set(native.Length(), node.op());
      continue;
    }
    std::vector<std::string> ops;
    for (const tf::FunctionDef& function : built.graph.library().function()) {
      if (function.signature().name() != node.attr().at("segment_func").func().name()) continue;
      for (const tf::NodeDef& inner : function.node_def()) ops.push_back(inner.op());
    }
    const size_t slash = node.name().find_last_of('/');
    segments.Set(slash == std::string::npos ? node.name() : node.name().substr(slash + 1),
                 FromStrings(info.Env(), ops));
  }
  result.Set("segments", segments);
  result.Set("native", native);
  Napi::Object found = Napi::Object::New(info.Env());
  for (const auto& [engine, table] : built.calibration_tables) found.Set(engine, table);
  result.Set("calibrationTables", found);
  if (embed) {
    EmbedEngines(directory, built, TextOf(request, "nameSuffix"), &built.graph);
  } else {
    StripSegments(&built.graph);
  }
  WriteGraph(built.graph, absl::StrCat(directory, "/graph.pb"));
  return result;
}

Napi::Value ClaimBuild(EnvState& state, const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), state.ClaimBuild());
}

Napi::Value EndBuild(EnvState& state, const Napi::CallbackInfo& info) {
  state.EndBuild();
  return info.Env().Undefined();
}

// The versions of TensorRT that TensorFlow was built for and that it loaded: "8.6.1".
Napi::Value TensorRtVersions(EnvState&, const Napi::CallbackInfo& info) {
  const auto text = [](const std::tuple<int, int, int>& version) {
    return absl::StrCat(std::get<0>(version), ".", std::get<1>(version), ".", std::get<2>(version));
  };
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("linked", text(tf::tensorrt::GetLinkedTensorRTVersion()));
  object.Set("loaded", text(tf::tensorrt::GetLoadedTensorRTVersion()));
  return object;
}

}  // namespace

void RegisterGraphFunctions(napi_env env, napi_value exports) {
  Export<Guarded<CreateGraph>>(env, exports, "createGraph");
  Export<Guarded<FreezeProgram>>(env, exports, "freezeProgram");
  Export<Guarded<DescribeGraph>>(env, exports, "describeGraph");
  Export<Guarded<WriteGraphFile>>(env, exports, "writeGraph");
  Export<Guarded<ReleaseGraph>>(env, exports, "releaseGraph");
  Export<Guarded<CreateArenaProgram>>(env, exports, "createArenaProgram");
  Export<Guarded<LoadEngineProgram>>(env, exports, "loadEngineProgram");
  Export<Guarded<CaptureGraph>>(env, exports, "captureGraph");
  Export<Guarded<ReleaseCapturedGraph>>(env, exports, "releaseCapturedGraph");
  Export<Guarded<RunCapturedGraph>>(env, exports, "runCapturedGraph");
  Export<Guarded<RunCapturedGraphAsync>>(env, exports, "runCapturedGraphAsync");
  Export<Guarded<BuildEngineFiles>>(env, exports, "buildEngines");
  Export<Guarded<ClaimBuild>>(env, exports, "claimBuild");
  Export<Guarded<EndBuild>>(env, exports, "endBuild");
  Export<Guarded<TensorRtVersions>>(env, exports, "tensorRtVersions");
}

}  // namespace tftrt
