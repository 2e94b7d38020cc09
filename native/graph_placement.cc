#include "graph_placement.h"

#include "tensorflow/core/util/device_name_utils.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

// Whether the device's name, in whatever form, says that it is of this type.
bool Names(const std::string& device, const char* type) {
  tf::DeviceNameUtils::ParsedName name;
  return tf::DeviceNameUtils::ParseFullOrLocalName(device, &name) && name.has_type && name.type == type;
}

}  // namespace

void PlaceOn(const std::string& device, tf::GraphDef* graph) {
  for (tf::NodeDef& node : *graph->mutable_node()) {
    // What is on the CPU was put there with a reason.
    if (!Names(node.device(), tf::DEVICE_CPU)) node.set_device(device);
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
    if (Names(node.device(), tf::DEVICE_GPU)) node.set_device(device);
  }
  for (tf::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    for (tf::NodeDef& node : *function.mutable_node_def()) {
      if (Names(node.device(), tf::DEVICE_GPU)) node.set_device(device);
    }
  }
}

}  // namespace tftrt
