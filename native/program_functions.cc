#include "program_functions.h"

#include "absl/strings/str_cat.h"
#include "graph_placement.h"
#include "model_arguments.h"
#include "napi_helpers.h"
#include "tensorflow/cc/saved_model/reader.h"
#include "weights.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

tf::ConfigProto ParseConfig(const std::string& json) {
  tf::ConfigProto config;
  ParseJson(json, &config, "the session configuration");
  return config;
}

// Arguments: async, GraphDef in JSON, ConfigProto in JSON, then four arrays of equal length that describe the
// weights: names, dtypes, shapes (arrays of numbers), values (a typed array, or an array of Uint8Arrays for
// strings).
Napi::Value CreateProgram(EnvState& state, const Napi::CallbackInfo& info) {
  Runtime& runtime = state.runtime();
  const tf::ConfigProto config = ParseConfig(info[2].As<Napi::String>());
  const auto weights = ToWeights(info, 3);
  auto job = NewMakeJob<Program>(state.programs,
                                 [&runtime, json = info[1].As<Napi::String>().Utf8Value(), config, weights] {
                                   tf::GraphDef graph;
                                   ParseJson(json, &graph, "the model's graph");
                                   SetWeights(*weights, &graph);
                                   PlaceOnRuntime(runtime, &graph);
                                   return Program::FromGraph(std::move(graph), config);
                                 });
  const bool async = info[0].As<Napi::Boolean>();
  if (async) job->Keep(info.Env(), info[6]);
  return RunJob(info, state, async, std::move(job));
}

// Arguments: async, directory, array of tags, ConfigProto in JSON.
Napi::Value LoadSavedModelProgram(EnvState& state, const Napi::CallbackInfo& info) {
  Runtime& runtime = state.runtime();
  auto job =
      NewMakeJob<Program>(state.programs, [&runtime, directory = info[1].As<Napi::String>().Utf8Value(),
                                           tags = ToStrings(info[2].As<Napi::Array>()),
                                           config = ParseConfig(info[3].As<Napi::String>())] {
        return Program::FromSavedModel(runtime, directory, tags, config);
      });
  return RunJob(info, state, info[0].As<Napi::Boolean>(), std::move(job));
}

// Argument: directory. Returns the meta graphs, each with its tags and signatures only: an array of
// tensorflow.MetaGraphDef in JSON.
Napi::Value ReadSavedModelMetaGraphs(EnvState&, const Napi::CallbackInfo& info) {
  const std::string directory = info[0].As<Napi::String>();
  tf::SavedModel model;
  ThrowIfError(tf::ReadSavedModel(directory, &model), absl::StrCat("reading the SavedModel ", directory));
  std::string json = "[";
  for (const tf::MetaGraphDef& source : model.meta_graphs()) {
    tf::MetaGraphDef meta_graph;
    for (const std::string& tag : source.meta_info_def().tags())
      meta_graph.mutable_meta_info_def()->add_tags(tag);
    *meta_graph.mutable_signature_def() = source.signature_def();
    absl::StrAppend(&json, json.size() > 1 ? "," : "", ToJson(meta_graph));
  }
  return Napi::String::New(info.Env(), json + "]");
}

Program& GetProgram(EnvState& state, const Napi::Value& handle) {
  return *state.programs.Get(handle.As<Napi::Number>().Int32Value());
}

// Argument: program. tensorflow.MetaGraphDef with its signatures only, in JSON.
Napi::Value ProgramSignatures(EnvState& state, const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), GetProgram(state, info[0]).SignaturesJson());
}

// Arguments: program, tensor name ("node:index"). Returns the number of its dtype.
Napi::Value ProgramTensorType(EnvState& state, const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), GetProgram(state, info[0]).TypeOf(info[1].As<Napi::String>()));
}

// Arguments: program, array of tensor names. Whether computing them writes variables.
Napi::Value ProgramWrites(EnvState& state, const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(),
                            GetProgram(state, info[0]).Writes(ToStrings(info[1].As<Napi::Array>())));
}

// Arguments: program, array of node names.
Napi::Value RunProgramTargets(EnvState& state, const Napi::CallbackInfo& info) {
  GetProgram(state, info[0]).RunTargets(ToStrings(info[1].As<Napi::Array>()));
  return info.Env().Undefined();
}

// Argument: program. Its callables, and runs in flight, keep the session until they are done.
Napi::Value ReleaseProgram(EnvState& state, const Napi::CallbackInfo& info) {
  state.programs.Remove(info[0].As<Napi::Number>().Int32Value());
  return info.Env().Undefined();
}

