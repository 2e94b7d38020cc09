// What one load of the addon (by the main thread, a worker or a vm context of theirs) owns on one device: its
// tensors, programs, callables and prepared ops behind integer handles, the command buffer it shares with
// JavaScript, and its jobs on other threads.
#pragma once

#include <napi.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "direct_kernel.h"
#include "napi_helpers.h"
#include "output_read.h"
#include "program.h"
#include "runtime.h"
#include "slot_table.h"
#include "tensorflow/core/common_runtime/eager/attr_builder.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"

namespace tftrt {

struct CanonicalGraph;
class CapturedGraph;

// An eager op with its attributes, made once and executed many times.
struct PreparedOp {
  // TensorFlow's operation for inputs of certain dtypes, ready but for its inputs: setting one up anew, with
  // its attributes and device, costs as much as running it.
  struct Instance {
    absl::InlinedVector<tensorflow::DataType, 4> dtypes;
    std::unique_ptr<tensorflow::EagerOperation> operation;
    DirectKernel kernel;  // null where the operation runs in the eager runtime
    // Where the GPU's or CPU's kernel wants each input; empty without a GPU.
    std::vector<bool> on_device;
  };

  std::string name;
  std::string device;
  tensorflow::AttrBuilder attributes;
  int outputs;
  std::vector<Instance> instances;
};

// A unit of work off the event loop, bound to a promise.
class Job {
 public:
  virtual ~Job() = default;
  // Runs on a thread of the runtime's pool; may throw.
  virtual void Work() = 0;
  // Runs on the JavaScript thread after Work succeeded; returns the promise's value. May throw.
  virtual napi_value Finish(napi_env env) = 0;

  // Keeps JavaScript values (array buffers that Work reads or writes) alive until the job is done.
  void Keep(napi_env env, napi_value value);

 private:
  friend class EnvState;
  napi_deferred deferred_ = nullptr;
  std::vector<napi_ref> kept_;
  std::exception_ptr failure_;
};

// Lives as long as the object with the addon's functions: a vm context that is collected takes its tensors
// along. So nothing here keeps values of the context alive, but while jobs run, and for functions that are to
// be told when a tensor from elsewhere is done with. The functions do not keep that object: they are called
// as its methods.
class EnvState {
 public:
  EnvState(napi_env env, napi_value exports);
  ~EnvState();
  EnvState(const EnvState&) = delete;
  EnvState& operator=(const EnvState&) = delete;
  // The state that the addon's function which is called is bound to: see Export in napi_helpers.h.
  static EnvState& Of(napi_env env, napi_callback_info info);

  Runtime& runtime() const;
  void set_runtime(Runtime* runtime) { runtime_ = runtime; }

  // The Int32Array through which handles and shapes travel without making JavaScript objects.
  void AttachCommands(napi_env env, Napi::Int32Array array);
  int32_t* commands() const { return commands_; }
  size_t commands_length() const { return commands_length_; }

  void SetErrorClass(Napi::Function constructor);
  // Takes Node.js's setImmediate: while test runners' clocks stand still, the global one is another.
  void SetImmediate(napi_env env, napi_value set_immediate);
  // The TftrtError to throw or to reject with. Null where the environment is being terminated: no JavaScript
  // runs in it any more, and calls that need some fail, which is no reason to throw where nothing catches.
  napi_value MakeError(napi_env env, const Error& failure);

  // Puts the handle into the table and writes [handle, dtype, rank, dims...] at `position`; returns the next
  // position.
  size_t Publish(HandlePtr handle, int32_t* out, size_t position, size_t capacity);
  // As Publish, for all outputs of a call into the command buffer, with their `reads` if there are any;
  // returns their number.
  template <typename Handles>
  napi_value PublishToCommands(napi_env env, Handles handles,
                               std::vector<std::unique_ptr<OutputRead>> reads = {}) {
    size_t position = 0;
    for (size_t i = 0; i < handles.size(); ++i) {
      const size_t begin = position;
      position = Publish(std::move(handles[i]), commands(), begin, commands_length());
      if (i < reads.size()) tensors.Get(commands()[begin]).read = std::move(reads[i]);
    }
    return ToJs(env, static_cast<int32_t>(handles.size()));
  }
  // As Publish, for all of them into an Int32Array of their own.
  napi_value PublishAll(napi_env env, std::vector<HandlePtr> handles);
  int32_t AddTensor(HandlePtr handle);
  // As AddTensor, for a tensor that shares the memory of another one and so does not count for
  // `tensor_bytes`.
  int32_t AddView(HandlePtr handle);
  void RemoveTensor(int32_t handle);

