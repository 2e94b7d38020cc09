// Other CUDA code in the process, for tests: works with the driver alone, on a thread and a stream of its
// own, and knows nothing of TensorFlow. Streams, events and pointers are BigInts.

#include <dlfcn.h>
#include <node_api.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "third_party/gpus/cuda/include/cuda.h"

namespace {

#define FUNCTIONS(F)                        \
  F(StreamGetCtx, cuStreamGetCtx)           \
  F(CtxSetCurrent, cuCtxSetCurrent)         \
  F(StreamCreate, cuStreamCreate)           \
  F(StreamWaitEvent, cuStreamWaitEvent)     \
  F(StreamSynchronize, cuStreamSynchronize) \
  F(EventCreate, cuEventCreate)             \
  F(EventRecord, cuEventRecord)             \
  F(LaunchHostFunc, cuLaunchHostFunc)       \
  F(MemAlloc, cuMemAlloc_v2)                \
  F(MemFree, cuMemFree_v2)                  \
  F(MemAllocHost, cuMemAllocHost_v2)        \
  F(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)  \
  F(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)  \
  F(MemsetD32Async, cuMemsetD32Async)

struct Driver {
#define MEMBER(member, symbol) decltype(&::symbol) member = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

const Driver& Cuda() {
  static const Driver driver = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(dlerror());
    Driver found;
#define FIND(member, symbol)                                                        \
  found.member = reinterpret_cast<decltype(found.member)>(dlsym(library, #symbol)); \
  if (found.member == nullptr) throw std::runtime_error("the driver has no " #symbol);
    FUNCTIONS(FIND)
#undef FIND
    return found;
  }();
  return driver;
}

void Check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS)
    throw std::runtime_error(std::string(what) + ": CUDA error " + std::to_string(result));
}

CUevent RecordedEvent(CUstream stream) {
  CUevent event;
  Check(Cuda().EventCreate(&event, CU_EVENT_DISABLE_TIMING), "event");
  Check(Cuda().EventRecord(event, stream), "record");
  return event;
}

void Sleep(void* milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<intptr_t>(milliseconds)));
}

// Keeps the stream busy for a while.
void EnqueueDelay(CUstream stream, int64_t milliseconds) {
  if (milliseconds == 0) return;
  Check(Cuda().LaunchHostFunc(stream, Sleep, reinterpret_cast<void*>(milliseconds)), "delay");
}

// Runs `work` on a thread of its own with the compute stream's context; returns what it threw.
std::string OnOwnThread(CUstream compute_stream, const std::function<void()>& work) {
  std::string failure;
  std::thread([&] {
    try {
      CUcontext context;
      Check(Cuda().StreamGetCtx(compute_stream, &context), "context");
      Check(Cuda().CtxSetCurrent(context), "entering the context");
      work();
    } catch (const std::exception& error) {
      failure = error.what();
    }
  }).join();
  return failure;
}

CUstream OwnStream() {
  static CUstream stream = nullptr;
  if (stream == nullptr) Check(Cuda().StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  return stream;
}

struct Call {
  Call(napi_env env, napi_callback_info info) : env(env) {
    size_t count = 4;
    napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr);
  }
  uint64_t BigInt(int index) const {
    uint64_t number = 0;
    bool lossless;
    napi_get_value_bigint_uint64(env, arguments[index], &number, &lossless);
    return number;
  }
  CUstream Stream(int index) const { return reinterpret_cast<CUstream>(BigInt(index)); }
  int64_t Number(int index) const {
    int64_t number = 0;
    napi_get_value_int64(env, arguments[index], &number);
    return number;
  }
  napi_value Return(const std::string& failure, napi_value value) const {
    if (!failure.empty()) napi_throw_error(env, nullptr, failure.c_str());
    return value;
  }
  napi_value ToJs(const void* pointer) const {
    napi_value value;
    napi_create_bigint_uint64(env, reinterpret_cast<uint64_t>(pointer), &value);
    return value;
  }

  napi_env env;
  napi_value arguments[4];
};

