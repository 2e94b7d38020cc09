#include "graph_placement.h"

#include "absl/strings/match.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

bool NamesGpu(const std::string& device) {
  tf::DeviceNameUtils::ParsedName name;
  return tf::DeviceNameUtils::ParseFullOrLocalName(device, &name) && name.has_type &&
         name.type == tf::DEVICE_GPU;
}

}  // namespace

void PlaceOn(const std::string& device, tf::GraphDef* graph) {
  for (tf::NodeDef& node : *graph->mutable_node()) {
    // What is on the CPU was put there with a reason.
    if (!absl::StrContains(node.device(), "CPU")) node.set_device(device);
  }
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    for (tf::NodeDef& node : *function.mutable_node_def()) node.clear_device();
  }
}

void PlaceOnRuntime(const Runtime& runtime, tf::GraphDef* graph) {
  const std::string device = runtime.device_name();
  if (!runtime.is_default()) {
    PlaceOn(device, graph);
    return;
  }
  if (runtime.gpu() == nullptr) return;
  for (tf::NodeDef& node : *graph->mutable_node()) {
    if (NamesGpu(node.device())) node.set_device(device);
  }
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    for (tf::NodeDef& node : *function.mutable_node_def()) {
      if (NamesGpu(node.device())) node.set_device(device);
    }
  }
}

}  // namespace tftrt