  // Waits for this environment's jobs and for the device's work on them. Their promises settle later, or
  // never when the process ends.
  void Finish();
  // The same for all of the calling thread.
  static void FinishThread();

  // Starts the job on another thread and returns its promise. The event loop stays alive until it is done.
  napi_value Start(napi_env env, std::unique_ptr<Job> job);

  struct TensorSlot {
    HandlePtr handle;
    int64_t bytes = 0;
    // Of outputs of CUDA graphs, until they are read.
    std::unique_ptr<OutputRead> read;
  };
  SlotTable<TensorSlot> tensors{"tensor"};
  SlotTable<std::shared_ptr<Program>> programs{"program"};
  SlotTable<std::shared_ptr<Callable>> callables{"callable"};
  SlotTable<std::shared_ptr<CanonicalGraph>> graphs{"graph"};
  SlotTable<std::shared_ptr<CapturedGraph>> captured_graphs{"CUDA graph"};
  std::deque<PreparedOp> ops;
  int64_t tensor_bytes = 0;

  // The process's turn to build engines in the background: at most one environment has it, at the latest
  // until it ends.
  bool ClaimBuild();
  void EndBuild();

 private:
  static void OnJobDone(napi_env env, napi_value js_callback, void* context, void* data);
  static napi_value OnTurn(napi_env env, napi_callback_info info);
  void AwaitTurn(napi_env env);
  void SetBusy(napi_env env, bool busy);
  void WaitForJobs();
  static void OnEnvCleanup(void* self);
  void Settle(napi_env env, Job* job);

  Runtime* runtime_ = nullptr;
  int32_t* commands_ = nullptr;
  size_t commands_length_ = 0;
  Napi::FunctionReference error_class_;  // weak

  napi_env env_;
  napi_ref exports_ = nullptr;  // weak, but while there are unsettled jobs
  napi_threadsafe_function done_ = nullptr;
  size_t unsettled_ = 0;                        // jobs whose promise is open; JavaScript thread only
  std::deque<std::unique_ptr<Job>> to_settle_;  // JavaScript thread only
  bool awaits_turn_ = false;
  napi_ref set_immediate_ = nullptr;
  napi_ref on_turn_ = nullptr;
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t working_ = 0;  // jobs on other threads; guarded by mutex_
};

// Throws in JavaScript, unless JavaScript threw first or runs no more.
void ThrowInJs(napi_env env, EnvState& state, std::exception_ptr failure);

// Wraps an entry point: exceptions become JavaScript exceptions. The functions of the hot path (tensors, ops,
// runs) speak Node-API itself; the others use node-addon-api's classes.
using HotEntry = napi_value (*)(napi_env, EnvState&, napi_callback_info);
template <HotEntry function>
napi_value Guarded(napi_env env, napi_callback_info info) {
  EnvState& state = EnvState::Of(env, info);
  try {
    return function(env, state, info);
  } catch (...) {
    ThrowInJs(env, state, std::current_exception());
    return nullptr;
  }
}

using Entry = Napi::Value (*)(EnvState&, const Napi::CallbackInfo&);
template <Entry function>
napi_value Guarded(napi_env env, napi_callback_info info) {
  EnvState& state = EnvState::Of(env, info);
  try {
    return function(state, Napi::CallbackInfo(env, info));
  } catch (...) {
    ThrowInJs(env, state, std::current_exception());
    return nullptr;
  }
}

}  // namespace tftrt
