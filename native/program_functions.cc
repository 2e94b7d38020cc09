#include "program_functions.h"

#include "absl/strings/str_cat.h"
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

// Makes a program or callable on another thread and puts it into a table afterwards.
template <typename T>
class MakeJob : public Job {
 public:
  MakeJob(SlotTable<std::shared_ptr<T>>& table, std::function<std::shared_ptr<T>()> make)
      : table_(table), make_(std::move(make)) {}
  void Work() override { made_ = make_(); }
  napi_value Finish(napi_env env) override { return ToJs(env, table_.Add(std::move(made_))); }

 private:
  SlotTable<std::shared_ptr<T>>& table_;
  std::function<std::shared_ptr<T>()> make_;
  std::shared_ptr<T> made_;
};

template <typename T>
std::unique_ptr<MakeJob<T>> NewMakeJob(SlotTable<std::shared_ptr<T>>& table, std::function<std::shared_ptr<T>()> make) {
  return std::make_unique<MakeJob<T>>(table, std::move(make));
}

// Runs the job here and now, or starts it on another thread and returns its promise.
napi_value RunJob(napi_env env, EnvState& state, bool async, std::unique_ptr<Job> job) {
  if (async) return state.Start(env, std::move(job));
  job->Work();
  return job->Finish(env);
}

// Arguments: async, GraphDef in JSON, ConfigProto in JSON, then four arrays of equal length that describe the weights:
// names, dtypes, shapes (arrays of numbers), values (a typed array, or an array of Uint8Arrays for strings).
napi_value CreateProgram(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<7> arguments(env, info);
  state.runtime();
  const bool async = GetBool(env, arguments[0]);
  std::string graph_json = GetString(env, arguments[1]);
  const tf::ConfigProto config = ParseConfig(GetString(env, arguments[2]));
  const std::vector<std::string> names = GetStrings(env, arguments[3]);
  auto weights = std::make_shared<std::unordered_map<std::string, Weight>>();
  for (uint32_t i = 0; i < names.size(); ++i) {
    Weight weight;
    weight.dtype = static_cast<tf::DataType>(GetInt(env, GetElement(env, arguments[4], i)));
    napi_value shape = GetElement(env, arguments[5], i);
    for (uint32_t d = 0; d < GetLength(env, shape); ++d) weight.shape.push_back(GetInt(env, GetElement(env, shape, d)));
    napi_value values = GetElement(env, arguments[6], i);
    if (weight.dtype == tf::DT_STRING) {
      for (uint32_t s = 0; s < GetLength(env, values); ++s) {
        const TypedArray bytes = GetTypedArray(env, GetElement(env, values, s));
        weight.strings.emplace_back(static_cast<const char*>(bytes.data), bytes.byte_length);
      }
    } else {
      const TypedArray array = GetTypedArray(env, values);
      weight.data = array.data;
      weight.bytes = array.byte_length;
    }
    (*weights)[names[i]] = std::move(weight);
  }
  auto job = NewMakeJob<Program>(state.programs, [graph_json = std::move(graph_json), config, weights] {
    tf::GraphDef graph;
    ParseJson(graph_json, &graph, "the model's graph");
    SetWeights(*weights, &graph);
    return Program::FromGraph(std::move(graph), config);
  });
  job->Keep(env, arguments[6]);
  if (!async) return RunJob(env, state, false, std::move(job));
  return state.Start(env, std::move(job));
}

// Arguments: async, directory, array of tags, ConfigProto in JSON.
napi_value LoadSavedModelProgram(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<4> arguments(env, info);
  state.runtime();
  auto job = NewMakeJob<Program>(
      state.programs, [directory = GetString(env, arguments[1]), tags = GetStrings(env, arguments[2]),
                       config = ParseConfig(GetString(env, arguments[3]))] {
        return Program::FromSavedModel(directory, tags, config);
      });
  return RunJob(env, state, GetBool(env, arguments[0]), std::move(job));
}

// Argument: directory. Returns an array of [tags, signatures in JSON {name: SignatureDef}], one for each meta graph.
napi_value ReadSavedModelMetaGraphs(napi_env env, EnvState&, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  const std::string directory = GetString(env, arguments[0]);
  tf::SavedModel model;
  ThrowIfError(tf::ReadSavedModel(directory, &model), absl::StrCat("reading the SavedModel ", directory));
  std::string json = "[";
  for (const tf::MetaGraphDef& source : model.meta_graphs()) {
    tf::MetaGraphDef meta_graph;
    for (const std::string& tag : source.meta_info_def().tags()) meta_graph.mutable_meta_info_def()->add_tags(tag);
    *meta_graph.mutable_signature_def() = source.signature_def();
    absl::StrAppend(&json, json.size() > 1 ? "," : "", ToJson(meta_graph));
  }
  return ToJs(env, json + "]");
}

napi_value ProgramSignatures(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  return ToJs(env, state.programs.Get(GetInt(env, arguments[0]))->SignaturesJson());
}

