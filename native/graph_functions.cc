#include "graph_functions.h"

#include "canonical_graph.h"
#include "captured_graph.h"
#include "frozen_graph.h"
#include "graph_checks.h"
#include "graph_def.h"
#include "graph_placement.h"
#include "model_arguments.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

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
    const FrozenGraph frozen = program->Frozen(feeds, fetches);
    return std::make_shared<CanonicalGraph>(
        Canonicalize(frozen.graph, feeds, dtypes, fetches, frozen.initializers));
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

}  // namespace

void RegisterGraphFunctions(napi_env env, napi_value exports) {
  Export<Guarded<CreateGraph>>(env, exports, "createGraph");
  Export<Guarded<FreezeProgram>>(env, exports, "freezeProgram");
  Export<Guarded<DescribeGraph>>(env, exports, "describeGraph");
  Export<Guarded<WriteGraphFile>>(env, exports, "writeGraph");
  Export<Guarded<ReleaseGraph>>(env, exports, "releaseGraph");
  Export<Guarded<CreateArenaProgram>>(env, exports, "createArenaProgram");
}

}  // namespace tftrt