// allocate(computeStream, bytes, onHost): pointer
napi_value Allocate(napi_env env, napi_callback_info info) {
  const Call call(env, info);
  bool on_host = false;
  napi_get_value_bool(env, call.arguments[2], &on_host);
  void* pointer = nullptr;
  const std::string failure = OnOwnThread(call.Stream(0), [&] {
    if (on_host) {
      Check(Cuda().MemAllocHost(&pointer, call.Number(1)), "host memory");
    } else {
      CUdeviceptr device;
      Check(Cuda().MemAlloc(&device, call.Number(1)), "device memory");
      pointer = reinterpret_cast<void*>(device);
    }
  });
  return call.Return(failure, call.ToJs(pointer));
}

// free(computeStream, pointer)
napi_value Free(napi_env env, napi_callback_info info) {
  const Call call(env, info);
  return call.Return(OnOwnThread(call.Stream(0), [&] { Check(Cuda().MemFree(call.BigInt(1)), "free"); }),
                     nullptr);
}

// copyLater(computeStream, pointer, bytes, delayMs): [pointer, event, stream]
// Once the compute stream got to here, and after a delay, copies the memory into new memory; the event
// follows.
napi_value CopyLater(napi_env env, napi_callback_info info) {
  const Call call(env, info);
  CUdeviceptr copy = 0;
  CUevent done = nullptr;
  const std::string failure = OnOwnThread(call.Stream(0), [&] {
    const size_t bytes = call.Number(2);
    Check(Cuda().MemAlloc(&copy, bytes), "device memory");
    const CUstream stream = OwnStream();
    Check(Cuda().MemsetD32Async(copy, 0xffffffff, bytes / 4, stream), "memset");  // NaN
    Check(Cuda().StreamWaitEvent(stream, RecordedEvent(call.Stream(0)), 0), "wait");
    EnqueueDelay(stream, call.Number(3));
    Check(Cuda().MemcpyDtoDAsync(copy, call.BigInt(1), bytes, stream), "copy");
    done = RecordedEvent(stream);
  });
  if (!failure.empty()) return call.Return(failure, nullptr);
  napi_value array;
  napi_create_array_with_length(env, 3, &array);
  napi_set_element(env, array, 0, call.ToJs(reinterpret_cast<void*>(copy)));
  napi_set_element(env, array, 1, call.ToJs(done));
  napi_set_element(env, array, 2, call.ToJs(OwnStream()));
  return array;
}

// read(computeStream, pointer, bytes): ArrayBuffer with the values that the compute stream leaves there.
napi_value Read(napi_env env, napi_callback_info info) {
  const Call call(env, info);
  void* data;
  napi_value buffer;
  napi_create_arraybuffer(env, call.Number(2), &data, &buffer);
  const std::string failure = OnOwnThread(call.Stream(0), [&] {
    const CUstream stream = OwnStream();
    Check(Cuda().StreamWaitEvent(stream, RecordedEvent(call.Stream(0)), 0), "wait");
    Check(Cuda().MemcpyDtoHAsync(data, call.BigInt(1), call.Number(2), stream), "copy");
    Check(Cuda().StreamSynchronize(stream), "synchronize");
  });
  return call.Return(failure, buffer);
}

// delay(stream, ms): keeps a stream busy.
napi_value Delay(napi_env env, napi_callback_info info) {
  const Call call(env, info);
  return call.Return(OnOwnThread(call.Stream(0), [&] { EnqueueDelay(call.Stream(0), call.Number(1)); }),
                     nullptr);
}

}  // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"allocate", nullptr, Allocate, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"free", nullptr, Free, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"copyLater", nullptr, CopyLater, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"read", nullptr, Read, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"delay", nullptr, Delay, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions);
  return exports;
}