// Arguments: program, tensor name ("node:index"). Returns the number of its dtype.
napi_value ProgramTensorType(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  Program& program = *state.programs.Get(GetInt(env, arguments[0]));
  return ToJs(env, static_cast<int32_t>(program.TypeOf(GetString(env, arguments[1]))));
}

// Arguments: program, array of node names.
napi_value RunProgramTargets(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  state.programs.Get(GetInt(env, arguments[0]))->RunTargets(GetStrings(env, arguments[1]));
  return nullptr;
}

napi_value ReleaseProgram(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  state.programs.Remove(GetInt(env, arguments[0]));
  return nullptr;
}

// Arguments: async, program, CallableOptions in JSON.
napi_value CreateCallable(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<3> arguments(env, info);
  std::shared_ptr<Program> program = state.programs.Get(GetInt(env, arguments[1]));
  tf::CallableOptions options;
  ParseJson(GetString(env, arguments[2]), &options, "the callable's options");
  auto job = NewMakeJob<Callable>(state.callables,
                                  [program, options] { return std::make_shared<Callable>(program, options); });
  return RunJob(env, state, GetBool(env, arguments[0]), std::move(job));
}

napi_value ReleaseCallable(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  state.callables.Remove(GetInt(env, arguments[0]));
  return nullptr;
}

void RequireInputs(const EnvState& state, const Callable& callable, int inputs) {
  if (inputs < 0 || static_cast<size_t>(inputs) != callable.inputs() ||
      static_cast<size_t>(inputs) > state.commands_length()) {
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("the graph takes ", callable.inputs(), " inputs, got ", inputs));
  }
}

// Arguments: callable, number of inputs, whose handles are in the command buffer. Writes [handle, dtype, rank, dims...]
// of each output there and returns their number.
napi_value RunCallable(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  Callable& callable = *state.callables.Get(GetInt(env, arguments[0]));
  const int inputs = GetInt(env, arguments[1]);
  RequireInputs(state, callable, inputs);
  std::vector<tf::TensorHandle*> handles(inputs);
  for (int i = 0; i < inputs; ++i) handles[i] = state.tensors.Get(state.commands()[i]).handle.get();
  std::vector<HandlePtr> outputs = callable.Run(state.runtime(), handles);
  size_t position = 0;
  for (HandlePtr& output : outputs) {
    position = state.Publish(std::move(output), state.commands(), position, state.commands_length());
  }
  return ToJs(env, static_cast<int32_t>(outputs.size()));
}

class RunCallableJob : public Job {
 public:
  RunCallableJob(EnvState& state, std::shared_ptr<Callable> callable, std::vector<HandlePtr> inputs)
      : state_(state), runtime_(state.runtime()), callable_(std::move(callable)), inputs_(std::move(inputs)) {}

  void Work() override {
    std::vector<tf::TensorHandle*> handles;
    for (const HandlePtr& input : inputs_) handles.push_back(input.get());
    outputs_ = callable_->Run(runtime_, handles);
    // Inputs and callable go here, off the event loop, if this was their last user.
    inputs_.clear();
    callable_.reset();
  }

  // An Int32Array of [handle, dtype, rank, dims...] for each output.
  napi_value Finish(napi_env env) override {
    size_t length = 0;
    for (const HandlePtr& output : outputs_) length += 3 + TensorOf(output.get()).dims();
    void* data;
    napi_value buffer, array;
    Check(env, napi_create_arraybuffer(env, length * sizeof(int32_t), &data, &buffer));
    Check(env, napi_create_typedarray(env, napi_int32_array, length, buffer, 0, &array));
    size_t position = 0;
    for (HandlePtr& output : outputs_) {
      position = state_.Publish(std::move(output), static_cast<int32_t*>(data), position, length);
    }
    return array;
  }

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
  for (int i = 0; i < inputs; ++i) {
    tf::TensorHandle* handle = state.tensors.Get(state.commands()[i]).handle.get();
    handle->Ref();
    handles[i].reset(handle);
  }
  return state.Start(env, std::make_unique<RunCallableJob>(state, std::move(callable), std::move(handles)));
}

}  // namespace

void RegisterProgramFunctions(napi_env env, napi_value exports) {
  Export<Guarded<CreateProgram>>(env, exports, "createProgram");
  Export<Guarded<LoadSavedModelProgram>>(env, exports, "loadSavedModel");
  Export<Guarded<ReadSavedModelMetaGraphs>>(env, exports, "readSavedModel");
  Export<Guarded<ProgramSignatures>>(env, exports, "programSignatures");
  Export<Guarded<ProgramTensorType>>(env, exports, "programTensorType");
  Export<Guarded<RunProgramTargets>>(env, exports, "runProgramTargets");
  Export<Guarded<ReleaseProgram>>(env, exports, "releaseProgram");
  Export<Guarded<CreateCallable>>(env, exports, "createCallable");
  Export<Guarded<ReleaseCallable>>(env, exports, "releaseCallable");
  Export<Guarded<RunCallable>>(env, exports, "runCallable");
  Export<Guarded<RunCallableAsync>>(env, exports, "runCallableAsync");
}

}  // namespace tftrt
