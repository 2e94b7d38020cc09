#include "env_state.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "absl/strings/str_cat.h"
#include "canonical_graph.h"
#include "captured_graph.h"
#include "error.h"
#include "napi_helpers.h"

namespace tftrt {

namespace {

// Whose turn it is to build engines in the background.
std::atomic<EnvState*> building{nullptr};

thread_local std::vector<EnvState*> states_of_thread;

Error ToTftrtError(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error;
  } catch (const Napi::Error& error) {
    return Error("TFTRT_INVALID_ARGUMENT",
                 absl::StrCat("wrong argument in a call of the addon: ", error.Message()));
  } catch (const std::bad_alloc&) {
    return Error("TFTRT_RESOURCE_EXHAUSTED", "out of host memory");
  } catch (const std::exception& error) {
    return Error("TFTRT_INTERNAL", absl::StrCat("unexpected C++ exception: ", error.what()));
  } catch (...) {
    return Error("TFTRT_INTERNAL", "unexpected C++ exception of an unknown type");
  }
}

// Promises that are settled in one turn of the event loop: what their continuations do comes on top.
constexpr int kMostPerTurn = 16;

}  // namespace

void ThrowInJs(napi_env env, EnvState& state, std::exception_ptr failure) {
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (pending) return;  // JavaScript threw first
  const napi_value error = state.MakeError(env, ToTftrtError(failure));
  if (error != nullptr) napi_throw(env, error);
}

void Job::Keep(napi_env env, napi_value value) {
  napi_ref reference;
  Check(env, napi_create_reference(env, value, 1, &reference));
  kept_.push_back(reference);
}

EnvState::EnvState(napi_env env, napi_value exports) : env_(env) {
  napi_value name;
  Check(env, napi_create_reference(env, exports, 0, &exports_));
  Check(env, napi_create_string_utf8(env, "tftrt jobs", NAPI_AUTO_LENGTH, &name));
  napi_value on_turn;
  Check(env, napi_create_function(env, "tftrtSettle", NAPI_AUTO_LENGTH, OnTurn, this, &on_turn));
  Check(env, napi_create_reference(env, on_turn, 1, &on_turn_));
  Check(env, napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this,
                                             OnJobDone, &done_));
  Check(env, napi_unref_threadsafe_function(env, done_));
  // Added after the thread-safe function, so it runs before that one is torn down.
  Check(env, napi_add_env_cleanup_hook(env, OnEnvCleanup, this));
  states_of_thread.push_back(this);
}

EnvState::~EnvState() {
  WaitForJobs();  // the last may be settled while its thread is still on its way out
  EndBuild();
  states_of_thread.erase(std::remove(states_of_thread.begin(), states_of_thread.end(), this),
                         states_of_thread.end());
  if (done_ != nullptr) {
    napi_remove_env_cleanup_hook(env_, OnEnvCleanup, this);
    napi_release_threadsafe_function(done_, napi_tsfn_release);
  }
  for (napi_ref reference : {exports_, set_immediate_, on_turn_}) {
    if (reference != nullptr) napi_delete_reference(env_, reference);
  }
}

bool EnvState::ClaimBuild() {
  EnvState* nobody = nullptr;
  return building.compare_exchange_strong(nobody, this);
}

void EnvState::EndBuild() {
  EnvState* self = this;
  building.compare_exchange_strong(self, nullptr);
}

EnvState& EnvState::Of(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  return *static_cast<EnvState*>(data);
}

Runtime& EnvState::runtime() const {
  if (runtime_ == nullptr)
    throw Error("TFTRT_NOT_STARTED", "the TensorFlow runtime is not started in this thread");
  return *runtime_;
}

void EnvState::AttachCommands(napi_env env, Napi::Int32Array array) {
  if (!array.IsTypedArray() || array.TypedArrayType() != napi_int32_array) {
    throw Error("TFTRT_INVALID_ARGUMENT", "the command buffer must be an Int32Array");
  }
  napi_value exports;
  Check(env, napi_get_reference_value(env, exports_, &exports));
  Check(env, napi_set_named_property(env, exports, "commands", array));  // keeps it alive
  commands_ = array.Data();
  commands_length_ = array.ElementLength();
}

