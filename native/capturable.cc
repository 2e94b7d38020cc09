#include "capturable.h"

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.pb.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Ops whose GPU kernels read and write device memory on their stream and do nothing else.
const std::unordered_set<std::string>& StreamOps() {
  static const auto* ops = new std::unordered_set<std::string>{
      // clang-format off
      "TRTEngineOp",
      "Conv2D", "Conv2DBackpropInput", "Conv3D", "DepthwiseConv2dNative", "BiasAdd", "MatMul", "_FusedConv2D",
      "_FusedMatMul",
      "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx",
      "MaxPool", "AvgPool", "Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Sigmoid", "Tanh", "Softplus",
      "Softsign", "Softmax", "LogSoftmax",
      "Add", "AddV2", "Sub", "Mul", "MulNoNan", "RealDiv", "DivNoNan", "Maximum", "Minimum", "Pow",
      "SquaredDifference", "Sqrt", "Rsqrt", "Square", "Exp", "Expm1", "Log", "Log1p", "Neg", "Abs", "Sign",
      "Erf", "Erfc", "Reciprocal", "Inv", "Floor", "Ceil", "Round", "Rint", "Sin", "Cos", "Tan", "IsNan",
      "Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr",
      "LogicalNot", "Select", "SelectV2", "ClipByValue",
      "Mean", "Sum", "Max", "Min", "Prod",
      "Pad", "PadV2", "MirrorPad", "ConcatV2", "Pack", "Unpack", "Split", "SplitV", "GatherV2", "AddN",
      "Reshape", "Squeeze", "ExpandDims", "Identity",
      "Snapshot", "StopGradient", "PreventGradient", "Transpose", "StridedSlice", "Slice", "Tile", "Cast",
      "ResizeBilinear", "ResizeNearestNeighbor", "DepthToSpace", "SpaceToDepth", "ZerosLike", "OnesLike",
      // clang-format on
  };
  return *ops;
}

// Of these, the ones whose kernels may call cuDNN. TensorRT has handles of its own.
const std::unordered_set<std::string>& CudnnOps() {
  static const auto* ops = new std::unordered_set<std::string>{
      // clang-format off
      "Conv2D", "Conv2DBackpropInput", "Conv3D", "DepthwiseConv2dNative", "_FusedConv2D", "_FusedMatMul",
      "MaxPool", "AvgPool",
      "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx",
      // clang-format on
  };
  return *ops;
}

// Computed on the host, from shapes and constants only: the same in every run.
const std::unordered_set<std::string>& HostOps() {
  static const auto* ops = new std::unordered_set<std::string>{
      "Const", "_HostConst", "Shape",   "ShapeN",     "Rank",         "Size",
      "NoOp",  "_Arg",       "_Retval", "_DeviceArg", "_DeviceRetval"};
  return *ops;
}

// The most tensors that an op's kernel joins or splits without copying a list of their addresses from the
// host; any number where it makes no such list.
int MostTensors(const std::string& op) {
  if (op == "ConcatV2" || op == "Pack") return 15;
  if (op == "SplitV") return 16;
  if (op == "Split") return 8;
  return std::numeric_limits<int>::max();
}

// How many tensors these ops join or split: their attributes N and num_split.
int64_t TensorsOf(const tf::NodeDef& node) {
  for (const char* name : {"N", "num_split"}) {
    const auto found = node.attr().find(name);
    if (found != node.attr().end()) return found->second.i();
  }
  return 1;
}

// Whether the op also has a kernel that computes int32 values on the host.
bool MayRunOnHost(const tf::NodeDef& node) {
  const auto type = node.attr().find("T");
  return type != node.attr().end() && type->second.type() == tf::DT_INT32;
}

}  // namespace

std::string ReasonNotToCapture(const google::protobuf::RepeatedPtrField<tf::GraphDef>& partitions,
                               const std::string& device) {
  for (const tf::GraphDef& partition : partitions) {
    for (const tf::NodeDef& node : partition.node()) {
      if (HostOps().count(node.op()) > 0) continue;
      const std::string what = absl::StrCat("the op ", node.op());
      if (node.device() != device) return absl::StrCat(what, " runs on the CPU");
      if (MayRunOnHost(node) && (node.op() == "Pack" || node.op() == "StridedSlice" || node.op() == "Fill"))
        continue;
      if (StreamOps().count(node.op()) == 0)
        return absl::StrCat(what, " may wait for the GPU, copy from the host or change its shape");
      if (TensorsOf(node) > MostTensors(node.op())) {
        return absl::StrCat(what, " joins or splits ", TensorsOf(node),
                            " tensors, whose list is copied from the host");
      }
    }
  }
  return "";
}

bool MayUseCudnn(const google::protobuf::RepeatedPtrField<tf::GraphDef>& partitions) {
  for (const tf::GraphDef& partition : partitions) {
    for (const tf::NodeDef& node : partition.node()) {
      if (CudnnOps().count(node.op()) > 0) return true;
    }
  }
  return false;
}

}  // namespace tftrt