// Arguments: async, program, CallableOptions in JSON.
Napi::Value CreateCallable(EnvState& state, const Napi::CallbackInfo& info) {
  std::shared_ptr<Program> program = state.programs.Get(info[1].As<Napi::Number>().Int32Value());
  tf::CallableOptions options;
  ParseJson(info[2].As<Napi::String>(), &options, "the callable's options");
  auto job = NewMakeJob<Callable>(
      state.callables, [program, options] { return std::make_shared<Callable>(program, options); });
  return RunJob(info, state, info[0].As<Napi::Boolean>(), std::move(job));
}

Napi::Value ReleaseCallable(EnvState& state, const Napi::CallbackInfo& info) {
  state.callables.Remove(info[0].As<Napi::Number>().Int32Value());
  return info.Env().Undefined();
}

void RequireInputs(const EnvState& state, const Callable& callable, int inputs) {
  if (inputs < 0 || static_cast<size_t>(inputs) != callable.inputs() ||
      static_cast<size_t>(inputs) > state.commands_length()) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the graph takes ", callable.inputs(), " inputs, got ", inputs));
  }
}

// Arguments: callable, number of inputs, whose handles are in the command buffer. Writes [handle, dtype,
// rank, dims...] of each output there and returns their number.
napi_value RunCallable(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  Callable& callable = *state.callables.Get(GetInt(env, arguments[0]));
  const int inputs = GetInt(env, arguments[1]);
  RequireInputs(state, callable, inputs);
  std::vector<tf::TensorHandle*> handles(inputs);
  for (int i = 0; i < inputs; ++i) handles[i] = state.tensors.Get(state.commands()[i]).handle.get();
  return state.PublishToCommands(env, callable.Run(state.runtime(), handles));
}

class RunCallableJob : public Job {
 public:
  RunCallableJob(EnvState& state, std::shared_ptr<Callable> callable, std::vector<HandlePtr> inputs)
      : state_(state),
        runtime_(state.runtime()),
        callable_(std::move(callable)),
        inputs_(std::move(inputs)) {}

  void Work() override {
    std::vector<tf::TensorHandle*> handles;
    for (const HandlePtr& input : inputs_) handles.push_back(input.get());
    outputs_ = callable_->Run(runtime_, handles);
    // Inputs and callable go here, off the event loop, if this was their last user.
    inputs_.clear();
    callable_.reset();
  }

  napi_value Finish(napi_env env) override { return state_.PublishAll(env, std::move(outputs_)); }

 private:
  EnvState& state_;
  Runtime& runtime_;
  std::shared_ptr<Callable> callable_;
  std::vector<HandlePtr> inputs_;
  std::vector<HandlePtr> outputs_;
};

napi_value RunCallableAsync(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  std::shared_ptr<Callable> callable = state.callables.Get(GetInt(env, arguments[0]));
  const int inputs = GetInt(env, arguments[1]);
  RequireInputs(state, *callable, inputs);
  std::vector<HandlePtr> handles(inputs);
  for (int i = 0; i < inputs; ++i)
    handles[i] = NewReference(state.tensors.Get(state.commands()[i]).handle.get());
  return state.Start(env, std::make_unique<RunCallableJob>(state, std::move(callable), std::move(handles)));
}

}  // namespace

void RegisterProgramFunctions(napi_env env, napi_value exports) {
  Export<Guarded<CreateProgram>>(env, exports, "createProgram");
  Export<Guarded<LoadSavedModelProgram>>(env, exports, "loadSavedModel");
  Export<Guarded<ReadSavedModelMetaGraphs>>(env, exports, "readSavedModel");
  Export<Guarded<ProgramSignatures>>(env, exports, "programSignatures");
  Export<Guarded<ProgramTensorType>>(env, exports, "programTensorType");
  Export<Guarded<ProgramWrites>>(env, exports, "programWrites");
  Export<Guarded<RunProgramTargets>>(env, exports, "runProgramTargets");
  Export<Guarded<ReleaseProgram>>(env, exports, "releaseProgram");
  Export<Guarded<CreateCallable>>(env, exports, "createCallable");
  Export<Guarded<ReleaseCallable>>(env, exports, "releaseCallable");
  Export<Guarded<RunCallable>>(env, exports, "runCallable");
  Export<Guarded<RunCallableAsync>>(env, exports, "runCallableAsync");
}

}  // namespace tftrt
