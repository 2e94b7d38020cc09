#include "gpu_functions.h"

#include "absl/strings/str_cat.h"
#include "foreign_memory.h"
#include "napi_helpers.h"
#include "tensor.h"
#include "tensorflow/core/framework/allocator.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

GpuStream& RequireStream(EnvState& state, tf::Device* device) {
  if (device == nullptr || device->device_type() != "GPU") {
    throw Error("TFTRT_GPU_UNAVAILABLE",
                absl::StrCat(device == nullptr ? state.runtime().device_name() : device->name(),
                             " has neither streams nor device memory: a GPU is needed for that"));
  }
  return state.runtime().StreamOf(device);
}

napi_value ToBigInt(napi_env env, const void* pointer) {
  napi_value value;
  Check(env, napi_create_bigint_uint64(env, reinterpret_cast<uint64_t>(pointer), &value));
  return value;
}

uint64_t GetBigInt(napi_env env, napi_value value) {
  uint64_t number;
  bool lossless;
  Check(env, napi_get_value_bigint_uint64(env, value, &number, &lossless));
  if (!lossless) throw Error("TFTRT_INVALID_ARGUMENT", "a pointer or handle of CUDA's has at most 64 bits");
  return number;
}

bool IsUndefined(napi_env env, napi_value value) {
  napi_valuetype type;
  Check(env, napi_typeof(env, value, &type));
  return type == napi_undefined;
}

// Argument: one of the names of `devices`. Returns its compute stream (a CUstream).
napi_value ComputeStream(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  const std::string name = Napi::Value(env, arguments[0]).As<Napi::String>();
  for (tf::Device* device : state.runtime().devices()) {
    if (device->name() == name) return ToBigInt(env, RequireStream(state, device).handle());
  }
  throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("TensorFlow has no device ", name));
}

// Argument: tensor. Returns [pointer, stream, device] of the tensor in device memory.
napi_value DeviceMemory(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  EnvState::TensorSlot& slot = state.tensors.Get(GetInt(env, arguments[0]));
  slot.read.reset();  // who has the pointer may write there
  tf::TensorHandle* handle = slot.handle.get();
  const GpuStream& stream = RequireStream(state, handle->device());
  napi_value array;
  Check(env, napi_create_array_with_length(env, 3, &array));
  Check(env, napi_set_element(env, array, 0, ToBigInt(env, TensorOf(handle).data())));
  Check(env, napi_set_element(env, array, 1, ToBigInt(env, stream.handle())));
  Check(env, napi_set_element(env, array, 2, ToJs(env, stream.device()->name())));
  return array;
}

// Argument: tensor in host memory. Returns a copy of it in device memory.
napi_value CopyToDevice(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  tf::TensorHandle* handle = state.tensors.Get(GetInt(env, arguments[0])).handle.get();
  RequireStream(state, state.runtime().gpu());
  if (!tf::DataTypeCanUseMemcpy(handle->dtype)) {
    throw Error("TFTRT_UNSUPPORTED_DTYPE",
                absl::StrCat("tensors of dtype ", tf::DataTypeString(handle->dtype), " stay on the host"));
  }
  return ToJs(env, state.AddTensor(state.runtime().Wrap(state.runtime().TensorOn(handle, true), true)));
}

// Throws unless `bytes` from `pointer` on are memory of the current context's GPU.
void RequireDeviceMemory(CUdeviceptr pointer, size_t bytes) {
  const CudaDriver& cuda = Cuda();
  const std::string name = absl::StrCat("the pointer 0x", absl::Hex(pointer));
  CUmemorytype type;
  if (cuda.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) != CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE) {
    throw Error(
        "TFTRT_INVALID_ARGUMENT",
        absl::StrCat(name, " is not device memory of CUDA's: allocate it by cudaMalloc or cuMemAlloc"));
  }
  int owner;
  CUdevice device;
  CheckCuda(cuda.PointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer),
            "finding the GPU of a pointer");
  CheckCuda(cuda.CtxGetDevice(&device), "finding the GPU");
  if (owner != device) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat(name, " is memory of CUDA's GPU ", owner, "; the backend computes on GPU ",
                             device, ": copy it there first"));
  }
  CUdeviceptr base;
  size_t size;
  // Of memory that was mapped piece by piece the driver cannot tell.
  if (cuda.MemGetAddressRange(&base, &size, pointer) == CUDA_SUCCESS && pointer - base + bytes > size) {
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat(name, " has ", base + size - pointer,
                                                       " bytes of memory behind it; the tensor has ", bytes));
  }
}

// Has the compute stream wait for an event.
void WaitForEvent(GpuStream& stream, CUevent event) {
  CheckCuda(Cuda().StreamWaitEvent(stream.handle(), event, CU_EVENT_WAIT_DEFAULT),
            "having the compute stream wait for the event");
}

