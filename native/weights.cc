#include "weights.h"

#include <complex>

#include "absl/strings/str_cat.h"
#include "error.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

template <typename To, typename From>
std::string Convert(const Weight& weight) {
  const From* source = static_cast<const From*>(weight.data);
  const size_t count = weight.bytes / sizeof(From);
  std::string content(count * sizeof(To), '\0');
  To* destination = reinterpret_cast<To*>(content.data());
  for (size_t i = 0; i < count; ++i) destination[i] = static_cast<To>(source[i]);
  return content;
}

// The bytes of the values in the constant's dtype; empty with `*known` false when there is no such
// conversion.
std::string Content(const Weight& weight, tf::DataType dtype, bool* known) {
  *known = true;
  if (weight.dtype == dtype) return std::string(static_cast<const char*>(weight.data), weight.bytes);
  if (weight.dtype == tf::DT_INT32) {
    switch (dtype) {
      case tf::DT_INT64: return Convert<int64_t, int32_t>(weight);
      case tf::DT_UINT64: return Convert<uint64_t, int32_t>(weight);
      case tf::DT_UINT32: return Convert<uint32_t, int32_t>(weight);
      case tf::DT_INT16: return Convert<int16_t, int32_t>(weight);
      case tf::DT_UINT16: return Convert<uint16_t, int32_t>(weight);
      case tf::DT_INT8: return Convert<int8_t, int32_t>(weight);
      case tf::DT_UINT8: return Convert<uint8_t, int32_t>(weight);
      default: break;
    }
  }
  if (weight.dtype == tf::DT_FLOAT) {
    switch (dtype) {
      case tf::DT_DOUBLE: return Convert<double, float>(weight);
      case tf::DT_HALF: return Convert<Eigen::half, float>(weight);
      case tf::DT_BFLOAT16: return Convert<tf::bfloat16, float>(weight);
      default: break;
    }
  }
  if (weight.dtype == tf::DT_COMPLEX64 && dtype == tf::DT_COMPLEX128) {
    return Convert<std::complex<double>, std::complex<float>>(weight);
  }
  *known = false;
  return {};
}

bool HasValue(const tf::TensorProto& tensor) {
  return !tensor.tensor_content().empty() ||
         tensor.float_val_size() + tensor.double_val_size() + tensor.int_val_size() +
                 tensor.string_val_size() + tensor.scomplex_val_size() + tensor.int64_val_size() +
                 tensor.bool_val_size() + tensor.dcomplex_val_size() + tensor.half_val_size() +
                 tensor.uint32_val_size() + tensor.uint64_val_size() >
             0;
}

void SetWeight(const std::unordered_map<std::string, Weight>& weights, const std::string& scope,
               tf::NodeDef* node) {
  if (node->op() != "Const") return;
  auto& attributes = *node->mutable_attr();
  auto found = weights.find(node->name());
  if (found == weights.end() && !scope.empty()) found = weights.find(absl::StrCat(scope, "/", node->name()));
  tf::TensorProto* tensor = attributes["value"].mutable_tensor();
  if (found == weights.end()) {
    tf::TensorShape shape(tensor->tensor_shape());
    if (HasValue(*tensor) || shape.num_elements() == 0) return;
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("the model has no weight for the constant '", node->name(),
                             "': its weights manifest is incomplete"));
  }
  const Weight& weight = found->second;
  tf::DataType dtype = attributes["dtype"].type();
  if (dtype == tf::DT_INVALID) dtype = weight.dtype;
  const std::string where = absl::StrCat("weight '", node->name(), "'");
  bool known = false;
  std::string content;
  if (dtype == tf::DT_STRING && weight.dtype == tf::DT_STRING) {
    known = true;
  } else {
    content = Content(weight, dtype, &known);
  }
  if (!known) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat(where, " holds ", tf::DataTypeString(weight.dtype),
                             " values, but its node wants ", tf::DataTypeString(dtype)));
  }
  tensor->Clear();
  tensor->set_dtype(dtype);
  int64_t elements = 1;
  for (const int64_t size : weight.shape) {
    tensor->mutable_tensor_shape()->add_dim()->set_size(size);
    elements *= size;
  }
  attributes["dtype"].set_type(dtype);
  const int64_t given =
      dtype == tf::DT_STRING ? weight.strings.size() : content.size() / tf::DataTypeSize(dtype);
  if (given != elements) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat(where, " has ", given, " values, but its shape needs ", elements));
  }
  for (const std::string& text : weight.strings) tensor->add_string_val(text);
  if (dtype != tf::DT_STRING) tensor->set_tensor_content(std::move(content));
}

}  // namespace

void SetWeights(const std::unordered_map<std::string, Weight>& weights, tf::GraphDef* graph) {
  for (tf::NodeDef& node : *graph->mutable_node()) SetWeight(weights, "", &node);
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    for (tf::NodeDef& node : *function.mutable_node_def())
      SetWeight(weights, function.signature().name(), &node);
  }
}

}  // namespace tftrt
