#include "tensor.h"

#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "copy_threads.h"
#include "napi_helpers.h"

namespace tftrt {

namespace tf = tensorflow;

tf::TensorShape ShapeFromCommands(EnvState& state, int rank) {
  if (rank < 0 || static_cast<size_t>(rank) > state.commands_length()) {
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("rank ", rank, " is out of range"));
  }
  tf::TensorShape shape;
  for (int i = 0; i < rank; ++i) {
    ThrowIfError(shape.AddDimWithStatus(state.commands()[i]), "tensor shape");
  }
  return shape;
}

tf::DataType GetDataType(napi_env env, napi_value value) {
  const int32_t number = GetInt(env, value);
  if (!tf::DataType_IsValid(number))
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("unknown dtype ", number));
  return static_cast<tf::DataType>(number);
}

namespace {

// Copies elements into a host tensor.
void CopyElements(const void* source, size_t bytes, tf::Tensor* tensor) {
  if (bytes == 0) return;
  if (tensor->dtype() == tf::DT_BOOL) {
    CopyBooleans(tensor->data(), source, bytes);
  } else {
    CopyBytes(tensor->data(), source, bytes);
  }
}

void RequireBytes(const TypedArray& array, const tf::Tensor& tensor) {
  if (array.byte_length != tensor.TotalBytes()) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the values have ", array.byte_length, " bytes, but a tensor of shape ",
                             tensor.shape().DebugString(), " and dtype ", tf::DataTypeString(tensor.dtype()),
                             " has ", tensor.TotalBytes()));
  }
}

HandlePtr Upload(Runtime& runtime, const void* source, size_t bytes, tf::DataType dtype,
                 const tf::TensorShape& shape) {
  tf::Tensor tensor = runtime.Allocate(dtype, shape);
  const bool on_device = runtime.OnDevice(dtype);
  if (on_device) {
    runtime.StreamOf(runtime.gpu()).CopyFromHost(tensor.data(), source, bytes, dtype == tf::DT_BOOL);
  } else {
    CopyElements(source, bytes, &tensor);
  }
  return runtime.Wrap(std::move(tensor), on_device);
}

void CheckUpload(tf::DataType dtype, const tf::TensorShape& shape, const TypedArray& array) {
  const int size = tf::DataTypeSize(dtype);
  if (size == 0) {
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("a tensor of dtype ", tf::DataTypeString(dtype),
                                                       " cannot be made from a typed array"));
  }
  if (array.byte_length != static_cast<size_t>(shape.num_elements()) * size) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the values have ", array.byte_length, " bytes, but a tensor of shape ",
                             shape.DebugString(), " and dtype ", tf::DataTypeString(dtype), " has ",
                             shape.num_elements() * size,
                             ": were they transferred or resized since the tensor was made?"));
  }
}

class UploadJob : public Job {
 public:
  UploadJob(EnvState& state, const TypedArray& source, tf::DataType dtype, tf::TensorShape shape)
      : state_(state), runtime_(state.runtime()), source_(source), dtype_(dtype), shape_(std::move(shape)) {}
  void Work() override { result_ = Upload(runtime_, source_.data, source_.byte_length, dtype_, shape_); }
  napi_value Finish(napi_env env) override { return ToJs(env, state_.AddTensor(std::move(result_))); }

 private:
  EnvState& state_;
  Runtime& runtime_;
  const TypedArray source_;
  const tf::DataType dtype_;
  const tf::TensorShape shape_;
  HandlePtr result_;
};

// Starts reading a tensor on the device, unless that began with the run that computed it.
std::unique_ptr<GpuRead> StartRead(Runtime& runtime, EnvState::TensorSlot* slot) {
  if (slot->read) {
    std::unique_ptr<GpuRead> begun = slot->read->Take();
    slot->read.reset();
    if (begun) return begun;
  }
  tf::TensorHandle* handle = slot->handle.get();
  const tf::Tensor& tensor = TensorOf(handle);
  return std::make_unique<GpuRead>(runtime.StreamOf(handle->device()), tensor.data(), tensor.TotalBytes());
}

// The job keeps a reference of the tensor, so that disposing it meanwhile does no harm. It has the values of
// when it was made: what is enqueued on the device later does not delay it.
class DownloadJob : public Job {
 public:
  DownloadJob(Runtime& runtime, EnvState::TensorSlot* slot, const TypedArray& destination)
      : destination_(destination), handle_(NewReference(slot->handle.get())) {
    if (runtime.IsOnDevice(handle_.get())) read_ = StartRead(runtime, slot);
  }
  void Work() override {
    if (read_) {
      read_->Finish(destination_.data, kAsyncRead);
    } else {
      CopyBytes(destination_.data, TensorOf(handle_.get()).data(), destination_.byte_length);
    }
    handle_.reset();
  }
  napi_value Finish(napi_env env) override { return Undefined(env); }

 private:
  const TypedArray destination_;
  HandlePtr handle_;
  std::unique_ptr<GpuRead> read_;
};

// Arguments: dtype, rank, values; the dimensions are in the command buffer.
napi_value CreateTensor(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<3> arguments(env, info);
  const tf::DataType dtype = GetDataType(env, arguments[0]);
  const tf::TensorShape shape = ShapeFromCommands(state, GetInt(env, arguments[1]));
  const TypedArray array = GetTypedArray(env, arguments[2]);
  CheckUpload(dtype, shape, array);
  return ToJs(env, state.AddTensor(Upload(state.runtime(), array.data, array.byte_length, dtype, shape)));
}