// Has the compute stream wait for what is enqueued on another one, which may be of another context.
void WaitForStream(GpuStream& stream, CUstream other) {
  CUcontext context;
  CheckCuda(Cuda().StreamGetCtx(other, &context), "finding the context of the given stream");
  CUevent event;
  {
    const CudaContext current(context);
    CheckCuda(Cuda().EventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
    const CUresult result = Cuda().EventRecord(event, other);
    if (result != CUDA_SUCCESS) Cuda().EventDestroy(event);
    CheckCuda(result, "recording an event on the given stream");
  }
  const CUresult result = Cuda().StreamWaitEvent(stream.handle(), event, CU_EVENT_WAIT_DEFAULT);
  Cuda().EventDestroy(event);  // the driver keeps it until it is reached
  CheckCuda(result, "having the compute stream wait for the given stream");
}

// A tensor of its own with the values at `pointer`.
HandlePtr CopyFromForeign(Runtime& runtime, GpuStream& stream, const void* pointer, tf::DataType dtype,
                          const tf::TensorShape& shape) {
  tf::Tensor tensor = runtime.Allocate(dtype, shape);
  const bool on_device = runtime.OnDevice(dtype);
  if (on_device) {
    stream.CopyOnDevice(tensor.data(), pointer, tensor.TotalBytes());
  } else {
    GpuRead(stream, pointer, tensor.TotalBytes()).Finish(tensor.data(), kPatientRead);
  }
  return runtime.Wrap(std::move(tensor), on_device);
}

// Arguments: dtype, rank, pointer, whether to copy, event and stream to wait for (or undefined), function to
// call when the memory is not used any more (or undefined). The dimensions are in the command buffer.
napi_value TensorFromDevice(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<7> arguments(env, info);
  const tf::DataType dtype = GetDataType(env, arguments[0]);
  const tf::TensorShape shape = ShapeFromCommands(state, GetInt(env, arguments[1]));
  const uint64_t pointer = GetBigInt(env, arguments[2]);
  const bool copy = Napi::Value(env, arguments[3]).As<Napi::Boolean>();
  Runtime& runtime = state.runtime();
  GpuStream& stream = RequireStream(state, runtime.gpu());
  if (!tf::DataTypeCanUseMemcpy(dtype)) {
    throw Error("TFTRT_UNSUPPORTED_DTYPE",
                absl::StrCat("tensors of dtype ", tf::DataTypeString(dtype), " have no device memory"));
  }
  if (!copy && !runtime.OnDevice(dtype)) {
    throw Error(
        "TFTRT_UNSUPPORTED_DTYPE",
        absl::StrCat("TensorFlow keeps ", tf::DataTypeString(dtype),
                     " tensors in host memory and cannot use device memory in place: use copy: true"));
  }
  const CudaContext current(stream.context());
  const size_t bytes = shape.num_elements() * tf::DataTypeSize(dtype);
  if (bytes > 0) RequireDeviceMemory(pointer, bytes);
  // Kernels rely on it, and tensors without it end the process.
  if (!copy && pointer % tf::Allocator::kAllocatorAlignment != 0) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the pointer 0x", absl::Hex(pointer), " is not a multiple of ",
                             tf::Allocator::kAllocatorAlignment, " bytes, which TensorFlow needs to use ",
                             "memory in place: use copy: true, or other memory"));
  }
  if (!IsUndefined(env, arguments[4]))
    WaitForEvent(stream, reinterpret_cast<CUevent>(GetBigInt(env, arguments[4])));
  if (!IsUndefined(env, arguments[5]))
    WaitForStream(stream, reinterpret_cast<CUstream>(GetBigInt(env, arguments[5])));

  void* memory = reinterpret_cast<void*>(pointer);
  HandlePtr handle;
  if (copy) handle = CopyFromForeign(runtime, stream, memory, dtype, shape);
  // Last of what may fail: after an error the memory is its owner's as before.
  std::shared_ptr<ReleaseCallback> release;
  if (!IsUndefined(env, arguments[6])) release = ReleaseCallback::Make(env, arguments[6]);
  if (!copy) {
    handle = runtime.Wrap(TensorOver(stream, memory, dtype, shape, std::move(release)), true);
  } else if (release) {
    ReleaseCallback::CallWhenDone(std::move(release), stream);
  }
  return ToJs(env, state.AddTensor(std::move(handle)));
}

}  // namespace

void RegisterGpuFunctions(napi_env env, napi_value exports) {
  Export<Guarded<ComputeStream>>(env, exports, "computeStream");
  Export<Guarded<DeviceMemory>>(env, exports, "deviceMemory");
  Export<Guarded<CopyToDevice>>(env, exports, "copyToDevice");
  Export<Guarded<TensorFromDevice>>(env, exports, "tensorFromDevice");
}

}  // namespace tftrt
