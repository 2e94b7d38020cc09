#include "graph_checks.h"

#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "error.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def_util.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

bool HasWindow(const std::string& op) {
  return (absl::StrContains(op, "Conv2D") || absl::StrContains(op, "Conv3D") ||
          absl::StrContains(op, "Conv2d") || absl::StrContains(op, "AvgPool") ||
          absl::StrContains(op, "MaxPool"));
}

void CheckWindow(const tf::NodeDef& node) {
  const int axes = absl::StrContains(node.op(), "3D") ? 5 : 4;
  for (const char* name : {"ksize", "strides", "dilations"}) {
    const auto found = node.attr().find(name);
    if (found == node.attr().end()) continue;
    const auto& values = found->second.list().i();
    bool valid = values.size() == axes;
    for (const int64_t value : values)
      valid = valid && value > 0 && value <= std::numeric_limits<int32_t>::max();
    if (!valid) {
      throw Error("TFTRT_INVALID_ARGUMENT",
                  absl::StrCat("the attribute '", name, "' of node '", node.name(), "' (", node.op(),
                               ") must have ", axes, " numbers above 0 that fit int32"));
    }
  }
}

// The executor keeps a ring of so many iterations.
void CheckLoop(const tf::NodeDef& node) {
  const auto found = node.attr().find("parallel_iterations");
  if (found == node.attr().end() || found->second.i() > 0) return;
  throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("the attribute 'parallel_iterations' of node '",
                                                     node.name(), "' (", node.op(), ") must be above 0"));
}

// Whether all dtypes in a value are such that TensorFlow knows.
bool HasKnownTypes(const tf::AttrValue& value) {
  bool known = tf::DataType_IsValid(value.type()) && tf::DataType_IsValid(value.tensor().dtype());
  for (const int type : value.list().type()) known = known && tf::DataType_IsValid(type);
  for (const tf::TensorProto& tensor : value.list().tensor())
    known = known && tf::DataType_IsValid(tensor.dtype());
  return known;
}

void Check(const tf::NodeDef& node) {
  for (const auto& [name, value] : node.attr()) {
    if (!HasKnownTypes(value)) {
      throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("the attribute '", name, "' of node '", node.name(),
                                                         "' (", node.op(), ") has an unknown dtype"));
    }
  }
  const tf::OpDef* op = nullptr;
  if (!tf::OpRegistry::Global()->LookUpOpDef(node.op(), &op).ok())
    return;  // a function, or for TensorFlow to refuse
  for (const tf::OpDef::AttrDef& attribute : op->attr()) {
    const auto found = node.attr().find(attribute.name());
    if (found == node.attr().end()) {
      if (attribute.has_default_value() || !HasWindow(node.op())) continue;
      throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("node '", node.name(), "' (", node.op(),
                                                         ") has no attribute '", attribute.name(), "'"));
    }
    ThrowIfError(tf::ValidateAttrValue(found->second, attribute),
                 absl::StrCat("node '", node.name(), "' (", node.op(), ")"));
  }
  if (HasWindow(node.op())) CheckWindow(node);
  CheckLoop(node);
}

void CheckConstant(const tf::NodeDef& node) {
  const auto value = node.attr().find("value");
  const bool has_value = value != node.attr().end();
  const bool valid = has_value ? !value->second.has_tensor() ||
                                     tf::TensorShape::IsValid(value->second.tensor().tensor_shape())
                               : node.op() != "Const";
  if (valid) return;
  throw Error("TFTRT_INVALID_ARGUMENT", absl::StrCat("node '", node.name(), "' (", node.op(), ") has ",
                                                     has_value ? "a value of an invalid shape" : "no value"));
}

}  // namespace

void CheckConstants(const tf::GraphDef& graph) {
  for (const tf::NodeDef& node : graph.node()) CheckConstant(node);
  for (const tf::FunctionDef& function : graph.library().function()) {
    for (const tf::NodeDef& node : function.node_def()) CheckConstant(node);
  }
}

void CheckAttributes(const tf::GraphDef& graph) {
  for (const tf::NodeDef& node : graph.node()) Check(node);
  for (const tf::FunctionDef& function : graph.library().function()) {
    for (const tf::NodeDef& node : function.node_def()) {
      // In a function, an attribute may stand for one of the function's own.
      bool has_placeholder = false;
      for (const auto& [name, value] : node.attr()) has_placeholder |= !value.placeholder().empty();
      if (!has_placeholder) Check(node);
    }
  }
}

}  // namespace tftrt