void EnvState::SetErrorClass(Napi::Function constructor) { error_class_ = Napi::Weak(constructor); }

void EnvState::SetImmediate(napi_env env, napi_value set_immediate) {
  napi_ref reference;
  Check(env, napi_create_reference(env, set_immediate, 1, &reference));
  if (set_immediate_ != nullptr) napi_delete_reference(env, set_immediate_);
  set_immediate_ = reference;
}

napi_value EnvState::MakeError(napi_env env, const Error& failure) {
  const std::string what = failure.what();
  napi_value code, message, constructor = nullptr, error = nullptr;
  if (napi_create_string_utf8(env, failure.code().data(), failure.code().size(), &code) != napi_ok ||
      napi_create_string_utf8(env, what.data(), what.size(), &message) != napi_ok) {
    return nullptr;
  }
  if (!error_class_.IsEmpty()) napi_get_reference_value(env, error_class_, &constructor);
  if (constructor == nullptr) {
    napi_create_error(env, code, message, &error);
  } else {
    const napi_value arguments[] = {code, message};
    napi_new_instance(env, constructor, 2, arguments, &error);
  }
  return error;
}

int32_t EnvState::AddTensor(HandlePtr handle) {
  const int64_t bytes = TensorOf(handle.get()).TotalBytes();
  const int32_t id = tensors.Add({std::move(handle), bytes, nullptr});
  tensor_bytes += bytes;
  return id;
}

int32_t EnvState::AddView(HandlePtr handle) { return tensors.Add({std::move(handle), 0, nullptr}); }

void EnvState::RemoveTensor(int32_t handle) { tensor_bytes -= tensors.Remove(handle).bytes; }

napi_value EnvState::PublishAll(napi_env env, std::vector<HandlePtr> handles) {
  size_t length = 0;
  for (const HandlePtr& handle : handles) length += 3 + TensorOf(handle.get()).dims();
  void* data;
  napi_value buffer, array;
  Check(env, napi_create_arraybuffer(env, length * sizeof(int32_t), &data, &buffer));
  Check(env, napi_create_typedarray(env, napi_int32_array, length, buffer, 0, &array));
  size_t position = 0;
  for (HandlePtr& handle : handles) {
    position = Publish(std::move(handle), static_cast<int32_t*>(data), position, length);
  }
  return array;
}

size_t EnvState::Publish(HandlePtr handle, int32_t* out, size_t position, size_t capacity) {
  const tensorflow::Tensor& tensor = TensorOf(handle.get());
  const int rank = tensor.dims();
  if (position + 3 + rank > capacity)
    throw Error("TFTRT_INTERNAL", "the command buffer is too short for the outputs");
  out[position + 1] = tensor.dtype();
  out[position + 2] = rank;
  for (int i = 0; i < rank; ++i) {
    const int64_t size = tensor.dim_size(i);
    if (size > INT32_MAX) {
      throw Error("TFTRT_OUT_OF_RANGE", absl::StrCat("an output has ", size, " elements in dimension ", i,
                                                     "; the largest supported size is ", INT32_MAX));
    }
    out[position + 3 + i] = static_cast<int32_t>(size);
  }
  out[position] = AddTensor(std::move(handle));
  return position + 3 + rank;
}

napi_value EnvState::Start(napi_env env, std::unique_ptr<Job> job) {
  auto* threads = runtime().async_threads();  // first: throws unless the runtime is started
  napi_value promise;
  Check(env, napi_create_promise(env, &job->deferred_, &promise));
  if (unsettled_++ == 0) SetBusy(env, true);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++working_;
  }
  threads->Schedule([this, raw = job.release()] {
    try {
      raw->Work();
    } catch (...) {
      raw->failure_ = std::current_exception();
    }
    // Queues the job for the JavaScript thread. The queue has no limit, so this neither blocks nor fails
    // while the environment lives, and the environment waits in OnEnvCleanup until working_ is 0.
    napi_call_threadsafe_function(done_, raw, napi_tsfn_nonblocking);
    std::lock_guard<std::mutex> lock(mutex_);
    if (--working_ == 0) idle_.notify_all();
  });
  return promise;
}

