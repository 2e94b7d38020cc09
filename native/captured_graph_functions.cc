#include "captured_graph_functions.h"

#include "absl/strings/str_cat.h"
#include "captured_graph.h"
#include "model_arguments.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

std::vector<HandlePtr> InputsFromCommands(EnvState& state, int count) {
  if (count < 0 || static_cast<size_t>(count) > state.commands_length())
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("wrong number of inputs: ", count));
  std::vector<HandlePtr> handles(count);
  for (int i = 0; i < count; ++i) {
    if (state.commands()[i] == 0) continue;
    handles[i] = NewReference(state.tensors.Get(state.commands()[i]).handle.get());
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

}  // namespace

void RegisterCapturedGraphFunctions(napi_env env, napi_value exports) {
  Export<Guarded<CaptureGraph>>(env, exports, "captureGraph");
  Export<Guarded<ReleaseCapturedGraph>>(env, exports, "releaseCapturedGraph");
  Export<Guarded<RunCapturedGraph>>(env, exports, "runCapturedGraph");
  Export<Guarded<RunCapturedGraphAsync>>(env, exports, "runCapturedGraphAsync");
}

}  // namespace tftrt
