#include "graph_def_functions.h"

#include "absl/strings/str_cat.h"
#include "canonical_graph.h"
#include "graph_def.h"
#include "graph_placement.h"
#include "model_arguments.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Bytes of JavaScript's, which must live and not change while they are used.
struct Bytes {
  const void* data;
  size_t size;
};

Bytes BytesOf(const Napi::Value& value) {
  const TypedArray array = GetTypedArray(value.Env(), value);
  return {array.data, array.byte_length};
}

std::string ToJsonList(const std::vector<tf::TensorInfo>& infos) {
  std::string json = "[";
  for (const tf::TensorInfo& info : infos) absl::StrAppend(&json, json.size() > 1 ? "," : "", ToJson(info));
  return json + "]";
}

class DescribeJob : public Job {
 public:
  DescribeJob(Bytes bytes, std::vector<std::string> feeds, std::vector<std::string> fetches)
      : bytes_(bytes), feeds_(std::move(feeds)), fetches_(std::move(fetches)) {}

  void Work() override {
    const GraphEndpoints endpoints =
        DescribeEndpoints(ParseGraph(bytes_.data, bytes_.size), feeds_, fetches_);
    json_ = absl::StrCat("{\"inputs\":", ToJsonList(endpoints.inputs),
                         ",\"outputs\":", ToJsonList(endpoints.outputs),
                         ",\"engines\":", endpoints.engines.size(), "}");
  }

  napi_value Finish(napi_env env) override { return ToJs(env, json_); }

 private:
  const Bytes bytes_;
  const std::vector<std::string> feeds_;
  const std::vector<std::string> fetches_;
  std::string json_;
};

// Arguments: serialized GraphDef, feeds (none: all Placeholders), fetches. Resolves to {inputs, outputs:
// lists of tensorflow.TensorInfo, engines: the number of TRTEngineOp nodes} in JSON.
Napi::Value DescribeGraphDef(EnvState& state, const Napi::CallbackInfo& info) {
  state.runtime();
  auto job = std::make_unique<DescribeJob>(BytesOf(info[0]), ToStrings(info[1].As<Napi::Array>()),
                                           ToStrings(info[2].As<Napi::Array>()));
  job->Keep(info.Env(), info[0]);
  return Napi::Value(info.Env(), state.Start(info.Env(), std::move(job)));
}

// Arguments: serialized GraphDef, ConfigProto in JSON. Resolves to a program.
Napi::Value CreateGraphDefProgram(EnvState& state, const Napi::CallbackInfo& info) {
  Runtime& runtime = state.runtime();
  tf::ConfigProto config;
  ParseJson(info[1].As<Napi::String>(), &config, "the session configuration");
  auto job = NewMakeJob<Program>(state.programs, [&runtime, bytes = BytesOf(info[0]), config] {
    tf::GraphDef graph = ParseGraph(bytes.data, bytes.size);
    PlaceOnRuntime(runtime, &graph);
    return Program::FromGraph(std::move(graph), config);
  });
  job->Keep(info.Env(), info[0]);
  return RunJob(info, state, true, std::move(job));
}

// Arguments: serialized GraphDef, feeds, their dtypes, fetches. Resolves to a graph, as createGraph.
Napi::Value CreateGraphDefGraph(EnvState& state, const Napi::CallbackInfo& info) {
  state.runtime();
  std::vector<tf::DataType> dtypes;
  const Napi::Array numbers = info[2].As<Napi::Array>();
  for (uint32_t i = 0; i < numbers.Length(); ++i)
    dtypes.push_back(static_cast<tf::DataType>(numbers.Get(i).As<Napi::Number>().Int32Value()));
  auto job = NewMakeJob<CanonicalGraph>(
      state.graphs, [bytes = BytesOf(info[0]), feeds = ToStrings(info[1].As<Napi::Array>()), dtypes,
                     fetches = ToStrings(info[3].As<Napi::Array>())] {
        return std::make_shared<CanonicalGraph>(
            Canonicalize(ParseGraph(bytes.data, bytes.size), feeds, dtypes, fetches, {}));
      });
  job->Keep(info.Env(), info[0]);
  return RunJob(info, state, true, std::move(job));
}

class CutDownJob : public Job {
 public:
  CutDownJob(Bytes bytes, std::vector<std::string> fetches,
             std::unordered_map<std::string, tf::TensorShapeProto> shapes, std::string file)
      : bytes_(bytes), fetches_(std::move(fetches)), shapes_(std::move(shapes)), file_(std::move(file)) {}

  void Work() override {
    WriteGraph(CutDown(ParseGraph(bytes_.data, bytes_.size), fetches_, shapes_), file_);
  }

  napi_value Finish(napi_env env) override { return Undefined(env); }

 private:
  const Bytes bytes_;
  const std::vector<std::string> fetches_;
  const std::unordered_map<std::string, tf::TensorShapeProto> shapes_;
  const std::string file_;
};

// Arguments: serialized GraphDef, fetches, Placeholders, their shapes (arrays of numbers, -1 for any size),
// file. Writes what the fetches need of the graph.
Napi::Value CutDownGraphDef(EnvState& state, const Napi::CallbackInfo& info) {
  const std::vector<std::string> names = ToStrings(info[2].As<Napi::Array>());
  const Napi::Array sizes = info[3].As<Napi::Array>();
  std::unordered_map<std::string, tf::TensorShapeProto> shapes;
  for (uint32_t i = 0; i < names.size(); ++i) {
    const Napi::Array dims = sizes.Get(i).As<Napi::Array>();
    tf::TensorShapeProto& shape = shapes[names[i]];
    for (uint32_t axis = 0; axis < dims.Length(); ++axis)
      shape.add_dim()->set_size(dims.Get(axis).As<Napi::Number>().Int64Value());
  }
  auto job = std::make_unique<CutDownJob>(BytesOf(info[0]), ToStrings(info[1].As<Napi::Array>()),
                                          std::move(shapes), info[4].As<Napi::String>());
  job->Keep(info.Env(), info[0]);
  return Napi::Value(info.Env(), state.Start(info.Env(), std::move(job)));
}

}  // namespace

void RegisterGraphDefFunctions(napi_env env, napi_value exports) {
  Export<Guarded<DescribeGraphDef>>(env, exports, "describeGraphDef");
  Export<Guarded<CreateGraphDefProgram>>(env, exports, "createGraphDefProgram");
  Export<Guarded<CreateGraphDefGraph>>(env, exports, "createGraphDefGraph");
  Export<Guarded<CutDownGraphDef>>(env, exports, "cutDownGraphDef");
}

}  // namespace tftrt
