#include "engine_functions.h"

#include <tuple>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "boundary.h"
#include "captured_graph.h"
#include "engine_build.h"
#include "graph_def.h"
#include "graph_placement.h"
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

void RegisterEngineFunctions(napi_env env, napi_value exports) {
  Export<Guarded<LoadEngineProgram>>(env, exports, "loadEngineProgram");
  Export<Guarded<BuildEngineFiles>>(env, exports, "buildEngines");
  Export<Guarded<ClaimBuild>>(env, exports, "claimBuild");
  Export<Guarded<EndBuild>>(env, exports, "endBuild");
  Export<Guarded<TensorRtVersions>>(env, exports, "tensorRtVersions");
}

}  // namespace tftrt
