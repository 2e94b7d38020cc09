#include "gpu_devices.h"

#include <map>
#include <mutex>
#include <string>

#include "error.h"
#include "tensorflow/core/common_runtime/device_mgr.h"
#include "tensorflow/core/common_runtime/gpu/gpu_id_manager.h"
#include "tensorflow/core/framework/resource_mgr.h"

// As in tensorflow/compiler/mlir/tools/kernel_gen/tf_gpu_runtime_wrappers.h, which wants CUDA's headers.
namespace mlir::kernel_gen::tf_framework {
class __attribute__((visibility("default"))) GPURuntimeCache : public tensorflow::ResourceBase {
 public:
  ~GPURuntimeCache() override;
  static constexpr const char* kDefaultResourceName = "mlir-gpu-runtime-cache";
  static absl::Status Create(GPURuntimeCache** made);
  std::string DebugString() const override;
};
}  // namespace mlir::kernel_gen::tf_framework

namespace tftrt {

namespace tf = tensorflow;
using mlir::kernel_gen::tf_framework::GPURuntimeCache;

namespace {

// The modules of a GPU, with a reference that is never given back.
GPURuntimeCache* ModulesOf(int platform_device_id) {
  static std::mutex mutex;
  static auto* all = new std::map<int, GPURuntimeCache*>();
  std::lock_guard<std::mutex> lock(mutex);
  GPURuntimeCache*& modules = (*all)[platform_device_id];
  if (modules == nullptr) ThrowIfError(GPURuntimeCache::Create(&modules), "sharing kernels");
  return modules;
}

}  // namespace

int PlatformDeviceId(const tf::Device& device) {
  tsl::PlatformDeviceId id;
  ThrowIfError(tf::GpuIdManager::TfToPlatformDeviceId(tsl::TfDeviceId(device.parsed_name().id), &id),
               "finding the GPU of a device");
  return id.value();
}

void ShareKernelModules(tf::Device* device) {
  if (device->device_type() != tf::DEVICE_GPU) return;
  GPURuntimeCache* modules = ModulesOf(PlatformDeviceId(*device));
  modules->Ref();  // which the device takes over
  tf::ResourceMgr* resources = device->resource_manager();
  ThrowIfError(
      resources->Create(resources->default_container(), GPURuntimeCache::kDefaultResourceName, modules),
      "sharing kernels");
}

void ShareKernelModules(tf::Session* session) {
  const tf::DeviceMgr* devices = nullptr;
  ThrowIfError(session->LocalDeviceManager(&devices), "finding the devices of a session");
  for (tf::Device* device : devices->ListDevices()) ShareKernelModules(device);
}

}  // namespace tftrt
