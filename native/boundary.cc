#include "boundary.h"

#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "error.h"
#include "placement.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

HandlePtr Cast(Runtime& runtime, tf::TensorHandle* input, tf::DataType dtype, const std::string& name) {
  const std::string context = absl::StrCat("casting ", name, " to ", tf::DataTypeString(dtype));
  tf::EagerOperation operation(runtime.eager_context());
  ThrowIfError(operation.Reset("Cast", runtime.eager_placement()), context);
  ThrowIfError(operation.SetAttrType("DstT", dtype), context);
  ThrowIfError(operation.AddInput(input), context);
  if (runtime.gpu() != nullptr) CountPlacementCopies(runtime, InputsOnDevice(operation, 1), {input});
  tf::AbstractTensorHandle* result = nullptr;
  int count = 1;
  ThrowIfError(operation.Execute(absl::MakeSpan(&result, 1), &count), context);
  return HandlePtr(tf::TensorHandleFromInterface(static_cast<tf::ImmediateExecutionTensorHandle*>(result)));
}

template <typename T>
tf::Tensor NarrowToInt32(const tf::Tensor& wide, const std::string& name) {
  tf::Tensor narrow(tf::cpu_allocator(), tf::DT_INT32, wide.shape());
  const auto source = wide.flat<T>();
  auto destination = narrow.flat<int32_t>();
  constexpr T kMax = std::numeric_limits<int32_t>::max();
  for (int64_t i = 0; i < source.size(); ++i) {
    bool fits = source(i) <= kMax;
    if constexpr (std::is_signed<T>::value) fits = fits && source(i) >= std::numeric_limits<int32_t>::min();
    if (!fits) {
      throw Error(
          "TFTRT_OUT_OF_RANGE",
          absl::StrCat(
              "element ", i, " of output ", name, " is ", source(i), ", which does not fit int32, the ",
              "widest integer dtype of TensorFlow.js. Have the model return it as float or as string."));
    }
    destination(i) = static_cast<int32_t>(source(i));
  }
  return narrow;
}

}  // namespace

tf::DataType JsType(tf::DataType dtype) {
  switch (dtype) {
    case tf::DT_FLOAT:
    case tf::DT_HALF:
    case tf::DT_BFLOAT16:
    case tf::DT_DOUBLE: return tf::DT_FLOAT;
    case tf::DT_INT8:
    case tf::DT_INT16:
    case tf::DT_INT32:
    case tf::DT_INT64:
    case tf::DT_UINT8:
    case tf::DT_UINT16:
    case tf::DT_UINT32:
    case tf::DT_UINT64: return tf::DT_INT32;
    case tf::DT_BOOL: return tf::DT_BOOL;
    case tf::DT_STRING: return tf::DT_STRING;
    case tf::DT_COMPLEX64:
    case tf::DT_COMPLEX128: return tf::DT_COMPLEX64;
    default: return tf::DT_INVALID;
  }
}

HandlePtr CastInput(Runtime& runtime, tf::TensorHandle* input, tf::DataType wanted, const std::string& name) {
  const tf::DataType js_type = JsType(wanted);
  if (js_type != input->dtype) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("input ", name, " takes ",
                             tf::DataTypeString(js_type == tf::DT_INVALID ? wanted : js_type),
                             " values, got ", tf::DataTypeString(input->dtype)));
  }
  return Cast(runtime, input, wanted, name);
}

HandlePtr CastOutput(Runtime& runtime, HandlePtr output, const std::string& name) {
  const tf::DataType dtype = output->dtype;
  const tf::DataType js_type = JsType(dtype);
  if (js_type == dtype) return output;
  switch (dtype) {
    case tf::DT_INT64:
      return runtime.Wrap(NarrowToInt32<int64_t>(runtime.TensorOn(output.get(), false), name), false);
    case tf::DT_UINT64:
      return runtime.Wrap(NarrowToInt32<tf::uint64>(runtime.TensorOn(output.get(), false), name), false);
    case tf::DT_UINT32:
      return runtime.Wrap(NarrowToInt32<tf::uint32>(runtime.TensorOn(output.get(), false), name), false);
    default: break;
  }
  if (js_type == tf::DT_INVALID) {
    throw Error("TFTRT_UNSUPPORTED_DTYPE", absl::StrCat("output ", name, " is a ", tf::DataTypeString(dtype),
                                                        ", which TensorFlow.js has no tensors of"));
  }
  return Cast(runtime, output.get(), js_type, name);
}

}  // namespace tftrt
