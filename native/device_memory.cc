#include "device_memory.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "cuda_driver.h"
#include "error.h"
#include "tensorflow/core/common_runtime/gpu/gpu_id_manager.h"
#include "tensorflow/core/common_runtime/gpu/gpu_process_state.h"
#include "xla/stream_executor/gpu/gpu_init.h"

namespace tftrt {

namespace tf = tensorflow;

namespace {

constexpr int64_t kMiB = 1 << 20;

int64_t TotalMemory(int platform_device_id) {
  CheckCuda(Cuda().Init(0), "starting CUDA");
  int count = 0;
  CheckCuda(Cuda().DeviceGetCount(&count), "counting the GPUs");
  if (platform_device_id >= count) {
    throw Error("TFTRT_GPU_UNAVAILABLE", absl::StrCat("there is no GPU ", platform_device_id, ": CUDA sees ",
                                                      count, " (CUDA_VISIBLE_DEVICES may hide some)"));
  }
  CUdevice device;
  CheckCuda(Cuda().DeviceGet(&device, platform_device_id), "opening the GPU");
  size_t bytes = 0;
  CheckCuda(Cuda().DeviceTotalMem(&bytes, device), "asking for the GPU's memory");
  return bytes;
}

}  // namespace

bool LimitMemory(const MemoryLimits& limits, tf::ConfigProto* config) {
  const auto gpus = config->device_count().find("GPU");
  if (gpus != config->device_count().end() && gpus->second == 0) return false;
  tf::GPUOptions* options = config->mutable_gpu_options();
  const int platform_id = std::atoi(options->visible_device_list().c_str());
  const int64_t total = TotalMemory(platform_id);
  // What TensorFlow itself leaves to the driver and to the libraries' code.
  const int64_t reserved = std::max<int64_t>(300 * kMiB, total / 20);
  int64_t limit = total - reserved;
  if (limits.limit_bytes > 0) {
    limit = limits.limit_bytes;
  } else if (options->per_process_gpu_memory_fraction() > 0) {
    limit = static_cast<int64_t>(total * options->per_process_gpu_memory_fraction());
  }
  if (limit > total) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("memoryLimitBytes is ", limit, ", but the GPU has ", total, " bytes of memory"));
  }
  if (limits.arena_bytes > limit / 2) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("graphArenaBytes is ", limits.arena_bytes, "; expected at most half of the ",
                             limit, " bytes that TensorFlow may take of the GPU's memory"));
  }
  options->clear_per_process_gpu_memory_fraction();
  options->clear_experimental();
  tf::GPUOptions::Experimental::VirtualDevices* devices =
      options->mutable_experimental()->add_virtual_devices();
  devices->add_memory_limit_mb(static_cast<float>((limit - limits.arena_bytes) / kMiB));
  if (limits.arena_bytes == 0) return false;
  devices->add_memory_limit_mb(static_cast<float>(limits.arena_bytes / kMiB));
  if (options->allow_growth() && stream_executor::ValidateGPUMachineManager().ok()) {
    // One setting for both allocators; the first call for a device decides, so the arena's is made here.
    tf::GPUOptions whole = *options;
    whole.set_allow_growth(false);
    const tsl::TfDeviceId arena(1);
    ThrowIfError(tf::GpuIdManager::InsertTfPlatformDeviceIdPair(arena, tsl::PlatformDeviceId(platform_id)),
                 "making the arena of CUDA graphs");
    tf::GPUProcessState::singleton()->GetGPUAllocator(whole, arena, limits.arena_bytes / kMiB * kMiB, {});
  }
  return true;
}

}  // namespace tftrt
