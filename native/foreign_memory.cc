#include "foreign_memory.h"

#include <condition_variable>

#include "napi_helpers.h"
#include "runtime.h"
#include "tensorflow/core/framework/allocation_description.pb.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// What other threads are waiting for on behalf of callbacks.
std::mutex waiting_mutex;
std::condition_variable waiting_done;
int waiting = 0;

class ForeignBuffer : public tf::TensorBuffer {
 public:
  ForeignBuffer(GpuStream& stream, void* pointer, size_t bytes, std::shared_ptr<ReleaseCallback> release)
      : TensorBuffer(pointer), stream_(stream), bytes_(bytes), release_(std::move(release)) {}
  ~ForeignBuffer() override {
    if (release_) ReleaseCallback::CallWhenDone(std::move(release_), stream_);
  }
  size_t size() const override { return bytes_; }
  tf::TensorBuffer* root_buffer() override { return this; }
  void FillAllocationDescription(tf::AllocationDescription* description) const override {
    description->set_requested_bytes(static_cast<int64_t>(bytes_));
    description->set_allocator_name("tftrt_foreign");
  }
  // So that no kernel takes it over for its result, which would live longer than the owner can know.
  bool OwnsMemory() const override { return false; }

 private:
  GpuStream& stream_;
  const size_t bytes_;
  std::shared_ptr<ReleaseCallback> release_;
};

}  // namespace

std::shared_ptr<ReleaseCallback> ReleaseCallback::Make(napi_env env, napi_value function) {
  auto callback = std::make_shared<ReleaseCallback>();
  napi_value name;
  Check(env, napi_create_string_utf8(env, "tftrt release", NAPI_AUTO_LENGTH, &name));
  // Lives on the JavaScript thread: until the function was called or the environment ends.
  auto holder = std::make_unique<std::shared_ptr<ReleaseCallback>>(callback);
  Check(env, napi_create_threadsafe_function(env, function, nullptr, name, 0, 1, nullptr, nullptr,
                                             holder.get(), OnCall, &callback->call_));
  Check(env, napi_unref_threadsafe_function(env, callback->call_));
  // Added after the thread-safe function, so it runs before that one is torn down.
  Check(env, napi_add_env_cleanup_hook(env, OnEnvCleanup, holder.get()));
  holder.release();
  return callback;
}

void ReleaseCallback::OnCall(napi_env env, napi_value function, void* holder, void*) {
  if (env == nullptr) return;  // the environment is going, and OnEnvCleanup was called
  napi_remove_env_cleanup_hook(env, OnEnvCleanup, holder);
  delete static_cast<std::shared_ptr<ReleaseCallback>*>(holder);
  napi_value undefined;
  napi_get_undefined(env, &undefined);
  napi_call_function(env, undefined, function, 0, nullptr, nullptr);
}

void ReleaseCallback::OnEnvCleanup(void* holder) {
  std::unique_ptr<std::shared_ptr<ReleaseCallback>> held(
      static_cast<std::shared_ptr<ReleaseCallback>*>(holder));
  std::lock_guard<std::mutex> lock((*held)->mutex_);
  (*held)->call_ = nullptr;
}

void ReleaseCallback::CallWhenDone(std::shared_ptr<ReleaseCallback> callback, GpuStream& stream) {
  {
    std::lock_guard<std::mutex> lock(callback->mutex_);
    if (callback->call_ == nullptr) return;
  }
  {
    std::lock_guard<std::mutex> lock(waiting_mutex);
    ++waiting;
  }
  Runtime::Get().async_threads()->Schedule([callback = std::move(callback), &stream] {
    try {
      stream.Synchronize();
    } catch (const Error&) {
      // The GPU is lost, and with it all work on the memory.
    }
    {
      std::lock_guard<std::mutex> lock(callback->mutex_);
      if (callback->call_ != nullptr) {
        napi_call_threadsafe_function(callback->call_, nullptr, napi_tsfn_nonblocking);
        napi_release_threadsafe_function(callback->call_, napi_tsfn_release);
        callback->call_ = nullptr;
      }
    }
    std::lock_guard<std::mutex> lock(waiting_mutex);
    if (--waiting == 0) waiting_done.notify_all();
  });
}

void ReleaseCallback::WaitForAll() {
  std::unique_lock<std::mutex> lock(waiting_mutex);
  waiting_done.wait(lock, [] { return waiting == 0; });
}

tf::Tensor TensorOver(GpuStream& stream, void* pointer, tf::DataType dtype, const tf::TensorShape& shape,
                      std::shared_ptr<ReleaseCallback> release) {
  const size_t bytes = shape.num_elements() * tf::DataTypeSize(dtype);
  return tf::Tensor(
      dtype, shape,
      tf::core::RefCountPtr<tf::TensorBuffer>(new ForeignBuffer(stream, pointer, bytes, std::move(release))));
}

}  // namespace tftrt
