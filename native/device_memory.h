// How much of the GPUs' memory TensorFlow may take, and the part of it that is kept for CUDA graphs.
#pragma once

#include <cstdint>

#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tftrt {

struct MemoryLimits {
  // All that TensorFlow may take of each GPU, the arena included; 0: the share that gpu_options has, or
  // nearly all.
  int64_t limit_bytes = 0;
  // Of each GPU. 0: no arena, and nothing is captured.
  int64_t arena_bytes = 0;
  // For tests on a machine with one GPU: each is divided into so many devices that are used as if they were
  // GPUs.
  int virtual_gpus = 1;
  bool operator!=(const MemoryLimits& other) const {
    return limit_bytes != other.limit_bytes || arena_bytes != other.arena_bytes ||
           virtual_gpus != other.virtual_gpus;
  }
};

// Puts the limits into the options of the devices that are to be made, before they are. The arena is a second
// device of TensorFlow's on the same GPU, numbered next to it, with an allocator of its own. It takes its
// memory as one block at first use, even where the other one grows: see captured_graph.h. Throws
// TFTRT_INVALID_ARGUMENT where the limits do not fit a GPU. Returns whether there will be arenas.
bool LimitMemory(const MemoryLimits& limits, tensorflow::ConfigProto* config);

// CUDA's number of the GPU that a device of TensorFlow's is on.
int PlatformDeviceId(const tensorflow::Device& device);

}  // namespace tftrt
