#include "device_memory.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
  int count = 0;
  const CUresult started = Cuda().Init(0);
  if (started != CUDA_ERROR_NO_DEVICE) {
    CheckCuda(started, "starting CUDA");
    CheckCuda(Cuda().DeviceGetCount(&count), "counting the GPUs");
  }
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

// The GPUs that are to be used, by CUDA's numbers.
std::vector<int> VisibleGpus(const tf::ConfigProto& config) {
  const auto gpus = config.device_count().find("GPU");
  if (gpus != config.device_count().end() && gpus->second == 0) return {};
  std::vector<int> ids;
  for (const auto& id : absl::StrSplit(config.gpu_options().visible_device_list(), ','))
    ids.push_back(std::atoi(std::string(id).c_str()));
  return ids;
}

// What each of the GPU's devices may take.
int64_t LimitOf(int platform_id, const MemoryLimits& limits, const tf::GPUOptions& options) {
  const int64_t total = TotalMemory(platform_id);
  // What TensorFlow itself leaves to the driver and to the libraries' code.
  const int64_t reserved = std::max<int64_t>(300 * kMiB, total / 20);
  int64_t limit = total - reserved;
  if (limits.limit_bytes > 0) {
    limit = limits.limit_bytes;
  } else if (options.per_process_gpu_memory_fraction() > 0) {
    limit = static_cast<int64_t>(total * options.per_process_gpu_memory_fraction());
  }
  if (limit > total) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("memoryLimitBytes is ", limit, ", but the GPU has ", total, " bytes of memory"));
  }
  limit /= limits.virtual_gpus;
  if (limits.arena_bytes > limit / 2) {
    throw Error("TFTRT_INVALID_ARGUMENT",
                absl::StrCat("graphArenaBytes is ", limits.arena_bytes, "; expected at most half of the ",
                             limit, " bytes that TensorFlow may take of the GPU's memory"));
  }
  return limit;
}

// One setting of growth is for all allocators; the first call for a device decides, so the arena's is made
// here.
void MakeArena(int device_id, int platform_id, const MemoryLimits& limits, const tf::GPUOptions& options) {
  tf::GPUOptions whole = options;
  whole.set_allow_growth(false);
  const tsl::TfDeviceId arena(device_id);
  ThrowIfError(tf::GpuIdManager::InsertTfPlatformDeviceIdPair(arena, tsl::PlatformDeviceId(platform_id)),
               "making the arena of CUDA graphs");
  tf::GPUProcessState::singleton()->GetGPUAllocator(whole, arena, limits.arena_bytes / kMiB * kMiB, {});
}

}  // namespace

bool LimitMemory(const MemoryLimits& limits, tf::ConfigProto* config) {
  const std::vector<int> platform_ids = VisibleGpus(*config);
  if (platform_ids.empty()) return false;
  tf::GPUOptions* options = config->mutable_gpu_options();
  std::vector<int64_t> sizes;
  for (const int platform_id : platform_ids) sizes.push_back(LimitOf(platform_id, limits, *options));
  options->clear_per_process_gpu_memory_fraction();
  options->clear_experimental();
  const bool has_arena = limits.arena_bytes > 0;
  for (const int64_t size : sizes) {
    auto* devices = options->mutable_experimental()->add_virtual_devices();
    for (int i = 0; i < limits.virtual_gpus; ++i) {
      devices->add_memory_limit_mb(static_cast<float>((size - limits.arena_bytes) / kMiB));
      if (has_arena) devices->add_memory_limit_mb(static_cast<float>(limits.arena_bytes / kMiB));
    }
  }
  if (has_arena && options->allow_growth() && stream_executor::ValidateGPUMachineManager().ok()) {
    // TensorFlow numbers its devices GPU by GPU, each GPU's in the order of their limits.
    int device_id = 0;
    for (const int platform_id : platform_ids) {
      for (int i = 0; i < limits.virtual_gpus; ++i, device_id += 2)
        MakeArena(device_id + 1, platform_id, limits, *options);
    }
  }
  return has_arena;
}

int PlatformDeviceId(const tf::Device& device) {
  tsl::PlatformDeviceId id;
  ThrowIfError(tf::GpuIdManager::TfToPlatformDeviceId(tsl::TfDeviceId(device.parsed_name().id), &id),
               "finding the GPU of a device");
  return id.value();
}

}  // namespace tftrt