napi_value CreateTensorAsync(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<3> arguments(env, info);
  const tf::DataType dtype = GetDataType(env, arguments[0]);
  tf::TensorShape shape = ShapeFromCommands(state, GetInt(env, arguments[1]));
  const TypedArray array = GetTypedArray(env, arguments[2]);
  CheckUpload(dtype, shape, array);
  auto job = std::make_unique<UploadJob>(state, array, dtype, std::move(shape));
  job->Keep(env, arguments[2]);
  return state.Start(env, std::move(job));
}

// Arguments: rank, array of Uint8Arrays.
napi_value CreateStringTensor(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  const tf::TensorShape shape = ShapeFromCommands(state, GetInt(env, arguments[0]));
  const uint32_t length = GetLength(env, arguments[1]);
  if (length != shape.num_elements()) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat(length, " strings were given for a tensor of shape ", shape.DebugString()));
  }
  tf::Tensor tensor = state.runtime().Allocate(tf::DT_STRING, shape);
  auto strings = tensor.flat<tf::tstring>();
  for (uint32_t i = 0; i < length; ++i) {
    const TypedArray bytes = GetTypedArray(env, GetElement(env, arguments[1], i));
    strings(i).assign(static_cast<const char*>(bytes.data), bytes.byte_length);
  }
  return ToJs(env, state.AddTensor(state.runtime().Wrap(std::move(tensor), false)));
}

// Arguments: handle, rank. The same memory under another shape.
napi_value ReshapeTensor(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  tf::TensorHandle* handle = state.tensors.Get(GetInt(env, arguments[0])).handle.get();
  const tf::TensorShape shape = ShapeFromCommands(state, GetInt(env, arguments[1]));
  const tf::Tensor& tensor = TensorOf(handle);
  tf::Tensor view;
  if (!view.CopyFrom(tensor, shape)) {
    throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("a tensor of shape ", tensor.shape().DebugString(),
                                                       " cannot be reshaped to ", shape.DebugString()));
  }
  return ToJs(env, state.AddView(state.runtime().Wrap(std::move(view), state.runtime().IsOnDevice(handle))));
}

napi_value ReleaseTensor(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  state.RemoveTensor(GetInt(env, arguments[0]));
  return nullptr;
}

napi_value ReleaseAllTensors(napi_env, EnvState& state, napi_callback_info) {
  state.tensors.Clear();
  state.tensor_bytes = 0;
  return nullptr;
}

// Arguments: handle, destination.
napi_value ReadTensor(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  EnvState::TensorSlot& slot = state.tensors.Get(GetInt(env, arguments[0]));
  const TypedArray destination = GetTypedArray(env, arguments[1]);
  const tf::Tensor& tensor = TensorOf(slot.handle.get());
  RequireBytes(destination, tensor);
  if (state.runtime().IsOnDevice(slot.handle.get())) {
    StartRead(state.runtime(), &slot)->Finish(destination.data, kPatientRead);
  } else {
    CopyBytes(destination.data, tensor.data(), destination.byte_length);
  }
  return nullptr;
}

napi_value ReadTensorAsync(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<2> arguments(env, info);
  EnvState::TensorSlot& slot = state.tensors.Get(GetInt(env, arguments[0]));
  const TypedArray destination = GetTypedArray(env, arguments[1]);
  RequireBytes(destination, TensorOf(slot.handle.get()));
  auto job = std::make_unique<DownloadJob>(state.runtime(), &slot, destination);
  job->Keep(env, arguments[1]);
  return state.Start(env, std::move(job));
}

// Returns an array of Uint8Arrays.
napi_value ReadStringTensor(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  const tf::Tensor& tensor = TensorOf(state.tensors.Get(GetInt(env, arguments[0])).handle.get());
  if (tensor.dtype() != tf::DT_STRING) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the tensor holds ", tf::DataTypeString(tensor.dtype()), ", not strings"));
  }
  const auto strings = tensor.flat<tf::tstring>();
  napi_value array;
  Check(env, napi_create_array_with_length(env, strings.size(), &array));
  for (int64_t i = 0; i < strings.size(); ++i) {
    void* data;
    napi_value buffer, bytes;
    Check(env, napi_create_arraybuffer(env, strings(i).size(), &data, &buffer));
    if (strings(i).size() > 0) std::memcpy(data, strings(i).data(), strings(i).size());
    Check(env, napi_create_typedarray(env, napi_uint8_array, strings(i).size(), buffer, 0, &bytes));
    Check(env, napi_set_element(env, array, i, bytes));
  }
  return array;
}

// Whether the tensor lives in the memory of a GPU.
napi_value TensorOnDevice(napi_env env, EnvState& state, napi_callback_info info) {
  Arguments<1> arguments(env, info);
  return ToJs(env, state.runtime().IsOnDevice(state.tensors.Get(GetInt(env, arguments[0])).handle.get()));
}

}  // namespace

void RegisterTensorFunctions(napi_env env, napi_value exports) {
  Export<Guarded<CreateTensor>>(env, exports, "createTensor");
  Export<Guarded<CreateTensorAsync>>(env, exports, "createTensorAsync");
  Export<Guarded<CreateStringTensor>>(env, exports, "createStringTensor");
  Export<Guarded<ReshapeTensor>>(env, exports, "reshapeTensor");
  Export<Guarded<ReleaseTensor>>(env, exports, "releaseTensor");
  Export<Guarded<ReleaseAllTensors>>(env, exports, "releaseAllTensors");
  Export<Guarded<ReadTensor>>(env, exports, "readTensor");
  Export<Guarded<ReadTensorAsync>>(env, exports, "readTensorAsync");
  Export<Guarded<ReadStringTensor>>(env, exports, "readStringTensor");
  Export<Guarded<TensorOnDevice>>(env, exports, "tensorOnDevice");
}

}  // namespace tftrt