// Node.js calls this up to a thousand times in a row, as long as jobs end while it does. With small graphs
// that could go on for as long, since each promise that is settled may start the next job: timers and input
// would have to wait. So promises are settled in the phase of the event loop that follows, some in each turn.
void EnvState::OnJobDone(napi_env env, napi_value, void* context, void* data) {
  std::unique_ptr<Job> job(static_cast<Job*>(data));
  if (env == nullptr) return;  // the environment is going: nobody waits for the promise any more
  EnvState* state = static_cast<EnvState*>(context);
  state->to_settle_.push_back(std::move(job));
  state->AwaitTurn(env);
}

void EnvState::AwaitTurn(napi_env env) {
  if (awaits_turn_) return;
  napi_value set_immediate, on_turn, receiver, immediate;
  // Fails only where the environment is being terminated, when nobody waits for the promises any more.
  awaits_turn_ = napi_get_reference_value(env, set_immediate_, &set_immediate) == napi_ok &&
                 napi_get_reference_value(env, on_turn_, &on_turn) == napi_ok &&
                 napi_get_undefined(env, &receiver) == napi_ok &&
                 napi_call_function(env, receiver, set_immediate, 1, &on_turn, &immediate) == napi_ok;
}

napi_value EnvState::OnTurn(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  EnvState* state = static_cast<EnvState*>(data);
  state->awaits_turn_ = false;
  for (int i = 0; i < kMostPerTurn && !state->to_settle_.empty(); ++i) {
    std::unique_ptr<Job> job = std::move(state->to_settle_.front());
    state->to_settle_.pop_front();
    state->Settle(env, job.release());
  }
  if (!state->to_settle_.empty()) state->AwaitTurn(env);
  return nullptr;
}

void EnvState::Settle(napi_env env, Job* raw) {
  std::unique_ptr<Job> job(raw);
  napi_value value = nullptr;
  if (!job->failure_) {
    try {
      value = job->Finish(env);
    } catch (...) {
      job->failure_ = std::current_exception();
    }
  }
  if (job->failure_) {
    const napi_value error = MakeError(env, ToTftrtError(job->failure_));
    if (error != nullptr) napi_reject_deferred(env, job->deferred_, error);
  } else {
    if (value == nullptr) napi_get_undefined(env, &value);
    napi_resolve_deferred(env, job->deferred_, value);
  }
  for (napi_ref reference : job->kept_) napi_delete_reference(env, reference);
  if (--unsettled_ == 0) SetBusy(env, false);
}

// While it is busy, the event loop goes on, and the object whose functions are bound to this stays.
void EnvState::SetBusy(napi_env env, bool busy) {
  if (busy) {
    Check(env, napi_ref_threadsafe_function(env, done_));
    Check(env, napi_reference_ref(env, exports_, nullptr));
  } else {
    napi_unref_threadsafe_function(env, done_);
    napi_reference_unref(env, exports_, nullptr);
  }
}

void EnvState::WaitForJobs() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [this] { return working_ == 0; });
}

void EnvState::Finish() {
  WaitForJobs();
  if (runtime_ != nullptr) runtime_->Drain();
}

// Jobs write into this environment's array buffers and tables: it cannot go before they are done.
void EnvState::OnEnvCleanup(void* self) {
  EnvState* state = static_cast<EnvState*>(self);
  state->Finish();
  state->done_ = nullptr;  // Node.js ends it next
}

void EnvState::FinishThread() {
  for (EnvState* state : states_of_thread) state->Finish();
}

}  // namespace tftrt
