#include "placement.h"

#include "tensorflow/core/framework/memory_types.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "transfers.h"

namespace tftrt {

namespace tf = tensorflow;

std::vector<bool> InputsOnDevice(tf::EagerOperation& operation, size_t inputs) {
  std::vector<bool> on_device(inputs, false);
  const tf::OpDef* definition = nullptr;
  if (!tf::OpRegistry::Global()->LookUpOpDef(operation.Name(), &definition).ok()) return on_device;
  // One that is placed on the CPU takes them from there.
  const tf::DeviceNameUtils::ParsedName& placed = operation.GetDeviceParsedName();
  if (placed.has_type && placed.type != tf::DEVICE_GPU) return on_device;
  tf::NodeDef node = operation.MutableAttrs()->BuildNodeDef();
  tf::AddDefaultsToNodeDef(*definition, &node);
  tf::MemoryTypeVector wanted, given;
  // No kernel for the GPU: the op runs on the CPU.
  if (!tf::MemoryTypesForNode(tf::OpRegistry::Global(), tf::DEVICE_GPU, node, &wanted, &given).ok())
    return on_device;
  for (size_t i = 0; i < inputs && i < wanted.size(); ++i) on_device[i] = wanted[i] == tf::DEVICE_MEMORY;
  return on_device;
}

bool AreInPlace(Runtime& runtime, const std::vector<bool>& on_device,
                absl::Span<tf::TensorHandle* const> inputs) {
  for (size_t i = 0; i < on_device.size(); ++i) {
    // Another GPU's memory is not this one's.
    if (on_device[i] ? inputs[i]->device() != runtime.gpu() : runtime.IsOnDevice(inputs[i])) return false;
  }
  return true;
}

void CountPlacementCopies(Runtime& runtime, const std::vector<bool>& on_device,
                          absl::Span<tf::TensorHandle* const> inputs) {
  for (size_t i = 0; i < on_device.size(); ++i) {
    const bool wanted = on_device[i];
    if (runtime.IsOnDevice(inputs[i]) == wanted) continue;
    tf::EagerContext* context = runtime.eager_context();
    const tf::Device* target = context->CanonicalDevice(wanted ? runtime.gpu() : context->HostCPU());
    if (inputs[i]->HasLocalMirror(target)) continue;
    Transfers& transfers = GetTransfers();
    (wanted ? transfers.host_to_device : transfers.device_to_host).Add(TensorOf(inputs[i]).TotalBytes());
    transfers.AddSynchronization();
  }
}

}  // namespace tftrt
